//! The keys of an agent file: type and description of each.
//!
//! The reader, the JSON Schema, REFERENCE.md and the output of `agent new` are based on this table. Defaults
//! are only in `defaults/agent.toml`.

use super::{ActionKind, CATCH_UP, MOST_RERUNS, Mode, ON_OVERFLOW, OVERLAP, SUPERSEDE_MODES, Targets};
use crate::template::VARIABLES;

/// A key or table.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Full path: the names of its tables and its own, separated by dots.
    pub path: &'static str,
    /// Type of its value.
    pub takes: ValueType,
    /// Example value of a required key; `None` for optional keys.
    pub example: Option<&'static str>,
    /// Description: one sentence without a full stop.
    pub doc: &'static str,
}

/// Type of the value of a key.
#[derive(Clone, Copy, Debug)]
pub enum ValueType {
    /// A table of the keys below it.
    Table,
    /// A list of such tables.
    Tables,
    /// A text.
    Text,
    /// The file name of a template.
    Template,
    /// `true` or `false`.
    Flag,
    /// An integer in a closed range.
    Count(usize, usize),
    /// A number with a lower bound.
    Number(f64, Bound),
    /// A duration of at least this many milliseconds.
    Duration(i64),
    /// A duration, or this word.
    DurationOr(&'static str),
    /// A list of at most this many durations.
    Waits(usize),
    /// One of a few words.
    OneOf(fn() -> Vec<&'static str>),
    /// A list of some of a few words.
    SomeOf(fn() -> Vec<String>),
    /// A list of distinct names.
    Names,
    /// A list of texts.
    Texts,
    /// A pipeline.
    Pipeline,
    /// A list of pipelines that contain only filters.
    Filters,
    /// A schedule.
    Schedule,
    /// A time zone.
    Zone,
    /// A table of texts, numbers and flags with custom names.
    Values,
}

/// Whether a lower bound is inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Inclusive.
    From,
    /// Exclusive.
    Above,
}

/// No upper bound: the largest integer of TOML.
pub(super) const ANY: usize = i64::MAX as usize;

const fn key(path: &'static str, takes: ValueType, doc: &'static str) -> KeySpec {
    KeySpec { path, takes, example: None, doc }
}

const fn table(path: &'static str, doc: &'static str) -> KeySpec {
    key(path, ValueType::Table, doc)
}

const fn needed(path: &'static str, takes: ValueType, example: &'static str, doc: &'static str) -> KeySpec {
    KeySpec { path, takes, example: Some(example), doc }
}

/// The names of a list of named values.
fn words<T, const N: usize>(named: &[(&'static str, T); N]) -> Vec<&'static str> {
    named.iter().map(|(name, _)| *name).collect()
}

fn actions() -> Vec<String> {
    ActionKind::ALL.map(|kind| kind.name().to_owned()).to_vec()
}

fn variables() -> Vec<String> {
    VARIABLES.into_iter().flat_map(|name| [name.to_owned(), name.to_lowercase()]).collect()
}

/// Every key and table, each table before its keys.
pub const KEYS: &[KeySpec] = &[
    key("description", ValueType::Text, "What the agent does, in one line"),
    key("enabled", ValueType::Flag, "`false`: the schedule is ignored; the agent still runs on request"),
    key(
        "mode",
        ValueType::OneOf(|| words(&Mode::NAMES)),
        "`apply`: actions are applied; `propose`: actions wait for your approval, see `agent review`; \
         `observe`: actions are recorded and not applied",
    ),
    table("query", "Which notes a run processes"),
    needed(
        "query.pipeline",
        ValueType::Pipeline,
        "\"all | type:episodic | limit:20\"",
        "Selects the notes, in the pipeline language",
    ),
    key(
        "query.params",
        ValueType::Values,
        "Values for `${NAME}` in the pipeline; `agent run --set NAME=VALUE` overrides one for a single run",
    ),
    key(
        "query.min-results",
        ValueType::Count(0, ANY),
        "The run is skipped when the pipeline returns fewer results",
    ),
    key("query.max-results", ValueType::Count(1, ANY), "Further results wait for the next run"),
    table("freshness", "When a note that the agent has visited is processed again"),
    key(
        "freshness.window",
        ValueType::DurationOr("auto"),
        "A note visited within this time is fresh. `auto`: the duration of `not-visited:` in the pipeline, else \
         nine tenths of the schedule's period, else until the note changes",
    ),
    key("freshness.min-stale", ValueType::Count(0, ANY), "The run is skipped when fewer notes are stale"),
    key("freshness.revisit-on-change", ValueType::Flag, "A note edited after the visit is stale immediately"),
    key("freshness.ignore-own-writes", ValueType::Flag, "Edits by the agent itself do not make a note stale"),
    table("prompt", "The prompt for the model"),
    key(
        "prompt.template",
        ValueType::Template,
        "Template file in the `prompts` folder; set either this or `inline`",
    ),
    key("prompt.inline", ValueType::Text, "The template text; set either this or `template`"),
    needed(
        "prompt.placeholders",
        ValueType::SomeOf(variables),
        "[\"NODES\"]",
        "The variables the template uses, complete: a missing or unused name is an error",
    ),
    key(
        "prompt.system",
        ValueType::Text,
        "System prompt text, placed before the rules that every agent gets",
    ),
    key(
        "prompt.max-node-chars",
        ValueType::Count(1, ANY),
        "Characters shown of a note's text; a note that is cut does not count as visited",
    ),
    key(
        "prompt.max-tokens",
        ValueType::Count(1, ANY),
        "Maximum tokens of the whole prompt, counting four characters as one token",
    ),
    key(
        "prompt.on-overflow",
        ValueType::OneOf(|| words(&ON_OVERFLOW)),
        "What happens when the prompt is too long: `drop-tail` leaves the last notes for the next run, \
         `fail` fails the run",
    ),
    key("prompt.vars", ValueType::Values, "Custom values, used in the template as `{{ vars.NAME }}`"),
    table("execution", "The model, the permitted actions and the schedule"),
    needed(
        "execution.model",
        ValueType::Text,
        "\"default\"",
        "Name of the model: a section `[models.NAME]` of `config.toml`",
    ),
    needed(
        "execution.actions",
        ValueType::SomeOf(actions),
        "[\"link-add\"]",
        "The actions the model may request; all others are refused",
    ),
    key("execution.schedule", ValueType::Schedule, "When the agent runs by itself"),
    key(
        "execution.fallback",
        ValueType::Names,
        "Models to try in order when the previous one is not configured, is down, refuses or times out",
    ),
    key("execution.timeout", ValueType::Duration(1), "Timeout of one model call"),
    key(
        "execution.max-minutes",
        ValueType::Count(0, 1440),
        "A scheduled run continues in batches of `limit:` notes until nothing is stale, a budget is used up, or this \
         many minutes have passed. The batches count as one run. 0: one batch",
    ),
    key(
        "execution.replay",
        ValueType::Flag,
        "`true`: a visit counts as a spaced-repetition replay and moves the note to the next interval (1, 3, 7, \
         14, 30 days), which `sort:priority` uses",
    ),
    table("schedule", "How the schedule is applied"),
    key("schedule.timezone", ValueType::Zone, "Time zone of the schedule"),
    key(
        "schedule.jitter",
        ValueType::Duration(0),
        "Maximum delay added to a slot; the delay is fixed per agent and slot",
    ),
    key(
        "schedule.overlap",
        ValueType::OneOf(|| words(&OVERLAP)),
        "What happens when the agent is still running: the slot is skipped",
    ),
    key(
        "schedule.catch-up",
        ValueType::OneOf(|| words(&CATCH_UP)),
        "What happens to missed slots: `once` runs once for all of them, `skip` does not run",
    ),
    key("schedule.catch-up-window", ValueType::Duration(0), "Maximum age of a missed slot that is caught up"),
    key("schedule.cooldown", ValueType::Duration(0), "Minimum time between two runs"),
    table("limits", "What a run may change, and how much"),
    key("limits.max-actions", ValueType::Count(0, ANY), "Maximum actions per run"),
    key(
        "limits.targets",
        ValueType::OneOf(|| words(&Targets::NAMES)),
        "Which notes may be re-weighted and superseded; every link needs one of them at one end. `results`: the \
         results of the pipeline; `neighborhood`: also the notes that the prompt shows one step around them (linked \
         notes in SIBLINGS and HUBS, link candidates, the other notes of PAIRS); `any`: every note with a handle \
         in the prompt, including hubs",
    ),
    key(
        "limits.protect",
        ValueType::Filters,
        "Notes that match one of these filters are never superseded. They may be linked, and their weight may change within `limits.weight`",
    ),
    table("limits.link-add", "New links"),
    key("limits.link-add.max", ValueType::Count(0, ANY), "Maximum per run"),
    key("limits.link-add.max-per-note", ValueType::Count(0, ANY), "Maximum new links of one note per run"),
    key(
        "limits.link-add.max-strength",
        ValueType::Number(0.0, Bound::Above),
        "Greatest strength of a new link, at most 1; stronger links get this strength",
    ),
    table("limits.weight", "Weight changes"),
    key("limits.weight.max", ValueType::Count(0, ANY), "Maximum per run"),
    key("limits.weight.max-delta", ValueType::Number(0.0, Bound::Above), "Maximum change of one weight"),
    table("limits.insert", "New notes"),
    key("limits.insert.max", ValueType::Count(0, ANY), "Maximum per run"),
    key(
        "limits.insert.max-chars",
        ValueType::Count(0, ANY),
        "Maximum characters of a new note's body, and of its title and keywords together",
    ),
    key(
        "limits.insert.max-sources",
        ValueType::Count(0, ANY),
        "Maximum notes that one new note is derived from",
    ),
    key(
        "limits.insert.max-per-source",
        ValueType::Count(0, ANY),
        "Maximum notes derived from one note, by all agents together; a new note beyond it is refused",
    ),
    table("limits.supersede", "Replacements of notes"),
    key("limits.supersede.max", ValueType::Count(0, ANY), "Maximum per run"),
    key(
        "limits.supersede.mode",
        ValueType::OneOf(|| words(&SUPERSEDE_MODES)),
        "`propose`: replacements wait for your approval, even when `mode` is `apply`; `apply`: they are applied",
    ),
    table(
        "budget",
        "Spending limits; a call that could exceed one is not made. A day begins at midnight in the agent's time zone",
    ),
    key("budget.max-usd-per-run", ValueType::Number(0.0, Bound::From), "Maximum US dollars per run"),
    key("budget.max-usd-per-day", ValueType::Number(0.0, Bound::From), "Maximum US dollars per day"),
    key(
        "budget.max-runs-per-day",
        ValueType::Count(0, 1_000_000),
        "Maximum runs per day, not counting skipped ones; 0 means no limit",
    ),
    table("retry", "What happens when a call fails"),
    key(
        "retry.attempts",
        ValueType::Count(1, 10),
        "Attempts per call when it fails in transit, including the first",
    ),
    key("retry.repair", ValueType::Count(0, 10), "Correction turns for a reply that does not validate"),
    key(
        "retry.rerun",
        ValueType::Waits(MOST_RERUNS),
        "Delays after which a failed run is run again, until a run succeeds or the next slot comes; a run started \
         by a person is not repeated",
    ),
    table("failure", "What happens when runs fail"),
    key(
        "failure.pause-after",
        ValueType::Count(0, 1000),
        "Number of consecutive failed runs after which the agent is paused until `agent resume`; 0 means never",
    ),
    key(
        "tests",
        ValueType::Tables,
        "Tests of the agent with a few notes and a recorded reply; `agent test` runs them without a model or \
         network",
    ),
    needed(
        "tests.name",
        ValueType::Text,
        "\"finds nothing to do\"",
        "Name of the test: what it shows, in a few words",
    ),
    needed(
        "tests.fixture",
        ValueType::Text,
        "\"tests/notes.jsonl\"",
        "The notes as JSON Lines in the format of `import`, each with a key, or a file with them in the folder of \
         the agent file; `\"age\": \"3d\"` and `\"visits\": {\"linker\": \"2d\"}` count back from `now`. `\"\"` is an empty memory",
    ),
    key("tests.now", ValueType::Text, "The time at which the test runs, such as `2026-11-21T08:00:00Z`"),
    key(
        "tests.response",
        ValueType::Text,
        "The model's reply, or a file with it in the folder of the agent file; without it the model requests nothing",
    ),
    KeySpec {
        path: "tests.expect",
        takes: ValueType::Table,
        example: Some("{ applied = [] }"),
        doc: "The expected outcome; keys that are left out are not checked",
    },
    key("tests.expect.selected", ValueType::Texts, "Keys of the notes that the run processes"),
    key("tests.expect.applied", ValueType::Texts, "Applied actions, as `agent run` prints them"),
    key("tests.expect.proposed", ValueType::Texts, "Proposed actions, as `agent run` prints them"),
    key(
        "tests.expect.rejected",
        ValueType::Texts,
        "Refused actions, as `agent run` prints them, followed by `: reason`",
    ),
    key("tests.expect.prompt-contains", ValueType::Texts, "Texts that the prompt must contain"),
];

/// The key with this path.
pub(super) fn find(path: &str) -> Option<&'static KeySpec> {
    KEYS.iter().find(|key| key.path == path)
}

/// The keys directly in a table; `""` is the whole file.
pub(super) fn within(table: &str) -> impl Iterator<Item = &'static KeySpec> + Clone {
    KEYS.iter().filter(move |key| key.table() == table)
}

impl KeySpec {
    /// Path of the table that contains it.
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Last part of the path.
    pub fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }
}

impl ValueType {
    /// Description of the type for error messages.
    pub fn words(self) -> String {
        let list = |words: Vec<String>, joint: &str| {
            let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            match quoted.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, others)) => format!("{}{joint}{last}", others.join(", ")),
                None => String::new(),
            }
        };
        match self {
            ValueType::Table => "a table: a line `[…]` with keys below it".into(),
            ValueType::Tables => "a list of tables: lines `[[…]]` with keys below each".into(),
            ValueType::Text => "text in quotes".into(),
            ValueType::Template => "the name of a file in quotes".into(),
            ValueType::Flag => "`true` or `false`".into(),
            ValueType::Count(least, ANY) => format!("a whole number from {least} up"),
            ValueType::Count(least, most) => format!("a whole number from {least} to {most}"),
            ValueType::Number(least, Bound::From) => format!("a number from {least} up"),
            ValueType::Number(least, Bound::Above) => format!("a number above {least}"),
            ValueType::Duration(least) => {
                let above = if least > 0 { " above zero" } else { "" };
                format!("a duration{above} in quotes, such as \"7d\", \"24h\", \"30m\" or \"45s\"")
            }
            ValueType::DurationOr(word) => {
                format!("\"{word}\" or a duration in quotes, such as \"7d\", \"24h\", \"30m\" or \"45s\"")
            }
            ValueType::Waits(most) => {
                format!("a list of at most {most} durations, such as [\"15m\", \"1h\"]")
            }
            ValueType::OneOf(words) => list(words().into_iter().map(str::to_owned).collect(), " or "),
            ValueType::SomeOf(words) => {
                // Each variable may be written in lower case, too.
                let words = words().into_iter().filter(|word| !variable_in_lower_case(word));
                format!("a list of {}", list(words.collect(), " and "))
            }
            ValueType::Names | ValueType::Texts => "a list of texts, such as [\"…\"]".into(),
            ValueType::Pipeline => "a pipeline in quotes, such as \"all | limit:20\"".into(),
            ValueType::Filters => "a list of filters, such as [\"provenance:manual\"]".into(),
            ValueType::Schedule => "a schedule in quotes, such as \"daily\" or \"every 6h\"".into(),
            ValueType::Zone => "\"local\" or an IANA name in quotes, such as \"Europe/Vienna\"".into(),
            ValueType::Values => "a table of values: `NAME = \"…\"`".into(),
        }
    }
}

fn variable_in_lower_case(word: &str) -> bool {
    VARIABLES.iter().any(|name| *name != word && name.to_lowercase() == word)
}
