//! `agent list`

use super::DayBudget;
use crate::ops::text::{diagnostic_text, minute};
use crate::ops::wrapped_table::wrapped_table;
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::consolidation::{self, ScheduledConsolidation};
use poc_agent::ledger::{AgentState, PendingRerun, Spending, Status};
use poc_agent::schedule::{day, local_zone};
use poc_agent::{AgentStatus, CatalogEntry, Definition, due_slots, ledger, scheduler, tenant_rotation};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use poc_notes::answer_status::{self, AnswerStatus, AsOf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// List the agents: the state of their files, when they run next, how their last run ended, and how many
/// notes wait for them. The last line, `consolidate`, is not an agent: the daemon runs it by schedule.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentList {}

/// The agents.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentListOutput {
    agents: Vec<AgentRow>,
    /// The consolidation that the daemon runs by schedule. It is not an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    consolidation: Option<ConsolidationRow>,
    #[serde(flatten)]
    budget: DayBudget,
    /// Problems of the agents folder as a whole.
    problems: Vec<String>,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// The state of one agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct AgentRow {
    pub(super) name: String,
    pub(super) description: String,
    /// State of the agent.
    pub(super) state: AgentStatus,
    /// The schedule as written in the file; absent if the file was never valid.
    pub(super) schedule: Option<String>,
    /// When it is due next.
    pub(super) next: Option<Timestamp>,
    /// When the current run started; absent if none is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) running: Option<Timestamp>,
    /// When its last run ended. Skipped and missed slots do not count.
    pub(super) last: Option<Timestamp>,
    /// The status of that run.
    pub(super) last_status: Option<Status>,
    /// Why and how long it is paused; absent if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) paused: Option<String>,
    /// When its last, failed run is repeated; absent if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rerun: Option<String>,
    /// Number of notes of all tenants that it would process now; absent if that needs a search.
    pub(super) stale: Option<usize>,
    /// Cost in US dollars of its runs of today, including the maximum cost of running calls. The day is that
    /// of the agent's own time zone, or of the machine.
    pub(super) usd_today: f64,
    /// Cost in US dollars of all its runs, as far as known.
    pub(super) usd_total: f64,
    /// Name of its model in the settings.
    pub(super) model: Option<String>,
    /// What keeps it from running, in one line.
    pub(super) error: Option<String>,
    /// All errors in its file.
    pub(super) errors: Vec<FileDiagnostic>,
}

/// Scheduled consolidation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ConsolidationRow {
    name: String,
    description: String,
    /// `[consolidate] schedule`; `on-demand` if the daemon never runs it.
    schedule: String,
    /// When it is due next.
    next: Option<Timestamp>,
    /// When the current run started; absent if none is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    running: Option<Timestamp>,
    /// When its last scheduled run ended. Skipped and missed slots do not count.
    last: Option<Timestamp>,
    /// The status of that run.
    last_status: Option<Status>,
}

impl ConsolidationRow {
    fn of(memory: &Memory, task: &ScheduledConsolidation) -> Result<ConsolidationRow> {
        let state = ledger::state(memory, consolidation::NAME)?;
        let last = state.last();
        Ok(ConsolidationRow {
            name: consolidation::NAME.to_owned(),
            description: consolidation::DESCRIPTION.to_owned(),
            schedule: task.schedule.to_string(),
            next: scheduler::next_consolidation(memory, task, local_zone()),
            running: ledger::current_run(memory, consolidation::NAME, &state)?.map(|run| run.started),
            last: last.map(|last| last.ended),
            last_status: last.map(|last| last.status),
        })
    }
}

impl Op for AgentList {
    const NAME: &'static str = "agent list";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/agents");
    const NAMES_COMMANDS: bool = true;
    type Output = AgentListOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentListOutput> {
        let catalog = ctx.host.catalog()?;
        let agents = catalog.agents.iter().map(|(name, entry)| row(ctx, name, entry));
        let AnswerStatus { as_of, lag, degraded } = answer_status::of(ctx.memory, &ctx.memory.store.view());
        let (agents, problems) = (agents.collect::<Result<_>>()?, catalog.problems.clone());
        let consolidation = catalog.consolidation.as_ref();
        let consolidation = consolidation.map(|task| ConsolidationRow::of(ctx.memory, task)).transpose()?;
        let budget = DayBudget::of(ctx)?;
        Ok(AgentListOutput { agents, consolidation, budget, problems, as_of, lag, degraded })
    }

    fn show(output: &AgentListOutput, terminal: &Terminal) -> String {
        let mut rows =
            vec![["AGENT", "STATE", "SCHEDULE", "NEXT", "LAST", "STALE"].map(String::from).to_vec()];
        let last = |at, status: Option<Status>| {
            let status = status.map_or_else(String::new, |status| format!(" {}", status.name()));
            format!("{}{status}", minute(at))
        };
        for agent in &output.agents {
            let broken = if agent.errors.is_empty() { "" } else { " !" };
            let running = if agent.running.is_some() { ", running" } else { "" };
            rows.push(vec![
                agent.name.clone(),
                format!("{}{broken}{running}", agent.state.name()),
                agent.schedule.clone().unwrap_or_else(|| "-".into()),
                minute(agent.next),
                last(agent.last, agent.last_status),
                agent.stale.map_or_else(|| "-".into(), |stale| stale.to_string()),
            ]);
        }
        if let Some(task) = &output.consolidation {
            let running = if task.running.is_some() { ", running" } else { "" };
            rows.push(vec![
                task.name.clone(),
                format!("scheduled{running}"),
                task.schedule.clone(),
                minute(task.next),
                last(task.last, task.last_status),
                "-".to_owned(),
            ]);
        }
        let mut text = wrapped_table(terminal, &rows);
        // Agents of one model are often blocked for the same reason.
        let mut errors: Vec<(&str, Vec<&str>)> = Vec::new();
        for agent in &output.agents {
            if let Some(paused) = &agent.paused {
                text.push_str(&format!("\n{}: {paused}\n", agent.name));
            }
            if let Some(rerun) = &agent.rerun {
                text.push_str(&format!("\n{}: {rerun}\n", agent.name));
            }
            match (&agent.error, agent.errors.is_empty()) {
                (Some(error), true) => match errors.iter_mut().find(|(known, _)| known == error) {
                    Some((_, agents)) => agents.push(&agent.name),
                    None => errors.push((error.as_str(), vec![agent.name.as_str()])),
                },
                (_, false) => {
                    text.push_str(&format!("\n{}:\n", agent.name));
                    text.extend(agent.errors.iter().map(diagnostic_text));
                }
                (None, true) => {}
            }
        }
        let shared = errors.iter().map(|(error, agents)| format!("\n{}: {error}\n", agents.join(", ")));
        text.extend(shared);
        let problems = output.problems.iter().chain(&output.budget.budget_warning);
        text.extend(problems.map(|problem| format!("\n{problem}\n")));
        text
    }
}

/// The row of an agent, from its file and its state in the ledger.
pub(super) fn row(ctx: &Ctx<'_>, name: &str, entry: &CatalogEntry) -> Result<AgentRow> {
    let (memory, definition) = (ctx.memory, entry.definition.as_deref());
    let (state, now) = (ledger::state(memory, name)?, memory.now());
    let (last, paused) = (state.last(), entry.paused(&state, now));
    let next = scheduler::next(memory, name, entry, &state, local_zone());
    let backlog = |definition| tenant_rotation::backlog_of_scan(memory, definition);
    let stale = definition.map(backlog).transpose()?.flatten();
    let model = definition.map(|definition| definition.execution.model.clone());
    let obstacle = entry.obstacle(&memory.config, &ctx.host.models(), now);
    let first = entry.errors.first().map(FileDiagnostic::line);
    Ok(AgentRow {
        name: name.to_owned(),
        description: definition.map_or_else(String::new, |definition| definition.description.clone()),
        state: entry.status(paused.as_ref(), obstacle.as_deref()),
        schedule: definition.map(|definition| definition.execution.schedule.to_string()),
        next,
        running: ledger::current_run(memory, name, &state)?.map(|run| run.started),
        last: last.map(|last| last.ended),
        last_status: last.map(|last| last.status),
        rerun: paused.is_none().then(|| rerun(name, entry, &state)).flatten(),
        paused: paused.map(|paused| paused.line(name)),
        stale,
        usd_today: spent_today(memory, definition, &state).cost
            + ledger::reserved_by(memory, name, &today(memory, definition))?,
        usd_total: state.totals().cost,
        error: first.or(obstacle),
        model,
        errors: entry.errors.clone(),
    })
}

/// The current day of the machine, or of the agent's own time zone.
fn today(memory: &Memory, definition: Option<&Definition>) -> Range<Timestamp> {
    let zone = definition.and_then(|definition| definition.schedule.timezone).unwrap_or_else(local_zone);
    day(memory.now(), zone)
}

/// The spending of an agent today, without the calls in progress. The day is that of the machine, or of the agent's own
/// time zone.
pub(in crate::ops) fn spent_today(
    memory: &Memory,
    definition: Option<&Definition>,
    state: &AgentState,
) -> Spending {
    let today = today(memory, definition);
    state.spending_between(today.start, today.end)
}

/// A sentence about a failed run that will be repeated.
fn rerun(name: &str, entry: &CatalogEntry, state: &AgentState) -> Option<String> {
    let definition = entry.definition.as_deref().filter(|definition| definition.enabled)?;
    let at = due_slots::rerun_at(name, definition, entry.since, state)?;
    let PendingRerun { run, times, .. } = state.pending_rerun()?;
    let max = definition.retry.rerun.len();
    Some(format!(
        "the run {run} failed and is repeated at {}, unless a slot comes first ({} of {max})",
        minute(Some(at)),
        times + 1
    ))
}
