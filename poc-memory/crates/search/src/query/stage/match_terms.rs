//! `match:TERMS`: nodes that hold the terms, in three tiers.

use super::definition::{Hints, StageDef, Work};
use crate::query::context::QueryContext;
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, Presence, ValueType};
use crate::query::scan::visible_at;
use crate::query::set::{ResultSet, ScoredNode};
use crate::query::top::best_first;
use poc_graph::error::Result;
use poc_graph::{Ix, normal_key};
use rustc_hash::FxHashMap;

/// Score of a key that is the term.
const KEY: f64 = 1.0;
/// Score of a key with the term as a component.
const COMPONENT: f64 = 0.5;
/// Score of the best text.
const TEXT: f64 = 0.2;

/// What keys are split at.
const SEPARATORS: [char; 5] = ['-', '_', '/', '.', '#'];

pub(super) const STAGE: StageDef = StageDef {
    word: "match",
    params: &[Param {
        name: "TERMS",
        position: ParamPosition::Colon,
        value_type: ValueType::Text,
        presence: Presence::Required,
        doc: "words, matched in keys, else in texts",
    }],
    doc: "Nodes whose key is a term (1), has it as a component (0.5) or whose text holds it (up to 0.2)",
    more: "Terms are divided by spaces; one that is said twice counts once. Each term looks in the keys first, letter case aside: a node \
           whose key is the term gets 1, one with the term as a component (keys are split at `-`, `_`, \
           `/`, `.` and `#`) gets 0.5. Only terms that no key answers are looked for in titles and \
           texts: 0.2 · BM25 / best BM25 (Robertson and Zaragoza 2009; a term of the title counts \
           three times). What a node gets from several terms adds up. Best first, ties by id.",
    example: Example { pipeline: "match:\"wal tree\"", output: &["wal", "b-tree", "lsm-tree"] },
    describe: |call| format!("nodes that match {}", call.text("TERMS").unwrap_or_default()),
    work: Work::Generate(|call, ctx| matching(&call.text("TERMS")?, ctx)),
    hints: Hints { takes_free_terms: true, ..Hints::NONE },
};

fn matching(terms: &str, ctx: &QueryContext<'_>) -> Result<ResultSet> {
    let view = ctx.sources.view;
    let mut is_live = visible_at(view, ctx.sources.visibility());
    let mut scores: FxHashMap<Ix, f64> = FxHashMap::default();
    let mut terms = Terms::of(terms);
    for ix in 0..view.slots() {
        let score = terms.score(view.key(ix), || is_live(ix));
        if score > 0.0 {
            scores.insert(ix, score);
        }
    }
    let unanswered = terms.unanswered();
    if !unanswered.is_empty() {
        let hits = ctx.sources.indexes.text()?.search_all(&unanswered.join(" "), view.node_count());
        let best = hits.first().map_or(1.0, |hit| hit.score);
        for hit in hits {
            if let Some(ix) = view.find(hit.id).filter(|&ix| is_live(ix)) {
                *scores.entry(ix).or_default() += TEXT * hit.score / best;
            }
        }
    }
    let mut items: Vec<ScoredNode> = scores.into_iter().map(|(ix, score)| ScoredNode { ix, score }).collect();
    best_first(view, &mut items);
    Ok(ResultSet { items, pairs: Vec::new() })
}

/// The terms of a query, each once, and which of them a key has answered. A key costs a few look-ups,
/// however many terms there are.
struct Terms {
    // As written.
    words: Vec<String>,
    // Folded, with the place among the words.
    places: FxHashMap<String, usize>,
    answered: Vec<bool>,
    // Bit n is set when a term has n bytes, the last when one has more.
    lengths: u64,
    // Room for a folded key.
    folded: String,
}

impl Terms {
    fn of(text: &str) -> Terms {
        let (mut words, mut places, mut lengths) = (Vec::new(), FxHashMap::default(), 0);
        for word in normal_key(text).split_whitespace() {
            let folded: String = fold(word).collect();
            lengths |= length(&folded);
            places.entry(folded).or_insert_with(|| {
                words.push(word.to_owned());
                words.len() - 1
            });
        }
        Terms { answered: vec![false; words.len()], words, places, lengths, folded: String::new() }
    }

    /// What a key is worth to all terms together. `counts` is asked only about a key that is worth
    /// something.
    fn score(&mut self, key: &str, counts: impl FnOnce() -> bool) -> f64 {
        let is_folded = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
        let key = if key.bytes().all(is_folded) {
            key
        } else {
            self.folded.clear();
            self.folded.extend(fold(key));
            &self.folded
        };
        let place = |text: &str| {
            if self.lengths & length(text) == 0 { None } else { self.places.get(text).copied() }
        };
        let whole = place(key);
        let mut found: Vec<usize> = key.split(SEPARATORS).filter_map(place).collect();
        found.retain(|place| whole != Some(*place));
        found.sort_unstable();
        found.dedup();
        if whole.is_none() && found.is_empty() || !counts() {
            return 0.0;
        }
        for place in whole.iter().chain(&found) {
            if let Some(answered) = self.answered.get_mut(*place) {
                *answered = true;
            }
        }
        whole.map_or(0.0, |_| KEY) + COMPONENT * found.len() as f64
    }

    /// The terms that no key has answered.
    fn unanswered(self) -> Vec<String> {
        let open = self.words.into_iter().zip(self.answered).filter(|(_, answered)| !answered);
        open.map(|(word, _)| word).collect()
    }
}

/// A text without regard to letter case.
fn fold(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

fn length(text: &str) -> u64 {
    1 << text.len().min(63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_of_keys() {
        let check = |key: &str, terms: &str, expected| {
            assert_eq!(Terms::of(terms).score(key, || true), expected, "{key} {terms}");
        };
        check("b-tree", "b-tree", 1.0);
        check("B-Tree", "b-tree", 1.0);
        check("b-tree", "tree", 0.5);
        check("notes/b_tree.md#split", "SPLIT", 0.5);
        check("notes/b_tree.md#split", "b", 0.5);
        check("b-trees", "tree", 0.0);
        check("über-uns", "ÜBER", 0.5);
        check("tree", "b-tree", 0.0);
        // Several terms add up; one that is said or found twice counts once.
        check("b-tree", "b tree b-tree", 2.0);
        check("tree-of-trees/tree", "tree Tree", 0.5);
        // However an accent is typed.
        check("caf\u{e9}-notes", "cafe\u{301}", 0.5);
        check(&"x".repeat(80), &"x".repeat(80), 1.0);
    }

    #[test]
    fn what_no_key_answers_is_looked_for_in_texts() {
        let mut terms = Terms::of("wal Soup tree soup");
        terms.score("b-tree", || true);
        terms.score("wal", || false);
        assert_eq!(terms.unanswered(), ["wal", "Soup"]);
    }
}
