//! `visit`

use super::text::plural;
use super::{Access, Ctx, Op, Route, Terminal, argument};
use poc_graph::VisitOutcome;
use poc_graph::error::{Error, Result};
use poc_notes::visit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Record that an agent has visited notes, as its own runs do.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Visit")]
pub(crate) struct VisitRequest {
    /// Name of the agent
    agent: String,
    /// Keys or ids of the notes
    #[arg(required = true, value_name = "NOTE")]
    nodes: Vec<String>,
    /// Outcome of the visit [default: processed]
    #[arg(long, value_parser = argument::outcome())]
    outcome: Option<VisitOutcome>,
}

/// The agent and the notes of the recorded visits.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VisitOutput {
    agent: String,
    outcome: VisitOutcome,
    /// Keys of the notes.
    nodes: Vec<String>,
}

impl Op for VisitRequest {
    const NAME: &'static str = "visit";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/visit");
    type Output = VisitOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<VisitOutput> {
        if self.nodes.is_empty() {
            return Err(Error::invalid("no note is named").hint("name one or more").field("nodes"));
        }
        let cause = ctx.cause(Self::NAME);
        let now = cause.at;
        let outcome = self.outcome.unwrap_or(VisitOutcome::Processed);
        let done = ctx.memory.store.transact(cause, |tx| {
            let mut keys = Vec::with_capacity(self.nodes.len());
            for (at, name) in self.nodes.iter().enumerate() {
                let node = ctx.find_writable(tx, name, &format!("nodes[{at}]"))?;
                visit::record(tx, &self.agent, node.id, outcome, now)?;
                keys.push(node.key);
            }
            Ok(keys)
        })?;
        Ok(VisitOutput { agent: self.agent, outcome, nodes: done.value })
    }

    fn show(output: &VisitOutput, _: &Terminal) -> String {
        format!("{} {} by `{}`\n", plural(output.nodes.len() as u64, "note"), output.outcome, output.agent)
    }
}
