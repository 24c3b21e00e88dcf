//! `eval`

mod gates;

use super::command_context::CommandContext;
use super::local::LocalCommand;
use super::progress::Bar;
use crate::ops::{MeasureRow, Progress, Terminal, differences_table, measures_table, plural, with_bounds};
use poc_agent::batches::{self, BatchReport};
use poc_agent::run::RunOptions;
use poc_agent::{Catalog, Definition};
use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_graph::similar;
use poc_graph::time::{Clock as _, ManualClock, Span, SystemClock};
use poc_notes::eval::baselines::BaselineMeasures;
use poc_notes::eval::compare::{self, Comparison};
use poc_notes::eval::gates::GateRates;
use poc_notes::eval::report::{ALL, EvalReport};
use poc_notes::eval::set::EvalSet;
use poc_notes::eval::{EvalHalves, EvalPhase, Evaluation, QuestionOp};
use serde::Serialize;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// The model of agents that need no other.
const DEFAULT_MODEL: &str = "default";

/// Measure retrieval quality: ask the questions of a folder in a temporary memory
///
/// The folder has `docs.jsonl` with one document per line ({"id", "title", "text", "meta": {"group",
/// "session", "date", "speaker"}}, all optional except `id` and `text`), `queries.jsonl` with one question
/// per line ({"id", "text", "type", "meta": {"group"}}) and `qrels.tsv` with one line per relevant document:
/// question, document and 1, separated by tabs. Questions with a group are asked against the documents of
/// that group only. Your settings are used; your memory is not touched.
///
/// `eval --live [FILE]` asks your own memory instead: the questions of FILE, or those that were confirmed with
/// `reinforce NOTE --for QUESTION`. `poc-memory eval-live --help` describes it.
#[derive(Debug, clap::Args)]
pub(super) struct Eval {
    /// Folder with docs.jsonl, queries.jsonl and qrels.tsv
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Also show the differences from an earlier run, given as its `--json` answer
    #[arg(long, value_name = "FILE", conflicts_with = "agents")]
    compare: Option<PathBuf>,
    /// Also measure the parts of the search by themselves: words only, vectors only, and both without sessions,
    /// mentions and links
    #[arg(long, conflicts_with_all = ["confirm", "agents", "gates", "recall"])]
    baselines: bool,
    /// Confirm every second question with one of its relevant documents, as `reinforce --for` does, and show how the
    /// other questions are answered before and after
    #[arg(long, conflicts_with = "compare")]
    confirm: bool,
    /// Run these agents in the temporary memory until they find nothing to do, ask again, and show the differences
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    agents: Vec<String>,
    /// Model of the agents whose files name the model `default`, instead of that
    #[arg(long, value_name = "NAME", requires = "agents")]
    model: Option<String>,
    /// Ask with `recall` instead of the search
    #[arg(long)]
    recall: bool,
    /// Number of simulated nights, a day apart. The agents run in each
    #[arg(long, value_name = "N", default_value_t = 1, requires = "agents", value_parser = clap::value_parser!(u32).range(1..=365))]
    nights: u32,
    /// Measure the gates of `query` instead: how often each answers STRONG, WEAK or MISS when the relevant notes are
    /// stored, when they are not, and for questions about something else
    #[arg(long, conflicts_with_all = ["compare", "confirm", "agents"])]
    gates: bool,
    /// With --gates: folder with questions about something else [default: the questions of the other groups]
    #[arg(long, value_name = "FOLDER", requires = "gates")]
    foreign: Option<PathBuf>,
}

/// The answer of `eval`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum EvalOutput {
    Measures(Box<MeasureOutput>),
    Gates(GateOutput),
}

/// The verdicts of the gates on the questions.
#[derive(Debug, Serialize)]
pub(super) struct GateOutput {
    set: String,
    embedder: String,
    gates: Vec<GateRates>,
}

/// The retrieval measures of the questions.
#[derive(Debug, Serialize)]
pub(super) struct MeasureOutput {
    #[serde(flatten)]
    report: EvalReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Comparison>,
    /// The measures of single signals of retrieval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    baselines: Vec<BaselineMeasures>,
    /// Number of questions that were confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<u64>,
    /// The work of each agent, summed over all nights and groups.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    agents: BTreeMap<String, BatchReport>,
}

impl LocalCommand for Eval {
    const NAME: &'static str = "eval";
    type Output = EvalOutput;

    fn run(self, context: &CommandContext) -> Result<EvalOutput> {
        // The file is read first, so that an invalid one fails before the long run.
        let mut earlier = self.compare.as_deref().map(compare::read).transpose()?;
        let set = EvalSet::read(&self.folder)?;
        let foreign = self.foreign.as_deref().map(EvalSet::read).transpose()?;
        let EvalHalves { odd: to_confirm, even: set } = match self.confirm {
            true => set.halves(),
            false => EvalHalves { odd: EvalSet { questions: Vec::new(), ..set.clone() }, even: set },
        };
        let config = context.config()?;
        if let Some(model) = &self.model {
            check_model(&config, model)?;
        }
        let bar = Bar::new(&context.globals);
        let progress = |step, done, total| {
            let what = match step {
                EvalPhase::Storing => "documents stored",
                EvalPhase::Asking => "questions asked",
            };
            bar.show(&Progress { what: what.into(), done, total: Some(total) });
        };
        let clock = Arc::new(ManualClock::new(SystemClock.now()));
        // The clock is fixed, because notes would otherwise age while the questions are asked.
        let evaluation = Evaluation::load(&set, config, Some(&context.paths), clock.clone(), &progress)?;
        if self.gates {
            let gates = evaluation.gates(&set, foreign.as_ref(), &progress)?;
            bar.clear();
            let embedder = evaluation.embedder().to_owned();
            return Ok(EvalOutput::Gates(GateOutput { set: set.name, embedder, gates }));
        }
        let definitions = self.definitions(&evaluation)?;
        let op = if self.recall { QuestionOp::Recall } else { QuestionOp::Retrieve };
        let mut report = evaluation.ask(&set, op, &progress)?;
        let baselines = if self.baselines { evaluation.baselines(&set, &progress)? } else { Vec::new() };
        let mut agents = BTreeMap::new();
        let mut confirmed = None;
        if self.confirm || !definitions.is_empty() {
            if self.confirm {
                confirmed = Some(evaluation.confirm(&to_confirm, &|done, total| {
                    bar.show(&Progress { what: "questions confirmed".into(), done, total: Some(total) });
                })?);
            }
            let nights = if definitions.is_empty() { 0 } else { self.nights };
            for night in 0..nights {
                if night > 0 {
                    clock.advance(Span::DAY);
                }
                run_agents(&evaluation, &definitions, &bar, &mut agents)?;
            }
            let after = evaluation.ask(&set, op, &progress)?;
            earlier = Some(std::mem::replace(&mut report, after));
        }
        bar.clear();
        let compared = earlier.map(|earlier| comparison(&earlier, &report)).transpose()?;
        Ok(EvalOutput::Measures(Box::new(MeasureOutput { report, compared, baselines, confirmed, agents })))
    }

    fn show(output: &EvalOutput, _: &Terminal) -> String {
        let MeasureOutput { report, compared, baselines, confirmed, agents } = match output {
            EvalOutput::Measures(measures) => &**measures,
            EvalOutput::Gates(GateOutput { set, embedder, gates }) => {
                return gates::show(set, embedder, gates);
            }
        };
        let mut text = format!("{}: {}", report.set, plural(report.documents, "document"));
        // Writing to a string cannot fail.
        if report.notes != report.documents {
            let _ = write!(text, " ({})", plural(report.notes, "note"));
        }
        if report.groups > 1 {
            let _ = write!(text, " in {}", plural(report.groups, "group"));
        }
        let asked = report.questions.len() as u64;
        let _ = writeln!(text, ", {}, embedder `{}`\n", plural(asked, "question"), report.embedder);
        text.push_str(&measures_table(report.rows.iter().map(MeasureRow::from), with_bounds));
        let _ = writeln!(
            text,
            "\na question takes {:.2} ms (p50), {:.2} ms (p99); {:.0} documents a second were stored ({:.1} s)",
            report.latency.p50_ms,
            report.latency.p99_ms,
            report.ingest.documents_per_second,
            report.ingest.seconds
        );
        if !report.left_out.is_empty() {
            let left_out = report.left_out.len() as u64;
            let _ = writeln!(text, "left out: {} without a relevant document", plural(left_out, "question"));
        }
        text.push_str(&baseline_table(baselines, report));
        if let Some(compared) = compared {
            let against = match (confirmed, agents.is_empty()) {
                (None, true) => format!("{} with the embedder `{}`", compared.set, compared.embedder),
                (None, false) => "the memory before the agents ran".to_owned(),
                (Some(confirmed), _) => {
                    format!("the memory before {} were confirmed", plural(*confirmed, "question"))
                        + if agents.is_empty() { "" } else { " and the agents ran" }
                }
            };
            text.push_str(&differences(compared, &against));
        }
        for (name, work) in agents {
            let _ = writeln!(text, "{}", describe_work(name, work));
        }
        text
    }
}

/// Compares an evaluation with an earlier one, which must be of the same set.
fn comparison(earlier: &EvalReport, report: &EvalReport) -> Result<Comparison> {
    if earlier.set != report.set {
        let message = format!(
            "this evaluation used the set `{}`, and the earlier one the set `{}`",
            report.set, earlier.set
        );
        return Err(Error::invalid(message).hint("compare evaluations of the same set").field("compare"));
    }
    Ok(compare::compare(earlier, report))
}

impl Eval {
    /// The agents to run, with the chosen model and without a daily limit of runs.
    fn definitions(&self, evaluation: &Evaluation) -> Result<Vec<Definition>> {
        let Some(memory) = evaluation.memories().next() else { return Ok(Vec::new()) };
        let catalog = Catalog::read(memory)?;
        let of = |name: &String| -> Result<Definition> {
            let mut definition = (**catalog.get(name)?).clone();
            let execution = &mut definition.execution;
            if let Some(model) = &self.model
                && execution.model == DEFAULT_MODEL
            {
                execution.model.clone_from(model);
                execution.fallback.clear();
            }
            definition.budget.runs_per_day = 0;
            Ok(definition)
        };
        self.agents.iter().map(of).collect()
    }
}

/// Refuses a model that the settings do not have.
fn check_model(config: &Config, name: &str) -> Result<()> {
    if config.models.contains_key(name) {
        return Ok(());
    }
    let error = Error::not_found(format!("there is no model `{name}`")).field("model");
    let near = similar::closest(name, config.models.keys().map(String::as_str));
    Err(match near {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("describe it in `[models.{name}]` of config.toml")),
    })
}

/// Runs each agent in the memory of each group until it finds nothing to do.
fn run_agents(
    evaluation: &Evaluation,
    definitions: &[Definition],
    bar: &Bar,
    reports: &mut BTreeMap<String, BatchReport>,
) -> Result<()> {
    let options = RunOptions { models: poc_models::registry(), ..RunOptions::default() };
    for definition in definitions {
        let visited = Cell::new(0);
        for memory in evaluation.memories() {
            let before = visited.get();
            let work = batches::run_until_done(memory, definition, &options, &|done| {
                visited.set(before + done);
                let what = format!("notes visited by {}", definition.name);
                bar.show(&Progress { what, done: before + done, total: None });
            })?;
            let failed = work.failed.clone().filter(|_| work.runs == 1);
            reports.entry(definition.name.clone()).or_default().merge(work);
            // If the model cannot be called at all, the comparison would be meaningless.
            if let Some(why) = failed {
                return Err(Error::unavailable(format!("a run of `{}` failed: {why}", definition.name)));
            }
        }
    }
    Ok(())
}

/// The work of an agent as one line.
fn describe_work(name: &str, work: &BatchReport) -> String {
    let counts = |counts: &BTreeMap<String, u64>| {
        let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        if counts.is_empty() { "nothing".to_owned() } else { counts.join(", ") }
    };
    let mut line = format!("{name}: {}, applied {}", plural(work.runs, "run"), counts(&work.applied));
    // Writing to a string cannot fail.
    if work.reverted > 0 {
        let (runs, actions) = (plural(work.reverted, "run"), plural(work.undone, "action"));
        let _ = write!(line, "; {runs} reverted ({actions} undone)");
    }
    if work.proposed > 0 {
        let _ = write!(line, "; {} proposed", work.proposed);
    }
    if !work.refused.is_empty() {
        let _ = write!(line, "; refused {}", counts(&work.refused));
    }
    if work.refused_unlisted > 0 {
        let _ = write!(line, "; {} further ones refused", work.refused_unlisted);
    }
    if work.tokens > 0 {
        let _ = write!(line, "; {}", plural(work.tokens, "token"));
    }
    if work.cost_usd > 0.0 {
        let _ = write!(line, "; ${:.2}", work.cost_usd);
    }
    if work.unpriced_calls > 0 {
        let _ = write!(line, "; {} without a price", plural(work.unpriced_calls, "call"));
    }
    if let Some(why) = &work.failed {
        let _ = write!(line, "; the last run failed: {why}");
    }
    line
}

/// A table of the baselines next to the full retrieval, by type of question; empty without baselines.
fn baseline_table(baselines: &[BaselineMeasures], report: &EvalReport) -> String {
    if baselines.is_empty() {
        return String::new();
    }
    let parts = baselines.iter().map(|part| (part.baseline.name(), &part.rows));
    let parts = parts.chain([("retrieve", &report.rows)]);
    let rows = parts.flat_map(|(name, rows)| {
        let is_only = rows.len() <= 2;
        let shown = rows.iter().filter(move |row| !is_only || row.kind == ALL);
        shown.map(move |row| {
            let kind = if is_only { name.to_owned() } else { format!("{name}, {}", row.kind) };
            MeasureRow { kind, ..MeasureRow::from(row) }
        })
    });
    format!("\n{}", measures_table(rows, |interval| format!("{:.3}", interval.mean)))
}

fn differences(compared: &Comparison, against: &str) -> String {
    let mut text = format!("\nagainst {against}; * marks differences beyond chance\n\n");
    let rows = compared.rows.iter().map(|row| {
        let [now, then] = row.questions;
        let questions = if row.paired { now.to_string() } else { format!("{now} (before: {then})") };
        MeasureRow { kind: row.kind.clone(), questions, measures: &row.measures }
    });
    text.push_str(&differences_table(rows, |interval| {
        let sure = if interval.low > 0.0 || interval.high < 0.0 { "*" } else { "" };
        format!("{:+.3} [{:+.3} {:+.3}]{sure}", interval.mean, interval.low, interval.high)
    }));
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\na question takes {:+.2} ms (p50), {:+.2} ms (p99); {:+.0} documents a second",
        compared.p50_ms, compared.p99_ms, compared.documents_per_second
    );
    text
}
