//! The keys of an agent file: type and description of each.
//!
//! The reader, the JSON Schema, REFERENCE.md and the output of `agent new` are based on this table. Defaults
//! are only in `defaults/agent.toml`.

use super::key_spec::{Bound, KeySpec, UNBOUNDED, ValueType};
use super::{AUTO, ActionKind, CATCH_UP, MAX_RERUNS, Mode, ON_OVERFLOW, OVERLAP, SUPERSEDE_MODES, Targets};
use crate::template::VARIABLES;
use std::collections::HashMap;
use std::sync::LazyLock;

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
        ValueType::Count(0, UNBOUNDED),
        "The run is skipped when the pipeline returns fewer results",
    ),
    key("query.max-results", ValueType::Count(1, UNBOUNDED), "Further results wait for the next run"),
    table("freshness", "When a note that the agent has visited is processed again"),
    key(
        "freshness.window",
        ValueType::DurationOr(AUTO),
        "A note visited within this time is fresh. `auto`: the duration of `not-visited:` in the pipeline, else \
         nine tenths of the schedule's period, else until the note changes",
    ),
    key(
        "freshness.min-stale",
        ValueType::Count(0, UNBOUNDED),
        "The run is skipped when fewer notes are stale",
    ),
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
        "All variables that the template uses; a missing or unused name is an error",
    ),
    key(
        "prompt.system",
        ValueType::Text,
        "System prompt text, placed before the rules that every agent gets",
    ),
    key(
        "prompt.max-node-chars",
        ValueType::Count(1, UNBOUNDED),
        "Characters shown of a note's text; a note that is cut cannot be superseded",
    ),
    key(
        "prompt.max-tokens",
        ValueType::Count(1, UNBOUNDED),
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
        "schedule.tenants",
        ValueType::Tenants,
        "The tenants that the schedule is for: `all` of them, or those whose names match a pattern, such as `user=*` or \
         `team=research user=a*`. `*` stands for any characters of a value; a tenant with more keys does not match. \
         `default` is the tenant of notes that are stored without one. A run that a person starts may be for any tenant",
    ),
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
    key("limits.max-actions", ValueType::Count(0, UNBOUNDED), "Maximum actions per run"),
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
    key("limits.link-add.max", ValueType::Count(0, UNBOUNDED), "Maximum per run"),
    key(
        "limits.link-add.max-per-note",
        ValueType::Count(0, UNBOUNDED),
        "Maximum new links of one note per run",
    ),
    key(
        "limits.link-add.max-strength",
        ValueType::Share,
        "Greatest strength of a new link; stronger links get this strength",
    ),
    table("limits.weight", "Weight changes"),
    key("limits.weight.max", ValueType::Count(0, UNBOUNDED), "Maximum per run"),
    key("limits.weight.max-delta", ValueType::Number(0.0, Bound::Above), "Maximum change of one weight"),
    table("limits.insert", "New notes"),
    key("limits.insert.max", ValueType::Count(0, UNBOUNDED), "Maximum per run"),
    key(
        "limits.insert.max-chars",
        ValueType::Count(0, UNBOUNDED),
        "Maximum characters of a new note's body, and of its title and keywords together",
    ),
    key(
        "limits.insert.min-sources",
        ValueType::Count(0, UNBOUNDED),
        "Minimum notes that one new note is derived from; a new note with fewer is refused",
    ),
    key(
        "limits.insert.max-sources",
        ValueType::Count(0, UNBOUNDED),
        "Maximum notes that one new note is derived from",
    ),
    key(
        "limits.insert.max-per-source",
        ValueType::Count(0, UNBOUNDED),
        "Maximum notes derived from one note, by all agents together; a new note beyond it is refused",
    ),
    key(
        "limits.insert.only-quotations",
        ValueType::Flag,
        "`true`: every new note is a quotation, which only leads searches to its source; its body is text of the source \
         between “ and ”, with … for what is left out. `false`: no new note is a quotation",
    ),
    table("limits.supersede", "Replacements of notes"),
    key("limits.supersede.max", ValueType::Count(0, UNBOUNDED), "Maximum per run"),
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
    table(
        "budget.per-tenant",
        "Limits for each tenant alone. A tenant that has used them up gets no further run on that day, and the agent \
         goes on with the other tenants",
    ),
    key(
        "budget.per-tenant.max-usd-per-day",
        ValueType::Number(0.0, Bound::From),
        "Maximum US dollars per day for one tenant",
    ),
    key(
        "budget.per-tenant.max-runs-per-day",
        ValueType::Count(0, 1_000_000),
        "Maximum runs per day for one tenant, not counting skipped ones; each batch counts as a run; 0 means no limit",
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
        ValueType::Durations(MAX_RERUNS),
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

/// The keys by path, because each key of a file is looked up several times.
static BY_PATH: LazyLock<HashMap<&str, &KeySpec>> =
    LazyLock::new(|| KEYS.iter().map(|key| (key.path, key)).collect());

/// The key with this path.
pub(super) fn find(path: &str) -> Option<&'static KeySpec> {
    BY_PATH.get(path).copied()
}

/// The keys directly in a table; `""` is the whole file.
pub(super) fn within(table: &str) -> impl Iterator<Item = &'static KeySpec> + Clone {
    KEYS.iter().filter(move |key| key.table() == table)
}
