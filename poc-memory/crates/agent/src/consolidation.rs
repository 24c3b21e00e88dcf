//! Scheduled consolidation: the daemon consolidates every tenant by schedule. It is not an agent, because it
//! has no file, model or permit. Like an agent, it has slots, rows in the ledger and a state.

use super::definition::{ScheduleRules, TenantPatterns};
use super::schedule::Schedule;
use poc_config::ConsolidateConfig;
use poc_graph::time::{Span, Timestamp};

/// Its name in the ledger, which no agent may have.
pub const NAME: &str = ConsolidateConfig::NAME;

/// Its description, as one sentence.
pub const DESCRIPTION: &str =
    "Expires and deletes notes past their `expires`, and removes decayed edges and unused keywords";

/// Maximum age of a missed slot that is caught up.
const CATCH_UP_WINDOW: Span = Span::DAY;

/// When consolidation runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledConsolidation {
    /// `[consolidate] schedule`.
    pub schedule: Schedule,
    /// The rules for missed slots: they are caught up once, like those of agents.
    pub rules: ScheduleRules,
    /// When it was first seen with this schedule; earlier slots do not count.
    pub since: Timestamp,
}

impl ScheduledConsolidation {
    /// A schedule that was first seen at `since`.
    pub fn new(schedule: Schedule, since: Timestamp) -> ScheduledConsolidation {
        let rules = ScheduleRules {
            timezone: None,
            jitter: Span(0),
            catch_up: true,
            catch_up_window: CATCH_UP_WINDOW,
            cooldown: Span(0),
            tenants: TenantPatterns::default(),
        };
        ScheduledConsolidation { schedule, rules, since }
    }
}
