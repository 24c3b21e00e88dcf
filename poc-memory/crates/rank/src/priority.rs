//! Consolidation priority: how much a note would benefit from being replayed now.
//!
//! The priority is displacement × overdue × emotion:
//!
//! - Displacement measures how far a node is from the centre of its community: a third of its outlier score in the
//!   spectral embedding, at most 3. For a node without an outlier score, it is one minus the clustering coefficient
//!   (Watts and Strogatz 1998).
//! - Overdue is the time since the last replay divided by the node's replay interval, as in spaced repetition (Leitner
//!   1972), at most 5.
//! - Emotion is a factor from 1 to 2, because emotional events are remembered better (McGaugh 2004).

use poc_graph::time::{Span, Timestamp};

/// Upper bound of the overdue factor, in replay intervals.
pub const MAX_OVERDUE: f64 = 5.0;

/// The overdue factor of a node that was never replayed, in replay intervals.
pub const NEVER_REPLAYED: i64 = 3;

/// Upper bound of the displacement.
pub const MAX_DISPLACEMENT: f64 = 3.0;

/// The outlier score that corresponds to a displacement of 1.
const OUTLIER: f64 = 3.0;

/// The displacement, 0–3. `outlier` is the outlier score, 0 or more. `clustering` returns the clustering coefficient,
/// 0–1; it is called only if there is no outlier score.
#[inline]
pub fn displacement(outlier: Option<f64>, clustering: impl FnOnce() -> f64) -> f64 {
    match outlier {
        Some(score) => (score / OUTLIER).min(MAX_DISPLACEMENT),
        None => 1.0 - clustering(),
    }
}

/// The priority, 0–30. `displacement` is 0–3, `interval` is in days (0 counts as 1), and `emotion` is 0–10.
#[inline]
pub fn priority(
    displacement: f64,
    interval: u16,
    replayed: Option<Timestamp>,
    emotion: f32,
    now: Timestamp,
) -> f64 {
    displacement * overdue(interval, replayed, now) * (1.0 + f64::from(emotion) / 10.0)
}

#[inline]
fn overdue(interval: u16, replayed: Option<Timestamp>, now: Timestamp) -> f64 {
    // Uses integers and a single division, because sorting by priority spends most of its time here.
    let (passed, unit) = match replayed {
        None => (NEVER_REPLAYED, 1),
        Some(at) => (now.0.saturating_sub(at.0), Span::DAY.0 * i64::from(interval.max(1))),
    };
    (passed as f64 / unit as f64).clamp(0.0, MAX_OVERDUE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(days: i64, interval: u16) -> f64 {
        let replayed = Timestamp(1_000_000);
        priority(1.0, interval, Some(replayed), 0.0, replayed.plus(Span(days * Span::DAY.0)))
    }

    #[test]
    fn results_match_values_computed_by_hand() {
        assert_eq!(priority(1.0, 0, None, 0.0, Timestamp(0)), 3.0);
        assert_eq!(priority(0.75, 7, None, 5.0, Timestamp(0)), 0.75 * 3.0 * 1.5);
        assert_eq!(priority(3.0, 7, None, 10.0, Timestamp(0)), 18.0);
        // Two days at an interval of 1, half of an interval of 30, an interval of 0 (counts as one day), and the
        // maximum of five.
        assert_eq!((after(2, 1), after(15, 30), after(2, 0), after(99, 7)), (2.0, 0.5, 2.0, 5.0));
        // A replay in the future, after the clock was set back, is not overdue at all.
        assert_eq!(after(-3, 1), 0.0);
    }

    /// The outlier score takes precedence; three times the median distance is a displacement of 1.
    #[test]
    fn displacement_matches_values_computed_by_hand() {
        assert_eq!(displacement(None, || 0.25), 0.75);
        assert_eq!((displacement(Some(1.5), || 0.25), displacement(Some(3.0), || 0.9)), (0.5, 1.0));
        assert_eq!((displacement(Some(0.0), || 0.0), displacement(Some(40.0), || 0.0)), (0.0, 3.0));
    }

    poc_laws::laws! {
        /// The priority never decreases with time, emotion or displacement, and stays between 0 and 30.
        #[test]
        fn the_priority_is_monotone_and_bounded(
            displacement in 0.0f64..=3.0, less in 0.0f64..=1.0, interval in 0u16..40, emotion in 0.0f32..=10.0,
            elapsed in 0i64..4_000_000_000, later in 0i64..4_000_000_000,
        ) {
            let at = |displacement, emotion, elapsed| priority(displacement, interval, Some(Timestamp(0)), emotion, Timestamp(elapsed));
            let base = at(displacement, emotion, elapsed);
            prop_assert!((0.0..=30.0).contains(&base));
            prop_assert!(at(displacement, emotion, elapsed + later) >= base);
            prop_assert!(at(displacement, 10.0, elapsed) >= base);
            prop_assert!(at(displacement * less, emotion, elapsed) <= base);
        }
    }
}
