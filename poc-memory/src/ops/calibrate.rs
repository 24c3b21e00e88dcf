//! `calibrate`

use super::text::counted;
use super::{Access, Ctx, Op, Progress};
use crate::error::{Error, Result};
use crate::eval::Step;
use crate::eval::calibrate;
use crate::eval::set::Set;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Propose thresholds of `query` for the embedder in use, also a flag of `query`. With a folder by its
/// questions, in the form `eval` takes, asked with the notes that answer them and without; else
/// by the titles of your own notes, each asked as if its note were not there. Nothing is changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calibrate {
    /// Folder with docs.jsonl, queries.jsonl and qrels.tsv
    #[arg(long, value_name = "DIR", value_parser = absolute)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<PathBuf>,
}

/// What is proposed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Proposed {
    /// The kind of embedder, as in the settings.
    embedder: String,
    /// The section of the settings they belong into.
    section: String,
    /// Certainty for STRONG.
    strong: f64,
    /// Certainty for WEAK.
    weak: f64,
    /// Questions asked with the notes that answer them; 0 when titles were asked.
    known: u64,
    /// The share of those that is STRONG with these thresholds, and WEAK at least.
    known_pass: [f64; 2],
    /// Questions asked without the notes that answer them.
    unknown: u64,
    /// The share of those.
    unknown_pass: [f64; 2],
}

/// The share of questions without their notes that may be STRONG before one is warned.
const MISTAKEN: f64 = 0.1;

/// The op may run in a daemon, which has another folder.
fn absolute(path: &str) -> Result<PathBuf, std::io::Error> {
    std::path::absolute(path)
}

impl Op for Calibrate {
    const NAME: &'static str = "calibrate";
    const ACCESS: Access = Access::Person;
    type Output = Proposed;

    fn run(self, ctx: &Ctx<'_>) -> Result<Proposed> {
        let progress = |step, done, total| {
            let what = match step {
                Step::Storing => "documents stored",
                Step::Asking => "questions asked",
            };
            (ctx.progress)(Progress { what: what.into(), done, total: Some(total) });
        };
        let config = &ctx.memory.config;
        let found = match &self.from {
            Some(folder) => {
                let set = Set::read(folder).map_err(|error: Error| error.field("from"))?;
                calibrate::by_set(&set, config.as_ref().clone(), &progress)?
            }
            None => calibrate::by_titles(ctx.memory, &progress)?,
        };
        Ok(Proposed {
            section: match &ctx.memory.reranker {
                Some(_) => "rerank.gate".to_owned(),
                None => format!("query.gates.{}", config.embedder.kind),
            },
            embedder: config.embedder.kind.clone(),
            strong: found.gate.strong,
            weak: found.gate.weak,
            known: found.known.len() as u64,
            known_pass: found.found(),
            unknown: found.unknown.len() as u64,
            unknown_pass: found.mistaken(),
        })
    }

    fn show(output: &Proposed) -> String {
        let Proposed { section, strong, weak, .. } = output;
        let mut text = format!("[{section}]\nstrong = {strong:.3}\nweak = {weak:.3}\n\n");
        let mut tell = |count: u64, what: &str, [strong, weak]: [f64; 2]| {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{} {what}: {:.1} % STRONG, {:.1} % WEAK",
                counted(count, "question"),
                strong * 100.0,
                (weak - strong) * 100.0
            );
        };
        if output.known > 0 {
            tell(output.known, "with their notes", output.known_pass);
        }
        tell(output.unknown, "without their notes", output.unknown_pass);
        let [mistaken, _] = output.unknown_pass;
        if mistaken > MISTAKEN {
            text.push_str(
                "more than one in ten of what is not known would be STRONG: no threshold tells them apart\n",
            );
        }
        text
    }
}
