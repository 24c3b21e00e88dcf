//! Calling the models of a run in order, within the budget.

use super::RunAttempt;
use super::end::RunEnd;
use crate::budget::{BudgetAllowance, BudgetError, BudgetStatus};
use crate::ledger::{self, BudgetDays, CallRecord, DaySpending, Run, Status, StatusReason};
use crate::model::{CallCost, CallError, Reply, Request};
use crate::reply;
use crate::schedule::{day, local_zone};
use poc_graph::error::Result;

/// Position of a run in its list of models.
#[derive(Default)]
pub(super) struct ModelCursor {
    index: usize,
    /// Errors of the models before it.
    errors: Vec<String>,
}

impl RunAttempt<'_> {
    /// The budget days of a run, in the time zones of the agent and the operator.
    fn days(&self, row: &Run) -> BudgetDays {
        let local = self.options.zone.unwrap_or_else(local_zone);
        BudgetDays {
            own: self.definition.budget_day(row.started, self.options.zone),
            all_agents: day(row.started, local),
        }
    }

    /// The budget limits and the spending according to the ledger.
    pub(super) fn budget_status(&self, row: &Run) -> Result<BudgetStatus<'_>> {
        Ok(self.budget_status_of(row, ledger::day_spending(self.memory, row, &self.days(row))?))
    }

    fn budget_status_of(
        &self,
        row: &Run,
        DaySpending { runs, day, all_agents, tenant_runs, tenant_day }: DaySpending,
    ) -> BudgetStatus<'_> {
        let RunAttempt { memory, definition, .. } = self;
        let all_agents_per_day = memory.config.budget.max_usd_per_day;
        let (budget, agent, run) = (definition.budget, definition.name.as_str(), row.cost.unwrap_or(0.0));
        let tenant = Some(memory.store.tuple());
        BudgetStatus {
            budget,
            all_agents_per_day,
            runs,
            day,
            all_agents,
            run,
            tenant_runs,
            tenant_day,
            agent,
            tenant,
        }
    }

    /// The attempts of a call that the budget allows, given the maximum cost of one attempt in US dollars. A
    /// positive cost is reserved.
    fn reserve_budget(
        &self,
        row: &mut Run,
        max: Option<f64>,
        attempts: u32,
    ) -> Result<BudgetAllowance, RunEnd> {
        let decide = |spending: DaySpending| -> Result<(BudgetAllowance, f64), BudgetError> {
            let budget_status = self.budget_status_of(row, spending);
            let allowed = budget_status.allows(max, attempts)?;
            Ok((allowed, budget_status.run + allowed.max))
        };
        let (memory, days) = (self.memory, self.days(row));
        let decided = match max.is_some_and(|max| max > 0.0) {
            true => ledger::reserve(memory, row, &days, decide)?,
            false => decide(ledger::day_spending(memory, row, &days)?).map(|(allowed, _)| allowed),
        };
        decided.map_err(|error| {
            row.is_over_tenant_budget = error.is_of_tenant();
            match row.calls.is_empty() {
                true => RunEnd::Skipped(StatusReason::OverBudget, Some(error.to_string())),
                false => RunEnd::Failed(Status::Failed, Some(StatusReason::OverBudget), error.to_string()),
            }
        })
    }

    /// Calls the models in order until one replies. Models that failed are not tried again in this run.
    pub(super) fn call(
        &self,
        row: &mut Run,
        cursor: &mut ModelCursor,
        request: &Request<'_>,
    ) -> Result<Reply, RunEnd> {
        while let Some((name, model)) = self.models.get(cursor.index) {
            row.model = (*name).to_owned();
            let suspended = model.suspension(request.now).filter(|_| self.unattended);
            let called = match suspended {
                Some(why) => Err(CallError::Down(why).into()),
                None => {
                    let allowed = self.reserve_budget(row, model.max_cost(request), request.attempts)?;
                    self.call_in_progress.replace(Some(allowed).filter(|allowed| allowed.max > 0.0).map(
                        |allowed| {
                            let (tokens_in, tokens_out, cost) = (None, None, Some(allowed.max));
                            CallRecord {
                                model: row.model.clone(),
                                tokens_in,
                                tokens_out,
                                cost,
                                estimated: true,
                            }
                        },
                    ));
                    model.call(&Request { attempts: allowed.attempts, ..*request })
                }
            };
            self.call_in_progress.take();
            let mut spent =
                called.as_ref().map_or_else(|failed| failed.spent.clone(), |reply| reply.spent.clone());
            if called.is_ok() && spent.is_empty() {
                // A reply counts as a call even when it is free.
                spent.push(CallCost::default());
            }
            for CallCost { tokens_in, tokens_out, cost, estimated } in spent {
                row.add_call(CallRecord { model: row.model.clone(), tokens_in, tokens_out, cost, estimated });
            }
            let error = match called {
                Ok(reply) => return Ok(reply),
                Err(failed) => failed.error,
            };
            let agent = &self.definition.name;
            cursor.errors.push(format!("`{name}`: {error}"));
            cursor.index += 1;
            if !error.allows_fallback() || cursor.index >= self.models.len() {
                let mut ending = RunEnd::from(error);
                if let (RunEnd::Failed(_, _, message), true) = (&mut ending, cursor.errors.len() > 1) {
                    *message = cursor.errors.join("; ");
                }
                return Err(ending);
            }
            tracing::info!(agent, "the model `{name}` failed, trying the next one: {error}");
            row.message = Some(reply::short(&format!("failed models: {}", cursor.errors.join("; "))));
        }
        Err(RunEnd::Failed(Status::Failed, None, "no model was called".to_owned()))
    }
}
