//! `agent inspect`

use super::outcome::Outcome;
use crate::ops::{Access, Ctx, Op, Route};
use poc_agent::ledger;
use poc_agent::run::transcript;
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// One run in full: the prompt, what the model answered, and what became of each action.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inspect {
    /// Id of the run, or its first digits
    run: String,
}

/// A run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Inspected {
    /// What became of it.
    outcome: Outcome,
    /// Fingerprint of the agent's version that ran.
    fingerprint: String,
    /// The nodes it read, each with the version.
    versions: Vec<(String, u32)>,
    /// What the model was told from run to run; absent when no longer kept.
    system: Option<String>,
    /// The rendered template.
    prompt: Option<String>,
    /// What the model answered, turn by turn.
    replies: Vec<Reply>,
    /// What each call of a model took, also of those that came to nothing.
    #[serde(default)]
    calls: Vec<Called>,
}

/// One call of a model.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Called {
    /// The model's name in the settings.
    model: String,
    /// Tokens read, when known.
    tokens_in: Option<u64>,
    /// Tokens written, when known.
    tokens_out: Option<u64>,
    /// US dollars, when known.
    cost: Option<f64>,
    /// Whether the provider told nothing and this is what it may have been at most.
    estimated: bool,
}

/// One answer of the model.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Reply {
    text: String,
    /// What was wrong with it.
    problems: Vec<String>,
}

impl Op for Inspect {
    const NAME: &'static str = "agent inspect";
    const ACCESS: Access = Access::Read;
    const TENANTS: bool = false;
    const ROUTE: Option<Route> = Route::get("/v1/runs/{run}");
    type Output = Inspected;

    fn run(self, ctx: &Ctx<'_>) -> Result<Inspected> {
        let run = ledger::find(ctx.memory, &self.run)?;
        let outcome = Outcome::of(ctx.memory, &run);
        let versions = run.selected.iter().map(|(_, version)| *version);
        let versions = outcome.nodes.iter().cloned().zip(versions).collect();
        let (mut system, mut prompt, mut replies) = (None, None, Vec::new());
        if let Some(transcript) = transcript(ctx.memory, &run)? {
            (system, prompt) = (Some(transcript.system), Some(transcript.prompt));
            let turns = transcript.turns.into_iter();
            replies = turns.map(|turn| Reply { text: turn.reply, problems: turn.problems }).collect();
        }
        let called = |call: ledger::Call| {
            let ledger::Call { model, tokens_in, tokens_out, cost, estimated } = call;
            Called { model, tokens_in, tokens_out, cost, estimated }
        };
        let (calls, fingerprint) = (run.calls.into_iter().map(called).collect(), run.fingerprint);
        Ok(Inspected { outcome, fingerprint, versions, system, prompt, replies, calls })
    }

    fn show(output: &Inspected) -> String {
        let mut text = output.outcome.show();
        for call in &output.calls {
            let _ = writeln!(text, "  {}", call.line());
        }
        for (name, body) in [("system", &output.system), ("prompt", &output.prompt)] {
            match body {
                Some(body) => {
                    let _ = write!(text, "\n--- {name}\n{}\n", body.trim_end());
                }
                None => {
                    let _ = write!(text, "\n--- {name}: not kept\n");
                }
            }
        }
        for (turn, reply) in output.replies.iter().enumerate() {
            let _ = write!(text, "\n--- reply {}\n{}\n", turn + 1, reply.text.trim_end());
            for problem in &reply.problems {
                let _ = writeln!(text, "problem: {problem}");
            }
        }
        text
    }
}

impl Called {
    fn line(&self) -> String {
        let mut line = format!("call of {}", self.model);
        for (count, what) in [(self.tokens_in, "in"), (self.tokens_out, "out")] {
            if let Some(count) = count {
                let _ = write!(line, ", {count} tokens {what}");
            }
        }
        if let Some(cost) = self.cost {
            let most = if self.estimated { "at most " } else { "" };
            let _ = write!(line, ", {most}${cost:.6}");
        }
        line
    }
}
