//! The keys of an agent file: what each takes and what it is for.
//!
//! The reader, the JSON Schema, the manual and the files that `agent new` writes follow from this table.
//! Defaults stand in `defaults/agent.toml` alone.

use super::{ActionKind, CATCH_UP, MOST_RERUNS, Mode, ON_OVERFLOW, OVERLAP, SUPERSEDE_MODES, Targets};
use crate::template::VARIABLES;

/// One key or table.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Its place: the names of its tables and its own, with dots between.
    pub path: &'static str,
    /// What it takes.
    pub takes: ValueType,
    /// What to write where it has no default: an agent file needs it.
    pub example: Option<&'static str>,
    /// What it is for, in a sentence without its full stop.
    pub doc: &'static str,
}

/// What a key takes.
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
    /// A whole number between two, these included.
    Count(usize, usize),
    /// A number from another on, or above it.
    Number(f64, Bound),
    /// A length of time from this many milliseconds on.
    Duration(i64),
    /// A length of time, or this word.
    DurationOr(&'static str),
    /// A list of lengths of time, so many at most.
    Waits(usize),
    /// One of a few words.
    OneOf(fn() -> Vec<&'static str>),
    /// A list of some of a few words.
    SomeOf(fn() -> Vec<String>),
    /// A list of names, each of which once.
    Names,
    /// A list of texts.
    Texts,
    /// A pipeline.
    Pipeline,
    /// A list of pipelines that only filter.
    Filters,
    /// A schedule.
    Schedule,
    /// A time zone.
    Zone,
    /// Texts, numbers and flags by names of one's own.
    Values,
}

/// Whether the least number itself is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It is.
    From,
    /// It is not.
    Above,
}

/// No bound: more than any file can say.
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

/// The first words of rows.
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
    key("description", ValueType::Text, "What the agent is for, in a line"),
    key("enabled", ValueType::Flag, "`false`: its schedule does not count; it still runs when asked"),
    key(
        "mode",
        ValueType::OneOf(|| words(&Mode::NAMES)),
        "`apply`: what the model answers is done; `propose`: it waits for a person, see `agent review`; \
         `observe`: it is recorded and nothing is done",
    ),
    table("query", "Which notes a run works on"),
    needed(
        "query.pipeline",
        ValueType::Pipeline,
        "\"all | type:episodic | limit:20\"",
        "Chooses the notes, in the pipeline language",
    ),
    key(
        "query.params",
        ValueType::Values,
        "Values for `${NAME}` in the pipeline; `agent run --set NAME=VALUE` gives another for one run",
    ),
    key("query.min-results", ValueType::Count(0, ANY), "Fewer results than this skip the run"),
    key("query.max-results", ValueType::Count(1, ANY), "Results beyond this are left for the next run"),
    table("freshness", "When a note the agent has visited is looked at again"),
    key(
        "freshness.window",
        ValueType::DurationOr("auto"),
        "A note visited within this time is fresh. `auto`: the pipeline's own `not-visited:` duration, else \
         nine tenths of the schedule's period, else as long as the note does not change",
    ),
    key("freshness.min-stale", ValueType::Count(0, ANY), "Fewer stale notes than this skip the run"),
    key("freshness.revisit-on-change", ValueType::Flag, "A note edited since the visit is stale at once"),
    key("freshness.ignore-own-writes", ValueType::Flag, "The agent's own edits do not count as such"),
    table("prompt", "What the model is told"),
    key(
        "prompt.template",
        ValueType::Template,
        "The file of the template in the folder of prompts; either this or `inline`",
    ),
    key("prompt.inline", ValueType::Text, "The template itself; either this or `template`"),
    needed(
        "prompt.placeholders",
        ValueType::SomeOf(variables),
        "[\"NODES\"]",
        "The variables the template uses: all of these and no others",
    ),
    key("prompt.system", ValueType::Text, "Put in front of the rules every agent is told"),
    key(
        "prompt.max-node-chars",
        ValueType::Count(1, ANY),
        "Characters of a note's text before it is cut; a cut note does not count as visited",
    ),
    key("prompt.max-tokens", ValueType::Count(1, ANY), "Tokens of the whole prompt, at four characters each"),
    key(
        "prompt.on-overflow",
        ValueType::OneOf(|| words(&ON_OVERFLOW)),
        "What becomes of a prompt that is too long: `drop-tail` leaves notes at its end for the next run, \
         `fail` ends the run",
    ),
    key("prompt.vars", ValueType::Values, "Values of your own, `{{ vars.NAME }}` in the template"),
    table("execution", "Who answers, what may be answered, and when"),
    needed(
        "execution.model",
        ValueType::Text,
        "\"default\"",
        "The model's name: a section `[models.NAME]` of `config.toml`",
    ),
    needed(
        "execution.actions",
        ValueType::SomeOf(actions),
        "[\"link-add\"]",
        "What the model may answer; nothing else is ever done",
    ),
    key("execution.schedule", ValueType::Schedule, "When it runs by itself"),
    key(
        "execution.fallback",
        ValueType::Names,
        "Models that are asked in turn when the one before is not set up, is down, refuses or answers too late",
    ),
    key("execution.timeout", ValueType::Duration(1), "Of one call of the model"),
    key(
        "execution.replay",
        ValueType::Flag,
        "`true`: a visit counts as a replay, which moves the note along the intervals 1, 3, 7, 14, 30 days \
         that `sort:priority` goes by",
    ),
    table("schedule", "How the schedule is kept"),
    key("schedule.timezone", ValueType::Zone, "Whose clock it goes by"),
    key(
        "schedule.jitter",
        ValueType::Duration(0),
        "Greatest delay added to a slot, fixed for agent and slot",
    ),
    key("schedule.overlap", ValueType::OneOf(|| words(&OVERLAP)), "An agent never runs twice at once"),
    key(
        "schedule.catch-up",
        ValueType::OneOf(|| words(&CATCH_UP)),
        "What becomes of slots that were missed: one run for all of them, or none",
    ),
    key("schedule.catch-up-window", ValueType::Duration(0), "How far back a missed slot may lie"),
    key("schedule.cooldown", ValueType::Duration(0), "Least time between two runs"),
    table("limits", "How much may be changed, and what"),
    key("limits.max-actions", ValueType::Count(0, ANY), "Actions of one run"),
    key(
        "limits.targets",
        ValueType::OneOf(|| words(&Targets::NAMES)),
        "What may be re-weighted and superseded, and stands at one end at least of every link: the pipeline's \
         `results`; the `neighborhood`, which adds what the prompt shows one step around them (ties in SIBLINGS \
         and HUBS, link candidates, the other ones of PAIRS); `any` note with a handle in the prompt, hubs too",
    ),
    key(
        "limits.protect",
        ValueType::Filters,
        "A note that passes one of these filters may be linked, never re-weighted or superseded",
    ),
    table("limits.link-add", "New links"),
    key("limits.link-add.max", ValueType::Count(0, ANY), "Of one run"),
    table("limits.weight", "Changes of weights"),
    key("limits.weight.max", ValueType::Count(0, ANY), "Of one run"),
    key("limits.weight.max-delta", ValueType::Number(0.0, Bound::Above), "The greatest change"),
    table("limits.insert", "New notes"),
    key("limits.insert.max", ValueType::Count(0, ANY), "Of one run"),
    key(
        "limits.insert.max-chars",
        ValueType::Count(0, ANY),
        "Characters of a new note's text, and of its title and keywords together",
    ),
    table("limits.supersede", "Notes that are replaced by others"),
    key("limits.supersede.max", ValueType::Count(0, ANY), "Of one run"),
    key(
        "limits.supersede.mode",
        ValueType::OneOf(|| words(&SUPERSEDE_MODES)),
        "`propose`: they wait for a person, also where `mode` is `apply`; `apply`: they are done",
    ),
    table(
        "budget",
        "What may be spent; no call is made that could pass it. A day begins at midnight in the agent's time zone",
    ),
    key("budget.max-usd-per-run", ValueType::Number(0.0, Bound::From), "US dollars of one run"),
    key("budget.max-usd-per-day", ValueType::Number(0.0, Bound::From), "US dollars of the runs of a day"),
    key(
        "budget.max-runs-per-day",
        ValueType::Count(0, 1_000_000),
        "Runs that begin on a day, skipped ones not counted; 0 is without bound",
    ),
    table("retry", "What follows a call that fails"),
    key(
        "retry.attempts",
        ValueType::Count(1, 10),
        "Attempts of a call that fails on the way, the first included",
    ),
    key("retry.repair", ValueType::Count(0, 10), "Correction turns when a reply does not validate"),
    key(
        "retry.rerun",
        ValueType::Waits(MOST_RERUNS),
        "How long after a failed run it is run again, and again, until one succeeds or the next slot comes; a run \
         that a person asked for is not repeated",
    ),
    table("failure", "What follows runs that fail"),
    key(
        "failure.pause-after",
        ValueType::Count(0, 1000),
        "After so many failed runs in a row the agent is paused until `agent resume`; 0 is never",
    ),
    key(
        "tests",
        ValueType::Tables,
        "What the agent makes of a few notes and a recorded answer; `agent test` plays it with no model and no \
         network",
    ),
    needed("tests.name", ValueType::Text, "\"finds nothing to do\"", "What it shows, in a few words"),
    needed(
        "tests.fixture",
        ValueType::Text,
        "\"tests/notes.jsonl\"",
        "The notes, or a file of them beside the agent file: JSON Lines as `import` takes them, each with a key; \
         `\"age\": \"3d\"` and `\"visits\": {\"linker\": \"2d\"}` count back from `now`. `\"\"` is an empty memory",
    ),
    key("tests.now", ValueType::Text, "The instant it plays at, such as `2026-11-21T08:00:00Z`"),
    key(
        "tests.response",
        ValueType::Text,
        "What the model answers, or a file of it beside the agent file; left out, that there is nothing to do",
    ),
    KeySpec {
        path: "tests.expect",
        takes: ValueType::Table,
        example: Some("{ applied = [] }"),
        doc: "What has to come of it; what is left out is not looked at",
    },
    key("tests.expect.selected", ValueType::Texts, "Keys of the notes a run works on"),
    key("tests.expect.applied", ValueType::Texts, "What is done, as `agent run` words it"),
    key("tests.expect.proposed", ValueType::Texts, "What waits for a person, as `agent run` words it"),
    key(
        "tests.expect.rejected",
        ValueType::Texts,
        "What is not done, as `agent run` words it, with `: reason`",
    ),
    key("tests.expect.prompt-contains", ValueType::Texts, "Texts that stand in the prompt"),
];

/// The row of a path.
pub(super) fn find(path: &str) -> Option<&'static KeySpec> {
    KEYS.iter().find(|key| key.path == path)
}

/// The rows right below a table; `""` is the file.
pub(super) fn within(table: &str) -> impl Iterator<Item = &'static KeySpec> + Clone {
    KEYS.iter().filter(move |key| key.table() == table)
}

impl KeySpec {
    /// The table it stands in.
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Its own name.
    pub fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }
}

impl ValueType {
    /// What it is, in words: what to give.
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
