//! `agent inspect`

use super::outcome::AgentRunOutput;
use crate::ops::text::plural;
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::ledger;
use poc_agent::run::transcript;
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Show a run in full: the prompt, the model's replies, and the outcome of each action.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentInspect {
    /// Id of the run, or its first digits
    run: String,
}

/// A run in full.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentInspectOutput {
    /// The result of the run, as `agent run` returns it.
    outcome: AgentRunOutput,
    /// Fingerprint of the agent's version that ran.
    fingerprint: String,
    /// Keys of the notes that the run read, each with the version it read.
    versions: Vec<(String, u32)>,
    /// The system prompt; absent if no longer stored.
    system: Option<String>,
    /// The rendered template.
    prompt: Option<String>,
    /// The model's replies, turn by turn.
    replies: Vec<ReplyRow>,
    /// Tokens and cost of each model call, including failed ones.
    #[serde(default)]
    calls: Vec<CallRow>,
}

/// One call of a model.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct CallRow {
    /// The model's name in the settings.
    model: String,
    /// Input tokens, if the provider reported them.
    tokens_in: Option<u64>,
    /// Output tokens, if the provider reported them.
    tokens_out: Option<u64>,
    /// Cost of the call in US dollars, if known.
    cost: Option<f64>,
    /// Whether the numbers are estimates because the provider reported none.
    estimated: bool,
}

/// One reply of the model.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ReplyRow {
    text: String,
    /// The problems of this reply, which the model was asked to correct; empty if it was valid.
    problems: Vec<String>,
}

impl Op for AgentInspect {
    const NAME: &'static str = "agent inspect";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/runs/{run}");
    type Output = AgentInspectOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentInspectOutput> {
        let run = ledger::find(ctx.memory, &self.run)?;
        let outcome = AgentRunOutput::of(ctx.memory, &run)?;
        let versions = run.selected.iter().map(|read| read.version);
        let versions = outcome.nodes.iter().cloned().zip(versions).collect();
        let (mut system, mut prompt, mut replies) = (None, None, Vec::new());
        if let Some(transcript) = transcript(ctx.memory, &run)? {
            (system, prompt) = (Some(transcript.system), Some(transcript.prompt));
            let turns = transcript.turns.into_iter();
            replies = turns.map(|turn| ReplyRow { text: turn.reply, problems: turn.problems }).collect();
        }
        let called = |call: ledger::CallRecord| {
            let ledger::CallRecord { model, tokens_in, tokens_out, cost, estimated } = call;
            CallRow { model, tokens_in, tokens_out, cost, estimated }
        };
        let (calls, fingerprint) = (run.calls.into_iter().map(called).collect(), run.fingerprint);
        Ok(AgentInspectOutput { outcome, fingerprint, versions, system, prompt, replies, calls })
    }

    fn show(output: &AgentInspectOutput, _: &Terminal) -> String {
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
                    let _ = write!(text, "\n--- {name}: not stored\n");
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

impl CallRow {
    fn line(&self) -> String {
        let mut line = format!("call of {}", self.model);
        for (count, what) in [(self.tokens_in, "in"), (self.tokens_out, "out")] {
            if let Some(count) = count {
                let _ = write!(line, ", {} {what}", plural(count, "token"));
            }
        }
        if let Some(cost) = self.cost {
            let about = if self.estimated { "about " } else { "" };
            let _ = write!(line, ", {about}${cost:.6}");
        }
        line
    }
}
