//! `agent diff`

use crate::ops::text::minute;
use crate::ops::{Access, Ctx, Op, Route};
use poc_agent::diff::{self, Key, Sorted};
use poc_agent::ledger::{self, Run};
use poc_agent::run::{Transcript, transcript};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, RunId};
use poc_notes::Memory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// What differs between two runs, of one agent or of two: the agent's version, the model, the notes, the
/// prompt, the reply, and what became of it.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Diff {
    /// Id of a run, or its first digits
    first: String,
    /// Id of the run to compare it with, or its first digits
    second: String,
}

/// Two runs and what differs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Compared {
    first: Side,
    second: Side,
    /// Keys of the agent's file with another value; empty when both ran the same, absent when a file is no
    /// longer kept. When they ran different versions and no key differs, it is a template or a saved
    /// pipeline that does.
    definition: Option<Vec<Changed>>,
    /// Keys of the notes they read.
    nodes: Lists,
    /// Notes of both that were edited in between.
    edited: Vec<Edited>,
    /// What the models were told from run to run, as a unified diff; empty when the same, absent when no
    /// longer kept.
    system: Option<String>,
    /// The rendered templates, in the same way.
    prompt: Option<String>,
    /// The answers, in the same way.
    reply: Option<String>,
    /// Actions in words, each with what became of it.
    actions: Lists,
}

/// One of the two runs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Side {
    run: RunId,
    agent: String,
    started: Timestamp,
    status: String,
    /// Fingerprint of the agent's version that ran.
    fingerprint: String,
    /// `apply`, `propose` or `observe`; absent when it came to nothing before that was known.
    mode: Option<String>,
    model: String,
    tokens_in: Option<u64>,
    tokens_out: Option<u64>,
    /// US dollars.
    cost: Option<f64>,
}

/// A key of an agent's file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Changed {
    key: String,
    /// As TOML writes it; absent when the file did not have it.
    first: Option<String>,
    second: Option<String>,
}

/// What the two have of a kind.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Lists {
    /// In the first run alone.
    first: Vec<String>,
    /// In the second alone.
    second: Vec<String>,
    /// In both.
    both: Vec<String>,
}

/// A note that both read.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Edited {
    key: String,
    /// The version that the first run read.
    first: u32,
    second: u32,
}

impl Op for Diff {
    const NAME: &'static str = "agent diff";
    const ACCESS: Access = Access::Read;
    const TENANTS: bool = false;
    const ROUTE: Option<Route> = Route::get("/v1/runs/{first}/diff/{second}");
    type Output = Compared;

    fn run(self, ctx: &Ctx<'_>) -> Result<Compared> {
        let found = |id: &str, field: &'static str| {
            let run = ledger::find(ctx.memory, id).map_err(|error| error.field(field))?;
            let transcript = transcript(ctx.memory, &run)?;
            Ok::<_, poc_graph::error::Error>((run, transcript))
        };
        let (first, said) = found(&self.first, "first")?;
        let (second, answered) = found(&self.second, "second")?;
        let both = said.as_ref().zip(answered.as_ref());
        let key = |id: &NodeId| key(ctx.memory, *id);
        let (nodes, edited) = diff::nodes(&first, &second);
        let edited =
            edited.iter().map(|(id, first, second)| Edited { key: key(id), first: *first, second: *second });
        Ok(Compared {
            definition: definition((&first, said.as_ref()), (&second, answered.as_ref())),
            nodes: Lists::of(nodes, key),
            edited: edited.collect(),
            system: both.map(|(one, other)| diff::lines(&one.system, &other.system)),
            prompt: both.map(|(one, other)| diff::prompts(&one.prompt, &other.prompt)),
            reply: both.map(|(one, other)| diff::replies(one, other)),
            actions: Lists::of(diff::actions(&first, &second), String::clone),
            first: Side::of(first),
            second: Side::of(second),
        })
    }

    fn show(output: &Compared) -> String {
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
        for Changed { key, first, second } in output.definition.iter().flatten() {
            line(&format!("  {key}"), said(first), said(second));
        }
        line("mode", said(&first.mode), said(&second.mode));
        line("model", &first.model, &second.model);
        line("status", &first.status, &second.status);
        line("tokens", &first.tokens(), &second.tokens());
        line("cost", &first.dollars(), &second.dollars());
        for Edited { key, first, second } in &output.edited {
            line(&format!("note {key}, version"), &first.to_string(), &second.to_string());
        }
        if output.is_empty() {
            text.push_str(
                "neither run came to a call: no notes were read, nothing was said and nothing done\n",
            );
            return text;
        }
        output.nodes.show("notes read", &mut text);
        output.actions.show("actions", &mut text);
        for (name, diff) in [("system", &output.system), ("prompt", &output.prompt), ("reply", &output.reply)]
        {
            let _ = match diff.as_deref() {
                None => writeln!(text, "{name}: not kept of both"),
                Some("") => writeln!(text, "{name}: the same"),
                Some(diff) => writeln!(text, "{name}:\n{}", diff.trim_end()),
            };
        }
        text
    }
}

impl Compared {
    /// Whether there is nothing of either run to compare.
    fn is_empty(&self) -> bool {
        let none =
            |lists: &Lists| [&lists.first, &lists.second, &lists.both].iter().all(|list| list.is_empty());
        none(&self.nodes) && none(&self.actions) && self.prompt.is_none() && self.reply.is_none()
    }
}

/// The keys in which the two files differ; `None` when a file that may differ is not kept.
fn definition(
    (first, said): (&Run, Option<&Transcript>),
    (second, answered): (&Run, Option<&Transcript>),
) -> Option<Vec<Changed>> {
    if first.fingerprint == second.fingerprint {
        return Some(Vec::new());
    }
    let file = |transcript: Option<&Transcript>| transcript.map(|transcript| transcript.definition.clone());
    let kept = |text: &String| !text.is_empty();
    let (one, other) = (file(said).filter(kept)?, file(answered).filter(kept)?);
    let keys = diff::keys(&one, &other).into_iter();
    Some(keys.map(|Key { key, first, second }| Changed { key, first, second }).collect())
}

fn key(memory: &Memory, id: NodeId) -> String {
    let view = memory.store.view();
    view.find(id).map_or_else(|| id.to_string(), |ix| view.key(ix).to_owned())
}

fn short(fingerprint: &str) -> String {
    fingerprint.chars().take(12).collect()
}

fn said(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("-")
}

impl Side {
    fn of(run: Run) -> Side {
        Side {
            run: run.id,
            started: run.started,
            status: run.status.name().to_owned(),
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

impl Lists {
    fn of<T>(sorted: Sorted<T>, word: impl Fn(&T) -> String) -> Lists {
        let words = |list: Vec<T>| list.iter().map(&word).collect();
        Lists { first: words(sorted.first), second: words(sorted.second), both: words(sorted.both) }
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
