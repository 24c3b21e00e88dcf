//! Calibration of the thresholds of `query` for an embedder.
//!
//! With labelled questions, each question is asked three times: with its relevant notes (`known`), without
//! them (`unknown`), and of unrelated notes (`elsewhere`), which are those of the next folder, or of the next
//! group if there is only one folder. Questions without a relevant note are asked of their own folder. The
//! goal for STRONG is nine out of ten `known` answers and at most one in ten `elsewhere` answers. The
//! threshold is halfway between the two values that just satisfy these goals, so that it generalises to other
//! questions. If no threshold satisfies both goals, the one for `known` is used. WEAK is the threshold that
//! 39 of 40 `known` answers pass. The `unknown` answers are reported but not used: if notes about the same
//! subject remain, tokens and cosines cannot tell that the answer is missing. Each folder has the same
//! influence, however many questions it has.
//!
//! Without labelled questions, the titles of the store's notes are asked, each without its note: one in twenty
//! reaches STRONG, and one in five reaches WEAK. This is only a fallback, because titles say nothing about real
//! questions: a title is often covered by notes about the same subject more completely than a question by its answer.
//! As no question with an answer shows what a threshold costs, each moves by at most a tenth from the one in use.

use super::measure::{EvalPhase, LoadedGroup, load, temporary_memory};
use super::set::{EvalSet, Question};
use crate::Memory;
use crate::query_gate::{self, Exclusions, GateQuery};
use poc_config::{Config, GateConfig};
use poc_graph::error::{Error, Result};
use poc_graph::time::SystemClock;
use poc_graph::{NodeId, Visibility, cancellation, plural};
use poc_rank::gate::Verdict;
use poc_rank::quantile::of_groups;
use serde::Serialize;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// Shares of the `known` answers that may fall below STRONG and WEAK.
const MISS_RATES: [f64; 2] = [0.1, 0.025];

/// The share of `elsewhere` answers that may be STRONG.
pub const FALSE_STRONG_RATE: f64 = 0.1;

/// Shares of the titles, asked without their notes, that fall below STRONG and WEAK.
const TITLE_QUANTILES: [f64; 2] = [0.95, 0.8];

/// The largest difference of a threshold from the one in use without labelled questions.
pub const MAX_CHANGE_BY_TITLES: f64 = 0.1;

/// Maximum number of titles to ask.
const MAX_TITLES: usize = 500;

/// Minimum number of questions of a folder.
const MIN_QUESTIONS: usize = 20;

/// Thresholds are rounded to 1/1000.
const RESOLUTION: f64 = 1000.0;

/// Thresholds and the answers they were derived from.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The thresholds.
    pub gate: GateConfig,
    /// The answers to the questions of each folder, or to the titles.
    pub answers: Vec<AnswerSet>,
}

/// The answers to the questions of a folder or to the titles of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerSet {
    /// The folder's name; `None` for titles.
    pub set: Option<String>,
    /// Answers with the relevant notes present.
    pub known: Vec<GateAnswer>,
    /// Answers without the relevant notes.
    pub unknown: Vec<GateAnswer>,
    /// Answers from unrelated notes.
    pub elsewhere: Vec<GateAnswer>,
}

/// The answer to a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateAnswer {
    /// The certainty of the gate.
    pub certainty: f64,
    /// Whether it can be STRONG. It cannot if the question has a name that no note contains.
    pub open: bool,
    /// Whether the best note is a relevant one.
    pub right: bool,
}

/// Shares of answers under a gate, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AnswerRates {
    /// Share of STRONG answers.
    pub strong: f64,
    /// Share of WEAK answers.
    pub weak: f64,
    /// Share of the STRONG answers whose note is relevant; `None` if no answer is STRONG.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<f64>,
}

impl GateAnswer {
    /// The verdict under a gate.
    fn verdict(&self, gate: &GateConfig) -> Verdict {
        match Verdict::of_value(self.certainty, gate.strong, gate.weak) {
            Verdict::Strong if !self.open => Verdict::Weak,
            verdict => verdict,
        }
    }
}

impl AnswerRates {
    /// The shares of answers under a gate.
    pub fn of(answers: &[GateAnswer], gate: &GateConfig) -> AnswerRates {
        let verdicts: Vec<(Verdict, bool)> =
            answers.iter().map(|answer| (answer.verdict(gate), answer.right)).collect();
        AnswerRates::of_verdicts(&verdicts)
    }

    /// The shares of verdicts, each with whether the best note is a relevant one.
    pub fn of_verdicts(verdicts: &[(Verdict, bool)]) -> AnswerRates {
        let count =
            |wanted: Verdict| verdicts.iter().filter(|(verdict, _)| *verdict == wanted).count() as f64;
        let (strong, weak) = (count(Verdict::Strong), count(Verdict::Weak));
        let right =
            verdicts.iter().filter(|(verdict, right)| *verdict == Verdict::Strong && *right).count() as f64;
        let all = verdicts.len().max(1) as f64;
        let right = (strong > 0.0).then(|| right / strong);
        AnswerRates { strong: strong / all, weak: weak / all, right }
    }

    /// The means of several shares.
    pub fn mean(of: &[AnswerRates]) -> AnswerRates {
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let right: Vec<f64> = of.iter().filter_map(|shares| shares.right).collect();
        AnswerRates {
            strong: mean(of.iter().map(|shares| shares.strong).collect()),
            weak: mean(of.iter().map(|shares| shares.weak).collect()),
            right: (!right.is_empty()).then(|| mean(right)),
        }
    }
}

/// The gate derived from answers.
fn gate(all: &[AnswerSet]) -> Result<GateConfig> {
    let labelled = all.iter().any(|answers| !answers.known.is_empty());
    let values = |answers: &AnswerSet| if labelled { answers.known.len() } else { answers.unknown.len() };
    if let Some((few, count)) =
        all.iter().map(|of| (of, values(of))).find(|(_, count)| *count < MIN_QUESTIONS)
    {
        let of = few.set.as_ref().map(|set| format!(" of `{set}`")).unwrap_or_default();
        let (questions, are) = (plural(count as u64, "question"), if count == 1 { "is" } else { "are" });
        return Err(Error::invalid(format!("{questions}{of} {are} too few to calibrate thresholds"))
            .hint(format!("at least {MIN_QUESTIONS} are needed; `poc-memory calibrate --from FOLDER` takes those of a folder")));
    }
    let at = |of: fn(&AnswerSet) -> &[GateAnswer], value: fn(&GateAnswer) -> f64, share| {
        let groups: Vec<Vec<f64>> =
            all.iter().map(|answers| of(answers).iter().map(value).collect()).collect();
        of_groups(groups.iter().map(Vec::as_slice), share)
    };
    let certainty: fn(&GateAnswer) -> f64 = |answer| answer.certainty;
    if !labelled {
        let [strong, weak] =
            TITLE_QUANTILES.map(|share| at(|answers| &answers.unknown, certainty, share).unwrap_or_default());
        let up = |value: f64| (value * RESOLUTION).ceil() / RESOLUTION;
        return Ok(GateConfig { strong: up(strong), weak: up(weak) });
    }
    // An answer that cannot be STRONG is below every threshold.
    let strength: fn(&GateAnswer) -> f64 =
        |answer| if answer.open { answer.certainty } else { f64::NEG_INFINITY };
    let [missed, unseen] = MISS_RATES;
    let weak = at(|answers| &answers.known, certainty, unseen).unwrap_or_default();
    let max = at(|answers| &answers.known, strength, missed).unwrap_or_default().max(weak);
    let min = at(|answers| &answers.elsewhere, strength, 1.0 - FALSE_STRONG_RATE);
    let between = |min: f64| f64::midpoint(min.max(weak), max);
    let strong = min.filter(|min| *min < max).map_or(max, between);
    // Rounded down, so that no fewer answers pass than intended.
    let down = |value: f64| (value * RESOLUTION).floor() / RESOLUTION;
    Ok(GateConfig { strong: down(strong), weak: down(weak) })
}

/// The gate whose thresholds are the proposed ones, moved to at most [`MAX_CHANGE_BY_TITLES`] from those in use.
fn bounded(proposed: GateConfig, current: &GateConfig) -> GateConfig {
    let bounded = |proposed: f64, current: f64| {
        let value = proposed.clamp(current - MAX_CHANGE_BY_TITLES, current + MAX_CHANGE_BY_TITLES);
        (value * RESOLUTION).round() / RESOLUTION
    };
    GateConfig {
        strong: bounded(proposed.strong, current.strong),
        weak: bounded(proposed.weak, current.weak),
    }
}

/// Calibrates by the questions of folders, in temporary memories with this configuration.
///
/// # Errors
/// Those of [`super::run`]; `invalid_argument` if there are too few questions.
pub fn by_sets(
    sets: &[EvalSet],
    config: &Config,
    progress: &dyn Fn(EvalPhase, u64, u64),
) -> Result<Calibration> {
    for (index, set) in sets.iter().enumerate() {
        if sets.iter().take(index).any(|other| is_same(&other.documents, &set.documents)) {
            return Err(Error::invalid(format!("the folder of `{}` is given twice", set.name))
                .hint("name each folder once: the notes of the next folder must not answer its questions")
                .field("from"));
        }
    }
    let stores = sets.iter().map(|set| {
        let (folder, memory) = temporary_memory(config.clone(), None, Arc::new(SystemClock))?;
        let groups = load(set, &memory, progress)?;
        memory.store.settle();
        // The memory is dropped before its folder.
        Ok((groups, folder))
    });
    let stores: Vec<_> = stores.collect::<Result<_>>()?;
    let total = sets.iter().map(|set| set.questions.len() + set.unanswered.len()).sum::<usize>() as u64;
    let (mut all, mut done) = (Vec::new(), 0);
    for (index, (set, (groups, _))) in sets.iter().zip(&stores).enumerate() {
        // The folder itself if it is the only one.
        let Some((others, _)) = stores.get((index + 1) % stores.len()) else { continue };
        let mut of = AnswerSet { set: Some(set.name.clone()), ..AnswerSet::default() };
        for (number, question) in set.questions.iter().chain(&set.unanswered).enumerate() {
            cancellation::check()?;
            done += 1;
            progress(EvalPhase::Asking, done, total);
            let Some(group) = groups.get(question.group) else { continue };
            let right = right(question, group);
            if !right.is_empty() {
                of.known.push(answered(&group.memory, &question.text, &right, &[])?);
            }
            of.unknown.push(answered(&group.memory, &question.text, &[], &right)?);
            let other = match sets.len() {
                1 => question.group + 1,
                _ => number,
            };
            let other = other % others.len().max(1);
            if sets.len() > 1 || other != question.group {
                let Some(other) = others.get(other) else { continue };
                of.elsewhere.push(answered(&other.memory, &question.text, &[], &[])?);
            }
        }
        all.push(of);
    }
    Ok(Calibration { gate: gate(&all)?, answers: all })
}

/// Whether two paths lead to the same file.
fn is_same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The relevant notes of a question, without duplicates.
pub(super) fn right(question: &Question, group: &LoadedGroup) -> Vec<NodeId> {
    let notes = question.relevant.keys().filter_map(|document| group.notes.get(document).copied());
    let mut notes: Vec<NodeId> = notes.collect();
    notes.sort();
    notes.dedup();
    notes
}

/// Calibrates by the titles of a memory's notes. The thresholds are near those in use.
///
/// # Errors
/// `invalid_config` if there are no thresholds for the embedder; those of the store and the embedder;
/// `invalid_argument` if too few notes have a title of their own.
pub fn by_titles(memory: &Memory, progress: &dyn Fn(EvalPhase, u64, u64)) -> Result<Calibration> {
    let view = memory.store.view();
    let live: Vec<NodeId> =
        (0..view.slots()).filter(|&ix| view.is_live(ix)).filter_map(|ix| view.id(ix)).collect();
    let step = live.len().div_ceil(MAX_TITLES).max(1);
    let total = live.len().div_ceil(step) as u64;
    let (mut answers, mut titles) = (AnswerSet::default(), HashSet::new());
    for (done, &id) in (1..).zip(live.iter().step_by(step)) {
        cancellation::check()?;
        progress(EvalPhase::Asking, done, total);
        let node = memory.store.node(id)?;
        // A title that another note also has is known without this note.
        if let Some(title) = node.as_ref().and_then(|node| node.own_title())
            && titles.insert(title.to_lowercase())
        {
            answers.unknown.push(answered(memory, title, &[], &[id])?);
        }
    }
    let answers = vec![answers];
    let gate = bounded(gate(&answers)?, query_gate::certainty_thresholds(memory)?);
    Ok(Calibration { gate, answers })
}

/// Answers a question without the notes in `except`.
fn answered(memory: &Memory, text: &str, right: &[NodeId], except: &[NodeId]) -> Result<GateAnswer> {
    let visibility = Visibility::of_person(memory.now());
    let (view, exclusions) = (memory.store.view(), Exclusions::except(except));
    let vector = memory.embedder.embed_one(text)?;
    let query = GateQuery { view: &view, text, vector: &vector, visibility, exclusions };
    let found = query_gate::certainty(memory, &query)?;
    Ok(GateAnswer {
        certainty: found.signals.certainty,
        open: found.unknown_names.is_empty() && found.missing_subjects.is_empty(),
        right: found.best.is_some_and(|best| right.contains(&best)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(certainties: impl Iterator<Item = f64>) -> Vec<GateAnswer> {
        certainties.map(|certainty| GateAnswer { certainty, open: true, right: certainty > 10.0 }).collect()
    }

    #[test]
    fn thresholds_are_quantiles() {
        let known = || answers((1..=40).map(f64::from));
        let labelled =
            |elsewhere: Vec<GateAnswer>| AnswerSet { known: known(), elsewhere, ..AnswerSet::default() };
        let proposed = |answers: AnswerSet| gate(&[answers]).unwrap();
        // No threshold satisfies both goals.
        let near = answers((1..=40).map(|value| f64::from(value) - 30.0));
        assert_eq!(proposed(labelled(near.clone())), GateConfig { strong: 4.0, weak: 1.0 });
        // 2 is enough for `elsewhere`, 4 for `known`.
        let far = answers((1..=40).map(|value| f64::from(value) - 34.0));
        assert_eq!(proposed(labelled(far.clone())), GateConfig { strong: 3.0, weak: 1.0 });
        assert_eq!(proposed(AnswerSet { unknown: far.clone(), ..labelled(Vec::new()) }).strong, 4.0);
        // Answers that cannot be STRONG do not raise the threshold.
        let mut closed = near.clone();
        closed.iter_mut().for_each(|answer| answer.open = false);
        assert_eq!(proposed(labelled(closed)).strong, 2.5);
        let titles = AnswerSet { unknown: near, ..AnswerSet::default() };
        assert_eq!(proposed(titles), GateConfig { strong: 8.0, weak: 2.0 });
        let few = AnswerSet { unknown: answers((0..19).map(f64::from)), ..AnswerSet::default() };
        insta::assert_snapshot!(gate(&[few]).unwrap_err().message, @"19 questions are too few to calibrate thresholds");
        // Each folder has the same influence, however many questions it has.
        let few = AnswerSet {
            known: answers((1..=20).map(|value| f64::from(value) + 100.0)),
            ..AnswerSet::default()
        };
        assert_eq!(gate(&[labelled(far), few]).unwrap().weak, 2.0);
    }

    /// Titles are covered by other notes, so that quantiles of them would make most answers WEAK.
    #[test]
    fn thresholds_by_titles_stay_near_those_in_use() {
        let gate = |strong, weak| GateConfig { strong, weak };
        let used = gate(1.55, 1.42);
        assert_eq!(bounded(gate(2.623, 2.283), &used), gate(1.65, 1.52));
        assert_eq!(bounded(gate(0.4, 0.2), &used), gate(1.45, 1.32));
        assert_eq!(bounded(gate(1.6, 1.4), &used), gate(1.6, 1.4));
    }

    #[test]
    fn rates_count_the_answers_that_pass_the_gate() {
        let gate = GateConfig { strong: 4.0, weak: 1.0 };
        let mut some = answers((0..20).map(f64::from));
        some[19].open = false;
        let shares = AnswerRates::of(&some, &gate);
        assert_eq!((shares.strong, shares.weak, shares.right), (0.75, 0.2, Some(8.0 / 15.0)));
        assert_eq!(AnswerRates::of(&[], &gate), AnswerRates::default());
        let mean = AnswerRates::mean(&[shares, AnswerRates::default()]);
        assert_eq!((mean.strong, mean.weak, mean.right), (0.375, 0.1, shares.right));
    }
}
