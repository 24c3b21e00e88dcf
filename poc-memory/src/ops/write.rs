//! `write`

use super::request::FormerText;
use super::secret_check::{self, SecretCheck};
use super::text::plural;
use super::{Access, Ctx, Op, Route, Terminal, ToolEffect, argument};
use poc_graph::error::Result;
use poc_graph::{MessageId, NodeId};
use poc_notes::write::{self, MessageDraft};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Store a message: it is split into chunks of a few sentences, each a note that `recall` finds. Neighbouring
/// chunks are linked, and the first chunk is linked to what was written in the last five minutes. A message
/// written twice is stored twice.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Write")]
pub(crate) struct WriteRequest {
    /// The text
    #[arg(value_parser = argument::text, help = "The text. `-` reads standard input")]
    #[schemars(regex(pattern = r"\S"))]
    text: String,
    /// Metadata as a JSON object: `{"session": "42"}`
    #[arg(long, value_name = "JSON", value_parser = argument::object)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
    /// Keywords of each chunk
    #[arg(
        long = "keyword",
        short = 'k',
        alias = "tag",
        value_name = "WORD",
        help = "A keyword of each chunk; repeat it for more"
    )]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keywords: Vec<String>,
}

/// The stored message.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WriteOutput {
    /// Id of the message, which `forget` takes.
    message_id: MessageId,
    /// Ids of its chunks, in the order of the text.
    node_ids: Vec<NodeId>,
    /// Number of new edges.
    edges: usize,
    /// The number of the change.
    seq: u64,
    /// Secrets that were found in the text, by kind. What a model writes has placeholders in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

impl Op for WriteRequest {
    const NAME: &'static str = "write";
    const ACCESS: Access = Access::Write;
    const CREATES_PROFILE: bool = true;
    const LABELS_NOTES: bool = true;
    const ROUTE: Option<Route> = Route::post("/v1/write");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Cumulative);
    const FORMER_TEXT: Option<FormerText> = Some(FormerText::word("message"));
    type Output = WriteOutput;

    fn run(mut self, ctx: &Ctx<'_>) -> Result<WriteOutput> {
        let mut check = SecretCheck::of(ctx);
        check.text(&mut self.text);
        self.keywords.iter_mut().for_each(|keyword| check.text(keyword));
        if let Some(metadata) = &mut self.metadata {
            check.object(metadata, "metadata")?;
        }
        let draft = MessageDraft {
            text: self.text,
            metadata: self.metadata.unwrap_or_default(),
            keywords: self.keywords,
            provenance: ctx.actor.name().to_owned(),
            trust: ctx.actor.trust(),
        };
        let written = write::write(ctx.memory, draft, ctx.cause(Self::NAME))?;
        Ok(WriteOutput {
            message_id: written.message,
            node_ids: written.nodes,
            edges: written.edges,
            seq: written.seq,
            warning: check.warning(),
        })
    }

    fn show(output: &WriteOutput, _: &Terminal) -> String {
        let chunks = plural(output.node_ids.len() as u64, "chunk");
        let edges = plural(output.edges as u64, "edge");
        let warning = secret_check::line(output.warning.as_ref());
        format!("wrote message {} ({chunks}, {edges})\n{warning}", output.message_id)
    }
}
