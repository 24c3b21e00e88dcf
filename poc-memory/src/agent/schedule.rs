//! When an agent is due: the schedule forms and the instants they name.

use crate::error::Result;
use crate::time::{Span, Timestamp};

/// A parsed `schedule`.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// Only when asked.
    OnDemand,
    /// A calendar rule, as a cron expression.
    Cron {
        /// As written in the file.
        text: String,
        /// Five fields.
        expression: String,
    },
    /// A fixed period.
    Every(Span),
}

impl Schedule {
    /// Parses `on-demand`, `hourly`, `daily`, `weekly`, `every 6h`, `cron 0 3 * * 1-5`. Plain
    /// `hourly`, `daily` and `weekly` get a minute of their own from a hash of the agent's name.
    pub fn parse(_text: &str, _agent: &str) -> Result<Schedule> {
        todo!()
    }

    /// The first slot after an instant in a time zone.
    pub fn next_after(&self, _after: Timestamp, _zone: chrono_tz::Tz) -> Option<Timestamp> {
        todo!()
    }

    /// The usual time from one slot to the next; `None` on demand.
    pub fn period(&self) -> Option<Span> {
        todo!()
    }
}
