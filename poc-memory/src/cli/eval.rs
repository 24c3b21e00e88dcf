//! `eval`

use super::local::LocalCommand;
use super::progress::Bar;
use super::session::Session;
use crate::ops::{Progress, plural, table};
use poc_graph::error::{Error, Result};
use poc_notes::eval::compare::{self, Comparison};
use poc_notes::eval::report::{EvalReport, MEASURES};
use poc_notes::eval::set::EvalSet;
use poc_notes::eval::{self, EvalPhase};
use poc_rank::bootstrap::ConfidenceInterval;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Column titles of [`MEASURES`].
const HEADS: [&str; 4] = ["Recall@5", "Recall@10", "nDCG@10", "MRR@10"];

/// Measure retrieval quality: ask the questions of a folder in a temporary memory
///
/// The folder has `docs.jsonl` with one document per line ({"id", "title", "text", "meta": {"group",
/// "session", "date", "speaker"}}, all optional except `id` and `text`), `queries.jsonl` with one question
/// per line ({"id", "text", "type", "meta": {"group"}}) and `qrels.tsv` with one line per relevant document:
/// question, document and 1, separated by tabs. Questions with a group are asked against the documents of
/// that group only. Your settings are used; your memory is not touched.
#[derive(Debug, clap::Args)]
pub(super) struct Eval {
    /// Folder with docs.jsonl, queries.jsonl and qrels.tsv
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Also show the differences to an earlier run, given as its `--json` answer
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

/// What `eval` answers.
#[derive(Debug, Serialize)]
pub(super) struct EvalOutput {
    #[serde(flatten)]
    report: EvalReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Comparison>,
}

impl LocalCommand for Eval {
    const NAME: &'static str = "eval";
    type Output = EvalOutput;

    fn run(self, session: &Session) -> Result<EvalOutput> {
        // Read first, so that an invalid file fails before the long run.
        let earlier = self.compare.as_deref().map(compare::read).transpose()?;
        let set = EvalSet::read(&self.folder)?;
        let bar = Bar::new(&session.globals);
        let report = eval::run(&set, session.config()?, &|step, done, total| {
            let what = match step {
                EvalPhase::Storing => "documents stored",
                EvalPhase::Asking => "questions asked",
            };
            bar.show(&Progress { what: what.into(), done, total: Some(total) });
        });
        bar.clear();
        let report = report?;
        if let Some(earlier) = earlier.as_ref().filter(|earlier| earlier.set != report.set) {
            let message = format!(
                "this evaluation used the set `{}`, and the earlier one the set `{}`",
                report.set, earlier.set
            );
            return Err(Error::invalid(message).hint("compare evaluations of the same set").field("compare"));
        }
        let compared = earlier.map(|earlier| compare::compare(&earlier, &report));
        Ok(EvalOutput { report, compared })
    }

    fn show(output: &EvalOutput) -> String {
        let EvalOutput { report, compared } = output;
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
        let rows = report.rows.iter().map(|row| (row.kind.clone(), row.questions.to_string(), &row.measures));
        text.push_str(&measures(rows, |interval| {
            format!("{:.3} [{:.3} {:.3}]", interval.mean, interval.low, interval.high)
        }));
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
        if let Some(compared) = compared {
            text.push_str(&differences(compared));
        }
        text
    }
}

fn differences(compared: &Comparison) -> String {
    let mut text = format!(
        "\nagainst {} with the embedder `{}`; * is beyond chance\n\n",
        compared.set, compared.embedder
    );
    let rows = compared.rows.iter().map(|row| {
        let [now, then] = row.questions;
        let asked = if row.paired { now.to_string() } else { format!("{now}, not the {then} of then") };
        (row.kind.clone(), asked, &row.measures)
    });
    text.push_str(&measures(rows, |interval| {
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

/// A table of measures with column titles.
fn measures<'a>(
    rows: impl Iterator<Item = (String, String, &'a BTreeMap<String, ConfidenceInterval>)>,
    cell: impl Fn(&ConfidenceInterval) -> String,
) -> String {
    let head = ["type", "n"].into_iter().chain(HEADS).map(str::to_owned).collect();
    let rows = rows.map(|(kind, asked, measures)| {
        let cells = MEASURES.iter().map(|name| measures.get(*name).map(&cell).unwrap_or_default());
        [kind, asked].into_iter().chain(cells).collect::<Vec<String>>()
    });
    table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}
