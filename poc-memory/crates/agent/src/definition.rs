//! The definition of an agent: a parsed and checked agent file.

mod action_kind;
mod agent_test;
pub(crate) mod check;
mod file;
pub mod key_spec;
pub mod keys;
mod mode;
mod name;
mod read;
mod schema;
mod targets;
mod tenant_patterns;
mod text;

pub use action_kind::ActionKind;
pub use agent_test::{AgentTest, TestExpectation, TestText};
pub use mode::Mode;
pub(super) use name::{check_name, is_of_name};
pub use schema::schema;
pub use targets::Targets;
pub use tenant_patterns::TenantPatterns;
pub(super) use text::offset_of;

use super::schedule::{Schedule, day, local_zone};
use chrono_tz::Tz;
use poc_config::Config;
use poc_config::toml_document::TomlDocument;
use poc_graph::error::{Error, ErrorLocation, Result};
use poc_graph::provenance;
use poc_graph::time::{Span, Timestamp};
use poc_search::query::{Names, Pipeline, VisitRule};
use std::collections::BTreeMap;
use std::ops::Range;

/// The text of all defaults of agent files, in TOML.
pub(super) const DEFAULTS: &str = include_str!("../defaults/agent.toml");

/// A checked agent.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The name of the agent: the stem of its file.
    pub name: String,
    /// BLAKE3 hash, in hex, of the agent file, its templates and the saved pipelines it uses. Two loads with
    /// the same fingerprint are the same agent.
    pub fingerprint: String,
    /// The file's text, stored as the last valid version.
    pub source: String,
    /// Description of the agent for a person.
    pub description: String,
    /// Whether the schedule is active.
    pub enabled: bool,
    /// How the actions of a reply are treated.
    pub mode: Mode,
    /// Which nodes a run processes.
    pub query: QueryRules,
    /// When a visited node counts as stale again.
    pub freshness: FreshnessRules,
    /// The prompt.
    pub prompt: PromptRules,
    /// Model, actions and schedule.
    pub execution: Execution,
    /// Rules for applying the schedule.
    pub schedule: ScheduleRules,
    /// Limits that the permit layer enforces.
    pub limits: Limits,
    /// Spending limits.
    pub budget: Budget,
    /// Retries of calls and runs.
    pub retry: RetryRules,
    /// Consequences of failed runs.
    pub failure: FailureRules,
    /// Tests for `agent test`.
    pub tests: Vec<AgentTest>,
}

/// The environment that an agent file refers to.
#[derive(Clone, Copy)]
pub struct DefinitionContext<'a> {
    /// The configuration, with the models.
    pub config: &'a Config,
    /// Names that pipelines may use.
    pub names: &'a Names,
    /// Reads a template by file name.
    pub template: &'a dyn Fn(&str) -> Result<String>,
}

/// `[query]`.
#[derive(Clone, Debug)]
pub struct QueryRules {
    /// The pipeline with its parameter values filled in.
    pub pipeline: Pipeline,
    /// The pipeline text as written.
    pub text: String,
    /// Parameter values by name.
    pub params: BTreeMap<String, String>,
    /// Minimum number of results; a run is skipped if there are fewer.
    pub min_results: usize,
    /// Maximum number of results; the rest waits for the next run.
    pub max_results: usize,
}

/// `[freshness]`.
#[derive(Clone, Debug)]
pub struct FreshnessRules {
    /// A node visited within this window is fresh; `None` is `auto`: the pipeline's own
    /// `not-visited:` duration, else the schedule's period.
    pub window: Option<Span>,
    /// Minimum number of stale nodes; a run is skipped if there are fewer.
    pub min_stale: usize,
    /// Whether a node edited after the visit is stale immediately.
    pub revisit_on_change: bool,
    /// Whether edits by the agent itself are ignored.
    pub ignore_own_writes: bool,
}

/// `[prompt]`.
#[derive(Clone, Debug)]
pub struct PromptRules {
    /// File name of the template; `None` for an inline template.
    pub template: Option<String>,
    /// The template's text.
    pub text: String,
    /// The templates it includes, by file name.
    pub includes: BTreeMap<String, String>,
    /// The declared variables of the template.
    pub placeholders: Vec<String>,
    /// The system prompt.
    pub system: String,
    /// Custom variables, used as `vars.NAME`.
    pub vars: BTreeMap<String, String>,
    /// Maximum characters shown of a node's text.
    pub max_node_chars: usize,
    /// Maximum tokens of the whole prompt, estimated at four characters per token.
    pub max_tokens: usize,
    /// Whether nodes at the end are dropped when the prompt is too long; otherwise the run fails.
    pub drop_tail: bool,
}

/// `[execution]`.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Name of a configured model.
    pub model: String,
    /// Fallback models, in order.
    pub fallback: Vec<String>,
    /// Permitted actions.
    pub actions: Vec<ActionKind>,
    /// When the agent runs.
    pub schedule: Schedule,
    /// Timeout of one model call.
    pub timeout: Span,
    /// How long a scheduled run continues in batches while stale notes are left; zero means one batch.
    pub max_duration: Span,
    /// Whether a visit counts as a spaced-repetition replay, which moves the node to the next interval.
    pub replay: bool,
}

/// `[schedule]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRules {
    /// IANA name, or `None` for the machine's.
    pub timezone: Option<Tz>,
    /// Maximum delay added to a slot; fixed per agent and slot.
    pub jitter: Span,
    /// Whether missed slots are caught up by one run.
    pub catch_up: bool,
    /// Maximum age of a missed slot that is caught up.
    pub catch_up_window: Span,
    /// Minimum time between two runs.
    pub cooldown: Span,
    /// The tenants that the schedule is for.
    pub tenants: TenantPatterns,
}

/// `[limits]`.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum actions per run.
    pub max_actions: usize,
    /// Which nodes may be changed.
    pub targets: Targets,
    /// Filters: a node that matches one may be linked and re-weighted, but never superseded.
    pub protect: Vec<Pipeline>,
    /// Maximum new links per run.
    pub link_add_max: usize,
    /// Maximum new links of one note per run.
    pub link_add_max_per_note: usize,
    /// Maximum strength of a new link, above 0 and at most 1; stronger links are reduced to it.
    pub link_add_max_strength: f64,
    /// Maximum weight changes per run.
    pub weight_max: usize,
    /// Maximum change of one weight.
    pub weight_max_delta: f64,
    /// Maximum new nodes per run.
    pub insert_max: usize,
    /// Maximum characters of a new node's body.
    pub insert_max_chars: usize,
    /// Minimum sources of a new node.
    pub insert_min_sources: usize,
    /// Maximum sources of a new node.
    pub insert_max_sources: usize,
    /// Maximum live nodes derived from one node.
    pub insert_max_per_source: usize,
    /// Whether new nodes are quotations, which agents without this setting may not insert.
    pub insert_only_quotations: bool,
    /// Maximum supersessions per run.
    pub supersede_max: usize,
    /// Whether supersessions are applied; otherwise they are proposed.
    pub supersede_apply: bool,
}

/// `[budget]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Maximum US dollars per run, over all its calls.
    pub usd_per_run: Option<f64>,
    /// Maximum US dollars of the runs that begin on one day.
    pub usd_per_day: Option<f64>,
    /// Maximum runs that begin on one day; 0 means no limit.
    pub runs_per_day: u32,
    /// Limits of the runs for one tenant.
    pub per_tenant: TenantBudget,
}

/// `[budget.per-tenant]`. It has no limit for one run, because every run is for one tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TenantBudget {
    /// Maximum US dollars of the runs for one tenant that begin on one day.
    pub usd_per_day: Option<f64>,
    /// Maximum runs for one tenant that begin on one day, counting each batch; 0 means no limit.
    pub runs_per_day: u32,
}

/// `[retry]`.
#[derive(Clone, Debug)]
pub struct RetryRules {
    /// Attempts per call, including the first.
    pub attempts: u32,
    /// Correction turns for a reply that does not validate.
    pub repair: u32,
    /// Delays before a failed run is repeated: the first one after the first failure, and so on.
    pub rerun: Vec<Span>,
}

/// `[failure]`.
#[derive(Clone, Debug)]
pub struct FailureRules {
    /// Number of consecutive failed runs after which the agent is paused until a person resumes it; 0 means
    /// never.
    pub pause_after: u32,
}

impl Definition {
    /// Position of the value of a key in the agent file; in a string, of the character with this index.
    pub fn location(&self, path: &str, characters: usize) -> ErrorLocation {
        let file = format!("agents/{}.toml", self.name);
        let document = TomlDocument::parse(&file, &self.source).ok();
        let located = document.and_then(|document| {
            let value = document.value_span(path)?;
            Some(document.location_in_string(value.start, characters))
        });
        located.unwrap_or_else(|| ErrorLocation { file: Some(file.clone()), ..ErrorLocation::default() })
    }

    /// The same agent with other parameter values for its pipeline.
    ///
    /// # Errors
    /// `invalid_argument`, at the field `set`, when it has no such parameter or the pipeline does not take a
    /// value.
    pub fn with(&self, set: &BTreeMap<String, String>, names: &Names) -> Result<Definition> {
        if set.is_empty() {
            return Ok(self.clone());
        }
        let params = &self.query.params;
        if let Some(unknown) = set.keys().find(|name| !params.contains_key(*name)) {
            let agent = &self.name;
            if self.query.text.contains(&format!("${{{unknown}}}")) {
                return Err(Error::config(format!(
                    "the file of the agent `{agent}` uses `${{{unknown}}}` but does not define this parameter"
                ))
                .hint(format!("add `{unknown} = \"…\"` under `[query.params]` in the file")));
            }
            let error =
                Error::invalid(format!("the agent `{agent}` has no parameter `{unknown}`")).field("set");
            let known: Vec<String> = params.keys().map(|name| format!("`{name}`")).collect();
            return Err(match poc_graph::similar::closest(unknown, params.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None if known.is_empty() => {
                    error.hint("it has none; define parameters under `[query.params]` in the agent file")
                }
                None => error.hint(format!("it has {}", known.join(", "))),
            });
        }
        let mut definition = self.clone();
        definition.query.params.extend(set.clone());
        let (text, values) = (&self.query.text, &definition.query.params);
        definition.query.pipeline =
            Pipeline::with_values(text, names, values).map_err(|error| error.field("set"))?;
        Ok(definition)
    }

    /// Names of the saved pipelines it uses.
    pub fn saved(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.query.pipeline).chain(&self.limits.protect).flat_map(Pipeline::saved)
    }

    /// The day that contains an instant, for budgets. `zone` is that of agents without one; `None` is the machine's.
    pub fn budget_day(&self, at: Timestamp, zone: Option<Tz>) -> Range<Timestamp> {
        let zone = self.schedule.timezone.or(zone).unwrap_or_else(local_zone);
        day(at, zone)
    }

    /// Provenance of everything the agent writes.
    pub fn provenance(&self) -> String {
        provenance::of_agent(&self.name)
    }

    /// How long a visit keeps a node fresh; `None` means until the node changes.
    ///
    /// A window derived from the schedule is nine tenths of its period, rounded down to whole hours when it
    /// is longer than one hour. The reason: visits are recorded minutes after their slot, but the notes must
    /// be stale again at the next slot.
    pub fn window(&self) -> Option<Span> {
        if let Some(window) = self.freshness.window {
            return Some(window);
        }
        match self.query.pipeline.not_visited(&self.name) {
            Some(duration) => duration,
            None => self.execution.schedule.period().map(|period| {
                let window = period.0 / 10 * 9;
                Span(if window > Span::HOUR.0 { window - window % Span::HOUR.0 } else { window })
            }),
        }
    }

    /// Which of its visits count for it.
    pub fn visit_rule(&self, config: &Config) -> VisitRule {
        VisitRule {
            only_version: self.freshness.revisit_on_change,
            only_read: self.has_language_model(config),
        }
    }

    /// Whether all its models are language models. Its visits without one do not count then. With the heuristic model
    /// as a fallback they do count: otherwise every run would visit the same notes as long as the language model fails.
    pub fn has_language_model(&self, config: &Config) -> bool {
        self.execution.models().all(|model| !config.is_heuristic(model))
    }
}

impl TenantBudget {
    /// Maximum runs for one tenant that begin on one day; `None` means no limit.
    pub fn max_runs(self) -> Option<u32> {
        Some(self.runs_per_day).filter(|max| *max > 0)
    }
}

impl Execution {
    /// The models in the order they are tried.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.model).chain(&self.fallback).map(String::as_str)
    }
}

impl PromptRules {
    /// Whether the prompt shows the nodes. Only then do they count as visited.
    pub fn shows_nodes(&self) -> bool {
        self.shows("NODES")
    }

    /// Whether the prompt uses a variable.
    pub fn shows(&self, variable: &str) -> bool {
        self.placeholders.iter().any(|name| name.eq_ignore_ascii_case(variable))
    }
}

impl Limits {
    /// Maximum actions of a kind per run.
    pub fn max(&self, kind: ActionKind) -> usize {
        match kind {
            ActionKind::LinkAdd => self.link_add_max,
            ActionKind::Weight => self.weight_max,
            ActionKind::Insert => self.insert_max,
            ActionKind::Supersede => self.supersede_max,
        }
    }
}

/// Maximum number of reruns of a failed run.
const MAX_RERUNS: usize = 10;

/// Maximum delay of a rerun.
const LONGEST_WAIT: Span = Span(30 * Span::DAY.0);

/// The value of `freshness.window` that derives the window from the pipeline and the schedule.
const AUTO: &str = "auto";

/// Values of `prompt.on-overflow`, and whether each drops nodes.
const ON_OVERFLOW: [(&str, bool); 2] = [("drop-tail", true), ("fail", false)];

/// Values of `schedule.overlap`.
const OVERLAP: [(&str, ()); 1] = [("skip", ())];

/// Values of `schedule.catch-up`, and whether each catches up missed slots.
const CATCH_UP: [(&str, bool); 2] = [("once", true), ("skip", false)];

/// Values of `limits.supersede.mode`, and whether each applies supersessions.
const SUPERSEDE_MODES: [(&str, bool); 2] = [("propose", false), ("apply", true)];
