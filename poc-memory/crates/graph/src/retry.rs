//! Repeats an attempt that failed temporarily, with exponential backoff.
//!
//! The crates `backon` and `backoff` do not fit: they sleep without cancellation, draw the jitter themselves and always
//! return the last error. Here a wait can be cancelled and then determines the result, a server's `retry-after` may
//! lengthen it, a deadline may prevent it, and random bits are an argument.

use crate::time::Span;

/// Delays between attempts: they double from `first` to at most `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failed attempt.
    pub first: Span,
    /// The maximum delay.
    pub max: Span,
}

impl Backoff {
    /// The delay after `failures` failed attempts, counted from 1: `first · 2^(failures − 1)`, at most `max`. For 0, it
    /// is that for 1.
    pub fn delay(&self, failures: u32) -> Span {
        let factor = 1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        Span(self.first.0.saturating_mul(i64::from(factor))).min(self.max)
    }

    /// Like [`delay`](Backoff::delay), but shortened by the random `bits` to between half and all of it. Clients that
    /// failed together then do not retry together.
    pub fn jittered_delay(&self, failures: u32, bits: u64) -> Span {
        let share = 0.5 + 0.5 * (bits as f64 / u64::MAX as f64);
        Span((self.delay(failures).0 as f64 * share).ceil() as i64)
    }
}

/// Calls `attempt` until it succeeds or `before_retry` gives up.
///
/// `before_retry` takes the number of failed attempts so far, from 1, and the error of the last one. It waits and
/// returns `Ok` to try again, or returns the error to give up with.
pub fn retry<T, E, F>(
    mut attempt: impl FnMut() -> Result<T, E>,
    mut before_retry: impl FnMut(u32, E) -> Result<(), F>,
) -> Result<T, F> {
    let mut failures: u32 = 0;
    loop {
        match attempt() {
            Ok(value) => return Ok(value),
            Err(error) => {
                failures = failures.saturating_add(1);
                before_retry(failures, error)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { first: Span::SECOND, max: Span(5000) };

    #[test]
    fn delays_double_up_to_the_maximum() {
        let seconds = [0, 1, 2, 3, 4, 40, u32::MAX].map(|failures| BACKOFF.delay(failures).seconds());
        assert_eq!(seconds, [1.0, 1.0, 2.0, 4.0, 5.0, 5.0, 5.0]);
        let long = Backoff { first: Span(i64::MAX), max: Span::HOUR };
        assert_eq!(long.delay(u32::MAX), Span::HOUR);
    }

    #[test]
    fn jitter_keeps_at_least_half_of_a_delay() {
        assert_eq!(BACKOFF.jittered_delay(2, 0), Span::SECOND);
        assert_eq!(BACKOFF.jittered_delay(2, u64::MAX), Span(2000));
    }

    #[test]
    fn attempts_repeat_until_one_succeeds_or_the_caller_gives_up() {
        let run = |successful: u32| {
            let mut attempts = 0;
            retry(
                || {
                    attempts += 1;
                    if attempts == successful { Ok(attempts) } else { Err("busy") }
                },
                |failures, error| if failures < 3 { Ok(()) } else { Err(format!("{error} ({failures})")) },
            )
        };
        assert_eq!(run(3), Ok(3));
        assert_eq!(run(4), Err("busy (3)".to_owned()));
    }
}
