//! `query`

use super::argument::Words;
use super::retrieve::{self, Found};
use super::text::degraded;
use super::{Access, Ctx, Op, Route};
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_notes::freshness::{self, AsOf};
use poc_notes::{recognize, samples};
use poc_rank::gate::{Signals, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Is there a note on this? Answers with the one note when the match is certain, with a candidate to verify
/// when it is likely, and with what is nearest when there is none. Words that no note has count against a
/// match. On the command line `query --calibrate` proposes thresholds (see `calibrate`).
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    /// What may be known: words or a question
    #[command(flatten)]
    #[schemars(regex(pattern = r"\S"))]
    query: Words,
    /// Only judge: no fallback, and the note does not count as used
    #[arg(long)]
    #[serde(default)]
    signals_only: bool,
    /// Also notes that are quarantined, which nobody has vouched for: a model sees them only with this,
    /// a person always
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// What is known.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Answer {
    /// How sure it is.
    hit: Verdict,
    /// The note; absent of a miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Its text; absent unless the match is certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// How the question and what was found agree.
    signals: Signals,
    /// Names in the question (`INC-90037`) that no note holds: no match is certain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unheld: Vec<String>,
    /// Of a miss: what is nearest, unverified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fallback: Vec<Found>,
    as_of: AsOf,
    /// Transactions the slowest index is behind.
    lag: u64,
    /// What makes this answer poorer than it should be.
    degraded: Vec<String>,
}

impl Op for Query {
    const NAME: &'static str = "query";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/match");
    const TOOL: Option<&'static str> = Some("graft_query");
    type Output = Answer;

    fn run(self, ctx: &Ctx<'_>) -> Result<Answer> {
        let text = self.query.filled("query")?;
        let (memory, sight) = (ctx.memory, ctx.sight(self.quarantined));
        let view = memory.store.view();
        let known = recognize::recognize(memory, &view, text, sight)?;
        let mut freshness = freshness::of(memory, &view);
        let fallback = match known.verdict {
            Verdict::Miss if !self.signals_only => retrieve::found(ctx, &view, known.found, None)?,
            _ => Vec::new(),
        };
        let counts = ctx.may_write && !self.signals_only;
        if counts {
            samples::remember(memory, &known.seen);
        }
        let node = known.best.filter(|_| known.verdict > Verdict::Miss);
        if let (Verdict::Strong, Some(node), true) = (known.verdict, &node, counts)
            && let Err(error) = recognize::touch(memory, node.id, ctx.cause(Self::NAME))
        {
            freshness.degraded.push(format!("the use of `{}` was not counted: {error}", node.key));
        }
        Ok(Answer {
            hit: known.verdict,
            id: node.as_ref().map(|node| node.id),
            key: node.as_ref().map(|node| node.key.clone()),
            title: node.as_ref().map(|node| node.title.clone()),
            body: node.filter(|_| known.verdict == Verdict::Strong).map(|node| node.body),
            signals: known.signals,
            unheld: known.unheld,
            fallback,
            as_of: freshness.as_of,
            lag: freshness.lag,
            degraded: freshness.degraded,
        })
    }

    fn show(output: &Answer) -> String {
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
        text + &degraded(&output.degraded)
    }
}
