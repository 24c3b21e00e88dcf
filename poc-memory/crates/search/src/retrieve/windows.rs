//! Windows of consecutive notes of a session, scored as one text each. A window passes a share of its score to its
//! notes.
//!
//! Windows are computed per question instead of being stored. The BM25 score of joined notes follows from their
//! postings, and the cosine of a window is the mean of its notes' cosines. Windows therefore cost nothing at import and
//! never contain an outdated version of a note.

use super::candidates::{CandidateScore, Candidates, RetrievalQuery};
use poc_config::ScoreFusionConfig;
use poc_graph::{Ix, NodeId, View};
use rustc_hash::FxHashSet;

/// Passes a share of the score of every window around one of the best candidates with a positive base score to the
/// notes of the window. Notes that were not candidates become candidates.
pub(super) fn propagate(
    question: &RetrievalQuery<'_>,
    config: &ScoreFusionConfig,
    candidates: &mut Candidates,
) {
    let mut best = candidates.in_order();
    best.retain(|found| found.score > 0.0);
    let mut joined = question.words.joined();
    let mut scored: FxHashSet<[Ix; 2]> = FxHashSet::default();
    for &CandidateScore { ix, .. } in best.iter().take(config.window_from) {
        let around = notes_around(question.view, ix, config.window_notes.saturating_sub(1));
        if around.len() < 2 {
            continue;
        }
        for window in around.windows(config.window_notes.clamp(2, around.len())) {
            let (Some(&first), Some(&last)) = (window.first(), window.last()) else { continue };
            // The same window is found from each of its notes, and in both directions.
            if !scored.insert([first.min(last), first.max(last)]) {
                continue;
            }
            let ids: Vec<NodeId> = window.iter().filter_map(|&ix| question.visible_id(ix)).collect();
            // A window needs at least two visible notes.
            if ids.len() < 2 {
                continue;
            }
            let cosines: f64 = ids.iter().filter_map(|&id| question.cosines.of(id)).sum();
            let base = question.base_score(joined.of(&ids), cosines / ids.len() as f64);
            let score = question.score(base);
            if score <= 0.0 {
                continue;
            }
            for &ix in window {
                if let Some(candidate) = candidates.at_index(question, ix) {
                    candidate.propagated.add_window(score);
                }
            }
        }
    }
}

/// A note with up to `reach` notes before and after it in its session, in their order or in reverse.
fn notes_around(view: &View, ix: Ix, reach: usize) -> Vec<Ix> {
    let mut around = vec![ix];
    // A note in several sessions has more than two neighbours; only the first two are followed.
    let beside: Vec<Ix> = view.sequence_neighbors(ix).take(2).collect();
    for start in beside {
        around.reverse();
        let end = around.len() + reach;
        let mut next = (!around.contains(&start)).then_some(start);
        while let Some(here) = next.filter(|_| around.len() < end) {
            around.push(here);
            next = view.sequence_neighbors(here).find(|other| !around.contains(other));
        }
    }
    around
}
