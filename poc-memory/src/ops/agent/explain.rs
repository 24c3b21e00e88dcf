//! `agent explain`

mod text;

use super::history::{self, RunRow};
use super::list::{self, AgentRow};
use crate::ops::text::{minute, plural};
use crate::ops::{Access, Ctx, Op, Route, Terminal};
use poc_agent::definition::TenantBudget;
use poc_agent::ledger::{self, AgentState, StatusReason};
use poc_agent::run::{self, RunOptions};
use poc_agent::tenant_rotation::{self, TenantsWithNotes};
use poc_agent::{CatalogEntry, Definition, due_slots, selection};
use poc_graph::error::Result;
use poc_notes::Memory;
use poc_search::query::{Explanation, Pipeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of past runs that are listed.
const PAST_RUNS: usize = 5;

/// The reason code if the store accepts no writes. No run could be recorded, so it is the reason of no run.
const READ_ONLY: &str = "read-only";

/// The reason code if the schedule is for other tenants. There is no run for this tenant, so it is the reason of no
/// run.
const OTHER_TENANTS: &str = "other-tenants";

/// Explain whether an agent would run now on the notes of one tenant, and if not, why. Shows its schedule,
/// the results of each stage of its pipeline, the stale notes, its permit, the cost of a run, and the outcome
/// of the last runs. Nothing is written and no model is called.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentExplain {
    /// Name of the agent
    agent: String,
}

/// Whether an agent would run, and what it would do.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentExplainOutput {
    agent: AgentRow,
    /// Whether it would run if a slot were due now.
    would_run: bool,
    /// The reasons why it would not run now; empty if it would.
    obstacles: Vec<Obstacle>,
    /// The tenants that its schedule is for; absent if its file is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenants: Option<ScheduledTenants>,
    /// The results of its pipeline; absent if its file or pipeline is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finds: Option<SelectionSummary>,
    /// What the agent may do; absent if its file is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    may: Option<PermitSummary>,
    /// The estimated cost of a run and the budgets; absent if its file is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    costs: Option<CostEstimate>,
    /// Number of consecutive failed runs up to now; `agent resume` resets it.
    failures: u32,
    /// Number of consecutive failures that pauses the agent; 0 means never.
    pause_after: u32,
    /// The last runs, newest first, including skipped ones.
    past: Vec<RunRow>,
}

/// A reason for which the agent would not run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Obstacle {
    /// The reason code of a skipped run: `paused`, `not-stale`, `over-budget` …; or `read-only` if the store accepts no
    /// writes, or `other-tenants` if its schedule is for other tenants.
    reason: String,
    /// The obstacle as text.
    why: String,
}

/// The tenants that the schedule of the agent is for.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ScheduledTenants {
    /// Patterns for their names; `all` means every tenant.
    patterns: Vec<String>,
    /// Number of tenants with notes that match. Only set for a request without a tenant: tenants learn nothing about
    /// each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    matching: Option<usize>,
    /// Number of all tenants with notes. Only set for a request without a tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    with_notes: Option<usize>,
}

/// The results of the agent's pipeline, counted by freshness.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SelectionSummary {
    pipeline: String,
    stages: Explanation,
    /// Number of notes that the pipeline returns.
    results: usize,
    /// Results that no agent is shown: notes that are not live or are quarantined.
    kept_away: usize,
    /// Results that the agent has never visited.
    never: usize,
    /// Results edited since the agent's last visit.
    changed: usize,
    /// Results whose last visit is older than the window.
    old: usize,
    /// Results visited within the window, which count as fresh.
    fresh: usize,
    /// How long a visit keeps a note fresh; if absent, until the note changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<String>,
    /// A run is skipped if there are fewer results.
    min_results: usize,
    /// A run is skipped if there are fewer stale notes.
    min_stale: usize,
    /// Maximum number of notes in one run.
    max_results: usize,
}

/// The actions that the permit allows, and their limits.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct PermitSummary {
    mode: String,
    /// Maximum number of actions of all kinds in one run.
    max_actions: usize,
    actions: Vec<ActionLimit>,
    /// Filters of protected notes, which are never superseded.
    protect: Vec<String>,
    /// Number of protected notes in the next prompt.
    protected: usize,
}

/// An action that the permit allows.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ActionLimit {
    action: String,
    /// Maximum number of these actions in one run.
    max: usize,
    /// Whether it needs a person's approval.
    proposed: bool,
}

/// The estimated cost of a run, with the budgets and the spending of today.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct CostEstimate {
    /// The models, in the order in which they are tried.
    models: Vec<ModelRow>,
    /// Number of notes in the next prompt.
    notes: usize,
    /// Number of notes that are truncated in the prompt and therefore do not count as visited.
    cut: usize,
    /// Estimated tokens of the next prompt, at four characters per token.
    tokens: usize,
    /// Maximum cost in US dollars of one attempt of the first call; absent if free or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    most_usd: Option<f64>,
    /// Runs of the agent that began today.
    runs_today: u32,
    /// Maximum number of runs per day; 0 means unlimited.
    max_runs_per_day: u32,
    /// Cost in US dollars of the agent's runs of today.
    usd_today: f64,
    /// Budget in US dollars for one run; absent if unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_usd_per_run: Option<f64>,
    /// Budget in US dollars for all runs of one day; absent if unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_usd_per_day: Option<f64>,
    /// The budget of each tenant, and what today's runs for this tenant used of it; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_tenant: Option<TenantCosts>,
    /// Cost in US dollars of today's runs of all agents.
    usd_today_of_all: f64,
    /// Budget in US dollars for one day of all agents together: `[budget] max-usd-per-day`.
    max_usd_per_day_of_all: f64,
}

/// The budget that an agent has for each tenant, and today's spending for one.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct TenantCosts {
    /// Name of the tenant.
    tenant: String,
    /// Runs for the tenant that began today, counting each batch.
    runs_today: u32,
    /// Maximum number of these runs per day; absent if unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_runs_per_day: Option<u32>,
    /// Cost in US dollars of these runs.
    usd_today: f64,
    /// Budget in US dollars for all runs of one day for one tenant; absent if unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_usd_per_day: Option<f64>,
}

/// A model that the agent names.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ModelRow {
    name: String,
    /// Prices in US dollars per million tokens: input, output; absent if not configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prices: Option<(f64, f64)>,
    /// Why the model cannot be called and how to fix it; absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

impl Op for AgentExplain {
    const NAME: &'static str = "agent explain";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/agents/{agent}/explain");
    type Output = AgentExplainOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentExplainOutput> {
        let catalog = ctx.host.catalog()?;
        let entry = catalog.entry(&self.agent)?;
        let (memory, name) = (ctx.memory, &self.agent);
        let state = ledger::state(memory, name)?;
        let mut explained = AgentExplainOutput {
            agent: list::row(ctx, name, entry)?,
            would_run: false,
            obstacles: Vec::new(),
            tenants: None,
            finds: None,
            may: None,
            costs: None,
            failures: state.failures(),
            pause_after: 0,
            past: ledger::visible_rows(memory, name, PAST_RUNS)?
                .into_iter()
                .map(|run| history::row(memory, run))
                .collect(),
        };
        if let Some(reason) = memory.store.read_only() {
            let why = reason.message().to_owned();
            explained.obstacles.push(Obstacle { reason: READ_ONLY.to_owned(), why });
        }
        let Some(definition) = entry.definition.as_deref() else {
            let why = entry.errors.first().map_or_else(String::new, |error| error.line());
            explained.block(StatusReason::InvalidConfig, why);
            return Ok(explained);
        };
        explained.pause_after = definition.failure.pause_after;
        explained.tenants = Some(ScheduledTenants::of(memory, definition)?);
        explained.add_schedule_obstacles(memory, entry, definition, &state)?;
        let options =
            RunOptions { models: ctx.host.models(), cancellation: ctx.host.calls(), ..RunOptions::default() };
        let forecast = run::forecast(memory, definition, &options)?;
        for (reason, why) in &forecast.obstacles {
            explained.block(*reason, why.as_str());
        }
        explained.finds =
            selection::count_freshness(memory, definition).ok().map(|counts| finds(definition, counts));
        explained.may = Some(may(definition, forecast.protected));
        explained.costs = Some(costs(ctx, definition, &forecast));
        explained.would_run = explained.obstacles.is_empty();
        Ok(explained)
    }

    fn show(output: &AgentExplainOutput, terminal: &Terminal) -> String {
        output.text(terminal)
    }
}

impl ScheduledTenants {
    fn of(memory: &Memory, definition: &Definition) -> Result<ScheduledTenants> {
        let is_default = memory.store.tenant().is_default();
        let counts = is_default.then(|| tenant_rotation::count_tenants(memory, definition)).transpose()?;
        let (matching, with_notes) = counts.map(|TenantsWithNotes { matching, all }| (matching, all)).unzip();
        Ok(ScheduledTenants { patterns: definition.schedule.tenants.texts(), matching, with_notes })
    }

    /// A line about them; `None` if the schedule is for all tenants, and there is only one.
    fn line(&self) -> Option<String> {
        let patterns = self.patterns.join(" or ");
        match (self.matching, self.with_notes) {
            (Some(matching), Some(all)) if all > 1 || patterns != "all" => {
                Some(format!("{patterns}: {matching} of {} with notes", plural(all as u64, "tenant")))
            }
            (None, _) => Some(patterns),
            _ => None,
        }
    }
}

fn finds(definition: &Definition, counts: selection::FreshnessCounts) -> SelectionSummary {
    let selection::FreshnessCounts { stages, results, excluded, never, changed, old, fresh } = counts;
    SelectionSummary {
        pipeline: definition.query.pipeline.to_string(),
        stages,
        results,
        kept_away: excluded,
        never,
        changed,
        old,
        fresh,
        window: definition.window().map(|window| window.to_string()),
        min_results: definition.query.min_results,
        min_stale: definition.freshness.min_stale,
        max_results: definition.query.max_results,
    }
}

fn may(definition: &Definition, protected: usize) -> PermitSummary {
    use poc_agent::definition::{ActionKind, Mode};
    let limits = &definition.limits;
    let allowed = |&kind: &ActionKind| ActionLimit {
        action: kind.name().to_owned(),
        max: limits.max(kind),
        proposed: definition.mode == Mode::Propose
            || kind == ActionKind::Supersede && !limits.supersede_apply,
    };
    PermitSummary {
        mode: definition.mode.name().to_owned(),
        max_actions: limits.max_actions,
        actions: definition.execution.actions.iter().map(allowed).collect(),
        protect: limits.protect.iter().map(Pipeline::filters).collect(),
        protected,
    }
}

fn costs(ctx: &Ctx<'_>, definition: &Definition, forecast: &run::Forecast) -> CostEstimate {
    let config = &ctx.memory.config;
    let model_row = |name: &str| {
        let model = config.models.get(name);
        ModelRow {
            name: name.to_owned(),
            prices: model.and_then(|model| model.input_price.zip(model.output_price)),
            missing: poc_models::missing(config, name),
        }
    };
    CostEstimate {
        models: definition.execution.models().map(model_row).collect(),
        notes: forecast.nodes,
        cut: forecast.cut,
        tokens: forecast.tokens,
        most_usd: forecast.max,
        runs_today: forecast.runs,
        max_runs_per_day: definition.budget.runs_per_day,
        usd_today: forecast.day,
        max_usd_per_run: definition.budget.usd_per_run,
        max_usd_per_day: definition.budget.usd_per_day,
        of_tenant: TenantCosts::of(ctx.memory, definition, forecast),
        usd_today_of_all: forecast.all_agents,
        max_usd_per_day_of_all: config.budget.max_usd_per_day,
    }
}

impl TenantCosts {
    /// `None` if the agent has no budget for each tenant.
    fn of(memory: &Memory, definition: &Definition, forecast: &run::Forecast) -> Option<TenantCosts> {
        let limits = definition.budget.per_tenant;
        (limits != TenantBudget::default()).then(|| TenantCosts {
            tenant: memory.store.tuple().to_string(),
            runs_today: forecast.tenant_runs,
            max_runs_per_day: limits.max_runs(),
            usd_today: forecast.tenant_day,
            max_usd_per_day: limits.usd_per_day,
        })
    }
}

impl AgentExplainOutput {
    fn block(&mut self, reason: StatusReason, why: impl Into<String>) {
        self.obstacles.push(Obstacle { reason: reason.name().to_owned(), why: why.into() });
    }

    /// Adds the obstacles that follow from its schedule, `[daemon]`, a pause and its latest run.
    fn add_schedule_obstacles(
        &mut self,
        memory: &Memory,
        entry: &CatalogEntry,
        definition: &Definition,
        state: &AgentState,
    ) -> Result<()> {
        let (name, now) = (&definition.name, memory.now());
        if !definition.enabled {
            self.block(StatusReason::Disabled, "`enabled = false`: its schedule is ignored");
        }
        if !definition.schedule.tenants.matches(memory.store.tuple()) {
            let (tenant, patterns) = (memory.store.tuple(), &definition.schedule.tenants);
            let why = format!("`schedule.tenants` ({patterns}) does not match this tenant ({tenant})");
            self.obstacles.push(Obstacle { reason: OTHER_TENANTS.to_owned(), why });
        }
        if let Some(paused) = entry.paused(state, now) {
            self.block(StatusReason::Paused, paused.line(name));
        }
        if !memory.config.daemon.runs_agents.includes(name) {
            self.block(StatusReason::Elsewhere, "`runs-agents` in `[daemon]` does not include it");
        }
        if let Some(run) = ledger::current_run(memory, name, state)? {
            self.block(
                StatusReason::Overlap,
                format!("it is running, since {} (run {})", minute(Some(run.started)), run.id),
            );
        }
        if let Some(until) = due_slots::cooldown_until(definition, state, now) {
            let (cooldown, until) = (definition.schedule.cooldown, minute(Some(until)));
            self.block(
                StatusReason::Cooldown,
                format!("its last run ended less than {cooldown} ago: until {until}"),
            );
        }
        Ok(())
    }
}
