//! An agent file as values: every key in its place, checked.

mod file;
pub mod keys;
mod read;
mod schema;
mod syntax;
mod test;
mod text;

pub use schema::schema;
pub use test::{AgentTest, TestExpectation, TestText};
pub(super) use text::{offset_of, value_span};

use super::schedule::Schedule;
use poc_config::Config;
use poc_graph::error::{Error, ErrorLocation, Result};
use poc_graph::time::Span;
use poc_search::query::{Names, Pipeline};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Every default of an agent file.
pub(super) const DEFAULTS: &str = include_str!("../../../../defaults/agent.toml");

/// A checked agent.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The file's stem.
    pub name: String,
    /// BLAKE3 of the agent file, its templates and the saved pipelines it uses, hex: tells whether
    /// two loads are the same agent.
    pub fingerprint: String,
    /// The file's text, kept as the last good version.
    pub source: String,
    /// What it is for.
    pub description: String,
    /// Whether schedules count.
    pub enabled: bool,
    /// What happens to its actions.
    pub mode: Mode,
    /// Which nodes.
    pub query: QueryRules,
    /// When a visited node counts as stale again.
    pub freshness: FreshnessRules,
    /// What the model is told.
    pub prompt: PromptRules,
    /// Model, actions and schedule.
    pub execution: Execution,
    /// How the schedule is kept.
    pub schedule: ScheduleRules,
    /// What the permit layer allows.
    pub limits: Limits,
    /// What it may spend.
    pub budget: Budget,
    /// How a failed call is repeated.
    pub retry: RetryRules,
    /// What follows from runs that fail.
    pub failure: FailureRules,
    /// What `agent test` plays.
    pub tests: Vec<AgentTest>,
}

/// What an agent file refers to beyond itself.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The settings: models.
    pub config: &'a Config,
    /// What its pipeline may name.
    pub names: &'a Names,
    /// Reads a template by file name.
    pub template: &'a dyn Fn(&str) -> Result<String>,
}

/// What happens to an agent's actions.
// Rows keep it by the place of its variant: a new one goes to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// They are applied.
    Apply,
    /// Nothing is applied; the run only reports.
    Observe,
    /// They are left for a person to decide.
    Propose,
}

impl Mode {
    /// The modes by the names people and TOML use.
    pub const NAMES: [(&'static str, Mode); 3] =
        [("apply", Mode::Apply), ("propose", Mode::Propose), ("observe", Mode::Observe)];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Apply => "apply",
            Mode::Observe => "observe",
            Mode::Propose => "propose",
        }
    }
}

/// `[query]`.
#[derive(Clone, Debug)]
pub struct QueryRules {
    /// The pipeline, with the values of its parameters.
    pub pipeline: Pipeline,
    /// The same as it is written.
    pub text: String,
    /// Values of its parameters, by their names.
    pub params: BTreeMap<String, String>,
    /// Fewer results than this skip the run.
    pub min_results: usize,
    /// Results beyond this are left for the next run.
    pub max_results: usize,
}

/// `[freshness]`.
#[derive(Clone, Debug)]
pub struct FreshnessRules {
    /// A node visited within this window is fresh; `None` is `auto`: the pipeline's own
    /// `not-visited:` duration, else the schedule's period.
    pub window: Option<Span>,
    /// Fewer stale nodes than this skip the run.
    pub min_stale: usize,
    /// Whether a node edited since the visit is stale at once.
    pub revisit_on_change: bool,
    /// Whether the agent's own edits do not count as such.
    pub ignore_own_writes: bool,
}

/// `[prompt]`.
#[derive(Clone, Debug)]
pub struct PromptRules {
    /// File name of the template, or `None` when it stands in the agent file (`inline`).
    pub template: Option<String>,
    /// The template's text.
    pub text: String,
    /// The templates it includes, by file name.
    pub includes: BTreeMap<String, String>,
    /// Variables the template may use, as declared.
    pub placeholders: Vec<String>,
    /// The system prompt.
    pub system: String,
    /// Free variables, as `vars.NAME`.
    pub vars: BTreeMap<String, String>,
    /// Characters of a node's text before it is cut.
    pub max_node_chars: usize,
    /// Tokens of the whole prompt, estimated at four characters each.
    pub max_tokens: usize,
    /// Whether nodes are dropped from the tail when the prompt is too long (else the run fails).
    pub drop_tail: bool,
}

/// `[execution]`.
#[derive(Clone, Debug)]
pub struct Execution {
    /// A name from the settings.
    pub model: String,
    /// Those that stand in for it, in their order.
    pub fallback: Vec<String>,
    /// What it may do.
    pub actions: Vec<ActionKind>,
    /// When.
    pub schedule: Schedule,
    /// Of one model call.
    pub timeout: Span,
    /// Whether a visit is a replay: the node moves along the spaced-repetition ladder.
    pub replay: bool,
}

/// What an agent may answer.
// Rows keep it by the place of its variant: a new one goes to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ActionKind {
    /// `link-add`
    LinkAdd,
    /// `weight`
    Weight,
    /// `insert`
    Insert,
    /// `supersede`
    Supersede,
}

/// `[schedule]`.
#[derive(Clone, Debug)]
pub struct ScheduleRules {
    /// IANA name, or `None` for the machine's.
    pub timezone: Option<chrono_tz::Tz>,
    /// Greatest delay added to a slot, fixed per agent and slot.
    pub jitter: Span,
    /// Whether a missed slot is caught up once.
    pub catch_up: bool,
    /// How far back a missed slot may lie.
    pub catch_up_window: Span,
    /// Least time between two runs.
    pub cooldown: Span,
}

/// Which nodes of a prompt may be re-weighted and superseded; one of them is at an end of every link.
/// Each takes in those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Targets {
    /// What the pipeline chose.
    Results,
    /// What the prompt shows of the nodes one step around the results: those they are tied to, their link
    /// candidates, the other ones of pairs.
    Neighborhood,
    /// Whatever has a handle in the prompt.
    Any,
}

impl Targets {
    /// The targets by the names people and TOML use.
    pub const NAMES: [(&'static str, Targets); 3] =
        [("results", Targets::Results), ("neighborhood", Targets::Neighborhood), ("any", Targets::Any)];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Targets::Results => "results",
            Targets::Neighborhood => "neighborhood",
            Targets::Any => "any",
        }
    }
}

/// `[limits]`.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Actions per run.
    pub max_actions: usize,
    /// What may be changed.
    pub targets: Targets,
    /// Filter stages; a node that passes one of them may be linked, never re-weighted or superseded.
    pub protect: Vec<Pipeline>,
    /// Links per run.
    pub link_add_max: usize,
    /// Weight changes per run.
    pub weight_max: usize,
    /// Greatest change of a weight.
    pub weight_max_delta: f64,
    /// New nodes per run.
    pub insert_max: usize,
    /// Characters of a new node's body.
    pub insert_max_chars: usize,
    /// Supersessions per run.
    pub supersede_max: usize,
    /// Whether supersessions are applied (else they are only reported as proposed).
    pub supersede_apply: bool,
}

/// `[budget]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// US dollars of one run, over all its calls.
    pub usd_per_run: Option<f64>,
    /// US dollars of the runs that begin on one day.
    pub usd_per_day: Option<f64>,
    /// Runs that begin on one day; 0 is without bound.
    pub runs_per_day: u32,
}

/// `[retry]`.
#[derive(Clone, Debug)]
pub struct RetryRules {
    /// Attempts of one call, the first included.
    pub attempts: u32,
    /// Correction turns when a reply does not validate.
    pub repair: u32,
    /// How long after a failed run it is run again, and after the failure of that, and so on.
    pub rerun: Vec<Span>,
}

/// `[failure]`.
#[derive(Clone, Debug)]
pub struct FailureRules {
    /// Failed runs in a row after which the agent rests until a person lets it go on; 0 is never.
    pub pause_after: u32,
}

impl Definition {
    /// Where the value of a key stands in its file; of a text where so many of its characters in.
    pub fn at(&self, path: &str, characters: usize) -> ErrorLocation {
        let file = Some(format!("agents/{}.toml", self.name));
        match value_span(&self.source, path) {
            Some(value) => {
                let offset = text::place(&self.source, value.start, characters);
                ErrorLocation { file, ..ErrorLocation::offset(&self.source, offset) }
            }
            None => ErrorLocation { file, ..ErrorLocation::default() },
        }
    }

    /// The same agent with other values for parameters of its pipeline.
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
            let error =
                Error::invalid(format!("the agent `{agent}` has no parameter `{unknown}`")).field("set");
            let known: Vec<String> = params.keys().map(|name| format!("`{name}`")).collect();
            return Err(match poc_graph::similar::closest(unknown, params.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None if known.is_empty() => {
                    error.hint("it has none; parameters stand under `[query.params]` of the agent's file")
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

    /// The saved pipelines its own are made of.
    pub fn saved(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.query.pipeline).chain(&self.limits.protect).flat_map(Pipeline::saved)
    }

    /// The provenance of everything it writes.
    pub fn provenance(&self) -> String {
        provenance(&self.name)
    }

    /// How long a visit keeps a node fresh; `None` is until the node changes.
    ///
    /// A window that follows from the schedule is nine tenths of its period, in whole hours when it
    /// is longer than one: visits are stamped minutes after their slot, and must not make the next
    /// slot find everything fresh.
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
}

impl Execution {
    /// The models in the order they are asked.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.model).chain(&self.fallback).map(String::as_str)
    }
}

impl PromptRules {
    /// Whether the nodes stand in the prompt: only then they are visited.
    pub fn shows_nodes(&self) -> bool {
        self.shows("NODES")
    }

    /// Whether a variable stands in the prompt.
    pub fn shows(&self, variable: &str) -> bool {
        self.placeholders.iter().any(|name| name.eq_ignore_ascii_case(variable))
    }
}

impl ActionKind {
    /// Every action, in the order a reply lists and a run applies them.
    pub const ALL: [ActionKind; 4] =
        [ActionKind::LinkAdd, ActionKind::Weight, ActionKind::Insert, ActionKind::Supersede];

    /// The name in agent files and replies.
    pub fn name(self) -> &'static str {
        match self {
            ActionKind::LinkAdd => "link-add",
            ActionKind::Weight => "weight",
            ActionKind::Insert => "insert",
            ActionKind::Supersede => "supersede",
        }
    }

    /// The action with a name.
    pub fn parse(name: &str) -> Option<ActionKind> {
        ActionKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Limits {
    /// Actions of a kind per run.
    pub fn max(&self, kind: ActionKind) -> usize {
        match kind {
            ActionKind::LinkAdd => self.link_add_max,
            ActionKind::Weight => self.weight_max,
            ActionKind::Insert => self.insert_max,
            ActionKind::Supersede => self.supersede_max,
        }
    }
}

/// Times a failed run may be run again.
const MOST_RERUNS: usize = 10;

/// How long after a failure that may be.
const LONGEST_WAIT: Span = Span(30 * Span::DAY.0);

/// What `prompt.on-overflow` may say, and whether notes are then dropped.
const ON_OVERFLOW: [(&str, bool); 2] = [("drop-tail", true), ("fail", false)];

/// What `schedule.overlap` may say.
const OVERLAP: [(&str, ()); 1] = [("skip", ())];

/// What `schedule.catch-up` may say, and whether a missed slot is then caught up.
const CATCH_UP: [(&str, bool); 2] = [("once", true), ("skip", false)];

/// What `limits.supersede.mode` may say, and whether supersessions are then done.
const SUPERSEDE_MODES: [(&str, bool); 2] = [("propose", false), ("apply", true)];

/// That an agent, and so its file, can have a name.
pub(super) fn check_name(name: &str) -> poc_graph::error::Result<()> {
    if !name.is_empty() && !name.starts_with('.') && name.chars().all(is_of_name) {
        return Ok(());
    }
    Err(Error::invalid(format!("`{name}` is not a name for an agent"))
        .hint("a name has letters, digits, `-`, `_` and `.`, and does not begin with `.`")
        .field("agent"))
}

/// Whether a name may have a character.
pub(super) fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || "-_.".contains(character)
}

/// Whether an actor of the log is an agent.
pub(super) fn is_agent(actor: &str) -> bool {
    actor.starts_with("agent:")
}

/// The provenance of what an agent writes.
pub(super) fn provenance(agent: &str) -> String {
    format!("agent:{agent}")
}
