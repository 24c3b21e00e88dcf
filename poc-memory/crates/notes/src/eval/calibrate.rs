//! Which thresholds suit an embedder: how certain `query` is of what is known, and of what is not.
//!
//! With questions whose notes are known, each is asked with its notes there, as if they were not, and of notes
//! of another kind: those of the next folder, or of the next group where there is one folder. Questions that no
//! note answers are asked of their own folder. STRONG should be nine of ten of the first and one in ten of the
//! last at most: the threshold is halfway between the two that do just that, so that it holds for other
//! questions, too; where no threshold does both it is the one for the first. WEAK is where 39 of 40 of the first
//! pass. What becomes of the second is told, but plays no part: where notes about the same things are left,
//! words and cosines alone cannot tell that the answer is not among them. Each folder counts as much, however
//! many questions it has.
//!
//! Without such questions the titles of the store's own notes are asked, each as if its note were not
//! there: STRONG is what one in twenty of them reaches, WEAK what one in five does. That knows nothing of
//! the questions that will come, and is the second choice.

use super::measure::{EvalPhase, LoadedGroup, load, temporary_memory};
use super::set::{EvalSet, Question};
use crate::Memory;
use crate::known_note;
use poc_config::{Config, GateConfig};
use poc_graph::error::{Error, Result};
use poc_graph::{NodeId, Visibility};
use poc_rank::quantile::of_groups;
use std::collections::HashSet;
use std::path::Path;

/// Shares of the questions with an answer that are left beneath the thresholds.
const MISS_RATES: [f64; 2] = [0.1, 0.025];

/// The share of questions asked of notes of another kind that may be STRONG.
pub const FALSE_STRONG_RATE: f64 = 0.1;

/// Shares of the titles without their notes that are beneath the thresholds.
const TITLE_QUANTILES: [f64; 2] = [0.95, 0.8];

/// Titles of a store that are asked at most.
const MAX_TITLES: usize = 500;

/// Questions of a folder without which nothing is said.
const MIN_QUESTIONS: usize = 20;

/// Thresholds are told in thousandths.
const RESOLUTION: f64 = 1000.0;

/// Thresholds, and what they were found by.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The thresholds.
    pub gate: GateConfig,
    /// How it was answered: the questions of each folder, or the titles.
    pub answers: Vec<AnswerSet>,
}

/// How the questions of a folder, or the titles of a store, were answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerSet {
    /// The folder's name; none for titles.
    pub set: Option<String>,
    /// With the notes that answer them there.
    pub known: Vec<GateAnswer>,
    /// Without them.
    pub unknown: Vec<GateAnswer>,
    /// Asked of notes of another kind.
    pub elsewhere: Vec<GateAnswer>,
}

/// How a question was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateAnswer {
    /// How certain it is.
    pub certainty: f64,
    /// Whether it can be STRONG: it has no name that no note holds.
    pub open: bool,
    /// Whether the note that is shown is one of those that answer it.
    pub right: bool,
}

/// The shares, 0–1, of some answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AnswerRates {
    /// Those that are STRONG.
    pub strong: f64,
    /// Those that are WEAK.
    pub weak: f64,
    /// Of those that are STRONG the ones that show a note which answers; `None` when none is STRONG.
    pub right: Option<f64>,
}

impl AnswerRates {
    /// The shares of answers under a gate.
    pub fn of(answers: &[GateAnswer], gate: &GateConfig) -> AnswerRates {
        let is_strong = |answer: &&GateAnswer| answer.open && answer.certainty >= gate.strong;
        let strong = answers.iter().filter(is_strong).count() as f64;
        let shown = answers.iter().filter(|answer| answer.certainty >= gate.weak).count() as f64;
        let right = answers.iter().filter(is_strong).filter(|answer| answer.right).count() as f64;
        let all = answers.len().max(1) as f64;
        let right = (strong > 0.0).then(|| right / strong);
        AnswerRates { strong: strong / all, weak: (shown - strong) / all, right }
    }

    /// Their means.
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

/// The gate that answers propose.
fn gate(all: &[AnswerSet]) -> Result<GateConfig> {
    let labelled = all.iter().any(|answers| !answers.known.is_empty());
    let values = |answers: &AnswerSet| if labelled { answers.known.len() } else { answers.unknown.len() };
    if let Some((few, count)) =
        all.iter().map(|of| (of, values(of))).find(|(_, count)| *count < MIN_QUESTIONS)
    {
        let of = few.set.as_ref().map(|set| format!(" of `{set}`")).unwrap_or_default();
        return Err(Error::invalid(format!("{count} questions{of} are too few to set thresholds by"))
            .hint(format!("at least {MIN_QUESTIONS} are needed; `--from DIR` takes those of a folder")));
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
    // One that cannot be STRONG is beneath every threshold of it.
    let strength: fn(&GateAnswer) -> f64 =
        |answer| if answer.open { answer.certainty } else { f64::NEG_INFINITY };
    let [missed, unseen] = MISS_RATES;
    let weak = at(|answers| &answers.known, certainty, unseen).unwrap_or_default();
    let most = at(|answers| &answers.known, strength, missed).unwrap_or_default().max(weak);
    let least = at(|answers| &answers.elsewhere, strength, 1.0 - FALSE_STRONG_RATE);
    let between = |least: f64| f64::midpoint(least.max(weak), most);
    let strong = least.filter(|least| *least < most).map_or(most, between);
    // So that as many pass as are told.
    let down = |value: f64| (value * RESOLUTION).floor() / RESOLUTION;
    Ok(GateConfig { strong: down(strong), weak: down(weak) })
}

/// By the questions of folders, in memories with these settings that are thrown away.
///
/// # Errors
/// As [`super::run`]; `invalid_argument` when there are too few questions.
pub fn by_sets(
    sets: &[EvalSet],
    config: &Config,
    progress: &dyn Fn(EvalPhase, u64, u64),
) -> Result<Calibration> {
    for (place, set) in sets.iter().enumerate() {
        if sets.iter().take(place).any(|other| is_same(&other.documents, &set.documents)) {
            return Err(Error::invalid(format!("the folder of `{}` is given twice", set.name))
                .hint("questions are also asked of the next folder's notes: give folders about other things")
                .field("from"));
        }
    }
    let stores = sets.iter().map(|set| {
        let (folder, memory) = temporary_memory(config.clone())?;
        let groups = load(set, &memory, progress)?;
        memory.store.settle();
        // The memory goes before its folder.
        Ok((groups, folder))
    });
    let stores: Vec<_> = stores.collect::<Result<_>>()?;
    let total = sets.iter().map(|set| set.questions.len() + set.unanswered.len()).sum::<usize>() as u64;
    let (mut all, mut done) = (Vec::new(), 0);
    for (place, (set, (groups, _))) in sets.iter().zip(&stores).enumerate() {
        // The folder itself where there is no other.
        let Some((others, _)) = stores.get((place + 1) % stores.len()) else { continue };
        let mut of = AnswerSet { set: Some(set.name.clone()), ..AnswerSet::default() };
        for (number, question) in set.questions.iter().chain(&set.unanswered).enumerate() {
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

/// Whether two ways lead to one file.
fn is_same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The notes that answer a question.
fn right(question: &Question, group: &LoadedGroup) -> Vec<NodeId> {
    let notes = question.relevant.keys().filter_map(|document| group.notes.get(document).copied());
    let mut notes: Vec<NodeId> = notes.collect();
    notes.sort();
    notes.dedup();
    notes
}

/// By the titles of a memory's own notes.
///
/// # Errors
/// Those of the store and the embedder; `invalid_argument` when there are too few notes with a title.
pub fn by_titles(memory: &Memory, progress: &dyn Fn(EvalPhase, u64, u64)) -> Result<Calibration> {
    let view = memory.store.view();
    let live: Vec<NodeId> =
        (0..view.slots()).filter(|&ix| view.is_live(ix)).filter_map(|ix| view.id(ix)).collect();
    let step = live.len().div_ceil(MAX_TITLES).max(1);
    let total = live.len().div_ceil(step) as u64;
    let (mut answers, mut titles) = (AnswerSet::default(), HashSet::new());
    for (done, &id) in (1..).zip(live.iter().step_by(step)) {
        progress(EvalPhase::Asking, done, total);
        let node = memory.store.node(id)?;
        // What another note is called as well is known without this one.
        if let Some(title) = node.as_ref().and_then(|node| node.own_title())
            && titles.insert(title.to_lowercase())
        {
            answers.unknown.push(answered(memory, title, &[], &[id])?);
        }
    }
    let answers = vec![answers];
    Ok(Calibration { gate: gate(&answers)?, answers })
}

/// How a question is answered, as if some notes were not there.
fn answered(memory: &Memory, text: &str, right: &[NodeId], except: &[NodeId]) -> Result<GateAnswer> {
    let visibility = Visibility::of_person(memory.now());
    let found = known_note::agreement(memory, &memory.store.view(), text, visibility, except)?;
    Ok(GateAnswer {
        certainty: found.signals.certainty,
        open: found.unknown_names.is_empty(),
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
        // No threshold does both.
        let near = answers((1..=40).map(|value| f64::from(value) - 30.0));
        assert_eq!(proposed(labelled(near.clone())), GateConfig { strong: 4.0, weak: 1.0 });
        // 2 would do for the others, 4 for these.
        let far = answers((1..=40).map(|value| f64::from(value) - 34.0));
        assert_eq!(proposed(labelled(far.clone())), GateConfig { strong: 3.0, weak: 1.0 });
        assert_eq!(proposed(AnswerSet { unknown: far.clone(), ..labelled(Vec::new()) }).strong, 4.0);
        // Those that cannot be STRONG are no reason to ask for more.
        let mut closed = near.clone();
        closed.iter_mut().for_each(|answer| answer.open = false);
        assert_eq!(proposed(labelled(closed)).strong, 2.5);
        let titles = AnswerSet { unknown: near, ..AnswerSet::default() };
        assert_eq!(proposed(titles), GateConfig { strong: 8.0, weak: 2.0 });
        let few = AnswerSet { unknown: answers((0..19).map(f64::from)), ..AnswerSet::default() };
        insta::assert_snapshot!(gate(&[few]).unwrap_err().message, @"19 questions are too few to set thresholds by");
        // However many it asks, a folder counts as one.
        let few = AnswerSet {
            known: answers((1..=20).map(|value| f64::from(value) + 100.0)),
            ..AnswerSet::default()
        };
        assert_eq!(gate(&[labelled(far), few]).unwrap().weak, 2.0);
    }

    #[test]
    fn shares_are_of_what_the_gate_lets_through() {
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
