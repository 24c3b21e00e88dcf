//! Retrieval whose best hits are reordered by a cross-encoder, if one is configured.

use super::{Memory, passages};
use poc_graph::error::Result;
use poc_graph::{Node, Visibility};
use poc_search::retrieve::{Retrieval, RetrievalHit, Retriever};

/// Like [`find_near`], for a text whose vector is not known.
///
/// # Errors
/// As for [`find_near`], and `unavailable` if the embedder cannot be reached.
pub fn find(
    memory: &Memory,
    retriever: Retriever<'_>,
    text: &str,
    wanted: usize,
    visibility: Visibility,
) -> Result<Retrieval> {
    find_near(memory, retriever, text, &memory.embedder.embed_question(text)?, wanted, visibility)
}

/// The hits of [`Retriever::find_near`]. With a cross-encoder, the best `[rerank] top` hits are sorted by the
/// likelihood that they answer the text (stable) and carry that likelihood; hits whose key is in the query
/// come first. The order of the remaining hits does not change.
///
/// # Errors
/// Those of [`Retriever::find_near`], and `invalid_config` if the cross-encoder cannot be read.
pub fn find_near(
    memory: &Memory,
    retriever: Retriever<'_>,
    text: &str,
    vector: &[f32],
    wanted: usize,
    visibility: Visibility,
) -> Result<Retrieval> {
    let Some(reranker) = &memory.reranker else {
        return retriever.find_near(text, vector, wanted, visibility);
    };
    let top = reranker.config().top;
    let mut found = retriever.find_near(text, vector, wanted.max(top), visibility)?;
    let judged = top.min(found.hits.len());
    let best = found.hits.get_mut(..judged).unwrap_or_default();
    let texts = best.iter().map(|hit| passage_of(memory, hit)).collect::<Result<Vec<String>>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (hit, likelihood) in best.iter_mut().zip(reranker.likelihoods(text, &texts)?) {
        hit.likelihood = Some(likelihood);
    }
    let likelihood = |hit: &RetrievalHit| hit.likelihood.unwrap_or_default();
    let of = |hit: &RetrievalHit| if hit.by_key { f64::INFINITY } else { likelihood(hit) };
    best.sort_by(|a, b| of(b).total_cmp(&of(a)));
    found.hits.truncate(wanted);
    Ok(found)
}

/// The passage of a hit that is nearest to the query.
fn passage_of(memory: &Memory, hit: &RetrievalHit) -> Result<String> {
    // Deleted since the view was taken.
    let Some(node) = memory.store.node(hit.id)? else { return Ok(String::new()) };
    Ok(passage(memory, &node, hit.near.map(|near| near.passage)))
}

/// The text of a passage as it was embedded. Returns the first passage of the body if `number` is that of the title (0)
/// or `None`, and the title if the note has no passage.
pub(super) fn passage(memory: &Memory, node: &Node, number: Option<u16>) -> String {
    let number = number.unwrap_or(1).max(1);
    let passage = passages::embedding_text(node, number, &memory.config.vectors);
    passage.map_or_else(|| node.title.clone(), |passage| passage.into_owned())
}
