//! `calibrate`

use super::text::table;
use super::{Access, Ctx, Op, Progress, Terminal};
use poc_config::GateConfig;
use poc_graph::error::Result;
use poc_notes::eval::EvalPhase;
use poc_notes::eval::calibrate::{self, AnswerRates, AnswerSet, GateAnswer};
use poc_notes::eval::set::EvalSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Propose thresholds of `query` for the embedder in use. With folders in the format of `eval`, each question
/// is asked three times: with the notes that answer it, without them, and against the notes of another folder
/// or group. Without a folder, the titles of your notes are the questions, each asked with its note hidden. As these
/// have no answers, the thresholds stay near those in use. Nothing is changed. `query --calibrate` does the same.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calibrate {
    /// Folder with docs.jsonl, queries.jsonl and qrels.tsv; may be given several times, each with the same
    /// weight
    #[arg(long, value_name = "FOLDER", value_parser = absolute)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    from: Vec<PathBuf>,
}

/// The proposed thresholds.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CalibrateOutput {
    /// The kind of embedder, as in the settings.
    embedder: String,
    /// The section of the settings that the thresholds belong to.
    section: String,
    /// Minimum certainty for the verdict STRONG.
    strong: f64,
    /// Minimum certainty for the verdict WEAK.
    weak: f64,
    /// The effect of the thresholds on the questions of each folder, or on the titles.
    asked: Vec<CalibrationResult>,
    /// The means over the folders.
    mean: CalibrationResult,
}

/// The effect of the proposed thresholds.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
struct CalibrationResult {
    /// Name of the folder; absent for titles and for the means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    set: Option<String>,
    /// Verdicts on the questions with the notes that answer them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    known: Option<PassRate>,
    /// Verdicts on the questions without those notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unknown: Option<PassRate>,
    /// Verdicts on the questions against the notes of another folder or group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elsewhere: Option<PassRate>,
}

/// How many questions pass the thresholds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
struct PassRate {
    /// Number of questions.
    questions: u64,
    /// Share of questions with the verdict STRONG, 0 to 1.
    strong: f64,
    /// Share of questions with the verdict WEAK, 0 to 1.
    weak: f64,
    /// Share of the STRONG verdicts that return a relevant note, 0 to 1; absent if none is STRONG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    right: Option<f64>,
}

/// Made absolute here, because the op may run in a daemon with another working directory.
fn absolute(path: &str) -> Result<PathBuf, std::io::Error> {
    std::path::absolute(path)
}

impl Op for Calibrate {
    const NAME: &'static str = "calibrate";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
    type Output = CalibrateOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<CalibrateOutput> {
        let progress = |step, done, total| {
            let what = match step {
                EvalPhase::Storing => "documents stored",
                EvalPhase::Asking => "questions asked",
            };
            (ctx.progress)(Progress { what: what.into(), done, total: Some(total) });
        };
        let config = &ctx.memory.config;
        let calibration = match self.from.as_slice() {
            [] => calibrate::by_titles(ctx.memory, &progress)?,
            folders => {
                let sets = folders.iter().map(|folder| EvalSet::read(folder));
                let sets: Vec<EvalSet> = sets.collect::<Result<_>>().map_err(|error| error.field("from"))?;
                calibrate::by_sets(&sets, config, &progress)?
            }
        };
        Ok(CalibrateOutput {
            section: match &ctx.memory.reranker {
                Some(_) => "rerank.gate".to_owned(),
                None => format!("query.gates.{}", config.embedder.kind),
            },
            embedder: config.embedder.kind.clone(),
            strong: calibration.gate.strong,
            weak: calibration.gate.weak,
            asked: calibration
                .answers
                .iter()
                .map(|of| CalibrationResult::of(std::slice::from_ref(of), &calibration.gate))
                .collect(),
            mean: CalibrationResult {
                set: None,
                ..CalibrationResult::of(&calibration.answers, &calibration.gate)
            },
        })
    }

    fn show(output: &CalibrateOutput, _: &Terminal) -> String {
        let CalibrateOutput { section, strong, weak, asked, mean, .. } = output;
        let mut text = format!("[{section}]\nstrong = {strong:.3}\nweak = {weak:.3}\n\n");
        let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
        rows.extend(asked.iter().map(|of| of.row(of.set.as_deref().unwrap_or("titles"), true)));
        if asked.len() > 1 {
            rows.push(mean.row("mean", false));
        }
        text.push_str(&table(&rows));
        text.push_str(if mean.known.is_some() { LEGEND } else { LEGEND_OF_TITLES });
        text.push_str(match mean.elsewhere {
            Some(elsewhere) if elsewhere.strong > calibrate::FALSE_STRONG_RATE => {
                "more than one in ten foreign questions would be STRONG: no threshold separates them from the others\n"
            }
            None if mean.known.is_some() => {
                "no foreign questions were asked: a second `--from` supplies them\n"
            }
            _ => "",
        });
        text
    }
}

const HEAD: [&str; 5] = ["", "answerable", "of these right", "notes removed", "foreign"];

/// What the columns of the table are.
const LEGEND: &str = "shares of questions: answerable ones, those of them whose STRONG answer is right, the same ones with \
                      their notes removed, and foreign ones; the others are MISS\n";

/// The same without folders.
const LEGEND_OF_TITLES: &str = "titles: the title of each note, asked while the note is hidden; a good threshold makes few of \
                                them STRONG, and the others are MISS\n\
                                these questions have no answers, so each threshold is at most 0.1 from the one in use: \
                                `--from FOLDER` also uses questions with answers\n";

impl CalibrationResult {
    /// The means of the answers under a gate.
    fn of(all: &[AnswerSet], gate: &GateConfig) -> CalibrationResult {
        let passing = |of: fn(&AnswerSet) -> &[GateAnswer]| {
            let kinds: Vec<&[GateAnswer]> =
                all.iter().map(of).filter(|answers| !answers.is_empty()).collect();
            let shares: Vec<AnswerRates> =
                kinds.iter().map(|answers| AnswerRates::of(answers, gate)).collect();
            let AnswerRates { strong, weak, right } = AnswerRates::mean(&shares);
            let questions = kinds.iter().map(|answers| answers.len() as u64).sum();
            (questions > 0).then_some(PassRate { questions, strong, weak, right })
        };
        // A question without relevant notes has no right answer.
        let of_others =
            |passing: Option<PassRate>| passing.map(|passing| PassRate { right: None, ..passing });
        CalibrationResult {
            set: all.first().and_then(|answers| answers.set.clone()),
            known: passing(|answers| &answers.known),
            unknown: of_others(passing(|answers| &answers.unknown)),
            elsewhere: of_others(passing(|answers| &answers.elsewhere)),
        }
    }

    fn row(&self, name: &str, counted: bool) -> Vec<String> {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let cell = |passing: Option<PassRate>| {
            passing.map_or("-".to_owned(), |passing| {
                let PassRate { questions, strong, weak, .. } = passing;
                let count = if counted { format!("{questions}: ") } else { String::new() };
                format!("{count}{} STRONG, {} WEAK", percent(strong), percent(weak))
            })
        };
        let right = self.known.and_then(|known| known.right).map_or("-".to_owned(), percent);
        vec![name.to_owned(), cell(self.known), right, cell(self.unknown), cell(self.elsewhere)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(asked: CalibrationResult, mean: CalibrationResult) -> String {
        let (embedder, section) = ("static".to_owned(), "query.gates.static".to_owned());
        let output =
            CalibrateOutput { embedder, section, strong: 2.01, weak: 2.005, asked: vec![asked], mean };
        Calibrate::show(&output, &Terminal::default())
    }

    #[test]
    fn the_rows_of_the_table_are_explained() {
        let rate = |strong| Some(PassRate { questions: 24, strong, weak: 0.25, right: None });
        let titles = || CalibrationResult { unknown: rate(0.05), ..CalibrationResult::default() };
        insta::assert_snapshot!(shown(titles(), titles()), @r"
        [query.gates.static]
        strong = 2.010
        weak = 2.005

                answerable  of these right  notes removed                  foreign
        titles  -           -               24: 5.0 % STRONG, 25.0 % WEAK  -
        titles: the title of each note, asked while the note is hidden; a good threshold makes few of them STRONG, and the others are MISS
        these questions have no answers, so each threshold is at most 0.1 from the one in use: `--from FOLDER` also uses questions with answers
        ");
        let folder = || CalibrationResult {
            set: Some("own".into()),
            known: rate(0.9),
            unknown: rate(0.1),
            elsewhere: rate(0.0),
        };
        let text = shown(folder(), folder());
        assert!(text.lines().any(|line| line.starts_with("own  24: 90.0 % STRONG")), "{text}");
        assert!(text.ends_with(LEGEND), "{text}");
    }
}
