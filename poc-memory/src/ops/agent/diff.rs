//! `agent diff`

use crate::ops::text::minute;
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::diff::{self, KeyDiff, ListDiff};
use poc_agent::ledger::{self, Run, Status};
use poc_agent::run::{RunTranscript, transcript};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, RunId};
use poc_notes::Memory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Compare two runs, of one agent or of two: the agent's version, the model, the notes, the prompt, the reply
/// and the actions.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentDiff {
    /// Id of a run, or its first digits
    first: String,
    /// Id of the run to compare it with, or its first digits
    second: String,
}

/// Two runs and their differences.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentDiffOutput {
    first: DiffSide,
    second: DiffSide,
    /// Keys of the agent's file that differ; absent if a file is no longer stored. If the versions differ but
    /// no key does, a template or a saved pipeline differs.
    definition: Option<Vec<ChangedKey>>,
    /// Keys of the notes that the runs read.
    nodes: ListComparison,
    /// Notes that both runs read and that were edited in between.
    edited: Vec<EditedNote>,
    /// System prompts as a unified diff; empty if equal, absent if no longer stored.
    system: Option<String>,
    /// Rendered templates as a unified diff.
    prompt: Option<String>,
    /// Replies as a unified diff.
    reply: Option<String>,
    /// Actions with their outcomes, as text.
    actions: ListComparison,
}

/// One of the two runs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct DiffSide {
    run: RunId,
    agent: String,
    started: Timestamp,
    /// How it ended, or `running`.
    status: Status,
    /// Fingerprint of the agent's version that ran.
    fingerprint: String,
    /// `apply`, `propose` or `observe`; absent if the run ended before it was known.
    mode: Option<String>,
    model: String,
    /// Input tokens of all calls; absent if not reported.
    tokens_in: Option<u64>,
    /// Output tokens of all calls; absent if not reported.
    tokens_out: Option<u64>,
    /// Cost of all calls in US dollars; absent if unknown.
    cost: Option<f64>,
}

/// A key of the agent's file that differs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ChangedKey {
    key: String,
    /// The value in TOML; absent if the file does not have the key.
    first: Option<String>,
    second: Option<String>,
}

/// A comparison of two lists.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ListComparison {
    /// Items only in the first run.
    first: Vec<String>,
    /// Items only in the second run.
    second: Vec<String>,
    /// Items in both runs.
    both: Vec<String>,
}

/// A note that the two runs read in different versions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct EditedNote {
    key: String,
    /// The version that the first run read, from 1.
    first: u32,
    /// The version that the second run read, from 1.
    second: u32,
}

impl Op for AgentDiff {
    const NAME: &'static str = "agent diff";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/runs/{first}/diff/{second}");
    type Output = AgentDiffOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentDiffOutput> {
        let find_run = |id: &str, field: &'static str| {
            let run = ledger::find(ctx.memory, id).map_err(|error| error.field(field))?;
            let transcript = transcript(ctx.memory, &run)?;
            Ok::<_, poc_graph::error::Error>((run, transcript))
        };
        let (first, first_transcript) = find_run(&self.first, "first")?;
        let (second, second_transcript) = find_run(&self.second, "second")?;
        let both = first_transcript.as_ref().zip(second_transcript.as_ref());
        let memory = ctx.memory.of(&first.tenant);
        let key = |id: &NodeId| key(&memory, *id);
        let (nodes, edited) = diff::nodes(&first, &second);
        let edited = edited.iter().map(|node| EditedNote {
            key: key(&node.id),
            first: node.first,
            second: node.second,
        });
        Ok(AgentDiffOutput {
            definition: match first.fingerprint == second.fingerprint {
                true => Some(Vec::new()),
                false => both.and_then(|(one, other)| definition(one, other)),
            },
            nodes: ListComparison::of(nodes, key),
            edited: edited.collect(),
            system: both.map(|(one, other)| diff::lines(&one.system, &other.system)),
            prompt: both.map(|(one, other)| diff::prompts(&one.prompt, &other.prompt)),
            reply: both.map(|(one, other)| diff::replies(one, other)),
            actions: ListComparison::of(diff::actions(&first, &second), String::clone),
            first: DiffSide::of(first),
            second: DiffSide::of(second),
        })
    }

    fn show(output: &AgentDiffOutput, _: &Terminal) -> String {
        let (first, second) = (&output.first, &output.second);
        let mut text = format!("--- {}\n+++ {}\n", first.line(), second.line());
        let mut line = |name: &str, first: &str, second: &str| {
            if first != second {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{name}: {first} -> {second}");
            }
        };
        line("agent", &first.agent, &second.agent);
        line("version", &short(&first.fingerprint), &short(&second.fingerprint));
        for ChangedKey { key, first, second } in output.definition.iter().flatten() {
            line(&format!("  {key}"), value_or_dash(first), value_or_dash(second));
        }
        line("mode", value_or_dash(&first.mode), value_or_dash(&second.mode));
        line("model", &first.model, &second.model);
        line("status", first.status.name(), second.status.name());
        line("tokens", &first.tokens(), &second.tokens());
        line("cost", &first.dollars(), &second.dollars());
        for EditedNote { key, first, second } in &output.edited {
            line(&format!("note {key}, version"), &first.to_string(), &second.to_string());
        }
        if output.is_empty() {
            text.push_str(
                "neither run reached a model call: no notes were read, there is no prompt, reply or action\n",
            );
            return text;
        }
        output.nodes.show("notes read", &mut text);
        output.actions.show("actions", &mut text);
        for (name, diff) in [("system", &output.system), ("prompt", &output.prompt), ("reply", &output.reply)]
        {
            let _ = match diff.as_deref() {
                None => writeln!(text, "{name}: not stored for both runs"),
                Some("") => writeln!(text, "{name}: the same"),
                Some(diff) => writeln!(text, "{name}:\n{}", diff.trim_end()),
            };
        }
        text
    }
}

impl AgentDiffOutput {
    /// Whether neither run has anything to compare.
    fn is_empty(&self) -> bool {
        let none = |lists: &ListComparison| {
            [&lists.first, &lists.second, &lists.both].iter().all(|list| list.is_empty())
        };
        none(&self.nodes) && none(&self.actions) && self.prompt.is_none() && self.reply.is_none()
    }
}

/// The keys in which the agent files of two runs differ; `None` if a file is not stored.
fn definition(first: &RunTranscript, second: &RunTranscript) -> Option<Vec<ChangedKey>> {
    let (one, other) = (&first.definition, &second.definition);
    if one.is_empty() || other.is_empty() {
        return None;
    }
    let keys = diff::keys(one, other).into_iter();
    Some(keys.map(|KeyDiff { key, first, second }| ChangedKey { key, first, second }).collect())
}

fn key(memory: &Memory, id: NodeId) -> String {
    let view = memory.store.view();
    view.find(id).map_or_else(|| id.to_string(), |ix| view.key(ix).to_owned())
}

fn short(fingerprint: &str) -> String {
    fingerprint.chars().take(12).collect()
}

fn value_or_dash(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("-")
}

impl DiffSide {
    fn of(run: Run) -> DiffSide {
        DiffSide {
            run: run.id,
            started: run.started,
            status: run.status,
            mode: run.mode.map(|mode| mode.name().to_owned()),
            agent: run.agent,
            fingerprint: run.fingerprint,
            model: run.model,
            tokens_in: run.tokens_in,
            tokens_out: run.tokens_out,
            cost: run.cost,
        }
    }

    fn line(&self) -> String {
        format!("{} {}, {}", self.run, self.agent, minute(Some(self.started)))
    }

    fn tokens(&self) -> String {
        let count = |tokens: Option<u64>| tokens.map_or_else(|| "-".to_owned(), |count| count.to_string());
        format!("{} in, {} out", count(self.tokens_in), count(self.tokens_out))
    }

    fn dollars(&self) -> String {
        self.cost.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.6}"))
    }
}

impl ListComparison {
    fn of<T>(diff: ListDiff<T>, word: impl Fn(&T) -> String) -> ListComparison {
        let words = |list: Vec<T>| list.iter().map(&word).collect();
        ListComparison { first: words(diff.first), second: words(diff.second), both: words(diff.both) }
    }

    fn show(&self, name: &str, text: &mut String) {
        let _ = writeln!(text, "{name}: {} in both", self.both.len());
        for (sign, list) in [('-', &self.first), ('+', &self.second)] {
            for word in list {
                let _ = writeln!(text, "  {sign} {word}");
            }
        }
    }
}
