//! `query`

use super::argument::TextArgument;
use super::request::FormerText;
use super::retrieve::{self, RetrieveHit};
use super::text::degradations;
use super::{Access, Ctx, Op, Route, ToolEffect};
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_notes::freshness::{self, AsOf};
use poc_notes::{known_note, samples};
use poc_rank::gate::{Signals, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Check whether a note about something exists. Returns the note if the match is certain, a candidate to
/// verify if it is likely, and otherwise the nearest notes. Words that no note contains count against a
/// match. On the command line, `query --calibrate` proposes thresholds (see `calibrate`).
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    /// What to look up: words or a question
    #[command(flatten)]
    #[schemars(regex(pattern = r"\S"))]
    text: TextArgument,
    /// Only decide: return no fallback, and do not count the note as used
    #[arg(long)]
    #[serde(default)]
    signals_only: bool,
    /// Include quarantined notes, which nobody has vouched for. A person always sees them
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// The verdict and the matching note.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct QueryOutput {
    /// How certain the match is.
    hit: Verdict,
    /// The matching note; absent for a miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Its text; only present if the match is certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// The signals the verdict is based on.
    signals: Signals,
    /// Names in the question (`INC-90037`) that no note contains; they prevent a certain match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unheld: Vec<String>,
    /// For a miss: the nearest notes, unverified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fallback: Vec<RetrieveHit>,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

impl Op for Query {
    const NAME: &'static str = "query";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/match");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Cumulative);
    const FORMER_TEXT: Option<FormerText> = Some(FormerText::word("query"));
    type Output = QueryOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<QueryOutput> {
        let text = self.text.non_blank()?;
        let (memory, visibility) = (ctx.memory, ctx.visibility(self.quarantined));
        let view = memory.store.view();
        let known = known_note::find(memory, &view, text, visibility)?;
        let mut freshness = freshness::of(memory, &view);
        let fallback = match known.verdict {
            Verdict::Miss if !self.signals_only => retrieve::to_hits(ctx, &view, known.found, None)?,
            _ => Vec::new(),
        };
        let counts = ctx.may_write && !self.signals_only;
        if counts {
            samples::record_query(memory, &known.cosines);
        }
        let node = known.best.filter(|_| known.verdict > Verdict::Miss);
        if let (Verdict::Strong, Some(node), true) = (known.verdict, &node, counts)
            && let Err(error) = known_note::touch(memory, node.id, ctx.cause(Self::NAME))
        {
            freshness.degraded.push(format!("the use of `{}` was not counted: {error}", node.key));
        }
        Ok(QueryOutput {
            hit: known.verdict,
            id: node.as_ref().map(|node| node.id),
            key: node.as_ref().map(|node| node.key.clone()),
            title: node.as_ref().map(|node| node.title.clone()),
            body: node.filter(|_| known.verdict == Verdict::Strong).map(|node| node.body),
            signals: known.signals,
            unheld: known.unknown_names,
            fallback,
            as_of: freshness.as_of,
            lag: freshness.lag,
            degraded: freshness.degraded,
        })
    }

    fn show(output: &QueryOutput) -> String {
        let title = output.title.as_deref().unwrap_or_default();
        let key = output.key.as_deref().unwrap_or_default();
        let mut text = match output.hit {
            Verdict::Strong => format!("STRONG  {key}  {title}\n"),
            Verdict::Weak => format!(
                "WEAK  {key}  {title}\nunverified: `poc-memory get {key}` shows whether it is what you mean\n"
            ),
            Verdict::Miss => "MISS\n".to_owned(),
        };
        if let Some(body) = output.body.as_ref().filter(|body| !body.is_empty()) {
            text.push_str(&format!("\n{body}\n\n"));
        }
        let Signals { coverage, cosine, likelihood, certainty } = output.signals;
        let likelihood =
            likelihood.map(|likelihood| format!("likelihood {likelihood:.3}, ")).unwrap_or_default();
        text.push_str(&format!(
            "words {coverage:.3}, meaning {cosine:.3}, {likelihood}certainty {certainty:.3}\n"
        ));
        for name in &output.unheld {
            text.push_str(&format!("no note holds `{name}`\n"));
        }
        if !output.fallback.is_empty() {
            text.push_str(&format!("\nnearest, unverified\n{}", retrieve::lines(&output.fallback)));
        }
        text + &degradations(&output.degraded)
    }
}
