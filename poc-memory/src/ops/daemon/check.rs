//! `daemon check`

use super::tail;
use crate::ops::agent::{AgentCheck, DayBudget, spent_today};
use crate::ops::checks::{CheckResult, CheckState, agents, embedder, folders, models, reranker};
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal, plural};
use poc_agent::ledger::{self, Spending};
use poc_graph::error::{Error, Exit, Result};
use poc_graph::json;
use poc_notes::answer_status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs::File;

/// Number of lines of the log, if the request does not set it.
const LINES: usize = 20;

/// Check the installation as the daemon sees it: folders, embedder, cross-encoder, models, store and agents, what was
/// spent today and what the budgets allow, and the last lines of the log. `doctor` also checks what a daemon cannot.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct DaemonCheck {
    /// Lines of the log [default: 20]
    #[arg(long, short = 'n', value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<usize>,
}

/// The result of the checks.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DaemonCheckOutput {
    /// Whether no check failed.
    healthy: bool,
    #[serde(rename = "findings")]
    results: Vec<CheckResult>,
    models: Vec<ConfiguredModel>,
    #[serde(flatten)]
    budget: DayBudget,
    /// Today's spending of the agents that ran today.
    spending: Vec<AgentSpending>,
    /// The last lines of the daemon's log, oldest first.
    log: Vec<String>,
}

/// A model of the settings.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ConfiguredModel {
    name: String,
    provider: String,
    /// Why the model cannot be called and how to fix it; absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    /// Prices in US dollars per million tokens: input, output; absent if not configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prices: Option<(f64, f64)>,
}

/// The runs and costs of one agent today.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct AgentSpending {
    agent: String,
    /// Number of runs that began today.
    runs: u32,
    /// Maximum number of runs per day; 0 means unlimited. Absent if its file is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_runs_per_day: Option<u32>,
    /// Cost in US dollars of today's runs.
    usd: f64,
    /// Budget in US dollars for all runs of one day; absent if unlimited or if its file is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_usd_per_day: Option<f64>,
}

impl Op for DaemonCheck {
    const NAME: &'static str = "daemon check";
    const ACCESS: Access = Access::Person;
    const NEEDS_DAEMON: bool = true;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/daemon/check");
    type Output = DaemonCheckOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<DaemonCheckOutput> {
        let (memory, status) = (ctx.memory, ctx.host.daemon()?.status());
        let config = &memory.config;
        let mut results = folders::check(&memory.paths, Some(config));
        results.extend(embedder::check(config, &memory.paths.store()));
        results.extend(reranker::check(config));
        results.extend(models::check(config, false));
        let warnings =
            status.recovered.into_iter().chain(answer_status::of(memory, &memory.store.view()).degraded);
        let warnings: Vec<String> = warnings.collect();
        results.extend(match warnings.is_empty() {
            true => {
                vec![CheckResult::new("store", CheckState::Ok, "it is intact, and its indexes are current")]
            }
            false => {
                warnings.iter().map(|line| CheckResult::new("store", CheckState::Warning, line)).collect()
            }
        });
        let checked = AgentCheck::of_all().run(ctx)?;
        results.extend(agents::read(&json::encode(&checked)?));
        let (spending, budget) = (spending(ctx)?, DayBudget::of(ctx)?);
        let warning = budget.budget_warning.as_ref();
        results.extend(warning.map(|text| CheckResult::new("budget", CheckState::Warning, text)));
        let model = |(name, model): (&String, &poc_config::ModelConfig)| ConfiguredModel {
            name: name.clone(),
            provider: model.provider.clone(),
            missing: poc_models::missing(config, name),
            prices: model.input_price.zip(model.output_price),
        };
        Ok(DaemonCheckOutput {
            healthy: results.iter().all(|result| result.state != CheckState::Failed),
            results,
            models: config.models.iter().map(model).collect(),
            budget,
            spending,
            log: last_lines(ctx, self.lines.unwrap_or(LINES))?,
        })
    }

    fn show(output: &DaemonCheckOutput, _: &Terminal) -> String {
        let mut text = CheckResult::lines(&output.results);
        // Writing to a string cannot fail.
        let DayBudget { usd_today, max_usd_per_day, .. } = &output.budget;
        let _ = writeln!(text, "spent today ${usd_today:.2} of ${max_usd_per_day}");
        for AgentSpending { agent, runs, usd, .. } in &output.spending {
            let _ = writeln!(text, "  {agent}: {}, ${usd:.4}", plural(u64::from(*runs), "run"));
        }
        text.extend(output.log.iter().map(|line| format!("{line}\n")));
        text
    }

    fn exit(output: &DaemonCheckOutput) -> Exit {
        if output.healthy { Exit::Ok } else { Exit::Failed }
    }
}

/// The runs and costs of each agent that ran today.
fn spending(ctx: &Ctx<'_>) -> Result<Vec<AgentSpending>> {
    let catalog = ctx.host.catalog()?;
    let mut rows = Vec::new();
    for agent in ledger::agents(ctx.memory)? {
        let definition = catalog.agents.get(&agent).and_then(|entry| entry.definition.as_deref());
        let Spending { runs, cost: usd } =
            spent_today(ctx.memory, definition, &ledger::state(ctx.memory, &agent)?);
        if runs > 0 || usd > 0.0 {
            let budget = definition.map(|definition| definition.budget);
            rows.push(AgentSpending {
                agent,
                runs,
                usd,
                max_runs_per_day: budget.map(|budget| budget.runs_per_day),
                max_usd_per_day: budget.and_then(|budget| budget.usd_per_day),
            });
        }
    }
    Ok(rows)
}

/// The last lines of the daemon's log; none if it is written elsewhere.
fn last_lines(ctx: &Ctx<'_>, count: usize) -> Result<Vec<String>> {
    let path = ctx.memory.paths.daemon_log();
    let Ok(mut file) = File::open(&path) else { return Ok(Vec::new()) };
    tail(&mut file, count)
        .map_err(|error| Error::unavailable(format!("`{}` cannot be read: {error}", path.display())))
}
