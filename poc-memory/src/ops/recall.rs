//! `recall`

use super::argument::{self, TextArgument};
use super::hit::{NoteRow, is_zero, missing_note, truncated};
use super::request::FormerText;
use super::terminal::{Emphasis, StyledText, Terminal};
use super::text::{edge_kind, one_line, plural};
use super::{Access, Ctx, Op, Route, ToolEffect};
use poc_graph::error::Result;
use poc_graph::{EdgeKind, NodeId};
use poc_notes::answer_status::{self, AsOf};
use poc_notes::message::{self, ChunkOrigin};
use poc_notes::recall::{self, RecallOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Recall notes for a text: notes that share its words or are near it in meaning, and notes linked to those because they
/// were written or recalled together. Among notes of about the same relevance, heavier ones come first. Recalling teaches
/// the memory: recalled notes that share a word with the text or are near it in meaning gain weight, and such notes
/// recalled together are linked. A daemon stores this within ten minutes.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recall {
    /// Words or a sentence
    #[command(flatten)]
    #[schemars(regex(pattern = r"\S"))]
    text: TextArgument,
    /// How many notes, at most 256 [default: 8]
    #[arg(long = "limit", short = 'n', alias = "k", short_alias = 'k', value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    k: Option<usize>,
    /// Hops along edges from the nearest notes, at most 8; 0 follows none [default: 2]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 8))]
    hops: Option<usize>,
    /// How many of the nearest notes, and of the best by words, are scored, at most 1,000 and at least as many as are
    /// returned [default: 300]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    oversample: Option<usize>,
    /// Learn nothing: the answer is the same, and the memory does not change
    #[arg(long)]
    #[serde(default)]
    no_learn: bool,
}

/// The recalled notes, best first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RecallOutput {
    results: Vec<RecallRow>,
    /// Whether the memory learns from this recall. It is stored within ten minutes, and lost if the process is killed
    /// before.
    learned: bool,
    /// Whether the nearest notes share no word with the text and are not near it in meaning. The memory learns nothing from
    /// them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    no_match: bool,
    /// Why learning failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// A recalled note.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct RecallRow {
    #[serde(flatten)]
    note: NoteRow,
    /// Its text, at most 2,000 characters.
    text: String,
    /// Number of characters at the end of the text that were left out. `get` returns all.
    #[serde(default, skip_serializing_if = "is_zero")]
    text_left_out: usize,
    /// The message it is a chunk of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<ChunkOrigin>,
    /// Score of the hit: ((6 · sim + words) / 7)^α · graph · (1 + 0.2 · weight / (weight + 4))^β, with α = 1 and β = 0.5 by
    /// default.
    score: f64,
    /// Weight of the note, decayed to now, including the gain of this recall.
    weight: f64,
    breakdown: ScoreBreakdown,
    /// The edges that led to it; empty for a note found by similarity.
    path: Vec<PathStep>,
}

/// The factors of the score.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ScoreBreakdown {
    /// Similarity to the query, 0 to 1: (cosine + 1) / 2, or a share of the best score by words if the embedder is not
    /// available. For a note reached along edges, that of the note where the path starts.
    sim: f64,
    /// Share of the words of the query that the note contains, 0 to 1. For a note reached along edges, that of the note
    /// where the path starts.
    words: f64,
    /// Weight of the note, as in `weight`.
    weight: f64,
    /// Graph factor: 1 for a note found by similarity, halved by each hop.
    graph: f64,
    /// Number of hops from the start of the path; 0 for a note found by similarity.
    depth: usize,
}

/// An edge on the path to a note.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct PathStep {
    from: NodeId,
    to: NodeId,
    kind: EdgeKind,
    /// Weight of the associative edge, decayed to now.
    strength: f64,
}

/// Maximum number of characters of the text of a hit.
const MAX_TEXT_CHARS: usize = 2_000;

impl Op for Recall {
    const NAME: &'static str = "recall";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/recall");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Cumulative);
    const FORMER_TEXT: Option<FormerText> = Some(FormerText::word("query"));
    type Output = RecallOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<RecallOutput> {
        let (memory, config) = (ctx.memory, &ctx.memory.config.recall);
        let text = self.text.question(&ctx.memory.config.search)?;
        let options = RecallOptions {
            k: argument::count("k", self.k, ("recall.k", config.k))?,
            hops: argument::count("hops", self.hops, ("recall.hops", config.hops))?,
            oversample: argument::count(
                "oversample",
                self.oversample,
                ("recall.oversample", config.oversample),
            )?,
            text,
            vector: &memory.embedder.embed_question(text)?,
        };
        let now = memory.now();
        let view = memory.store.view();
        let recalled = recall::recall(memory, &view, &options, now)?;
        let status = answer_status::of(memory, &view);
        let remembered = |hit: recall::RecallHit| {
            let ix = view.find(hit.id).ok_or_else(missing_note)?;
            // A note deleted since the view was taken has no text any more.
            let node = memory.store.node(hit.id)?;
            let source = node.as_ref().and_then(|node| node.source.clone());
            let whole = node.as_ref().map_or("", |node| match node.body.as_str() {
                "" => &node.title,
                body => body,
            });
            let (shown, text_left_out) = truncated(whole, MAX_TEXT_CHARS);
            Ok(RecallRow {
                note: NoteRow::new(&view, ix, node.as_ref(), None, Some(text))?,
                text: shown.to_owned(),
                text_left_out,
                message: message::origin(&memory.store, hit.id, source.as_deref())?,
                score: hit.score,
                weight: hit.weight,
                breakdown: ScoreBreakdown {
                    sim: hit.similarity,
                    words: hit.coverage,
                    weight: hit.weight,
                    graph: hit.path_factor,
                    depth: hit.path.len(),
                },
                path: hit
                    .path
                    .into_iter()
                    .map(|recall::PathHop { from, to, kind, strength }| PathStep { from, to, kind, strength })
                    .collect(),
            })
        };
        let results = recalled.hits.into_iter().map(remembered).collect::<Result<_>>()?;
        let learns = !self.no_learn && !recalled.no_match;
        let learned = learns.then(|| recall::record(memory, ctx.actor.name(), &recalled.update));
        Ok(RecallOutput { no_match: recalled.no_match, ..answer(results, learned, status) })
    }

    fn lists_nothing(output: &RecallOutput) -> bool {
        output.results.is_empty()
    }

    fn show(output: &RecallOutput, terminal: &Terminal) -> StyledText {
        let mut rows: Vec<Vec<String>> = output.results.iter().map(row).collect();
        terminal.cut_titles(&mut rows, 2);
        let columns = [Emphasis::Faint, Emphasis::Name, Emphasis::None, Emphasis::Faint];
        let mut text = StyledText::default();
        if rows.is_empty() {
            text.push("nothing found\n");
        }
        text.push_table(terminal, &columns, &rows, |row| {
            Some((Emphasis::Faint, output.results.get(row)?.note.detail(terminal)))
        });
        if output.no_match {
            text.push("the nearest notes share no word with the text and are not near it in meaning\n");
        }
        if let Some(warning) = &output.warning {
            text.push(format!("warning: {warning}\n"));
        }
        text
    }
}

/// The answer. A failure to learn is a warning, not an error.
fn answer(
    results: Vec<RecallRow>,
    learned: Option<Result<()>>,
    status: answer_status::AnswerStatus,
) -> RecallOutput {
    let failed = learned.as_ref().and_then(|learned| learned.as_ref().err());
    RecallOutput {
        results,
        learned: matches!(learned, Some(Ok(()))),
        no_match: false,
        warning: failed.map(|error| format!("the memory has not learned from this: {}", error.line())),
        as_of: status.as_of,
        lag: status.lag,
        degraded: status.degraded,
    }
}

fn row(hit: &RecallRow) -> Vec<String> {
    let through = match hit.path.last() {
        None => String::new(),
        Some(step) => {
            format!("{}, by {}", plural(hit.breakdown.depth as u64, "hop"), edge_kind(step.kind.name()))
        }
    };
    vec![format!("{:>7.4}", hit.score), hit.note.key.clone(), one_line(&hit.note.title), through]
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::error::{Code, Error};
    use poc_graph::time::Timestamp;

    #[test]
    fn recall_answers_even_if_learning_fails() {
        let as_of = AsOf { seq: 1, at: Timestamp(0) };
        let status = || answer_status::AnswerStatus { as_of, lag: 0, degraded: Vec::new() };
        let full = Error::new(Code::ReadOnly, "the store accepts no writes: no space left on device");
        let failed = answer(Vec::new(), Some(Err(full)), status());
        insta::assert_snapshot!(Recall::show(&failed, &Terminal::default()), @r"
        nothing found
        warning: the memory has not learned from this: the store accepts no writes: no space left on device
        ");
        assert!(!failed.learned && !answer(Vec::new(), None, status()).learned);
        assert!(answer(Vec::new(), Some(Ok(())), status()).learned);
    }
}
