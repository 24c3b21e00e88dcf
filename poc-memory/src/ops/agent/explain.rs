//! `agent explain`

mod told;

use super::history::{self, Row as Past};
use super::list::{self, Row};
use crate::ops::{Access, Ctx, Op, Route};
use poc_agent::ledger::{self, Reason};
use poc_agent::run::{self, Options};
use poc_agent::{Definition, due, selection};
use poc_graph::error::Result;
use poc_search::query::{Explanation, Pipeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Past runs that are told.
const TOLD: usize = 5;

/// Whether an agent would run now, why not, and when it will: its schedule, what each stage of its pipeline
/// gives, what of that is stale, what it may do, what a run would cost, and what became of the last ones.
/// Nothing is written and no model is asked.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explain {
    /// Name of the agent
    agent: String,
}

/// How an agent stands.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Explained {
    agent: Row,
    /// Whether it would run if a slot came now.
    would_run: bool,
    /// What keeps it from running now.
    obstacles: Vec<Obstacle>,
    /// What it finds; absent when its file or its pipeline is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finds: Option<Finds>,
    /// What it may do; absent when its file is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    may: Option<May>,
    /// What a run would take; absent when its file is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    costs: Option<Costs>,
    /// Runs that failed one after the other, up to now.
    failures: u32,
    /// After so many it rests; 0 is never.
    pause_after: u32,
    /// The last runs, newest first, with those that were skipped.
    past: Vec<Past>,
}

/// Something in the way.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Obstacle {
    /// As in the rows of runs: `paused`, `not-stale`, `over-budget` …
    reason: String,
    /// In words.
    why: String,
}

/// What the pipeline gives.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Finds {
    pipeline: String,
    stages: Explanation,
    results: usize,
    /// Of these, notes that agents are not shown.
    kept_away: usize,
    /// Never looked at.
    never: usize,
    /// Edited since it looked.
    changed: usize,
    /// Looked at too long ago.
    old: usize,
    /// Looked at not long ago.
    fresh: usize,
    /// How long a visit keeps a note fresh; absent: until it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<String>,
    /// Fewer results than this skip the run.
    min_results: usize,
    /// Fewer stale notes than this skip the run.
    min_stale: usize,
    /// Notes one run takes at most.
    max_results: usize,
}

/// What the permit allows.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct May {
    mode: String,
    /// Actions of one run, of all kinds.
    max_actions: usize,
    actions: Vec<Allowed>,
    /// Filters; what passes one may be linked and nothing else.
    protect: Vec<String>,
    /// Notes of the next prompt that do.
    protected: usize,
}

/// One action.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Allowed {
    action: String,
    max: usize,
    /// Whether it is left for a person.
    proposed: bool,
}

/// What a run takes, and what there is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Costs {
    /// The models, in the order they are asked.
    models: Vec<Asked>,
    /// Notes in the next prompt.
    notes: usize,
    /// Of these, notes that are cut, and so do not count as visited.
    cut: usize,
    /// Tokens of the next prompt, at four characters each.
    tokens: usize,
    /// US dollars one attempt of the first call takes at most; absent when it costs nothing, or nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    most_usd: Option<f64>,
    runs_today: u32,
    /// 0 is without bound.
    max_runs_per_day: u32,
    usd_today: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_usd_per_run: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_usd_per_day: Option<f64>,
    /// Of all agents.
    usd_today_of_all: f64,
    max_usd_per_day_of_all: f64,
}

/// A model an agent names.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Asked {
    name: String,
    /// US dollars for a million tokens read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prices: Option<(f64, f64)>,
    /// What keeps it from being called, with the line that helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

impl Op for Explain {
    const NAME: &'static str = "agent explain";
    const ACCESS: Access = Access::Read;
    const TENANTS: bool = false;
    const ROUTE: Option<Route> = Route::get("/v1/agents/{agent}/explain");
    type Output = Explained;

    fn run(self, ctx: &Ctx<'_>) -> Result<Explained> {
        let catalog = ctx.host.catalog()?;
        let entry = catalog.entry(&self.agent)?;
        let (memory, name) = (ctx.memory, &self.agent);
        let (state, now) = (ledger::state(memory, name)?, memory.now());
        let mut explained = Explained {
            agent: list::row(memory, name, entry)?,
            would_run: false,
            obstacles: Vec::new(),
            finds: None,
            may: None,
            costs: None,
            failures: state.failures(),
            pause_after: 0,
            past: ledger::rows(memory, Some(name), TOLD)?
                .into_iter()
                .map(|run| history::row(memory, run))
                .collect(),
        };
        let Some(definition) = entry.definition.as_deref() else {
            let why = entry.errors.first().map_or_else(String::new, |error| error.line());
            explained.block(Reason::InvalidConfig, why);
            return Ok(explained);
        };
        explained.pause_after = definition.failure.pause_after;
        if !definition.enabled {
            explained.block(Reason::Disabled, "`enabled = false`: its schedule does not count");
        }
        if let Some(paused) = entry.paused(&state, now) {
            explained.block(Reason::Paused, paused.line(name));
        }
        let running = ledger::running(memory)?.into_iter().find(|run| run.agent == *name);
        if let Some(run) = running {
            explained
                .block(Reason::Overlap, format!("it is running, since {} (run {})", run.started, run.id));
        }
        if let Some(until) = due::resting(definition, &state, now) {
            explained.block(
                Reason::Cooldown,
                format!("its last run ended less than {} ago: until {until}", definition.schedule.cooldown),
            );
        }
        let options =
            Options { models: ctx.host.models(), cancellation: ctx.host.calls(), ..Options::default() };
        let forecast = run::forecast(memory, definition, &options)?;
        for (reason, why) in &forecast.obstacles {
            explained.block(*reason, why.as_str());
        }
        explained.finds = selection::survey(memory, definition).ok().map(|survey| finds(definition, survey));
        explained.may = Some(may(definition, forecast.protected));
        explained.costs = Some(costs(ctx, definition, &forecast));
        explained.would_run = explained.obstacles.is_empty();
        Ok(explained)
    }

    fn show(output: &Explained) -> String {
        output.text()
    }
}

fn finds(definition: &Definition, survey: selection::Survey) -> Finds {
    let selection::Survey { stages, results, kept_away, never, changed, old, fresh } = survey;
    Finds {
        pipeline: definition.query.pipeline.to_string(),
        stages,
        results,
        kept_away,
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

fn may(definition: &Definition, protected: usize) -> May {
    use poc_agent::definition::{ActionKind, Mode};
    let limits = &definition.limits;
    let allowed = |&kind: &ActionKind| Allowed {
        action: kind.name().to_owned(),
        max: limits.max(kind),
        proposed: definition.mode == Mode::Propose
            || kind == ActionKind::Supersede && !limits.supersede_apply,
    };
    May {
        mode: definition.mode.name().to_owned(),
        max_actions: limits.max_actions,
        actions: definition.execution.actions.iter().map(allowed).collect(),
        protect: limits.protect.iter().map(Pipeline::filters).collect(),
        protected,
    }
}

fn costs(ctx: &Ctx<'_>, definition: &Definition, forecast: &run::Forecast) -> Costs {
    let config = &ctx.memory.config;
    let asked = |name: &str| {
        let model = config.models.get(name);
        Asked {
            name: name.to_owned(),
            prices: model.and_then(|model| model.input_price.zip(model.output_price)),
            missing: poc_models::missing(config, name),
        }
    };
    Costs {
        models: definition.execution.models().map(asked).collect(),
        notes: forecast.nodes,
        cut: forecast.cut,
        tokens: forecast.tokens,
        most_usd: forecast.most,
        runs_today: forecast.runs,
        max_runs_per_day: definition.budget.runs_per_day,
        usd_today: forecast.day,
        max_usd_per_run: definition.budget.usd_per_run,
        max_usd_per_day: definition.budget.usd_per_day,
        usd_today_of_all: forecast.everyone,
        max_usd_per_day_of_all: config.budget.max_usd_per_day,
    }
}

impl Explained {
    fn block(&mut self, reason: Reason, why: impl Into<String>) {
        self.obstacles.push(Obstacle { reason: reason.name().to_owned(), why: why.into() });
    }
}
