//! `calibrate`

use super::text::table;
use super::{Access, Ctx, Op, Progress};
use poc_config::Gate;
use poc_graph::error::Result;
use poc_notes::eval::Step;
use poc_notes::eval::calibrate::{self, Answer, Answers, Shares};
use poc_notes::eval::set::Set;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Propose thresholds of `query` for the embedder in use, also a flag of `query`. By the questions of folders in
/// the form `eval` takes: each is asked with the notes that answer it, without them, and of the notes of another
/// folder or group. Without a folder by the titles of your own notes, each asked as if its note were not there.
/// Nothing is changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calibrate {
    /// Folder with docs.jsonl, queries.jsonl and qrels.tsv; may be given several times, each counts as much
    #[arg(long, value_name = "DIR", value_parser = absolute)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    from: Vec<PathBuf>,
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
    /// What the thresholds do with the questions of each folder, or with the titles.
    asked: Vec<Told>,
    /// The means over the folders.
    mean: Told,
}

/// Questions under the proposed thresholds.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Told {
    /// Name of the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    set: Option<String>,
    /// With the notes that answer them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    known: Option<Passing>,
    /// Without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unknown: Option<Passing>,
    /// Asked of the notes of another folder or group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elsewhere: Option<Passing>,
}

/// How many questions are let through.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
struct Passing {
    /// Questions.
    questions: u64,
    /// The share of them that is STRONG, 0 to 1.
    strong: f64,
    /// The share that is WEAK.
    weak: f64,
    /// Of those that are STRONG the share that shows a note which answers; none when none is STRONG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    right: Option<f64>,
}

/// The op may run in a daemon, which has another folder.
fn absolute(path: &str) -> Result<PathBuf, std::io::Error> {
    std::path::absolute(path)
}

impl Op for Calibrate {
    const NAME: &'static str = "calibrate";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
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
        let found = match self.from.as_slice() {
            [] => calibrate::by_titles(ctx.memory, &progress)?,
            folders => {
                let sets = folders.iter().map(|folder| Set::read(folder));
                let sets: Vec<Set> = sets.collect::<Result<_>>().map_err(|error| error.field("from"))?;
                calibrate::by_sets(&sets, config, &progress)?
            }
        };
        Ok(Proposed {
            section: match &ctx.memory.reranker {
                Some(_) => "rerank.gate".to_owned(),
                None => format!("query.gates.{}", config.embedder.kind),
            },
            embedder: config.embedder.kind.clone(),
            strong: found.gate.strong,
            weak: found.gate.weak,
            asked: found.answers.iter().map(|of| Told::of(std::slice::from_ref(of), &found.gate)).collect(),
            mean: Told { set: None, ..Told::of(&found.answers, &found.gate) },
        })
    }

    fn show(output: &Proposed) -> String {
        let Proposed { section, strong, weak, asked, mean, .. } = output;
        let mut text = format!("[{section}]\nstrong = {strong:.3}\nweak = {weak:.3}\n\n");
        let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
        rows.extend(asked.iter().map(|of| of.row(of.set.as_deref().unwrap_or("titles"), true)));
        if asked.len() > 1 {
            rows.push(mean.row("mean", false));
        }
        text.push_str(&table(&rows));
        text.push_str(match mean.elsewhere {
            Some(elsewhere) if elsewhere.strong > calibrate::MISTAKEN => {
                "more than one in ten questions about something else would be STRONG: no threshold tells them apart\n"
            }
            None if mean.known.is_some() => {
                "nothing was asked about something else: a second `--from` shows how much of that would be STRONG\n"
            }
            _ => "",
        });
        text
    }
}

const HEAD: [&str; 5] = ["", "with their notes", "STRONG and right", "without", "asked elsewhere"];

impl Told {
    /// The means of answers under a gate.
    fn of(all: &[Answers], gate: &Gate) -> Told {
        let passing = |of: fn(&Answers) -> &[Answer]| {
            let kinds: Vec<&[Answer]> = all.iter().map(of).filter(|answers| !answers.is_empty()).collect();
            let shares: Vec<Shares> = kinds.iter().map(|answers| Shares::of(answers, gate)).collect();
            let Shares { strong, weak, right } = Shares::mean(&shares);
            let questions = kinds.iter().map(|answers| answers.len() as u64).sum();
            (questions > 0).then_some(Passing { questions, strong, weak, right })
        };
        // What no note answers cannot be right.
        let of_others = |passing: Option<Passing>| passing.map(|passing| Passing { right: None, ..passing });
        Told {
            set: all.first().and_then(|answers| answers.set.clone()),
            known: passing(|answers| &answers.known),
            unknown: of_others(passing(|answers| &answers.unknown)),
            elsewhere: of_others(passing(|answers| &answers.elsewhere)),
        }
    }

    fn row(&self, name: &str, counted: bool) -> Vec<String> {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let told = |passing: Option<Passing>| {
            passing.map_or("-".to_owned(), |passing| {
                let Passing { questions, strong, weak, .. } = passing;
                let count = if counted { format!("{questions}: ") } else { String::new() };
                format!("{count}{} STRONG, {} WEAK", percent(strong), percent(weak))
            })
        };
        let right = self.known.and_then(|known| known.right).map_or("-".to_owned(), percent);
        vec![name.to_owned(), told(self.known), right, told(self.unknown), told(self.elsewhere)]
    }
}
