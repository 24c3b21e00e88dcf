//! Budget arithmetic: decides whether a call fits into the rest of the budget, given the spending so far and
//! the maximum cost of the call.

use super::definition::Budget;
use poc_graph::{Tuple, plural};

/// The end of the message of a refusal if one attempt may cost more than a whole limit, so that the call would be
/// refused on any day. The row of a run keeps the message only.
const MORE_THAN_LIMIT: &str =
    ", more than the whole budget: raise it, or lower `max-output-tokens` under `[calls]` in config.toml";

/// Whether the message of a refusal says that one call may cost more than a whole limit.
pub fn is_more_than_limit(message: &str) -> bool {
    message.ends_with(MORE_THAN_LIMIT)
}

/// Budget limits, and the spending so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BudgetStatus<'a> {
    /// The agent's own limits.
    pub budget: Budget,
    /// The operator's daily limit for all agents together, in US dollars.
    pub all_agents_per_day: f64,
    /// Runs of the agent that began today, not counting this one.
    pub runs: u32,
    /// US dollars spent by these runs, plus the reservations of those in progress.
    pub day: f64,
    /// US dollars spent today by all agents, plus the reservations of runs in progress.
    pub all_agents: f64,
    /// US dollars this run has spent so far.
    pub run: f64,
    /// Runs of the agent for the tenant that began today, counting each batch but not this run.
    pub tenant_runs: u32,
    /// US dollars spent by these runs, plus the reservations of those in progress.
    pub tenant_day: f64,
    /// The agent's name.
    pub agent: &'a str,
    /// The tenant of the run; `None` is the default tenant.
    pub tenant: Option<&'a Tuple>,
}

/// The part of a call that the budget allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetAllowance {
    /// Number of attempts of the call, including the first.
    pub attempts: u32,
    /// Maximum cost of these attempts, in US dollars.
    pub max: f64,
}

/// Why a budget does not allow a call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BudgetError {
    /// A limit is reached, and the cost of the call is unknown.
    #[error("{limit}, and the cost of the call is unknown")]
    UnknownCost {
        /// The limit as text, and what is spent of it.
        limit: String,
        /// Whether it is a limit of the tenant.
        is_of_tenant: bool,
    },
    /// One attempt of the call may cost more than a limit leaves.
    #[error("{limit}, and the call may cost ${max:.4}{more}")]
    TooExpensive {
        /// The limit as text, and what is spent of it.
        limit: String,
        /// Whether it is a limit of the tenant.
        is_of_tenant: bool,
        /// Maximum cost of one attempt, in US dollars.
        max: f64,
        /// The end of the message if that is more than the whole limit; otherwise empty.
        more: &'static str,
    },
}

impl BudgetError {
    /// Whether the reason is a limit of the tenant, so that runs for other tenants may be allowed.
    pub fn is_of_tenant(&self) -> bool {
        match self {
            BudgetError::UnknownCost { is_of_tenant, .. }
            | BudgetError::TooExpensive { is_of_tenant, .. } => *is_of_tenant,
        }
    }
}

impl BudgetStatus<'_> {
    /// The reason why no run may begin, regardless of cost; `None` when one may.
    pub fn refuses_a_run(&self) -> Option<String> {
        let BudgetStatus { budget, runs, agent, .. } = self;
        let max = budget.runs_per_day;
        if max > 0 && *runs >= max {
            let times = plural(u64::from(*runs), "time");
            return Some(format!("`{agent}` ran {times} today, and `budget.max-runs-per-day` is {max}"));
        }
        None
    }

    /// The reason why no run for the tenant may begin, regardless of cost; `None` when one may.
    pub fn refuses_the_tenant(&self) -> Option<String> {
        let (runs, agent) = (self.tenant_runs, self.agent);
        let max = self.budget.per_tenant.max_runs().filter(|max| runs >= *max)?;
        let tenant = self.tenant_text();
        let times = plural(u64::from(runs), "time");
        Some(format!(
            "`{agent}` ran {times} for {tenant} today, and `budget.per-tenant.max-runs-per-day` is {max}"
        ))
    }

    /// Why nothing is left of the tenant's budget; `None` if there is something left.
    pub fn used_up_by_tenant(&self) -> Option<String> {
        let is_used_up = |limit: &Limit| limit.is_of_tenant && limit.is_used_up();
        let limits = self.limits();
        self.refuses_the_tenant().or_else(|| Some(limits.iter().find(|limit| is_used_up(limit))?.line()))
    }

    /// Whether a refusal with this message was because one call may cost more than a whole limit, and the limit is the
    /// same now.
    pub fn is_less_than_a_call(&self, message: &str) -> bool {
        let holds = |limit: &Limit| message.starts_with(&limit.amount());
        is_more_than_limit(message) && self.limits().iter().any(holds)
    }

    fn tenant_text(&self) -> String {
        let named = self.tenant.filter(|tenant| !tenant.is_default());
        named.map_or_else(|| "the default tenant".to_owned(), |tenant| format!("the tenant {tenant}"))
    }

    /// How many attempts of a call fit into the budget, given the maximum cost of one attempt in US dollars;
    /// the error says which limit forbids it. Free calls are always allowed. Calls of unknown cost (`None`)
    /// are allowed unless the spending has reached a limit.
    pub fn allows(&self, max: Option<f64>, attempts: u32) -> Result<BudgetAllowance, BudgetError> {
        let free = BudgetAllowance { attempts, max: 0.0 };
        let max = match max {
            Some(max) if max <= 0.0 => return Ok(free),
            Some(max) => max,
            None => {
                let limits = self.limits();
                let used_up = limits.iter().find(|limit| limit.is_used_up());
                return used_up.map_or(Ok(free), |limit| {
                    let (limit, is_of_tenant) = (limit.line(), limit.is_of_tenant);
                    Err(BudgetError::UnknownCost { limit, is_of_tenant })
                });
            }
        };
        let fits = |limit: &Limit| (limit.left().max(0.0) / max).floor().min(f64::from(attempts)) as u32;
        let limits = self.limits();
        // Of the limits that are reached, one into which no call fits is the better reason.
        let min = limits.iter().min_by_key(|limit| (fits(limit), limit.is_of_tenant, limit.max >= max));
        match min.map(|limit| (limit, fits(limit))) {
            Some((limit, 0)) => {
                let more = if limit.max < max { MORE_THAN_LIMIT } else { "" };
                let (limit, is_of_tenant) = (limit.line(), limit.is_of_tenant);
                Err(BudgetError::TooExpensive { limit, is_of_tenant, max, more })
            }
            min => {
                let attempts = min.map_or(attempts, |(_, fits)| fits);
                Ok(BudgetAllowance { attempts, max: max * f64::from(attempts) })
            }
        }
    }

    /// The limits in US dollars. Those of the tenant are last: the first one that is reached is the reason of a refusal,
    /// and one that holds for every tenant must not be mistaken for one of this tenant.
    fn limits(&self) -> Vec<Limit> {
        let limit = |name: &str, max: Option<f64>, spent| {
            max.map(|max| Limit { name: name.to_owned(), max, spent, is_of_tenant: false })
        };
        let of_tenant = self.budget.per_tenant.usd_per_day.map(|max| {
            let name = format!("the agent's `budget.per-tenant.max-usd-per-day` for {}", self.tenant_text());
            Limit { name, max, spent: self.tenant_day + self.run, is_of_tenant: true }
        });
        [
            limit("the agent's `budget.max-usd-per-run`", self.budget.usd_per_run, self.run),
            limit("the agent's `budget.max-usd-per-day`", self.budget.usd_per_day, self.day + self.run),
            limit(
                "`budget.max-usd-per-day` of config.toml",
                Some(self.all_agents_per_day),
                self.all_agents + self.run,
            ),
            of_tenant,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

struct Limit {
    name: String,
    max: f64,
    spent: f64,
    is_of_tenant: bool,
}

impl Limit {
    fn left(&self) -> f64 {
        self.max - self.spent
    }

    fn is_used_up(&self) -> bool {
        self.spent > 0.0 && self.left() <= 0.0
    }

    fn amount(&self) -> String {
        format!("{} is {},", self.name, dollars(self.max))
    }

    fn line(&self) -> String {
        format!("{} of which {} are spent", self.amount(), dollars(self.spent))
    }
}

fn dollars(amount: f64) -> String {
    format!("${amount:.4}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::TenantBudget;
    use proptest::prelude::*;

    fn budget_status(
        per_run: Option<f64>,
        per_day: Option<f64>,
        all_agents_per_day: f64,
    ) -> BudgetStatus<'static> {
        let per_tenant = TenantBudget::default();
        let budget = Budget { usd_per_run: per_run, usd_per_day: per_day, runs_per_day: 2, per_tenant };
        BudgetStatus { budget, all_agents_per_day, agent: "linker", ..BudgetStatus::default() }
    }

    #[test]
    fn free_calls_are_always_allowed() {
        let full = BudgetStatus { runs: 2, ..budget_status(None, None, 9.0) };
        insta::assert_snapshot!(full.refuses_a_run().unwrap(), @"`linker` ran 2 times today, and `budget.max-runs-per-day` is 2");
        assert_eq!(BudgetStatus { runs: 1, ..full }.refuses_a_run(), None);
        let spent = BudgetStatus { day: 1.0, all_agents: 1.0, ..budget_status(None, Some(1.0), 2.0) };
        assert_eq!(spent.refuses_a_run(), None, "a run of unknown cost may start");
        let free = Ok(BudgetAllowance { attempts: 4, max: 0.0 });
        assert_eq!(spent.allows(Some(0.0), 4), free);
        insta::assert_snapshot!(spent.allows(None, 4).unwrap_err(), @"the agent's `budget.max-usd-per-day` is $1.0000, of which $1.0000 are spent, and the cost of the call is unknown");
        // Free calls need no budget.
        let nothing = budget_status(Some(0.0), Some(0.0), 0.0);
        assert_eq!(nothing.allows(Some(0.0), 4), free);
        assert_eq!(nothing.allows(None, 4), free);
        insta::assert_snapshot!(nothing.allows(Some(0.01), 4).unwrap_err(), @"the agent's `budget.max-usd-per-run` is $0.0000, of which $0.0000 are spent, and the call may cost $0.0100, more than the whole budget: raise it, or lower `max-output-tokens` under `[calls]` in config.toml");
    }

    #[test]
    fn a_limit_that_is_less_than_a_call_is_told_from_one_that_is_used_up() {
        let refusal = |status: BudgetStatus<'_>| status.allows(Some(0.5), 1).unwrap_err().to_string();
        let small = BudgetStatus { day: 0.3, all_agents: 2.0, ..budget_status(None, Some(0.4), 2.0) };
        insta::assert_snapshot!(refusal(small), @"the agent's `budget.max-usd-per-day` is $0.4000, of which $0.3000 are spent, and the call may cost $0.5000, more than the whole budget: raise it, or lower `max-output-tokens` under `[calls]` in config.toml");
        // On another day, and after it was raised.
        assert!(BudgetStatus { day: 0.0, ..small }.is_less_than_a_call(&refusal(small)));
        assert!(!budget_status(None, Some(0.6), 2.0).is_less_than_a_call(&refusal(small)));
        let used_up = BudgetStatus { day: 0.3, all_agents: 0.3, ..budget_status(None, Some(0.7), 2.0) };
        assert!(!used_up.is_less_than_a_call(&refusal(used_up)));
    }

    poc_laws::laws! {
        /// However much each attempt costs, up to its maximum, no limit is exceeded.
        #[test]
        fn no_limit_is_exceeded(
            limits in proptest::array::uniform3(proptest::option::of(0.0..10.0f64)),
            all_agents in 0.0..10.0f64,
            for_tenant in 0.0..3.0f64,
            before in 0.0..5.0f64,
            others in 0.0..5.0f64,
            calls in proptest::collection::vec((0.0..2.0f64, 0.0..=1.0f64, 1..5u32), 0..20),
        ) {
            let mut budget_status = budget_status(limits[0], limits[1], all_agents);
            budget_status.budget.per_tenant.usd_per_day = limits[2];
            budget_status.tenant_day = for_tenant;
            (budget_status.day, budget_status.all_agents) = (for_tenant + before, for_tenant + before + others);
            for (max, share, attempts) in calls {
                let Ok(allowed) = budget_status.allows(Some(max), attempts) else { break };
                prop_assert!(allowed.attempts >= 1 && allowed.attempts <= attempts);
                budget_status.run += max * share * f64::from(allowed.attempts);
            }
            if budget_status.run > 0.0 {
                let holds = |max: Option<f64>, spent: f64| max.is_none_or(|max| spent <= max + 1e-9);
                prop_assert!(holds(limits[0], budget_status.run));
                prop_assert!(holds(limits[1], budget_status.day + budget_status.run));
                prop_assert!(holds(limits[2], for_tenant + budget_status.run));
                prop_assert!(holds(Some(all_agents), budget_status.all_agents + budget_status.run));
            }
        }
    }
}
