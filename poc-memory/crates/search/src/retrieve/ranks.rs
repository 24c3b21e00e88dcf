//! Reciprocal rank fusion of three lists.

use super::hit::{Retrieval, RetrievalHit};
use super::retriever::{DEPTH, Retriever};
use poc_graph::error::Result;
use poc_graph::{NodeId, Visibility, cancellation};
use poc_index::TextField;
use poc_rank::rrf::{K, rrf};

/// Combines three lists with [`poc_rank::rrf`]: the nearest nodes by vector, the best by BM25 of the title, and the
/// best by BM25 of the body. Each list has 50 nodes, or the wanted number if that is more.
pub(super) fn find(
    retriever: &Retriever<'_>,
    text: &str,
    vector: &[f32],
    wanted: usize,
    visibility: Visibility,
) -> Result<Retrieval> {
    let weights = &retriever.config.rrf;
    let is_pointer = |id| retriever.view.find(id).is_some_and(|ix| retriever.view.is_pointer(ix));
    let keep = |id| retriever.is_visible(id, visibility) && (retriever.list_derived || !is_pointer(id));
    let depth = wanted.max(DEPTH);
    let near = retriever.vectors.search(vector, depth, &keep)?;
    let by_field = |field| -> Vec<NodeId> {
        retriever.text.search(text, field, depth, &keep).into_iter().map(|hit| hit.id).collect()
    };
    let lists = [
        ("meaning", weights.vector_weight, near.iter().map(|hit| hit.id).collect::<Vec<NodeId>>()),
        ("title", weights.title_weight, by_field(TextField::Title)),
        ("text", weights.body_weight, by_field(TextField::Body)),
    ];
    cancellation::check()?;
    let fused = rrf(&lists.each_ref().map(|(_, weight, list)| (*weight, list.as_slice())));
    let hits = fused.into_iter().take(wanted).map(|(id, score)| {
        let (mut ranks, mut shares) = (Vec::new(), Vec::new());
        for (name, weight, list) in &lists {
            if let Some(before) = list.iter().position(|other| *other == id) {
                ranks.push((*name, before + 1));
                shares.push((*name, weight / (K + 1.0 + before as f64)));
            }
        }
        shares.retain(|(_, share)| *share > 0.0);
        let near = near.iter().find(|hit| hit.id == id).copied();
        RetrievalHit {
            id,
            score,
            ranks,
            shares,
            led_by: None,
            derived: None,
            linked_from: None,
            by_key: false,
            near,
            likelihood: None,
        }
    });
    Ok(Retrieval {
        hits: hits.collect(),
        named: lists.each_ref().map(|(name, _, list)| (*name, list.len())).to_vec(),
        cosine: near.first().map(|hit| hit.cosine),
        nearest: near.first().map(|hit| hit.id),
    })
}
