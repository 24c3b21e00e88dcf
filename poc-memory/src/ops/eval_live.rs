//! `eval-live`

use super::measures::{MeasureRow, measures_table, with_bounds};
use super::text::plural;
use super::{Access, Ctx, Op, Progress, Terminal};
use poc_graph::error::Result;
use poc_notes::eval::live::{self, LiveReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Measure how well search answers questions about your own notes. The questions are those of a file, or those that
/// were confirmed with `reinforce NOTE --for QUESTION`. Each confirmed question is left out while it is asked. The
/// file has one JSON object per line: {"text": QUESTION, "keys": [KEY, …]}, optionally with "id" and "type". Nothing
/// is changed, and no note counts as used. `eval --live` does the same.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvalLive {
    /// File of questions, one JSON object per line; without it, the confirmed questions
    #[arg(value_name = "FILE", value_parser = absolute)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
}

/// Made absolute here, because the op may run in a daemon with another working directory.
fn absolute(path: &str) -> Result<PathBuf, std::io::Error> {
    std::path::absolute(path)
}

/// How well the questions are answered.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EvalLiveOutput {
    #[serde(flatten)]
    report: LiveReport,
}

impl Op for EvalLive {
    const NAME: &'static str = "eval-live";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
    const OUTLIVES_CALLER: bool = false;
    type Output = EvalLiveOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<EvalLiveOutput> {
        let questions = match &self.file {
            Some(file) => live::read(ctx.memory, file)?,
            None => live::confirmed(ctx.memory)?,
        };
        let report = live::run(ctx.memory, &questions, &|_, done, total| {
            (ctx.progress)(Progress { what: "questions asked".into(), done, total: Some(total) });
        })?;
        Ok(EvalLiveOutput { report })
    }

    fn show(output: &EvalLiveOutput, _: &Terminal) -> String {
        let LiveReport { embedder, notes, rows, latency, questions } = &output.report;
        let asked = questions.len() as u64;
        let mut text =
            format!("{}, {}, embedder `{embedder}`\n\n", plural(*notes, "note"), plural(asked, "question"));
        text.push_str(&measures_table(rows.iter().map(MeasureRow::from), with_bounds));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\na question takes {:.2} ms (p50), {:.2} ms (p99)",
            latency.p50_ms, latency.p99_ms
        );
        for question in questions.iter().filter(|question| !question.missed.is_empty()) {
            let _ = writeln!(text, "not found: {} for `{}`", question.missed.join(", "), question.id);
        }
        text
    }
}
