//! Which thresholds suit an embedder: how certain `query` is of what is known, and of what is not.
//!
//! With questions whose notes are known, each is asked twice: with its notes there, and as if they were
//! not, when nothing should be certain. STRONG is where nine of ten of the first pass, WEAK where 39 of 40
//! do. Without such questions the titles of the store's own notes are asked, each as if its note were not
//! there: STRONG is what one in twenty of them reaches, WEAK what one in five does. That knows nothing of
//! the questions that will come, and is the second choice.

use super::measure::{Filled, Step, fill, scratch};
use super::set::{Question, Set};
use crate::config::{Config, Gate};
use crate::error::{Error, Result};
use crate::graph::{NodeId, Sight};
use crate::memory::{Memory, recognize};
use crate::rank::quantile::{quantile, reaching};
use std::collections::HashSet;

/// Shares of the questions with an answer that are left beneath the thresholds.
const MISSED: [f64; 2] = [0.1, 0.025];

/// Shares of the titles without their notes that are beneath the thresholds.
const BENEATH: [f64; 2] = [0.95, 0.8];

/// Titles of a store that are asked at most.
const TITLES: usize = 500;

/// Questions of each kind without which nothing is said.
const LEAST: usize = 20;

/// Thresholds, and what they do.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The thresholds.
    pub gate: Gate,
    /// How certain questions are with their notes there; none of a store's own titles.
    pub known: Vec<f64>,
    /// How certain they are without them.
    pub unknown: Vec<f64>,
}

impl Calibration {
    /// The share of questions with their notes there that reach STRONG, and WEAK or more.
    pub fn found(&self) -> [f64; 2] {
        [self.gate.strong, self.gate.weak].map(|threshold| reaching(&self.known, threshold))
    }

    /// The share of those without them.
    pub fn mistaken(&self) -> [f64; 2] {
        [self.gate.strong, self.gate.weak].map(|threshold| reaching(&self.unknown, threshold))
    }

    fn of(known: Vec<f64>, unknown: Vec<f64>) -> Result<Calibration> {
        let labelled = !known.is_empty();
        let (shares, mut values) =
            if labelled { (MISSED, known.clone()) } else { (BENEATH, unknown.clone()) };
        if values.len() < LEAST {
            return Err(Error::invalid(format!(
                "{} questions are too few to set thresholds by",
                values.len()
            ))
            .hint(format!("at least {LEAST} are needed; `--from DIR` takes those of a folder")));
        }
        let [strong, weak] = shares.map(|share| quantile(&mut values, share).unwrap_or_default());
        // So that as many pass as are told.
        let round = |value: f64| match labelled {
            true => (value * 1000.0).floor() / 1000.0,
            false => (value * 1000.0).ceil() / 1000.0,
        };
        Ok(Calibration { gate: Gate { strong: round(strong), weak: round(weak) }, known, unknown })
    }
}

/// By the questions of a folder, in a memory with these settings that is thrown away.
///
/// # Errors
/// As [`super::run`]; `invalid_argument` when there are too few questions.
pub fn by_set(set: &Set, config: Config, progress: &dyn Fn(Step, u64, u64)) -> Result<Calibration> {
    let (_folder, memory) = scratch(config)?;
    let groups = fill(set, &memory, progress)?;
    memory.store.settle();
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    let total = set.questions.len() as u64;
    for (done, question) in (1..).zip(&set.questions) {
        progress(Step::Asking, done, total);
        let Some(group) = groups.get(question.group) else { continue };
        let answers = answers(question, group);
        known.push(certainty(&group.memory, &question.text, &[])?);
        unknown.push(certainty(&group.memory, &question.text, &answers)?);
    }
    Calibration::of(known, unknown)
}

fn answers(question: &Question, group: &Filled) -> Vec<NodeId> {
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
pub fn by_titles(memory: &Memory, progress: &dyn Fn(Step, u64, u64)) -> Result<Calibration> {
    let view = memory.store.view();
    let live: Vec<NodeId> =
        (0..view.slots()).filter(|&ix| view.is_live(ix)).filter_map(|ix| view.id(ix)).collect();
    let step = live.len().div_ceil(TITLES).max(1);
    let total = live.len().div_ceil(step) as u64;
    let (mut unknown, mut titles) = (Vec::new(), HashSet::new());
    for (done, &id) in (1..).zip(live.iter().step_by(step)) {
        progress(Step::Asking, done, total);
        let node = memory.store.node(id)?;
        // What another note is called as well is known without this one.
        if let Some(title) = node.as_ref().and_then(|node| node.own_title())
            && titles.insert(title.to_lowercase())
        {
            unknown.push(certainty(memory, title, &[id])?);
        }
    }
    Calibration::of(Vec::new(), unknown)
}

fn certainty(memory: &Memory, text: &str, except: &[NodeId]) -> Result<f64> {
    let sight = Sight::of_person(memory.now());
    Ok(recognize::agreement(memory, &memory.store.view(), text, sight, except)?.signals.certainty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_quantiles() {
        let known: Vec<f64> = (1..=40).map(f64::from).collect();
        let unknown: Vec<f64> = (1..=40).map(|value| f64::from(value) - 30.0).collect();
        let labelled = Calibration::of(known, unknown.clone()).unwrap();
        assert_eq!(labelled.gate, Gate { strong: 4.0, weak: 1.0 });
        assert_eq!((labelled.found(), labelled.mistaken()), ([0.925, 1.0], [0.175, 0.25]));
        let own = Calibration::of(Vec::new(), unknown).unwrap();
        assert_eq!(own.gate, Gate { strong: 8.0, weak: 2.0 });
        let told = Calibration::of(Vec::new(), vec![1.0; 19]).unwrap_err();
        insta::assert_snapshot!(told.message, @"19 questions are too few to set thresholds by");
    }
}
