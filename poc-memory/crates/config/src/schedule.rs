//! Schedules of agents and of consolidation, and the slots they define.
//!
//! A calendar rule defines local times, and each local time is one instant: the first of two if the clock is set back,
//! and the end of the gap if the clock is set forward. A cron rule for every hour, or for every few hours, counts hours
//! instead, like `hourly`: it fires in both passes of a repeated hour, and not for a skipped one. Slots are strictly
//! increasing, so no slot occurs twice.

mod hours;
mod parse;
mod zone;

pub use zone::{day, local_minute, local_second, local_zone, local_zone_problem};

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use chrono_tz::Tz;
use croner::Cron;
use poc_graph::time::{Span, Timestamp};
use std::fmt;

/// Maximum number of steps of a search for a slot. No clock was ever set back by more than a day, which has 1,440
/// minutes.
const MAX_SEARCH_STEPS: usize = 2000;

/// A parsed `schedule` setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Runs only on request.
    OnDemand,
    /// Runs after relevant notes were created or edited.
    OnChange,
    /// Runs at local times.
    Calendar {
        /// The text of the setting.
        text: String,
        /// Minute, hour, day of month, month, day of week.
        cron: Box<Cron>,
        /// Whether it is a cron rule for every hour or for every few hours.
        is_hourly: bool,
    },
    /// Runs with a fixed period. Slots are counted from the epoch, so no state is needed.
    Every {
        /// The text of the setting.
        text: String,
        /// Time between two slots.
        period: Span,
        /// Time from the epoch to the first slot; shorter than the period.
        phase: Span,
    },
}

impl Schedule {
    /// The first slot after an instant in a time zone; `None` if there is none or it is out of range.
    pub fn next_after(&self, after: Timestamp, zone: Tz) -> Option<Timestamp> {
        match self {
            Schedule::OnDemand | Schedule::OnChange => None,
            Schedule::Every { period, phase, .. } => {
                let steps = after.0.checked_sub(phase.0)?.div_euclid(period.0).checked_add(1)?;
                steps.checked_mul(period.0)?.checked_add(phase.0).map(Timestamp)
            }
            Schedule::Calendar { cron, is_hourly: true, .. } => hours::next_after(cron, after, zone),
            Schedule::Calendar { cron, .. } => {
                let mut local = zone::wall_clock(after, zone)?;
                // In a repeated hour, some of the next local times may map to instants in the past.
                for _ in 0..MAX_SEARCH_STEPS {
                    local = cron.find_next_occurrence(&local, false).ok()?;
                    let slot = zone::instant(local, zone)?;
                    if slot > after {
                        return Some(slot);
                    }
                }
                None
            }
        }
    }

    /// The last slot at or before an instant in a time zone; `None` if there is none or it is out of range.
    pub fn latest(&self, now: Timestamp, zone: Tz) -> Option<Timestamp> {
        match self {
            Schedule::OnDemand | Schedule::OnChange => None,
            Schedule::Every { period, phase, .. } => {
                let steps = now.0.checked_sub(phase.0)?.div_euclid(period.0);
                steps.checked_mul(period.0)?.checked_add(phase.0).map(Timestamp)
            }
            Schedule::Calendar { cron, is_hourly: true, .. } => hours::latest(cron, now, zone),
            Schedule::Calendar { cron, .. } => {
                let shown = zone::wall_clock(now, zone)?;
                // In a repeated hour, all slots of the first pass are in the past.
                let repeated = now.0.saturating_sub(zone::instant(shown, zone)?.0).max(0);
                let mut local = shown.checked_add_signed(chrono::TimeDelta::milliseconds(repeated))?;
                for inclusive in std::iter::once(true).chain(std::iter::repeat_n(false, MAX_SEARCH_STEPS)) {
                    local = cron.find_previous_occurrence(&local, inclusive).ok()?;
                    let slot = zone::instant(local, zone)?;
                    if slot <= now {
                        return Some(slot);
                    }
                }
                None
            }
        }
    }

    /// The minimum time between two slots, ignoring clock changes; `None` for schedules without slots.
    pub fn period(&self) -> Option<Span> {
        /// Enough slots to include every gap of a weekly rule with a few slots per day.
        const SAMPLE: usize = 64;
        match self {
            Schedule::OnDemand | Schedule::OnChange => None,
            Schedule::Every { period, .. } => Some(*period),
            Schedule::Calendar { cron, .. } => {
                let mut previous = cron.find_next_occurrence(&reference(), true).ok()?;
                let mut min = None;
                for _ in 0..SAMPLE {
                    let Ok(slot) = cron.find_next_occurrence(&previous, false) else { break };
                    let gap = Span((slot - previous).num_milliseconds());
                    min = Some(min.map_or(gap, |min: Span| min.min(gap)));
                    previous = slot;
                }
                min
            }
        }
    }

    /// A warning for a cron rule with both a day of the month and a day of the week, because cron runs on days that
    /// match either of them.
    pub fn warning(&self) -> Option<String> {
        let Schedule::Calendar { text, cron, .. } = self else { return None };
        let days = &cron.pattern;
        let either = !days.is_dom_wildcard() && !days.is_dow_wildcard() && !days.matches_dom_and_dow();
        either.then(|| {
            format!(
                "`{text}` has a day of the month and a day of the week: it fires on every day that matches one of them"
            )
        })
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::OnDemand => f.write_str("on-demand"),
            Schedule::OnChange => f.write_str("on-change"),
            Schedule::Calendar { text, .. } | Schedule::Every { text, .. } => f.write_str(text),
        }
    }
}

/// A stable number below `below`, derived from some words: the first eight bytes of their BLAKE3 hash.
pub fn pick(words: &[&str], below: u64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for word in words {
        hasher.update(word.as_bytes()).update(&[0]);
    }
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes) % below.max(1)
}

/// A fixed start for searches that must not depend on the current time: the beginning of a leap year.
fn reference() -> NaiveDateTime {
    NaiveDate::from_ymd_opt(2024, 1, 1).unwrap_or_default().and_time(NaiveTime::MIN)
}

#[cfg(test)]
mod tests;
