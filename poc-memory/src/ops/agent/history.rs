//! `agent history`

use crate::ops::text::{dollars, minute};
use crate::ops::wrapped_table::wrapped_table;
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal, argument, tenancy};
use poc_agent::consolidation;
use poc_agent::ledger::{self, ActionState, Run, Status, StatusReason};
use poc_graph::RunId;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Number of runs listed by default.
const DEFAULT_LIMIT: usize = 20;

/// Maximum number of runs listed.
const MAX_LIMIT: usize = 10_000;

/// List past runs, newest first, including skipped ones with the reason. `consolidate` names the runs of scheduled
/// consolidation.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentHistory {
    /// Name of the agent; if omitted, all agents
    #[serde(default)]
    agent: Option<String>,
    /// How many runs, at most 10,000 [default: 20]
    #[arg(long, short = 'n', value_name = "N")]
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    limit: Option<usize>,
    /// List only runs with one of these statuses
    #[arg(
        long,
        value_name = "STATUS",
        value_parser = argument::status(),
        help = "List only runs with this status; repeat it for more"
    )]
    #[serde(default)]
    status: Vec<Status>,
    /// List only runs with proposals that wait for a decision
    #[arg(long)]
    #[serde(default)]
    waiting: bool,
}

/// The past runs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentHistoryOutput {
    runs: Vec<RunRow>,
}

/// A past run, or a slot that was skipped or missed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct RunRow {
    run: RunId,
    agent: String,
    /// The tenant whose notes it worked on, as `user=ann`; absent for the default tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    /// What triggered it: `asked`, `schedule`, `batch` (a scheduled run left stale notes), `rerun` (an earlier run had
    /// failed) or `change`.
    #[serde(rename = "occasion")]
    trigger: String,
    /// The time of the scheduled slot, or when the run was due; absent for a manual run.
    scheduled_at: Option<Timestamp>,
    /// The failed run that it repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rerun_of: Option<RunId>,
    started: Timestamp,
    finished: Option<Timestamp>,
    /// How it ended, or `running`.
    status: Status,
    reason: Option<StatusReason>,
    message: Option<String>,
    /// Values of the parameters of its pipeline.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    set: BTreeMap<String, String>,
    /// Number of applied actions.
    applied: usize,
    /// Number of refused actions.
    #[serde(rename = "rejected")]
    refused: usize,
    /// Number of actions that wait for approval.
    proposed: usize,
    /// Number of applied actions that were undone later.
    undone: usize,
    model: String,
    /// Input tokens of all calls; absent if not reported.
    tokens_in: Option<u64>,
    /// Output tokens of all calls; absent if not reported.
    tokens_out: Option<u64>,
    /// Cost of all calls in US dollars; absent if unknown.
    cost: Option<f64>,
    /// Whether `cost` is an estimate because a model did not report its usage.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cost_at_most: bool,
}

impl Op for AgentHistory {
    const NAME: &'static str = "agent history";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/runs");
    type Output = AgentHistoryOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentHistoryOutput> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Error::invalid(format!("{limit} is out of range"))
                .hint(format!("give a number from 1 to {MAX_LIMIT}"))
                .field("limit"));
        }
        let statuses = if self.status.is_empty() { &Status::ALL[..] } else { &self.status };
        let most = if self.waiting { usize::MAX } else { limit };
        let mut runs = ledger::rows_with_status(ctx.memory, self.agent.as_deref(), statuses, most)?;
        if self.waiting {
            runs.retain(|run| count(run, ActionState::Proposed) > 0);
        }
        let agent = self.agent.as_ref().filter(|agent| *agent != consolidation::NAME);
        if let (Some(agent), true) = (agent, runs.is_empty()) {
            // An unknown name is an error; an agent without runs is not.
            ctx.host.catalog()?.entry(agent)?;
        }
        runs.truncate(limit);
        Ok(AgentHistoryOutput { runs: runs.into_iter().map(|run| row(ctx.memory, run)).collect() })
    }

    fn show(output: &AgentHistoryOutput, terminal: &Terminal) -> String {
        if output.runs.is_empty() {
            return "no runs yet\n".to_owned();
        }
        let mut rows =
            vec![["RUN", "AGENT", "STARTED", "STATUS", "ACTIONS", "TOKENS"].map(String::from).to_vec()];
        // Columns without any entry are omitted.
        let tenants = output.runs.iter().any(|run| run.tenant.is_some());
        if let Some(head) = rows.first_mut().filter(|_| tenants) {
            head.insert(2, "TENANT".to_owned());
        }
        let costs = output.runs.iter().any(|run| run.cost.is_some_and(|cost| cost > 0.0));
        if let Some(head) = rows.first_mut().filter(|_| costs) {
            head.push("COST".to_owned());
        }
        let short: BTreeSet<String> = output.runs.iter().map(|run| run.run.short()).collect();
        let are_unique = short.len() == output.runs.len();
        for run in &output.runs {
            let reason = run.reason.map_or_else(String::new, |reason| format!(" ({})", reason.name()));
            let again = if run.rerun_of.is_some() { ", again" } else { "" };
            let refused = if run.refused == 0 { String::new() } else { format!(" -{}", run.refused) };
            let proposed = if run.proposed == 0 { String::new() } else { format!(" ?{}", run.proposed) };
            let undone = if run.undone == 0 { String::new() } else { format!(" undone {}", run.undone) };
            let tokens = match (run.tokens_in, run.tokens_out) {
                (None, None) => "-".to_owned(),
                (read, written) => format!("{}+{}", read.unwrap_or(0), written.unwrap_or(0)),
            };
            let cost = run.cost.map_or_else(|| "-".to_owned(), |cost| dollars(cost, run.cost_at_most));
            let mut row = vec![
                if are_unique { run.run.short() } else { run.run.to_string() },
                run.agent.clone(),
                minute(Some(run.started)),
                format!("{}{reason}{again}", run.status.name()),
                format!("+{}{refused}{proposed}{undone}", run.applied),
                tokens,
            ];
            row.extend(costs.then_some(cost));
            if tenants {
                row.insert(2, run.tenant.clone().unwrap_or_else(|| "-".to_owned()));
            }
            rows.push(row);
        }
        wrapped_table(terminal, &rows)
    }
}

fn count(run: &Run, state: ActionState) -> usize {
    run.actions.iter().filter(|action| action.state == state).count()
}

pub(super) fn row(memory: &Memory, run: Run) -> RunRow {
    let run = ledger::with_current_status(memory, run);
    let applied = run.applied_actions().count();
    RunRow {
        run: run.id,
        tenant: tenancy::name(&run.tenant),
        trigger: run.trigger.name().to_owned(),
        scheduled_at: run.scheduled_at,
        rerun_of: run.rerun_of,
        started: run.started,
        finished: run.finished,
        status: run.status,
        reason: run.reason,
        cost_at_most: run.is_cost_at_most(),
        applied,
        refused: count(&run, ActionState::Refused) + run.left_out as usize,
        proposed: count(&run, ActionState::Proposed),
        undone: run.applied_actions().filter(|action| action.is_undone()).count(),
        agent: run.agent,
        message: run.message,
        set: run.set,
        model: run.model,
        tokens_in: run.tokens_in,
        tokens_out: run.tokens_out,
        cost: run.cost,
    }
}

impl RunRow {
    /// The run as one line, without the agent's name.
    pub(super) fn line(&self) -> String {
        let reason = self.reason.map_or_else(String::new, |reason| format!(" ({})", reason.name()));
        let again = if self.rerun_of.is_some() { ", again" } else { "" };
        let cost =
            self.cost.map_or_else(String::new, |cost| format!(", {}", dollars(cost, self.cost_at_most)));
        let message = self.message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
        let tenant = self.tenant.as_ref().map_or_else(String::new, |tenant| format!(" for {tenant}"));
        let started = minute(Some(self.started));
        format!("{started} {}{tenant}{reason}{again}{cost}{message}", self.status.name())
    }
}
