//! When an agent is due: the instants a schedule names.
//!
//! A calendar rule names times on the wall clock. Each of them is one instant: the first of two
//! when the clock is set back over it, the first that exists after it when the clock is set forward
//! over it. A slot is therefore never named twice, and slots are strictly increasing.

mod parse;
mod zone;

pub use zone::{day, local_zone};

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use chrono_tz::Tz;
use croner::Cron;
use poc_graph::time::{Span, Timestamp};
use std::fmt;

/// Steps after which a search for a slot gives up: more than the minutes of the longest time a
/// clock was ever set back by, a day.
const SEARCH: usize = 2000;

/// A parsed `schedule`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Only when asked.
    OnDemand,
    /// When notes that concern the agent were made or edited.
    OnChange,
    /// Times on the wall clock.
    Calendar {
        /// As written in the file.
        text: String,
        /// Minute, hour, day of month, month, day of week.
        cron: Box<Cron>,
    },
    /// A fixed period, counted from the epoch so that it needs no memory.
    Every {
        /// As written in the file.
        text: String,
        /// From one slot to the next.
        period: Span,
        /// From the epoch to the first slot after it, shorter than the period.
        phase: Span,
    },
}

impl Schedule {
    /// The first slot after an instant in a time zone; `None` when it names none, or beyond the calendar.
    pub fn next_after(&self, after: Timestamp, zone: Tz) -> Option<Timestamp> {
        match self {
            Schedule::OnDemand | Schedule::OnChange => None,
            Schedule::Every { period, phase, .. } => {
                let steps = after.0.checked_sub(phase.0)?.div_euclid(period.0).checked_add(1)?;
                steps.checked_mul(period.0)?.checked_add(phase.0).map(Timestamp)
            }
            Schedule::Calendar { cron, .. } => {
                let mut local = zone::wall_clock(after, zone)?;
                // On the second pass over the same hour the wall clock names slots that were.
                for _ in 0..SEARCH {
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

    /// The last slot at or before an instant in a time zone; `None` when it names none, or beyond the calendar.
    pub fn latest(&self, now: Timestamp, zone: Tz) -> Option<Timestamp> {
        match self {
            Schedule::OnDemand | Schedule::OnChange => None,
            Schedule::Every { period, phase, .. } => {
                let steps = now.0.checked_sub(phase.0)?.div_euclid(period.0);
                steps.checked_mul(period.0)?.checked_add(phase.0).map(Timestamp)
            }
            Schedule::Calendar { cron, .. } => {
                let shown = zone::wall_clock(now, zone)?;
                // On the second pass over the same hour everything the first pass showed has been.
                let repeated = now.0.saturating_sub(zone::instant(shown, zone)?.0).max(0);
                let mut local = shown.checked_add_signed(chrono::TimeDelta::milliseconds(repeated))?;
                for inclusive in std::iter::once(true).chain(std::iter::repeat_n(false, SEARCH)) {
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

    /// The least time from one slot to the next on a wall clock that is never set; `None` when it names no instants.
    pub fn period(&self) -> Option<Span> {
        /// Enough to see every gap of a rule that repeats weekly at a few times a day.
        const SAMPLE: usize = 64;
        match self {
            Schedule::OnDemand | Schedule::OnChange => None,
            Schedule::Every { period, .. } => Some(*period),
            Schedule::Calendar { cron, .. } => {
                let mut previous = cron.find_next_occurrence(&reference(), true).ok()?;
                let mut least = None;
                for _ in 0..SAMPLE {
                    let Ok(slot) = cron.find_next_occurrence(&previous, false) else { break };
                    let gap = Span((slot - previous).num_milliseconds());
                    least = Some(least.map_or(gap, |least: Span| least.min(gap)));
                    previous = slot;
                }
                least
            }
        }
    }

    /// What is probably not meant: a day of the month and a day of the week together, which cron
    /// reads as "or".
    pub fn warning(&self) -> Option<String> {
        let Schedule::Calendar { text, cron } = self else { return None };
        let days = &cron.pattern;
        let either = !days.is_dom_wildcard() && !days.is_dow_wildcard() && !days.matches_dom_and_dow();
        either.then(|| {
            format!(
                "`{text}` names a day of the month and a day of the week: it fires on every day that is one or the other"
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

/// A number below `below` that belongs to some words, the same on every machine and for ever:
/// the first eight bytes of their BLAKE3 hash.
pub(crate) fn pick(words: &[&str], below: u64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for word in words {
        hasher.update(word.as_bytes()).update(&[0]);
    }
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes) % below.max(1)
}

/// Where questions about a rule rather than about an instant start: a leap year.
fn reference() -> NaiveDateTime {
    NaiveDate::from_ymd_opt(2024, 1, 1).unwrap_or_default().and_time(NaiveTime::MIN)
}

#[cfg(test)]
mod tests;
