//! `match:TERMS`: nodes that contain the terms, in three tiers.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::context::QueryContext;
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::scan::visible_at;
use crate::query::set::{ResultSet, ScoredNode};
use crate::query::top::best_first;
use poc_graph::error::Result;
use poc_graph::{Ix, cancellation, normal_key};
use rustc_hash::FxHashMap;

/// The score of a key that equals a term.
const KEY: f64 = 1.0;
/// The score of a key that has a term as a component.
const COMPONENT: f64 = 0.5;
/// The score of the best text match.
const TEXT: f64 = 0.2;

/// The characters that separate the components of a key.
const SEPARATORS: [char; 5] = ['-', '_', '/', '.', '#'];

pub(super) const STAGE: StageDef = StageDef {
    word: "match",
    params: &[Param {
        name: "TERMS",
        position: ParamPosition::Colon,
        value_type: ParamType::Text,
        presence: Presence::Required,
        doc: "words to find in keys, or else in texts",
    }],
    doc: "Notes whose key is a term (1), whose key has it as a component (0.5) or whose text contains it (up \
           to 0.2)",
    more: "Terms are separated by spaces; a repeated term counts once. Each term is first looked up in the \
           keys, ignoring case: a note whose key is the term gets 1, and a note whose key has the term as a \
           component (keys are split at `-`, `_`, `/`, `.` and `#`) gets 0.5. Former keys and other names of a \
           note count like its key; the best of them decides. Only terms found in no key are \
           searched for in titles and texts: these notes get 0.2 · BM25 / best BM25 (Robertson and Zaragoza \
           2009; a term of the title counts three times). The scores for several terms are added up. Best \
           first, ties by id.",
    example: Example { pipeline: "match:\"wal tree\"", output: &["wal", "b-tree", "lsm-tree"] },
    describe: |call| format!("notes that match {}", call.text("TERMS").unwrap_or_default()),
    implementation: StageImplementation::Generate(|call, ctx| matching(&call.text("TERMS")?, ctx)),
    hints: Hints::NONE,
};

fn matching(terms: &str, ctx: &QueryContext<'_>) -> Result<ResultSet> {
    let view = ctx.sources.view;
    let mut is_live = visible_at(view, ctx.sources.visibility());
    let mut scores: FxHashMap<Ix, f64> = FxHashMap::default();
    let mut terms = Terms::of(terms);
    for ix in 0..view.slots() {
        // Other names and former keys count like the current key.
        let names = view.names(ix).chain(view.other_names(ix));
        let score = names.map(|name| terms.score(name, || is_live(ix))).fold(0.0, f64::max);
        if score > 0.0 {
            scores.insert(ix, score);
        }
    }
    let unanswered = terms.unanswered();
    if !unanswered.is_empty() {
        let hits = ctx.sources.indexes.text()?.search_all(&unanswered.join(" "), view.node_count());
        cancellation::check()?;
        let best = hits.first().map_or(1.0, |hit| hit.score);
        for hit in hits {
            if let Some(ix) = view.find(hit.id).filter(|&ix| is_live(ix)) {
                *scores.entry(ix).or_default() += TEXT * hit.score / best;
            }
        }
    }
    let mut items: Vec<ScoredNode> = scores.into_iter().map(|(ix, score)| ScoredNode { ix, score }).collect();
    best_first(view, &mut items);
    Ok(ResultSet::of(items))
}

/// The distinct terms of a query, and which of them were found in a key. Scoring a key takes a few lookups, however
/// many terms there are.
struct Terms {
    // The terms as written.
    words: Vec<String>,
    // The folded terms with their indexes in `words`.
    indexes: FxHashMap<String, usize>,
    answered: Vec<bool>,
    // Bit n is set if a term has n bytes; the last bit is for all greater lengths.
    lengths: u64,
    // A buffer for a folded key.
    folded: String,
}

impl Terms {
    fn of(text: &str) -> Terms {
        let (mut words, mut indexes, mut lengths) = (Vec::new(), FxHashMap::default(), 0);
        for word in normal_key(text).split_whitespace() {
            let folded: String = fold(word).collect();
            lengths |= length(&folded);
            indexes.entry(folded).or_insert_with(|| {
                words.push(word.to_owned());
                words.len() - 1
            });
        }
        Terms { answered: vec![false; words.len()], words, indexes, lengths, folded: String::new() }
    }

    /// The score of a key for all terms together. `counts` is only called if the score is above 0.
    fn score(&mut self, key: &str, counts: impl FnOnce() -> bool) -> f64 {
        let is_folded = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
        let key = if key.bytes().all(is_folded) {
            key
        } else {
            self.folded.clear();
            self.folded.extend(fold(key));
            &self.folded
        };
        let index = |text: &str| {
            if self.lengths & length(text) == 0 { None } else { self.indexes.get(text).copied() }
        };
        let whole = index(key);
        let mut found: Vec<usize> = key.split(SEPARATORS).filter_map(index).collect();
        found.retain(|index| whole != Some(*index));
        found.sort_unstable();
        found.dedup();
        if whole.is_none() && found.is_empty() || !counts() {
            return 0.0;
        }
        for index in whole.iter().chain(&found) {
            if let Some(answered) = self.answered.get_mut(*index) {
                *answered = true;
            }
        }
        whole.map_or(0.0, |_| KEY) + COMPONENT * found.len() as f64
    }

    /// The terms that were found in no key.
    fn unanswered(self) -> Vec<String> {
        let open = self.words.into_iter().zip(self.answered).filter(|(_, answered)| !answered);
        open.map(|(word, _)| word).collect()
    }
}

/// The characters of a text in lower case.
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
    fn a_whole_key_scores_more_than_a_component() {
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
        // The scores of several terms add up. A term that is repeated or found twice counts once.
        check("b-tree", "b tree b-tree", 2.0);
        check("tree-of-trees/tree", "tree Tree", 0.5);
        // Both Unicode forms of an accent match.
        check("caf\u{e9}-notes", "cafe\u{301}", 0.5);
        check(&"x".repeat(80), &"x".repeat(80), 1.0);
    }

    #[test]
    fn terms_found_in_no_key_are_searched_in_texts() {
        let mut terms = Terms::of("wal Soup tree soup");
        terms.score("b-tree", || true);
        terms.score("wal", || false);
        assert_eq!(terms.unanswered(), ["wal", "Soup"]);
    }
}
