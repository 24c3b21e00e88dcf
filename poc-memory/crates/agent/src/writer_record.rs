//! The record of an agent as a writer: how much of its reply the texts of the notes support, and how many of
//! its earlier links were undone. A model that links everything to everything, or that cites notes which do
//! not support its statements, has a poor record. Its links are weakened, and facts that no source supports
//! are refused.

use super::action::{Action, Insert};
use super::definition::{ActionKind, Definition};
use super::ledger::{self, ActionState};
use super::permit::{Refusal, RefusalReason};
use super::rare_words;
use super::selection::Selection;
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_notes::Memory;
use std::collections::{BTreeMap, BTreeSet};

/// Prior count of good links or facts, so that a single bad one does not decide.
const PRIOR: f64 = 3.0;

/// Minimum share of supported links or facts of a good record. A link between notes that use different words
/// for the same thing counts as unsupported, so a good agent does not reach 1.
const MIN_SUPPORTED_SHARE: f64 = 0.5;

/// Maximum share of the link candidates of the prompt that a careful agent links. Models that read the notes link one
/// in five.
const MAX_LINKED_SHARE: f64 = 0.5;

/// Prior count of declined candidates, so that a few related notes can all be linked.
const PRIOR_DECLINED: f64 = 10.0;

/// Links are refused when the support of the reply reduces their strength to less than this share. Undone links of
/// earlier runs refuse no other links: otherwise no later link could improve the record again.
const MIN_FACTOR: f64 = 0.5;

/// Number of runs of an agent that are examined for undone links.
const RUNS: usize = 50;

/// A word supports a fact if at most one in this many notes contains it.
const UNCOMMON: usize = 20;

/// How many actions of one kind are supported, and how many are not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Support {
    good: usize,
    bad: usize,
}

impl Support {
    fn add(&mut self, is_good: bool) {
        *(if is_good { &mut self.good } else { &mut self.bad }) += 1;
    }

    fn share(self) -> f64 {
        (self.good as f64 + PRIOR) / ((self.good + self.bad) as f64 + PRIOR)
    }
}

/// The support for the links and facts of a reply, determined before they are applied.
pub(super) struct WriterRecord {
    /// The links of the reply between notes of the prompt; those whose notes have a rare word in common are supported.
    links: Support,
    /// The link candidates of the prompt: those that the reply declines are good.
    candidates: Support,
    /// Links of earlier runs; those that a person or the judge undid are bad.
    history: Support,
    facts: Support,
    /// The titles and sources of the new notes that no source supports.
    unsupported: BTreeSet<(String, Vec<String>)>,
}

impl WriterRecord {
    /// The record of an agent with the actions of a reply. New notes with sources are supported by a source
    /// that has an uncommon word in common with them. Actions that are marked are parts of a note that the
    /// reply splits, and are not examined.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn of(
        memory: &Memory,
        definition: &Definition,
        selection: &Selection,
        actions: &[(&Action, bool)],
    ) -> Result<WriterRecord> {
        let notes = memory.store.view().live_count();
        let rare = rare_words::limit(notes, &memory.config.retrieve.scores);
        let uncommon = (notes / UNCOMMON).max(rare);
        let mut words = NoteWords { memory, selection, max: uncommon, of: BTreeMap::new() };
        let mut offered: BTreeSet<(NodeId, NodeId)> = BTreeSet::new();
        for handle in selection.selected() {
            let others = handle.candidates.iter().filter_map(|candidate| selection.get(&candidate.handle));
            offered.extend(others.map(|other| unordered(handle.node.id, other.node.id)));
        }
        let mut linked: BTreeSet<(NodeId, NodeId)> = BTreeSet::new();
        let mut record = WriterRecord {
            links: Support::default(),
            candidates: Support::default(),
            history: Support::default(),
            facts: Support::default(),
            unsupported: BTreeSet::new(),
        };
        for (action, is_part) in actions {
            match action {
                Action::LinkAdd(link) => {
                    let id = |name: &str| selection.get(name.trim()).map(|handle| handle.node.id);
                    linked.extend(id(&link.from).zip(id(&link.to)).map(|(from, to)| unordered(from, to)));
                    if let Some(common) = words.in_common(&link.from, &link.to) {
                        record.links.add(common.into_iter().any(|word| memory.text.frequency(&word) <= rare));
                    }
                }
                Action::Insert(insert) if !is_part && !insert.sources.is_empty() => {
                    let own = words.uncommon(&format!("{}\n{}", insert.title, insert.body));
                    let supports =
                        |name: &String| words.of(name).is_some_and(|theirs| !own.is_disjoint(theirs));
                    let is_supported = insert.sources.iter().any(supports);
                    record.facts.add(is_supported);
                    if !is_supported {
                        record.unsupported.insert(identity(insert));
                    }
                }
                _ => {}
            }
        }
        for pair in &offered {
            record.candidates.add(!linked.contains(pair));
        }
        if record.links != Support::default() {
            for run in ledger::rows(memory, Some(&definition.name), RUNS)? {
                for action in run.actions.iter().filter(|action| action.kind == Some(ActionKind::LinkAdd)) {
                    if matches!(action.state, ActionState::Applied | ActionState::Undone) {
                        record.history.add(!action.is_undone());
                    }
                }
            }
        }
        Ok(record)
    }

    /// The factor of the strength of the links, 0 to 1: 1 for a good record. It falls with the square of the share of
    /// supported links, with the share of candidates that are linked, and with the share of links that were undone.
    pub(super) fn link_factor(&self) -> f64 {
        self.support_factor() * self.selection_factor() * self.history.share()
    }

    /// The part of the factor that depends on how many of the candidates the reply links. A model that links all of
    /// them has not read them.
    fn selection_factor(&self) -> f64 {
        let Support { good, bad } = self.candidates;
        let share = bad as f64 / ((good + bad) as f64 + PRIOR_DECLINED);
        ((1.0 - share) / (1.0 - MAX_LINKED_SHARE)).min(1.0)
    }

    /// The part of the factor that depends on the reply alone.
    fn support_factor(&self) -> f64 {
        (self.links.share() / MIN_SUPPORTED_SHARE).min(1.0).powi(2)
    }

    /// Why an action is refused because the record is poor and the notes do not support it.
    pub(super) fn refusal(&self, action: &Action) -> Option<Refusal> {
        let why = match action {
            Action::LinkAdd(_) if self.selection_factor() < MIN_FACTOR => {
                let Support { good, bad } = self.candidates;
                format!("all links are refused: {bad} of {} candidates of the prompt are linked", good + bad)
            }
            Action::LinkAdd(_) if self.support_factor() < MIN_FACTOR => {
                let Support { good, bad } = self.links;
                format!(
                    "all links are refused: {bad} of {} join notes without a rare word in common",
                    good + bad
                )
            }
            Action::Insert(insert)
                if self.facts.share() < MIN_SUPPORTED_SHARE
                    && self.unsupported.contains(&identity(insert)) =>
            {
                let Support { good, bad } = self.facts;
                format!("its sources do not mention it; this holds for {bad} of {} new notes", good + bad)
            }
            _ => return None,
        };
        Some(RefusalReason::Unsupported.because(why))
    }
}

/// Two nodes in the order of their ids.
fn unordered(one: NodeId, other: NodeId) -> (NodeId, NodeId) {
    (one.min(other), one.max(other))
}

fn identity(insert: &Insert) -> (String, Vec<String>) {
    (insert.title.clone(), insert.sources.clone())
}

/// The uncommon words of notes of a prompt, by handle.
struct NoteWords<'a> {
    memory: &'a Memory,
    selection: &'a Selection,
    /// Maximum number of notes that may contain an uncommon word.
    max: usize,
    of: BTreeMap<String, BTreeSet<String>>,
}

impl NoteWords<'_> {
    fn uncommon(&self, text: &str) -> BTreeSet<String> {
        let index = &self.memory.text;
        index.query_tokens(text).into_iter().filter(|word| index.frequency(word) <= self.max).collect()
    }

    /// The words of a note of the prompt.
    fn of(&mut self, name: &str) -> Option<&BTreeSet<String>> {
        let handle = self.selection.get(name.trim())?;
        if !self.of.contains_key(&handle.name) {
            let words = self.uncommon(&handle.node.text());
            self.of.insert(handle.name.clone(), words);
        }
        self.of.get(&handle.name)
    }

    /// The words that two notes of the prompt have in common.
    fn in_common(&mut self, one: &str, other: &str) -> Option<Vec<String>> {
        let own = self.of(one)?.clone();
        let theirs = self.of(other)?;
        Some(own.intersection(theirs).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::LinkAdd;

    fn record(links: (usize, usize), history: (usize, usize)) -> WriterRecord {
        let support = |(good, bad)| Support { good, bad };
        let (links, history) = (support(links), support(history));
        let (candidates, facts) = (Support::default(), Support::default());
        WriterRecord { links, candidates, history, facts, unsupported: BTreeSet::new() }
    }

    #[test]
    fn a_reply_that_links_nearly_all_candidates_is_refused() {
        let selective = |declined: usize, linked: usize| {
            let candidates = Support { good: declined, bad: linked };
            WriterRecord { candidates, ..record((40, 0), (40, 0)) }
        };
        // A model that reads the notes, and a few notes that all belong together.
        for (declined, linked) in [(80, 20), (50, 50), (0, 10), (3, 12)] {
            assert_eq!(selective(declined, linked).link_factor(), 1.0, "{linked} beside {declined}");
        }
        assert!((0.5..1.0).contains(&selective(20, 60).link_factor()));
        let link = LinkAdd { reason: String::new(), from: "N1".into(), to: "N2".into(), strength: 0.4 };
        let why = selective(1, 90).refusal(&Action::LinkAdd(link)).map(|refusal| refusal.detail);
        assert_eq!(
            why.as_deref(),
            Some("all links are refused: 90 of 91 candidates of the prompt are linked")
        );
    }

    fn factor(links: (usize, usize), history: (usize, usize)) -> f64 {
        record(links, history).link_factor()
    }

    #[test]
    fn a_good_record_keeps_link_strengths_and_a_poor_one_nearly_removes_them() {
        assert_eq!([factor((0, 0), (0, 0)), factor((0, 3), (0, 0)), factor((20, 20), (500, 0))], [1.0; 3]);
        assert!(factor((4, 36), (0, 0)) < 0.11);
        assert!(factor((0, 1000), (0, 0)) < 0.0001);
        assert!(factor((40, 0), (0, 40)) < 0.07);
        // Few links that were undone among many that were kept.
        assert!(factor((40, 0), (97, 10)) > 0.9);
    }

    #[test]
    fn only_the_support_of_the_reply_refuses_links() {
        let why = |links, history| {
            let link = LinkAdd { reason: String::new(), from: "N1".into(), to: "N2".into(), strength: 0.4 };
            record(links, history).refusal(&Action::LinkAdd(link)).map(|refusal| refusal.detail)
        };
        assert_eq!(why((6, 0), (0, 40)), None);
        assert_eq!(why((0, 3), (0, 40)), None);
        assert_eq!(
            why((1, 11), (40, 0)).as_deref(),
            Some("all links are refused: 11 of 12 join notes without a rare word in common")
        );
    }

    #[test]
    fn a_better_record_gives_stronger_links() {
        for good in 0..40 {
            assert!(factor((good, 40 - good), (9, 3)) <= factor((good + 1, 39 - good), (9, 3)));
            assert!(factor((40, 0), (good, 9)) < factor((40, 0), (good + 1, 9)));
        }
    }
}
