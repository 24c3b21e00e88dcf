//! `agent show`

use super::list::{self, Row};
use super::outcome::assigned;
use crate::ops::text::{minute, problem};
use crate::ops::{Access, Ctx, Op, Route};
use poc_agent::definition::{ActionKind, Limits, ScheduleRules};
use poc_graph::error::Result;
use poc_search::query::Pipeline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One agent in full: its query, model, permit and prompt as they are in force.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Show {
    /// Name of the agent
    agent: String,
}

/// An agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Agent {
    /// How it stands.
    agent: Row,
    /// What is in force; absent when the file was never good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<InForce>,
}

/// The definition that is in force.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct InForce {
    /// With the values its file has for its parameters.
    pipeline: String,
    /// The parameters of the pipeline with the values of the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    params: BTreeMap<String, String>,
    mode: String,
    /// How long a visit keeps a node fresh; absent: until the node changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<String>,
    /// The actions it may use and how many of each in one run.
    actions: Vec<(String, usize)>,
    /// What it may change: `results`, `neighborhood` or `any`.
    targets: String,
    /// Whether supersessions are applied; else they are left for a person.
    supersede_apply: bool,
    timeout: String,
    /// Models that stand in for its own, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fallback: Vec<String>,
    timing: Timing,
    limits: Limited,
    budget: Money,
    retry: Again,
    placeholders: Vec<String>,
    /// The template's file; absent when it stands in the agent file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    template: Option<String>,
    prompt: String,
    /// Tells whether two versions are the same.
    fingerprint: String,
}

/// `[schedule]`
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Timing {
    /// IANA name; absent: the machine's zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timezone: Option<String>,
    jitter: String,
    /// Whether a slot that passed is caught up.
    catch_up: bool,
    catch_up_window: String,
    cooldown: String,
}

/// `[limits]`, but for the numbers of each action.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Limited {
    /// Actions of one run, of all kinds.
    max_actions: usize,
    /// Greatest change of a weight.
    weight_max_delta: f64,
    /// Characters of a new note's body.
    insert_max_chars: usize,
    /// Filters: a note that passes one may be linked and nothing else.
    protect: Vec<String>,
}

/// `[budget]`; what is absent has no bound.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Money {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_usd_per_run: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_usd_per_day: Option<f64>,
    /// 0 is without bound.
    max_runs_per_day: u32,
}

/// `[retry]` and `[failure]`
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Again {
    /// Of one call, the first included.
    attempts: u32,
    /// Correction turns.
    repair: u32,
    /// How long after a failed run it is repeated, one after the other.
    rerun: Vec<String>,
    /// Failed runs in a row after which it rests; 0 is never.
    pause_after: u32,
}

impl Timing {
    fn of(rules: &ScheduleRules) -> Timing {
        Timing {
            timezone: rules.timezone.map(|zone| zone.name().to_owned()),
            jitter: rules.jitter.to_string(),
            catch_up: rules.catch_up,
            catch_up_window: rules.catch_up_window.to_string(),
            cooldown: rules.cooldown.to_string(),
        }
    }

    fn line(&self) -> String {
        let catch_up = match self.catch_up {
            true => format!("caught up within {}", self.catch_up_window),
            false => "not caught up".to_owned(),
        };
        let zone = self.timezone.as_deref().unwrap_or("local");
        format!("zone {zone}, jitter {}, {catch_up}, cooldown {}", self.jitter, self.cooldown)
    }
}

impl Limited {
    fn of(limits: &Limits) -> Limited {
        Limited {
            max_actions: limits.max_actions,
            weight_max_delta: limits.weight_max_delta,
            insert_max_chars: limits.insert_max_chars,
            protect: limits.protect.iter().map(Pipeline::filters).collect(),
        }
    }

    fn line(&self) -> String {
        let Limited { max_actions, weight_max_delta, insert_max_chars, .. } = self;
        format!("{max_actions} actions, a delta of {weight_max_delta}, {insert_max_chars} characters a note")
    }
}

impl Money {
    fn line(&self) -> String {
        let runs = match self.max_runs_per_day {
            0 => "any number of runs a day".to_owned(),
            most => format!("{most} runs a day"),
        };
        let dollars = |most: Option<f64>, of: &str| most.map(|most| format!(", ${most} a {of}"));
        let run = dollars(self.max_usd_per_run, "run").unwrap_or_default();
        format!("{runs}{run}{}", dollars(self.max_usd_per_day, "day").unwrap_or_default())
    }
}

impl Again {
    fn line(&self) -> String {
        let rerun = match self.rerun.is_empty() {
            true => "never again".to_owned(),
            false => format!("again after {}", self.rerun.join(", ")),
        };
        let pause = match self.pause_after {
            0 => String::new(),
            after => format!("; rests after {after} failures"),
        };
        format!("{} attempts, {} corrections, {rerun}{pause}", self.attempts, self.repair)
    }
}

impl Op for Show {
    const NAME: &'static str = "agent show";
    const ACCESS: Access = Access::Read;
    const TENANTS: bool = false;
    const ROUTE: Option<Route> = Route::get("/v1/agents/{agent}");
    type Output = Agent;

    fn run(self, ctx: &Ctx<'_>) -> Result<Agent> {
        let catalog = ctx.host.catalog()?;
        let entry = catalog.entry(&self.agent)?;
        let definition = entry.definition.as_deref().map(|definition| InForce {
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
            timing: Timing::of(&definition.schedule),
            limits: Limited::of(&definition.limits),
            budget: Money {
                max_usd_per_run: definition.budget.usd_per_run,
                max_usd_per_day: definition.budget.usd_per_day,
                max_runs_per_day: definition.budget.runs_per_day,
            },
            retry: Again {
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
        Ok(Agent { agent: list::row(ctx.memory, &self.agent, entry)?, definition })
    }

    fn show(output: &Agent) -> String {
        let agent = &output.agent;
        let mut text = format!("{}: {}\n", agent.name, agent.description);
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<10}{value}");
        };
        line("state", &agent.state);
        if let Some(paused) = &agent.paused {
            line("rests", paused);
        }
        if let Some(rerun) = &agent.rerun {
            line("again", rerun);
        }
        line("schedule", agent.schedule.as_deref().unwrap_or("-"));
        line("next", &minute(agent.next));
        let last = agent.last_status.as_ref().map_or_else(String::new, |status| format!(" {status}"));
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
            line("fresh for", definition.window.as_deref().unwrap_or("as long as the node stays as it is"));
            line("template", definition.template.as_deref().unwrap_or("in the agent file"));
        }
        if let (Some(error), true) = (&agent.error, agent.errors.is_empty()) {
            line("problem", error);
        }
        text.extend(agent.errors.iter().map(problem));
        if let Some(definition) = &output.definition {
            let _ = write!(text, "\n{}\n", definition.prompt.trim_end());
        }
        text
    }
}

fn action(supersede_apply: bool) -> impl Fn(&(String, usize)) -> String {
    move |(name, most)| {
        let proposes = name == ActionKind::Supersede.name() && !supersede_apply;
        format!("{name} (at most {most}{})", if proposes { ", proposed" } else { "" })
    }
}
