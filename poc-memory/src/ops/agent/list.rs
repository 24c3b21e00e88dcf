//! `agent list`

use crate::ops::text::{Problem, minute, problem, table};
use crate::ops::{Access, Ctx, Op, Route};
use poc_agent::ledger::{AgentState, Repeat};
use poc_agent::schedule::local_zone;
use poc_agent::{Entry, agenda, due, ledger, selection};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use poc_notes::freshness::{self, AsOf, Freshness};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The agents: how their files stand, when they run next, what became of their last run and how
/// much there is for them to do.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {}

/// The agents.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Agents {
    agents: Vec<Row>,
    /// What is wrong with the folder of agents as a whole.
    problems: Vec<String>,
    as_of: AsOf,
    /// Transactions the slowest index is behind.
    lag: u64,
    /// What makes the answer poorer than it should be.
    degraded: Vec<String>,
}

/// One agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) description: String,
    /// `ok`, `last-good` (the file is broken, its last good version goes on), `invalid`, `disabled`,
    /// `paused` or `on-demand`.
    pub(super) state: String,
    /// As written in the file.
    pub(super) schedule: Option<String>,
    /// When it is due next.
    pub(super) next: Option<Timestamp>,
    /// Since when it is running; absent when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) running: Option<Timestamp>,
    /// When its last run ended. What was skipped or missed is no run.
    pub(super) last: Option<Timestamp>,
    /// How that run ended.
    pub(super) last_status: Option<String>,
    /// Why and how long it rests; absent when it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) paused: Option<String>,
    /// That its last run failed and is repeated, and when; absent when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rerun: Option<String>,
    /// Nodes it would look at now.
    pub(super) stale: Option<usize>,
    /// The model it names.
    pub(super) model: Option<String>,
    /// What keeps it from running as its file says, in a line.
    pub(super) error: Option<String>,
    /// All that is wrong with its file.
    pub(super) errors: Vec<Problem>,
}

impl Op for List {
    const NAME: &'static str = "agent list";
    const ACCESS: Access = Access::Read;
    const TENANTS: bool = false;
    const ROUTE: Option<Route> = Route::get("/v1/agents");
    type Output = Agents;

    fn run(self, ctx: &Ctx<'_>) -> Result<Agents> {
        let catalog = ctx.host.catalog()?;
        let agents = catalog.agents.iter().map(|(name, entry)| row(ctx.memory, name, entry));
        let Freshness { as_of, lag, degraded } = freshness::of(ctx.memory, &ctx.memory.store.view());
        let (agents, problems) = (agents.collect::<Result<_>>()?, catalog.problems.clone());
        Ok(Agents { agents, problems, as_of, lag, degraded })
    }

    fn show(output: &Agents) -> String {
        let mut rows =
            vec![["AGENT", "STATE", "SCHEDULE", "NEXT", "LAST", "STALE"].map(String::from).to_vec()];
        for agent in &output.agents {
            let last = agent.last_status.as_ref().map_or_else(String::new, |status| format!(" {status}"));
            let broken = if agent.errors.is_empty() { "" } else { " !" };
            let running = if agent.running.is_some() { ", running" } else { "" };
            rows.push(vec![
                agent.name.clone(),
                format!("{}{broken}{running}", agent.state),
                agent.schedule.clone().unwrap_or_else(|| "-".into()),
                minute(agent.next),
                format!("{}{last}", minute(agent.last)),
                agent.stale.map_or_else(|| "-".into(), |stale| stale.to_string()),
            ]);
        }
        let mut text = table(&rows);
        for agent in &output.agents {
            if let Some(paused) = &agent.paused {
                text.push_str(&format!("\n{}: {paused}\n", agent.name));
            }
            if let Some(rerun) = &agent.rerun {
                text.push_str(&format!("\n{}: {rerun}\n", agent.name));
            }
            match (&agent.error, agent.errors.is_empty()) {
                (Some(error), true) => text.push_str(&format!("\n{}: {error}\n", agent.name)),
                (_, false) => {
                    text.push_str(&format!("\n{}:\n", agent.name));
                    text.extend(agent.errors.iter().map(problem));
                }
                (None, true) => {}
            }
        }
        text.extend(output.problems.iter().map(|problem| format!("\n{problem}\n")));
        text
    }
}

/// How an agent stands.
pub(super) fn row(memory: &Memory, name: &str, entry: &Entry) -> Result<Row> {
    let definition = entry.definition.as_deref();
    let (state, now) = (ledger::state(memory, name)?, memory.now());
    let (last, paused) = (state.last(), entry.paused(&state, now));
    let next = agenda::next(name, entry, &state, now, local_zone());
    let stale = definition.and_then(|definition| selection::backlog_at_hand(memory, definition));
    let model = definition.map(|definition| definition.execution.model.clone());
    // One that can be called is enough.
    let missing = || {
        let missing = |name| poc_models::missing(&memory.config, name);
        let all: Option<Vec<_>> = definition?.execution.models().map(missing).collect();
        all?.into_iter().next()
    };
    let first = entry.errors.first().map(Error::line);
    Ok(Row {
        name: name.to_owned(),
        description: definition.map_or_else(String::new, |definition| definition.description.clone()),
        state: entry.standing(paused.as_ref()).to_owned(),
        schedule: definition.map(|definition| definition.execution.schedule.to_string()),
        next,
        running: ledger::running_since(memory, name, &state)?,
        last: last.map(|last| last.ended),
        last_status: last.map(|last| last.status.name().to_owned()),
        rerun: paused.is_none().then(|| rerun(name, entry, &state)).flatten(),
        paused: paused.map(|paused| paused.line(name)),
        stale,
        error: first.or_else(missing),
        model,
        errors: entry.errors.iter().map(Problem::from).collect(),
    })
}

/// What there is to say about a failed run that is to be repeated.
fn rerun(name: &str, entry: &Entry, state: &AgentState) -> Option<String> {
    let definition = entry.definition.as_deref().filter(|definition| definition.enabled)?;
    let at = due::rerun(name, definition, entry.since, state)?;
    let Repeat { run, times, .. } = state.repeat()?;
    let most = definition.retry.rerun.len();
    Some(format!(
        "the run {run} failed and is repeated at {at}, unless a slot comes first ({} of {most})",
        times + 1
    ))
}
