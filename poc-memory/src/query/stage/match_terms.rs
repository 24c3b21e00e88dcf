//! `match:TERMS`: nodes that hold the terms, in three tiers.

use super::{Example, StageDef, Work};
use crate::error::Result;
use crate::graph::Ix;
use crate::query::param::{Absent, Param, Place, Takes};
use crate::query::plan::Ctx;
use crate::query::scan::is_live_at;
use crate::query::top::best_first;
use crate::query::{ResultSet, Scored};
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
        place: Place::Colon,
        takes: Takes::Text,
        absent: Absent::Error,
        doc: "words, matched in keys, else in texts",
    }],
    doc: "Nodes whose key is a term (1), has it as a component (0.5) or whose text holds it (up to 0.2)",
    more: "Terms are divided by spaces. Each term looks in the keys first, letter case aside: a node \
           whose key is the term gets 1, one with the term as a component (keys are split at `-`, `_`, \
           `/`, `.` and `#`) gets 0.5. Only terms that no key answers are looked for in titles and \
           texts: 0.2 · BM25 / best BM25 (Robertson and Zaragoza 2009; a term of the title counts \
           twice). What a node gets from several terms adds up. Best first, ties by id.",
    example: Example { pipeline: "match:\"wal tree\"", gives: &["wal", "b-tree", "lsm-tree"] },
    does: |call| format!("nodes that match {}", call.text("TERMS").unwrap_or_default()),
    work: Work::Generate(|call, ctx| matching(&call.text("TERMS")?, ctx)),
};

fn matching(terms: &str, ctx: &Ctx<'_>) -> Result<ResultSet> {
    let view = ctx.sources.view;
    let mut is_live = is_live_at(view, ctx.sources.now);
    let mut scores: FxHashMap<Ix, f64> = FxHashMap::default();
    let mut in_keys: Vec<(&str, bool)> = terms.split_whitespace().map(|term| (term, false)).collect();
    for ix in 0..view.slots() {
        let key = view.key(ix);
        for (term, found) in &mut in_keys {
            let score = key_score(key, term);
            if score > 0.0 && is_live(ix) {
                *scores.entry(ix).or_default() += score;
                *found = true;
            }
        }
    }
    let unanswered: Vec<&str> = in_keys.iter().filter(|(_, found)| !found).map(|(term, _)| *term).collect();
    if !unanswered.is_empty() {
        let hits = ctx.sources.indexes.text()?.search_all(&unanswered.join(" "), view.node_count());
        let best = hits.first().map_or(1.0, |hit| hit.score);
        for hit in hits {
            if let Some(ix) = view.find(hit.id).filter(|&ix| is_live(ix)) {
                *scores.entry(ix).or_default() += TEXT * hit.score / best;
            }
        }
    }
    let mut items: Vec<Scored> = scores.into_iter().map(|(ix, score)| Scored { ix, score }).collect();
    best_first(view, &mut items);
    Ok(ResultSet { items, pairs: Vec::new() })
}

/// What a key is worth to a term.
fn key_score(key: &str, term: &str) -> f64 {
    if same(key, term) {
        KEY
    } else if key.len() > term.len() && key.split(SEPARATORS).any(|component| same(component, term)) {
        COMPONENT
    } else {
        0.0
    }
}

/// Equal up to letter case.
fn same(text: &str, term: &str) -> bool {
    if text.is_ascii() || term.is_ascii() {
        return text.eq_ignore_ascii_case(term);
    }
    text.chars().flat_map(char::to_lowercase).eq(term.chars().flat_map(char::to_lowercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_of_keys() {
        let check = |key, term, expected| assert_eq!(key_score(key, term), expected, "{key} {term}");
        check("b-tree", "b-tree", 1.0);
        check("B-Tree", "b-tree", 1.0);
        check("b-tree", "tree", 0.5);
        check("notes/b_tree.md#split", "SPLIT", 0.5);
        check("notes/b_tree.md#split", "b", 0.5);
        check("b-trees", "tree", 0.0);
        check("über-uns", "ÜBER", 0.5);
        check("tree", "b-tree", 0.0);
    }
}
