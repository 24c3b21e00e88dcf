//! `search`

use super::argument::OptionalTextArgument;
use super::explanation_text::explanation_text;
use super::hit::{DerivedNote, NoteRow, is_zero, missing_note};
use super::pipeline_agents::PipelineAgents;
use super::request::FormerText;
use super::terminal::{Emphasis, StyledText, Terminal};
use super::text::{one_line, plural};
use super::{Access, Ctx, Op, Route, ToolEffect, argument, pipeline_ages, pipeline_keywords};
use poc_config::SearchConfig;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{HistoryPoint, Ix, NodeId, View};
use poc_notes::ReadSnapshot;
use poc_notes::answer_status::AsOf;
use poc_rank::decay::weight_at;
use poc_search::query::{
    Explanation, FIELDS, InterferencePair, Names, Pipeline, ScoredNode, StageKind, vocabulary,
};
use poc_store::Records;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

const EXAMPLES: &str = "\
Examples:
  poc-memory search btree journal               by meaning and by words
  poc-memory search btree journal -n 3
  poc-memory search btree journal -p spread     the best notes, and notes linked
                                                to them
  poc-memory search -p type:episodic -p '!visited:linker' -p limit:20
  poc-memory search -p 'all | age:<7d | key:session-* | weight:>0.5' --explain

`--help` lists every stage of the language.";

/// What the stages of each kind do.
pub(crate) const STAGE_KINDS: [(StageKind, &str); 4] = [
    (StageKind::Generator, "Generators come first and produce the notes"),
    (StageKind::Filter, "Filters keep the notes that match; `!` in front keeps the others"),
    (StageKind::Transform, "Transforms sort and limit the notes"),
    (StageKind::Algorithm, "Algorithms start from the notes and walk the graph"),
];

/// The stages of the language, grouped by what they do.
fn language() -> String {
    let mut text = format!("{}\n", EXAMPLES.rsplit_once("\n\n").map_or(EXAMPLES, |(examples, _)| examples));
    for (kind, heading) in STAGE_KINDS {
        let _ = writeln!(text, "\n{heading}:");
        for stage in vocabulary().iter().filter(|stage| stage.kind() == kind) {
            let _ = writeln!(text, "  {}\n      {}", wrapped(&stage.signature()), stage.doc);
        }
    }
    let _ = writeln!(text, "\nFields to sort by:");
    for (field, name) in FIELDS.iter().filter_map(|field| Some((field, field.sort?))) {
        let _ = writeln!(text, "  {name}\n      {}", field.doc);
    }
    text.truncate(text.trim_end().len());
    text
}

/// A signature on lines of at most 78 characters, each broken after a comma: help fits 80 columns.
fn wrapped(signature: &str) -> String {
    let mut text = String::new();
    let mut columns = 2;
    for part in signature.split_inclusive(',') {
        let length = part.chars().count();
        if columns + length > 78 {
            text.push_str("\n    ");
            columns = 4;
        }
        text.push_str(part);
        columns += length;
    }
    text
}

/// Find notes by words, by a pipeline such as `all | type:episodic | sort:priority | limit:20`, or by both:
/// the pipeline then continues from the notes that the words find.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[command(
    about = "Find notes by words, with a pipeline, or both: `search btree journal`, `search -p 'all | type:episodic | limit:20'`",
    long_about = None,
    after_help = EXAMPLES,
    after_long_help = language()
)]
pub(crate) struct Search {
    /// Words or a sentence to search for: the argument of the pipeline's first stage if it takes a text, otherwise of a
    /// `hybrid:` stage in front
    #[command(flatten)]
    #[serde(default, skip_serializing_if = "OptionalTextArgument::is_absent")]
    text: OptionalTextArgument,
    /// Stages in order; one text may contain several, separated by `|`
    #[arg(
        long = "pipeline",
        short,
        value_name = "STAGE",
        help = "A stage, or several separated by `|`; repeat it for more"
    )]
    #[serde(default)]
    pipeline: Vec<String>,
    /// Explain each stage: what it does, how many notes go in and come out, and its time
    #[arg(long)]
    #[serde(default)]
    explain: bool,
    /// Search the memory as of this time or after this change: `2026-11-21`, `2026-11-21T08:00:00Z`, `7d` (a week
    /// ago), or `1042` (a number that `changes` shows)
    #[arg(long, value_name = "SEQ|TIME", value_parser = argument::history_point)]
    #[serde(default)]
    at: Option<HistoryPoint>,
    /// How many notes, at most 1,000. Without it, words alone find up to 8, words with stages up to 20, and
    /// stages alone up to 1,000, unless a `limit:` stage gives another number
    #[arg(
        long = "limit",
        short = 'n',
        alias = "top-k",
        short_alias = 'k',
        value_name = "N",
        help = "How many notes, at most 1,000 [default: 8 with words, 20 with words and stages]"
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    top_k: Option<usize>,
    // The surface that adds it does not know whether the pipeline has a `limit:` stage.
    /// How many notes if neither `top_k` nor a `limit:` stage says so
    #[arg(skip)]
    #[schemars(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_limit: Option<usize>,
    /// Include quarantined notes, which no person has approved. Only models need this: a person always sees them
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// The notes or pairs that the pipeline found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SearchOutput {
    results: Vec<SearchRow>,
    /// How many more notes the pipeline found. An answer has at most `top_k`; without it and without `limit:`, at
    /// most 20 with a text and 1,000 without. `offset:` at the end of the pipeline returns the next ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: usize,
    /// Pairs of similar notes in different communities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pairs: Vec<InterferencePairRow>,
    /// How many more pairs the pipeline found.
    #[serde(default, skip_serializing_if = "is_zero")]
    pairs_left_out: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    explain: Option<Explanation>,
    /// The field that the pipeline sorts by, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sorted_by: Option<String>,
    /// The pipeline that the text would be, if it was searched for as words and reads like stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    as_pipeline: Option<String>,
    /// Whether the request had a text: the snippets show where notes match it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    by_text: bool,
    /// Whether the answer shows a past state of the memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    past: bool,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SearchRow {
    #[serde(flatten)]
    note: NoteRow,
    /// The score that the last scoring stage gave the note; higher is better. Its range depends on the stage:
    /// a cosine is −1 to 1, a score of rank fusion is below 0.1.
    score: f64,
    /// Weight of the note, decayed to now: 0.01 to 100 with the default settings.
    weight: f64,
    modified: Timestamp,
    /// The note derived from this one (a fact, a digest), or the confirmed question, that led to it, if any did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    derived: Option<DerivedNote>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct InterferencePairRow {
    a: String,
    b: String,
    /// Cosine of the most similar passages of both notes, 0 to 1.
    similarity: f64,
}

/// Maximum number of hits of a pipeline without a `limit:` stage.
const MAX_HITS: usize = 1_000;

/// Minimum width of the column of scores in characters. Scores of `spread` may need more.
const SCORE_WIDTH: usize = 7;

impl Search {
    fn has_words(&self) -> bool {
        self.text.as_deref().is_some_and(|text| !text.trim().is_empty())
    }

    /// Whether the request has no stages, so that the settings say what its words mean.
    fn is_plain(&self) -> bool {
        self.pipeline.is_empty()
    }

    /// The number of hits that the request asks for, or the default for a pipeline without a `limit:` stage.
    ///
    /// # Errors
    /// `invalid_argument` at `top_k` if it is out of range.
    fn max_hits(&self, config: &SearchConfig) -> Result<usize> {
        let default = if self.has_words() && !self.is_plain() { config.limit } else { MAX_HITS };
        let wanted = self.top_k.or(self.default_limit).unwrap_or(default);
        if !(1..=MAX_HITS).contains(&wanted) {
            return Err(Error::invalid(format!("{wanted} is out of range"))
                .hint(format!(
                    "give a number from 1 to {MAX_HITS}, or leave it out and set a limit in the pipeline with `limit:`"
                ))
                .field("top_k"));
        }
        Ok(wanted)
    }

    /// The pipeline of the request.
    fn parsed(&self, config: &SearchConfig, names: &Names) -> Result<Pipeline> {
        let texts: Vec<String> = self.text.as_deref().map(str::to_owned).into_iter().collect();
        if !self.is_plain() {
            return Pipeline::from_parts(&texts, &self.pipeline, names).map_err(|error| names.locate(error));
        }
        let has_words = self.text.as_deref().is_some_and(argument::has_words);
        let stages = [plain_pipeline(has_words, self.top_k, config)?];
        // With words alone, an invalid pipeline is the setting's fault, so report the setting.
        Pipeline::from_parts(&texts, &stages, names)
            .map_err(|error| names.check_plain(&config.pipeline).err().unwrap_or(error))
    }
}

impl Op for Search {
    const NAME: &'static str = "search";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/pipeline");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::ReadOnly);
    const FORMER_TEXT: Option<FormerText> = Some(FormerText::words("terms"));
    type Output = SearchOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<SearchOutput> {
        let config = &ctx.memory.config.search;
        let text = self.text.as_deref();
        argument::check_length(text, "text", config)?;
        argument::check_length(self.pipeline.iter().map(String::as_str), "pipeline", config)?;
        let (has_words, is_plain) = (self.has_words(), self.is_plain());
        let wanted = self.max_hits(config)?;
        let names = ctx.memory.names.load();
        let pipeline = self.parsed(config, &names)?;
        let agents = PipelineAgents::of(ctx, [&pipeline]);
        let snapshot = ReadSnapshot::of(ctx.memory, self.at)?
            .with_quarantined(ctx.visibility(self.quarantined).quarantined)
            .with_visit_rules(agents.visit_rules(&ctx.memory.config));
        let bound = if pipeline.has_limit() { self.top_k.unwrap_or(usize::MAX) } else { wanted };
        let has_number = self.top_k.or(self.default_limit).is_some();
        let narrows = has_words && !is_plain && !has_number && pipeline.narrows_plain_search();
        // In another order, notes below the average would come before those that the words find.
        let min_score = (narrows && pipeline.sorted_by().is_some()).then_some(config.min_score);
        let (mut set, explanation) = pipeline.run_above(&snapshot.sources(), bound, min_score)?;
        if is_plain && !has_number || narrows && !pipeline.has_limit() {
            set.remove_below(config.min_score);
        }
        let searched = pipeline.text();
        let misspelt = agents.problems(snapshot.view(), &pipeline);
        let shown = set.items.iter().take(bound);
        let results = shown
            .map(|item| {
                let through = explanation.found_through.get(&item.ix).copied();
                row(ctx, &snapshot, *item, searched.as_deref(), through)
            })
            .collect::<Result<_>>()?;
        let status = snapshot.answer_status();
        Ok(SearchOutput {
            results,
            left_out: set.items.len().saturating_sub(bound),
            pairs: set.pairs.iter().take(bound).map(|pair| pair_row(snapshot.view(), *pair)).collect(),
            pairs_left_out: set.pairs.len().saturating_sub(bound),
            degraded: status
                .degraded
                .into_iter()
                .chain(explanation.reused.clone())
                .chain(misspelt)
                .chain(pipeline_keywords::problems(&snapshot, &pipeline))
                .chain(pipeline_ages::problems(&pipeline))
                .collect(),
            explain: self.explain.then_some(explanation),
            sorted_by: pipeline.sorted_by(),
            as_pipeline: text.filter(|_| is_plain).and_then(|text| as_pipeline(text, &names)),
            by_text: has_words,
            past: snapshot.is_past(),
            as_of: status.as_of,
            lag: status.lag,
        })
    }

    fn notice(output: &SearchOutput) -> Option<String> {
        // Quotes within quotes differ between shells.
        let pipeline = output.as_pipeline.as_ref().filter(|pipeline| !pipeline.contains('\''))?;
        Some(format!(
            "the text was searched for as words; `poc-memory search -p '{pipeline}'` runs it as a pipeline"
        ))
    }

    fn lists_nothing(output: &SearchOutput) -> bool {
        output.results.is_empty() && output.pairs.is_empty()
    }

    fn show(output: &SearchOutput, terminal: &Terminal) -> StyledText {
        // Scores of rank fusion are small and close together.
        let digits = if output.results.iter().all(|hit| hit.score < 0.1) { 4 } else { 3 };
        let length = |hit: &SearchRow| format!("{:.digits$}", hit.score).len();
        let width = output.results.iter().map(length).fold(SCORE_WIDTH, usize::max);
        let by_weight = output.sorted_by.as_deref() == Some("weight");
        let row = |hit: &SearchRow| {
            let weight = if by_weight { format!("  weight {:.3}", hit.weight) } else { String::new() };
            let note = &hit.note;
            let score = format!("{:>width$.digits$}{weight}", hit.score);
            vec![score, note.key.clone(), note.node_type.clone(), one_line(&note.title)]
        };
        let rows: Vec<Vec<String>> = output.results.iter().map(row).collect();
        let columns = [Emphasis::Faint, Emphasis::Name, Emphasis::Faint, Emphasis::None];
        let mut styled = StyledText::default();
        styled.push_table(terminal, &columns, &rows, |row| {
            let hit = output.results.get(row).filter(|_| output.by_text)?;
            let through = hit.derived.as_ref().map(DerivedNote::line);
            Some((Emphasis::Faint, hit.note.detail(terminal) + &through.unwrap_or_default()))
        });
        let mut text = String::new();
        if output.results.is_empty() {
            text.push_str("nothing found\n");
        }
        if output.left_out > 0 {
            let more = plural(output.left_out as u64, "more note");
            let next = output.results.len();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{more} left out: add `-n N` or `-p offset:{next}`");
        }
        for pair in &output.pairs {
            let _ = writeln!(text, "pair {:.3}  {}  {}", pair.similarity, pair.a, pair.b);
        }
        if output.pairs_left_out > 0 {
            let more = plural(output.pairs_left_out as u64, "more pair");
            let _ = writeln!(text, "{more} left out: add `-n N`");
        }
        if let Some(explanation) = &output.explain {
            let _ = write!(text, "\n{}", explanation_text(terminal, explanation));
        }
        if output.past {
            let _ = writeln!(text, "as of {}", output.as_of);
        }
        styled.push(text);
        styled
    }
}

/// The pipeline of the settings for a search by words alone, with the requested number of notes.
///
/// # Errors
/// `invalid_argument` at `text` if there are no words.
fn plain_pipeline(has_words: bool, top_k: Option<usize>, config: &SearchConfig) -> Result<String> {
    if !has_words {
        return Err(Error::invalid("there is nothing to search for")
            .hint("give a text, or a pipeline such as `all | limit:20`")
            .field("text"));
    }
    Ok(match top_k {
        // The number replaces that of the setting.
        Some(number) => format!("{} | limit:{number}", without_limit(&config.pipeline.text)),
        None => config.pipeline.text.clone(),
    })
}

/// The pipeline that a text of words would be: if it consists of stages, or of words and stages, at least one of them
/// with an argument.
fn as_pipeline(text: &str, names: &Names) -> Option<String> {
    // Most texts have no stage with an argument.
    if !text.contains(':') {
        return None;
    }
    let stages = Pipeline::parse(text, names).ok();
    let words_and_stages = || {
        let (words, stages) = text.split_once('|')?;
        let words = Some(words.trim()).filter(|words| !words.is_empty())?;
        has_given_argument(&Pipeline::parse(stages, names).ok()?).then_some(())?;
        Pipeline::from_parts(&[words.to_owned()], &[stages.trim().to_owned()], names).ok()
    };
    let pipeline = stages.filter(has_given_argument).or_else(words_and_stages)?;
    Some(pipeline.to_string())
}

/// Whether a stage of a pipeline has an argument.
fn has_given_argument(pipeline: &Pipeline) -> bool {
    pipeline.outline().iter().any(|stage| stage.arguments.iter().any(|argument| argument.given))
}

/// A pipeline without the limit at its end.
fn without_limit(pipeline: &str) -> &str {
    match pipeline.rsplit_once('|') {
        Some((before, last)) if last.trim().starts_with("limit:") => before.trim_end(),
        _ => pipeline,
    }
}

/// The row of a hit. `text` is the text that was searched for, `through` the note that led to the hit.
fn row(
    ctx: &Ctx<'_>,
    snapshot: &ReadSnapshot<'_>,
    item: ScoredNode,
    text: Option<&str>,
    through: Option<NodeId>,
) -> Result<SearchRow> {
    let (view, ix) = (snapshot.view(), item.ix);
    let id = view.id(ix).ok_or_else(missing_note)?;
    let through = through.map(|id| snapshot.node(id)).transpose()?.flatten();
    Ok(SearchRow {
        derived: through.map(DerivedNote::from),
        note: NoteRow::new(view, ix, snapshot.node(id)?.as_ref(), None, text)?,
        score: item.score,
        weight: weight_at(view, ix, &ctx.memory.config.weight, snapshot.now()),
        modified: view.modified(ix),
    })
}

fn pair_row(view: &View, pair: InterferencePair) -> InterferencePairRow {
    let key = |ix: Ix| view.key(ix).to_owned();
    InterferencePairRow { a: key(pair.a), b: key(pair.b), similarity: pair.similarity }
}
