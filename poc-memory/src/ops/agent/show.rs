//! `agent show`

use super::list::{self, AgentRow};
use super::outcome::assigned;
use crate::ops::text::{diagnostic_text, minute, plural};
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::agent_files::{self, AgentFile, AgentFiles};
use poc_agent::definition::{ActionKind, Limits, ScheduleRules};
use poc_graph::error::Result;
use poc_search::query::Pipeline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Show an agent in full: its query, model, permit and prompt as currently in force.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentShow {
    /// Name of the agent
    agent: String,
    /// Include its file and its template as text, each with the version that `agent save` needs
    #[arg(long)]
    #[serde(default)]
    files: bool,
}

/// An agent in full.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentShowOutput {
    /// The state of the agent, as `agent list` shows it.
    agent: AgentRow,
    /// The definition in force; absent if the file was never valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<ActiveDefinition>,
    /// The texts of its files, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<AgentFiles>,
}

/// The definition in force.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ActiveDefinition {
    /// The pipeline, with the parameter values of its file filled in.
    pipeline: String,
    /// The parameters of the pipeline with the values of the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    params: BTreeMap<String, String>,
    mode: String,
    /// How long a visit keeps a note fresh; if absent, until the note changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<String>,
    /// The actions it may use, each with the maximum per run.
    actions: Vec<(String, usize)>,
    /// Which nodes it may change: `results`, `neighborhood` or `any`.
    targets: String,
    /// Whether supersessions are applied; otherwise they need approval.
    supersede_apply: bool,
    timeout: String,
    /// Fallback models, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fallback: Vec<String>,
    timing: ScheduleSection,
    limits: LimitsSection,
    budget: BudgetSection,
    retry: RetrySection,
    placeholders: Vec<String>,
    /// The template's file; absent if the prompt is in the agent file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    template: Option<String>,
    prompt: String,
    /// Fingerprint of this version of the agent, as runs record it.
    fingerprint: String,
}

/// `[schedule]`
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ScheduleSection {
    /// IANA name of the time zone; if absent, that of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timezone: Option<String>,
    jitter: String,
    /// Whether a missed slot is caught up.
    catch_up: bool,
    catch_up_window: String,
    cooldown: String,
    /// The tenants that the schedule is for, as patterns for their names; `all` means every tenant.
    tenants: Vec<String>,
}

/// `[limits]`, without the limits of single actions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct LimitsSection {
    /// Maximum actions of one run, of all kinds.
    max_actions: usize,
    /// Maximum change of a weight by one action, up or down.
    weight_max_delta: f64,
    /// Maximum characters of a new note's body.
    insert_max_chars: usize,
    /// Whether new notes are quotations of their sources, which only lead searches to them.
    insert_only_quotations: bool,
    /// Filters of protected notes, which are never superseded.
    protect: Vec<String>,
}

/// `[budget]`; absent values are unlimited.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct BudgetSection {
    /// Maximum cost of one run in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_usd_per_run: Option<f64>,
    /// Maximum cost of all runs of one day in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_usd_per_day: Option<f64>,
    /// Maximum number of runs per day; 0 means unlimited.
    max_runs_per_day: u32,
    /// Maximum cost of all runs of one day for one tenant in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_usd_per_day_of_tenant: Option<f64>,
    /// Maximum number of runs per day for one tenant, counting each batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_runs_per_day_of_tenant: Option<u32>,
}

/// `[retry]` and `[failure]`
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct RetrySection {
    /// Maximum attempts of one model call, including the first.
    attempts: u32,
    /// Maximum number of turns in which the model may correct an invalid reply.
    repair: u32,
    /// Delays before each repetition of a failed run, in order.
    rerun: Vec<String>,
    /// Number of consecutive failures that pauses the agent; 0 means never.
    pause_after: u32,
}

impl ScheduleSection {
    fn of(rules: &ScheduleRules) -> ScheduleSection {
        ScheduleSection {
            timezone: rules.timezone.map(|zone| zone.name().to_owned()),
            jitter: rules.jitter.to_string(),
            catch_up: rules.catch_up,
            catch_up_window: rules.catch_up_window.to_string(),
            cooldown: rules.cooldown.to_string(),
            tenants: rules.tenants.texts(),
        }
    }

    fn line(&self) -> String {
        let catch_up = match self.catch_up {
            true => format!("caught up within {}", self.catch_up_window),
            false => "not caught up".to_owned(),
        };
        let zone = self.timezone.as_deref().unwrap_or("local");
        let tenants = self.tenants.join(" or ");
        format!(
            "zone {zone}, jitter {}, {catch_up}, cooldown {}, tenants {tenants}",
            self.jitter, self.cooldown
        )
    }
}

impl LimitsSection {
    fn of(limits: &Limits) -> LimitsSection {
        LimitsSection {
            max_actions: limits.max_actions,
            weight_max_delta: limits.weight_max_delta,
            insert_max_chars: limits.insert_max_chars,
            insert_only_quotations: limits.insert_only_quotations,
            protect: limits.protect.iter().map(Pipeline::filters).collect(),
        }
    }

    fn line(&self) -> String {
        let LimitsSection { max_actions, weight_max_delta, insert_max_chars, insert_only_quotations, .. } =
            self;
        let actions = plural(*max_actions as u64, "action");
        let characters = plural(*insert_max_chars as u64, "character");
        let quotations = if *insert_only_quotations { ", only quotations" } else { "" };
        format!("{actions}, a delta of {weight_max_delta}, {characters} a note{quotations}")
    }
}

impl BudgetSection {
    fn line(&self) -> String {
        let runs = match self.max_runs_per_day {
            0 => "any number of runs a day".to_owned(),
            max => format!("{} a day", plural(u64::from(max), "run")),
        };
        let dollars = |max: Option<f64>, of: &str| max.map(|max| format!(", ${max} a {of}"));
        let run = dollars(self.max_usd_per_run, "run").unwrap_or_default();
        let day = dollars(self.max_usd_per_day, "day").unwrap_or_default();
        let runs_of_tenant = self
            .max_runs_per_day_of_tenant
            .map(|max| format!(", {} a day for each tenant", plural(u64::from(max), "run")));
        let usd_of_tenant = dollars(self.max_usd_per_day_of_tenant, "day for each tenant");
        format!("{runs}{run}{day}{}{}", runs_of_tenant.unwrap_or_default(), usd_of_tenant.unwrap_or_default())
    }
}

impl RetrySection {
    fn line(&self) -> String {
        let rerun = match self.rerun.is_empty() {
            true => "no second run".to_owned(),
            false => format!("again after {}", self.rerun.join(", ")),
        };
        let pause = match self.pause_after {
            0 => String::new(),
            after => format!("; paused after {} in a row", plural(u64::from(after), "failure")),
        };
        let attempts = plural(u64::from(self.attempts), "attempt");
        let corrections = plural(u64::from(self.repair), "correction");
        format!("{attempts}, {corrections}, {rerun}{pause}")
    }
}

impl Op for AgentShow {
    const NAME: &'static str = "agent show";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/agents/{agent}");
    type Output = AgentShowOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentShowOutput> {
        let catalog = ctx.host.catalog()?;
        let entry = catalog.entry(&self.agent)?;
        let definition = entry.definition.as_deref().map(|definition| ActiveDefinition {
            pipeline: definition.query.pipeline.to_string(),
            params: definition.query.params.clone(),
            mode: definition.mode.name().to_owned(),
            window: definition.window().map(|window| window.to_string()),
            actions: definition
                .execution
                .actions
                .iter()
                .map(|&kind| (kind.name().to_owned(), definition.limits.max(kind)))
                .collect(),
            targets: definition.limits.targets.name().to_owned(),
            supersede_apply: definition.limits.supersede_apply,
            timeout: definition.execution.timeout.to_string(),
            fallback: definition.execution.fallback.clone(),
            timing: ScheduleSection::of(&definition.schedule),
            limits: LimitsSection::of(&definition.limits),
            budget: BudgetSection {
                max_usd_per_run: definition.budget.usd_per_run,
                max_usd_per_day: definition.budget.usd_per_day,
                max_runs_per_day: definition.budget.runs_per_day,
                max_usd_per_day_of_tenant: definition.budget.per_tenant.usd_per_day,
                max_runs_per_day_of_tenant: definition.budget.per_tenant.max_runs(),
            },
            retry: RetrySection {
                attempts: definition.retry.attempts,
                repair: definition.retry.repair,
                rerun: definition.retry.rerun.iter().map(ToString::to_string).collect(),
                pause_after: definition.failure.pause_after,
            },
            placeholders: definition.prompt.placeholders.clone(),
            template: definition.prompt.template.clone(),
            prompt: definition.prompt.text.clone(),
            fingerprint: definition.fingerprint.clone(),
        });
        let files = self.files.then(|| agent_files::read(ctx.memory, &self.agent)).transpose()?;
        Ok(AgentShowOutput { agent: list::row(ctx, &self.agent, entry)?, definition, files })
    }

    fn show(output: &AgentShowOutput, terminal: &Terminal) -> String {
        let agent = &output.agent;
        let mut text = format!("{}: {}\n", agent.name, agent.description);
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<10}{value}");
        };
        line("state", agent.state.name());
        if let Some(paused) = &agent.paused {
            line("paused", paused);
        }
        if let Some(rerun) = &agent.rerun {
            line("again", rerun);
        }
        line("schedule", agent.schedule.as_deref().unwrap_or("-"));
        line("next", &minute(agent.next));
        let last = agent.last_status.map_or_else(String::new, |status| format!(" {}", status.name()));
        line("last", &format!("{}{last}", minute(agent.last)));
        line("stale", &agent.stale.map_or_else(|| "-".into(), |stale| stale.to_string()));
        let fallback = output.definition.iter().flat_map(|definition| &definition.fallback);
        let models: Vec<&str> =
            agent.model.as_deref().into_iter().chain(fallback.map(String::as_str)).collect();
        line("model", &if models.is_empty() { "-".to_owned() } else { models.join(", else ") });
        if let Some(definition) = &output.definition {
            let actions: Vec<String> =
                definition.actions.iter().map(action(definition.supersede_apply)).collect();
            line("may", &actions.join(", "));
            line("limits", &definition.limits.line());
            line("targets", &definition.targets);
            if !definition.limits.protect.is_empty() {
                line("protects", &definition.limits.protect.join(" or "));
            }
            line("mode", &definition.mode);
            line("timing", &definition.timing.line());
            line("budget", &definition.budget.line());
            line("retry", &definition.retry.line());
            line("pipeline", &definition.pipeline);
            if !definition.params.is_empty() {
                line("with", &assigned(&definition.params));
            }
            line("fresh for", definition.window.as_deref().unwrap_or("as long as the note stays as it is"));
            line("template", definition.template.as_deref().unwrap_or("in the agent file"));
        }
        if let (Some(error), true) = (&agent.error, agent.errors.is_empty()) {
            line("problem", error);
        }
        text.extend(agent.errors.iter().map(diagnostic_text));
        if let Some(definition) = &output.definition {
            let _ = write!(text, "\n{}\n", terminal.wrapped_note(definition.prompt.trim_end()));
        }
        let files = output.files.iter().flat_map(|files| std::iter::once(&files.agent).chain(&files.prompt));
        for AgentFile { file, text: content, version, .. } in files {
            let _ = write!(text, "\n--- {file}, version {version}\n{}\n", content.trim_end());
        }
        text
    }
}

fn action(supersede_apply: bool) -> impl Fn(&(String, usize)) -> String {
    move |(name, max)| {
        let proposes = name == ActionKind::Supersede.name() && !supersede_apply;
        format!("{name} (at most {max}{})", if proposes { ", proposed" } else { "" })
    }
}
