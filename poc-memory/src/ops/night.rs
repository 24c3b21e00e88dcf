//! `night`

use super::agent::DayBudget;
use super::growth;
use super::hit::is_zero;
use super::text::{dollars, minute, plural, reason_line};
use super::{Access, Ctx, Op, Route, TenantScope, Terminal, argument, tenancy};
use poc_agent::consolidation;
use poc_agent::created_notes::created_notes;
use poc_agent::ledger::{self, ActionState, Run, Status, StatusReason};
use poc_agent::{proposal, review};
use poc_graph::error::Result;
use poc_graph::time::{PastTime, Span, Timestamp};
use poc_graph::{RunId, cancellation};
use poc_notes::growth::Growth;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Period of the report, if none is given.
const PERIOD: PastTime = PastTime::Ago(Span::DAY);

/// Maximum number of actions of an agent in the text; JSON has all.
const SHOWN_ACTIONS: usize = 10;

/// Report what agents and scheduled consolidation did since yesterday: their changes with reasons, the cost,
/// the failures, and the decisions that wait for you. `undo RUN` reverts one run, and `undo --since TIME`
/// all of them.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Night {
    /// Start of the period: a time, or how long ago (`12h`) [default: 24h]
    #[arg(long, value_name = "TIME", value_parser = argument::past_time)]
    #[serde(default)]
    since: Option<PastTime>,
}

/// What agents and scheduled consolidation did in a period.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NightOutput {
    since: Timestamp,
    until: Timestamp,
    /// What each agent did, by agent name. Agents without runs are omitted.
    agents: BTreeMap<String, AgentNight>,
    /// The runs of scheduled consolidation, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    consolidation: Vec<ConsolidationRun>,
    /// Cost in US dollars of all calls whose model has a price.
    cost: f64,
    /// Whether some models did not report their usage, so that this is the most that the calls may have cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cost_at_most: bool,
    #[serde(flatten)]
    budget: DayBudget,
    /// By how much the memory of the default tenant has grown; absent if the history does not reach back that
    /// far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    growth: Option<Growth>,
    /// Proposals of any age that wait for a decision.
    waiting: Vec<WaitingProposals>,
}

/// The work of one agent in the period.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentNight {
    /// The runs that asked a model or had nothing to do, oldest first.
    runs: Vec<RunId>,
    /// How many notes it visited; a note counts once for each run.
    visited: usize,
    /// How many notes it visited of each tenant other than the default one, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tenants: BTreeMap<String, usize>,
    /// Its applied actions, including those that were undone since, oldest first.
    actions: Vec<NightAction>,
    /// Number of actions that wait for a decision.
    proposed: usize,
    /// Number of proposals that a person rejected.
    #[serde(default, skip_serializing_if = "is_zero")]
    rejected: usize,
    /// Number of proposals whose notes had changed when they were to be applied.
    #[serde(default, skip_serializing_if = "is_zero")]
    stale: usize,
    /// Number of actions that were refused by a check, such as the permit.
    refused: usize,
    /// Input and output tokens of its calls, as far as reported.
    tokens: u64,
    /// Cost of its calls in US dollars.
    cost: f64,
    /// Whether its model did not report the usage of some calls, so that this is the most that they may have cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cost_at_most: bool,
    failures: Vec<NightFailure>,
    /// Why its latest run found nothing to do, and what would help; absent if it found something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nothing: Option<String>,
    /// Number of slots that were not run, by reason, without those that found nothing to do.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    skipped: BTreeMap<String, usize>,
}

/// An applied action.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct NightAction {
    run: RunId,
    /// The tenant whose notes it changed, as `user=ann`; absent for the default tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    /// Its number in the run, from 1, which `agent undo --only` takes.
    number: usize,
    /// The action as text.
    action: String,
    /// The key of the note that it created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    /// The model's reason.
    why: String,
    /// Whether it was undone.
    undone: bool,
    /// The number of the change that undid it, which `undo` takes to bring it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo: Option<u64>,
}

/// A run that failed or was reverted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct NightFailure {
    run: RunId,
    /// The tenant whose notes it worked on, as `user=ann`; absent for the default tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    at: Timestamp,
    /// `failed`, `timed-out`, `interrupted` or `reverted`.
    status: Status,
    message: String,
}

/// A run of scheduled consolidation, or a slot that was not run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ConsolidationRun {
    run: RunId,
    at: Timestamp,
    /// How it ended; `noop` when there was nothing to do.
    status: Status,
    /// What the run did, or why it did not run.
    message: String,
}

/// The proposals of a run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct WaitingProposals {
    run: RunId,
    agent: String,
    /// The tenant of their notes, as `user=ann`; absent for the default tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    /// Number of proposals of the run that wait for a decision.
    count: usize,
    /// How many of the proposals can no longer be applied because their notes have changed since.
    #[serde(default, skip_serializing_if = "is_zero")]
    stale: usize,
}

impl Op for Night {
    const NAME: &'static str = "night";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/night");
    const NAMES_COMMANDS: bool = true;
    type Output = NightOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<NightOutput> {
        let until = ctx.memory.now();
        let since = growth::start(self.since.unwrap_or(PERIOD), until)?;
        let mut agents: BTreeMap<String, AgentNight> = BTreeMap::new();
        let mut consolidation = Vec::new();
        for run in ledger::rows_since(ctx.memory, since)? {
            cancellation::check()?;
            let run = ledger::with_current_status(ctx.memory, run);
            if run.agent == consolidation::NAME {
                consolidation.push(ConsolidationRun::of(run));
            } else {
                let created = created_notes(ctx.memory, &run)?;
                agents.entry(run.agent.clone()).or_default().add(&run, &created);
            }
        }
        let mut waiting: Vec<WaitingProposals> = Vec::new();
        for proposal in proposal::proposals(ctx.memory, None)? {
            let memory = ctx.memory.of(&proposal.tenant);
            let outdated = review::outdated_reason(&memory, &memory.store, &memory.store.view(), &proposal)?;
            let outdated = usize::from(outdated.is_some());
            match waiting.iter_mut().find(|waiting| waiting.run == proposal.run) {
                Some(waiting) => {
                    waiting.count += 1;
                    waiting.stale += outdated;
                }
                None => waiting.push(WaitingProposals {
                    run: proposal.run,
                    agent: proposal.agent,
                    tenant: tenancy::name(&proposal.tenant),
                    count: 1,
                    stale: outdated,
                }),
            }
        }
        // The sum of no numbers is -0.0, which JSON would show.
        let cost = agents.values().fold(0.0, |sum, agent| sum + agent.cost);
        let cost_at_most = agents.values().any(|agent| agent.cost_at_most);
        let budget = DayBudget::of(ctx)?;
        let growth = poc_notes::growth::since(ctx.memory, since)?;
        Ok(NightOutput { since, until, agents, consolidation, cost, cost_at_most, budget, growth, waiting })
    }

    fn show(output: &NightOutput, _: &Terminal) -> String {
        let actions = || output.agents.values().flat_map(|agent| &agent.actions);
        let undone = match (actions().filter(|action| action.undone).count(), actions().count()) {
            (0, _) => String::new(),
            (1, 1) => " (undone)".to_owned(),
            (undone, all) if undone == all => " (all undone)".to_owned(),
            (undone, _) => format!(" ({undone} undone)"),
        };
        let cost = match output.cost > 0.0 {
            true => format!(", {}", dollars(output.cost, output.cost_at_most)),
            false => String::new(),
        };
        let grown =
            output.growth.as_ref().map_or_else(String::new, |grown| format!(", {}", growth::line(grown)));
        let mut text = format!(
            "since {}: {} ran, {}{undone}{grown}{cost}\n",
            minute(Some(output.since)),
            plural(output.agents.len() as u64, "agent"),
            plural(actions().count() as u64, "change")
        );
        text.extend(output.budget.budget_warning.iter().map(|warning| format!("{warning}\n")));
        for (name, agent) in &output.agents {
            text.push('\n');
            agent.write_to(&mut text, name);
        }
        if !output.consolidation.is_empty() {
            text.push_str("\nconsolidation\n");
        }
        for ConsolidationRun { at, status, message, .. } in &output.consolidation {
            let _ = writeln!(text, "  {} at {}: {message}", status.name(), minute(Some(*at)));
        }
        if !output.waiting.is_empty() {
            text.push_str("\nwaiting for your decision\n");
        }
        for WaitingProposals { run, agent, tenant, count, stale } in &output.waiting {
            let too_late = if *stale > 0 { format!(", {stale} too late to apply") } else { String::new() };
            let proposals = format!("{}{too_late}", plural(*count as u64, "proposal"));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "  {agent}{}: {proposals}: `poc-memory agent review {run}`",
                for_tenant(tenant)
            );
        }
        text
    }
}

/// ` for user=ann`, or nothing for the default tenant.
fn for_tenant(tenant: &Option<String>) -> String {
    tenant.as_ref().map_or_else(String::new, |tenant| format!(" for {tenant}"))
}

impl ConsolidationRun {
    fn of(run: Run) -> ConsolidationRun {
        let reason = run.reason.map_or("", StatusReason::meaning);
        ConsolidationRun {
            run: run.id,
            at: run.started,
            status: run.status,
            message: run.message.unwrap_or_else(|| reason.to_owned()),
        }
    }
}

impl AgentNight {
    /// Adds a run. `created` has the keys of the notes that its actions created, by the index of the action.
    fn add(&mut self, run: &Run, created: &BTreeMap<usize, String>) {
        let nothing_to_do = matches!(run.reason, Some(StatusReason::NotStale | StatusReason::TooFewResults));
        if matches!(run.status, Status::Skipped | Status::Missed) && !nothing_to_do {
            let reason = run.reason.map_or_else(|| run.status.name(), StatusReason::name);
            *self.skipped.entry(reason.to_owned()).or_default() += 1;
            return;
        }
        self.nothing = run.message.clone().filter(|_| nothing_to_do);
        self.runs.push(run.id);
        self.visited += run.visited.len();
        if let Some(tenant) = tenancy::name(&run.tenant) {
            *self.tenants.entry(tenant).or_default() += run.visited.len();
        }
        self.tokens = self.tokens.saturating_add(run.tokens_in.unwrap_or(0) + run.tokens_out.unwrap_or(0));
        self.cost += run.cost.unwrap_or(0.0);
        self.cost_at_most |= run.is_cost_at_most();
        self.refused += run.left_out as usize;
        for (index, action) in run.actions.iter().enumerate() {
            match action.state {
                ActionState::Proposed => self.proposed += 1,
                ActionState::Refused => self.refused += 1,
                ActionState::Applied | ActionState::Undone => self.actions.push(NightAction {
                    run: run.id,
                    tenant: tenancy::name(&run.tenant),
                    number: index + 1,
                    action: action.summary.clone(),
                    created: created.get(&index).cloned(),
                    why: action.why.clone(),
                    undone: action.is_undone(),
                    undo: action.seq.filter(|_| action.is_undone()),
                }),
                ActionState::Rejected => self.rejected += 1,
                ActionState::Outdated => self.stale += 1,
            }
        }
        if matches!(run.status, Status::Failed | Status::TimedOut | Status::Interrupted | Status::Reverted) {
            self.failures.push(NightFailure {
                run: run.id,
                tenant: tenancy::name(&run.tenant),
                at: run.started,
                status: run.status,
                message: run.message.clone().unwrap_or_default(),
            });
        }
    }

    /// The number of proposals and, if some are decided, how; nothing if there are none. Approved ones are changes.
    fn proposals(&self) -> Option<String> {
        let all = self.proposed + self.rejected + self.stale;
        let of = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let decided = [of(self.rejected, "rejected"), of(self.stale, "too late")];
        let parts: Vec<String> =
            [of(self.proposed, "waiting")].into_iter().chain(decided).flatten().collect();
        match all {
            0 => None,
            _ if all == self.proposed => Some(format!("{all} proposed")),
            _ => Some(format!("{all} proposed ({})", parts.join(", "))),
        }
    }

    /// Adds the section of the agent to the text. Writing to a string cannot fail.
    fn write_to(&self, text: &mut String, name: &str) {
        let mut parts = vec![format!(
            "{} visited {}",
            plural(self.runs.len() as u64, "run"),
            plural(self.visited as u64, "note")
        )];
        if !self.tenants.is_empty() {
            let tenants: Vec<String> =
                self.tenants.iter().map(|(name, visited)| format!("{visited} of {name}")).collect();
            parts.push(tenants.join(", "));
        }
        parts.extend(self.proposals());
        if self.refused > 0 {
            parts.push(format!("{} refused", self.refused));
        }
        if self.cost > 0.0 {
            parts.push(dollars(self.cost, self.cost_at_most));
        }
        let _ = writeln!(text, "{name}: {}", parts.join(", "));
        for action in self.actions.iter().take(SHOWN_ACTIONS) {
            let undone = if action.undone { " (undone)" } else { "" };
            let why =
                if action.why.is_empty() { String::new() } else { format!(": {}", reason_line(&action.why)) };
            let _ = writeln!(text, "  {}{}{undone}{why}", action.action, for_tenant(&action.tenant));
        }
        if self.actions.len() > SHOWN_ACTIONS {
            let more = self.actions.len() - SHOWN_ACTIONS;
            let _ = writeln!(text, "  … and {more} more: `poc-memory agent history {name}` lists the runs");
        }
        for NightFailure { run, tenant, at, status, message } in &self.failures {
            let (status, at) = (status.name(), minute(Some(*at)));
            let _ = writeln!(text, "  {status} at {at}{}: {message} (run {run})", for_tenant(tenant));
        }
        if let Some(why) = &self.nothing {
            let _ = writeln!(text, "  nothing to do: {why}");
        }
        for (reason, count) in &self.skipped {
            let _ = writeln!(text, "  not run: {reason} ({})", plural(*count as u64, "slot"));
        }
    }
}
