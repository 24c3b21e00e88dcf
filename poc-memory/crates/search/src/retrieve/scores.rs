//! Fusion by scores: standard scores from vector search and text search, bonuses for notes that the query names, and
//! one propagation step along the structure.

use super::candidates::{Candidates, POOL, Question};
use super::hit::{Retrieval, RetrievalHit};
use super::retriever::{DEPTH, Retriever};
use super::{derived, key, links, structure, windows};
use poc_graph::error::Result;
use poc_graph::{NodeId, Visibility, cancellation};
use poc_rank::fusion::lift;
use poc_rank::propagation::PropagationWeights;
use poc_rank::top_k::{Ranked, Top};

pub(super) fn find(
    retriever: &Retriever<'_>,
    text: &str,
    vector: &[f32],
    wanted: usize,
    visibility: Visibility,
) -> Result<Retrieval> {
    let weights = &retriever.config.scores;
    cancellation::check()?;
    let question = Question::of(retriever, text, vector, visibility)?;
    cancellation::check()?;
    let lists = question.lists(wanted.max(DEPTH), wanted.saturating_mul(4).max(POOL));
    let mut candidates = Candidates::of(&question, lists.pool);
    cancellation::check()?;
    let best = candidates.best();
    for id in retriever.mentions.in_text(text) {
        if let Some(named) = candidates.at(&question, id) {
            named.named += lift(weights.named_weight, best);
        }
    }
    for id in question.words.terms().nodes_with_names() {
        if let Some(holder) = candidates.at(&question, id) {
            holder.identifier += lift(weights.identifier_weight, best);
        }
    }
    let is_visible = |id| retriever.is_visible(id, visibility);
    let by_key = if weights.identifier_weight > 0.0 {
        key::notes_named(retriever.view, text, &is_visible)
    } else {
        Vec::new()
    };
    for asked in &by_key {
        if let Some(owner) = candidates.at_index(&question, asked.note) {
            owner.identifier += lift(weights.identifier_weight, best);
        }
    }
    let flow = PropagationWeights {
        mentioned: weights.mentioned_weight,
        mentioning: weights.mentioning_weight,
        sharing: weights.shared_weight,
        shared_by: retriever.max_sharing(),
        beside: weights.beside_weight,
        further: weights.further_weight,
        window: weights.window_weight,
        derived: weights.derived_weight,
        linking: weights.link_weight,
        linking_degree: weights.link_degree,
        alike: weights.alike_weight / weights.alike_notes.max(1) as f64,
    };
    let mut sources = Vec::new();
    let mut derived = Vec::new();
    let mut linking = Vec::new();
    if retriever.config.graph {
        if weights.derived_weight > 0.0 {
            derived = derived::propagate(&question, weights.question_from, &mut candidates);
        }
        if weights.link_weight > 0.0 {
            linking = links::propagate(&question, weights, flow, &mut candidates);
        }
        if retriever.embedder.contextual() && weights.alike_weight > 0.0 {
            structure::add_similarity_boosts(&question, retriever.mentions, weights, &mut candidates);
        }
        if weights.window_weight > 0.0 {
            windows::propagate(&question, weights, &mut candidates);
        }
        cancellation::check()?;
        sources = structure::propagate(&question, retriever, text, flow, wanted, &mut candidates);
        cancellation::check()?;
    }
    // A note named by its key must come before all others. Notes that merely contain its key may have more words of the
    // query and also get a share of its score. If no score is high, the distance is one standard deviation.
    let max = candidates.all.iter().map(|candidate| candidate.score(flow)).fold(0.0, f64::max);
    let scores =
        by_key.iter().filter_map(|asked| Some(candidates.at_index(&question, asked.note)?.score(flow)));
    let min = scores.fold(max, f64::min);
    let ahead = max - min + lift(weights.identifier_weight, max.max(1.0));
    for asked in &by_key {
        if let Some(owner) = candidates.at_index(&question, asked.note) {
            // A key may contain another key, so a key that is the whole query comes first.
            owner.key = if asked.is_whole_text { 2.0 * ahead } else { ahead };
            owner.folded = false;
        }
    }
    let mut best = Top::new(wanted);
    for candidate in candidates.all.iter().filter(|candidate| !candidate.folded) {
        best.offer(Ranked { score: candidate.score(flow), id: candidate.id, with: candidate });
    }
    let rank = |list: &[NodeId], id| list.iter().position(|other| *other == id).map(|before| before + 1);
    let hits = best.into_sorted().into_iter().map(|Ranked { score, id, with: candidate }| {
        let ranks = [("meaning", rank(&lists.nearest, id)), ("words", rank(&lists.matching, id))];
        RetrievalHit {
            id,
            score,
            ranks: ranks.into_iter().filter_map(|(list, rank)| Some((list, rank?))).collect(),
            shares: candidate.shares(flow),
            led_by: candidate.propagated.leading_source(flow).and_then(|place| sources.get(place)).copied(),
            derived: candidate.propagated.leading_derived(flow).and_then(|at| derived.get(at)).copied(),
            linked_from: candidate.propagated.linking_source().and_then(|at| linking.get(at)).copied(),
            by_key: candidate.key > 0.0,
            near: question.cosines.nearest_part(id),
            likelihood: None,
        }
    });
    Ok(Retrieval {
        hits: hits.collect(),
        named: vec![("meaning", lists.nearest.len()), ("words", lists.matching.len())],
        cosine: lists.cosine,
    })
}
