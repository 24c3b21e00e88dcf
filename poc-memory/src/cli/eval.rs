//! `eval`

use super::local::Local;
use super::progress::Bar;
use super::session::Session;
use crate::ops::{Progress, counted, table};
use poc_graph::error::{Error, Result};
use poc_notes::eval::compare::{self, Comparison};
use poc_notes::eval::report::{MEASURES, Report};
use poc_notes::eval::set::Set;
use poc_notes::eval::{self, Step};
use poc_rank::bootstrap::Interval;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Heads of the columns of [`MEASURES`].
const HEADS: [&str; 4] = ["Recall@5", "Recall@10", "nDCG@10", "MRR@10"];

/// Measure how well your settings find: ask the questions of a folder in a memory that is thrown away
///
/// The folder has `docs.jsonl` with a document a line ({"id", "title", "text", "meta": {"group", "session",
/// "date", "speaker"}}, all but `id` and `text` as you like), `queries.jsonl` with a question a line
/// ({"id", "text", "type", "meta": {"group"}}) and `qrels.tsv` with a line for each document that answers
/// a question: question, document and 1, with tabs between them. Documents with a group are asked within
/// it alone. Nothing of yours is touched; the settings are yours.
#[derive(Debug, clap::Args)]
pub(super) struct Eval {
    /// Folder with docs.jsonl, queries.jsonl and qrels.tsv
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Also tell the differences to an earlier run, of which this is the `--json` answer
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

/// What `eval` answers.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Comparison>,
}

impl Local for Eval {
    const NAME: &'static str = "eval";
    type Output = Measured;

    fn run(self, session: &Session) -> Result<Measured> {
        // Nobody waits for a run to be told that the other file is wrong.
        let earlier = self.compare.as_deref().map(compare::read).transpose()?;
        let set = Set::read(&self.folder)?;
        let bar = Bar::new(&session.globals);
        let report = eval::run(&set, session.config()?, &|step, done, total| {
            let what = match step {
                Step::Storing => "documents stored",
                Step::Asking => "questions asked",
            };
            bar.show(&Progress { what: what.into(), done, total: Some(total) });
        });
        bar.clear();
        let report = report?;
        if let Some(earlier) = earlier.as_ref().filter(|earlier| earlier.set != report.set) {
            let message =
                format!("`{}` is not what was measured then: that was `{}`", report.set, earlier.set);
            return Err(Error::invalid(message).hint("compare measures of the same set").field("compare"));
        }
        let compared = earlier.map(|earlier| compare::compare(&earlier, &report));
        Ok(Measured { report, compared })
    }

    fn show(output: &Measured) -> String {
        let Measured { report, compared } = output;
        let mut text = format!("{}: {}", report.set, counted(report.documents, "document"));
        // Writing to a string cannot fail.
        if report.notes != report.documents {
            let _ = write!(text, " ({})", counted(report.notes, "note"));
        }
        if report.groups > 1 {
            let _ = write!(text, " in {}", counted(report.groups, "group"));
        }
        let asked = report.questions.len() as u64;
        let _ = writeln!(text, ", {}, embedder `{}`\n", counted(asked, "question"), report.embedder);
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
            let _ = writeln!(text, "left out: {} without a relevant document", counted(left_out, "question"));
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

/// A table of measures, with a head.
fn measures<'a>(
    rows: impl Iterator<Item = (String, String, &'a BTreeMap<String, Interval>)>,
    cell: impl Fn(&Interval) -> String,
) -> String {
    let head = ["type", "n"].into_iter().chain(HEADS).map(str::to_owned).collect();
    let rows = rows.map(|(kind, asked, measures)| {
        let cells = MEASURES.iter().map(|name| measures.get(*name).map(&cell).unwrap_or_default());
        [kind, asked].into_iter().chain(cells).collect::<Vec<String>>()
    });
    table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}
