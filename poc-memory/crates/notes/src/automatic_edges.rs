//! Edges that a new note gets automatically: to notes that share a keyword and to notes of similar meaning.

use super::Memory;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, NodeId, View};
use poc_rank::cosine::cosine;
use poc_rank::histogram::Histogram;
use poc_rank::lookalike::WordProfile;
use poc_rank::mmr::mmr;
use poc_search::retrieve::nearest::{self, NearestPart};
use poc_store::Tx;
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// A note of a batch that is being prepared, as the other notes of the batch see it.
pub(super) struct BatchNote {
    /// The id it will have.
    pub id: NodeId,
    /// Its title and body.
    pub text: String,
    /// Its keywords.
    pub keywords: Vec<String>,
    /// Its vectors.
    pub parts: Vec<Vec<f32>>,
}

/// An edge to create from a new note.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AutomaticEdge {
    dst: NodeId,
    kind: EdgeKind,
    cosine: f64,
    reason: String,
}

/// Number of edges created, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EdgeCounts {
    pub keyword: usize,
    pub semantic: usize,
}

/// The edges of a note to indexed notes and to the notes of the `batch` prepared before it, and the cosines of
/// the candidates of similar meaning.
pub(super) fn find(
    memory: &Memory,
    view: &View,
    note: &BatchNote,
    batch: &[BatchNote],
) -> Result<(Vec<AutomaticEdge>, Histogram)> {
    let mut edges = keyword_edges(memory, view, note, batch)?;
    let (semantic, cosines) = semantic_edges(memory, view, note, batch)?;
    edges.extend(semantic);
    Ok((edges, cosines))
}

/// For each keyword, edges to the nearest notes that share it.
fn keyword_edges(
    memory: &Memory,
    view: &View,
    note: &BatchNote,
    batch: &[BatchNote],
) -> Result<Vec<AutomaticEdge>> {
    let config = &memory.config.insert;
    let threshold = memory.config.cosines()?.keyword;
    let mut edges: Vec<AutomaticEdge> = Vec::new();
    let is_in_batch = in_batch(batch);
    for keyword in &note.keywords {
        let number = view.keyword_number(keyword);
        let shares = |id: NodeId| {
            number.is_some_and(|number| {
                id != note.id
                    && !is_in_batch(id)
                    && view.find(id).is_some_and(|ix| view.keywords(ix).contains(&number))
            })
        };
        let sharing = batch.iter().filter(|other| other.keywords.contains(keyword));
        let nearest = match number {
            Some(_) => nearest(memory, note, config.keyword_edges, &shares, sharing)?,
            None => nearest_in_batch(note, config.keyword_edges, sharing),
        };
        for found in nearest.iter().filter(|found| found.cosine >= threshold) {
            match edges.iter_mut().find(|edge| edge.dst == found.id) {
                Some(edge) => edge.reason = format!("{}, {keyword}", edge.reason),
                None => edges.push(AutomaticEdge {
                    dst: found.id,
                    kind: EdgeKind::Keyword,
                    cosine: found.cosine,
                    reason: keyword.clone(),
                }),
            }
        }
    }
    Ok(edges)
}

/// Edges to the nearest notes above the threshold, diversified by maximal marginal relevance.
fn semantic_edges(
    memory: &Memory,
    view: &View,
    note: &BatchNote,
    batch: &[BatchNote],
) -> Result<(Vec<AutomaticEdge>, Histogram)> {
    let config = &memory.config.insert;
    let threshold = memory.config.cosines()?.semantic;
    let is_in_batch = in_batch(batch);
    let is_note = |ix| view.is_live(ix) && !view.is_confirmed_question(ix);
    let live = |id: NodeId| id != note.id && !is_in_batch(id) && view.find(id).is_some_and(is_note);
    let pool = nearest(memory, note, config.semantic_pool, &live, batch.iter())?;
    let relevance: Vec<f64> = pool.iter().map(|candidate| candidate.cosine).collect();
    let mut cosines = Histogram::default();
    relevance.iter().for_each(|&cosine| cosines.add(cosine));
    let alike = |a: usize, b: usize| match (pool.get(a), pool.get(b)) {
        (Some(a), Some(b)) => cosine(&a.vector, &b.vector),
        _ => 0.0,
    };
    let best = mmr(&relevance, config.semantic_lambda, alike).filter_map(|at| pool.get(at));
    let own = WordProfile::of(&note.text);
    let mut edges = Vec::new();
    for candidate in best.take_while(|candidate| candidate.cosine >= threshold) {
        let text = match batch.iter().find(|other| other.id == candidate.id) {
            Some(other) => Some(Cow::Borrowed(other.text.as_str())),
            None => memory.store.node(candidate.id)?.map(|node| Cow::Owned(node.text())),
        };
        // Texts that only differ in digits are about different things, which cosines do not show.
        if text.is_some_and(|text| !own.is_lookalike_of(&WordProfile::of(&text))) {
            edges.push(AutomaticEdge {
                dst: candidate.id,
                kind: EdgeKind::Semantic,
                cosine: candidate.cosine,
                reason: String::new(),
            });
        }
    }
    Ok((edges, cosines))
}

/// Whether a note is in the batch: the indexes may have its previous text.
fn in_batch(batch: &[BatchNote]) -> impl Fn(NodeId) -> bool {
    let batch: FxHashSet<NodeId> = batch.iter().map(|other| other.id).collect();
    move |id| batch.contains(&id)
}

/// The `k` notes nearest to any part of `note`, best first; equal cosines are ordered by id.
fn nearest<'a>(
    memory: &Memory,
    note: &BatchNote,
    k: usize,
    keep: &dyn Fn(NodeId) -> bool,
    batch: impl Iterator<Item = &'a BatchNote>,
) -> Result<Vec<NearestPart>> {
    let mut found = nearest_in_batch(note, k, batch);
    for part in nonzero_parts(&note.parts) {
        for near in nearest::nearest(&*memory.vectors, part, k, keep)? {
            match found.iter_mut().find(|other| other.id == near.id) {
                Some(other) if other.cosine >= near.cosine => {}
                Some(other) => *other = near,
                None => found.push(near),
            }
        }
    }
    best(&mut found, k);
    Ok(found)
}

fn nearest_in_batch<'a>(
    note: &BatchNote,
    k: usize,
    batch: impl Iterator<Item = &'a BatchNote>,
) -> Vec<NearestPart> {
    let mut found: Vec<NearestPart> = batch
        .filter(|other| other.id != note.id)
        .filter_map(|other| {
            let pairs = nonzero_parts(&note.parts)
                .flat_map(|own| nonzero_parts(&other.parts).map(move |other| (cosine(own, other), other)));
            let (cosine, vector) = pairs.max_by(|a, b| a.0.total_cmp(&b.0))?;
            Some(NearestPart { id: other.id, cosine, vector: vector.into() })
        })
        .collect();
    best(&mut found, k);
    found
}

fn best(found: &mut Vec<NearestPart>, k: usize) {
    found.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.id.cmp(&b.id)));
    found.truncate(k);
}

/// The parts whose vectors are not zero.
fn nonzero_parts(parts: &[Vec<f32>]) -> impl Iterator<Item = &[f32]> {
    parts.iter().map(Vec::as_slice).filter(|part| part.iter().any(|&value| value != 0.0))
}

/// Creates the edges whose targets are still live.
pub(super) fn create(
    tx: &mut Tx<'_>,
    src: NodeId,
    edges: &[AutomaticEdge],
    provenance: &str,
    now: Timestamp,
) -> Result<EdgeCounts> {
    let mut made = EdgeCounts::default();
    for edge in edges {
        if !tx.node(edge.dst)?.is_some_and(|node| node.state.is_live()) {
            continue;
        }
        tx.put_edge(&Edge {
            src,
            dst: edge.dst,
            kind: edge.kind,
            strength: edge.cosine.clamp(0.0, 1.0),
            created: now,
            touched: now,
            provenance: provenance.to_owned(),
            reason: edge.reason.clone(),
        })?;
        match edge.kind {
            EdgeKind::Keyword => made.keyword += 1,
            _ => made.semantic += 1,
        }
    }
    Ok(made)
}

/// Deletes all automatic edges of a node, in both directions.
pub(super) fn delete(tx: &mut Tx<'_>, id: NodeId) -> Result<()> {
    for edge in tx.edges(id)? {
        if matches!(edge.kind, EdgeKind::Keyword | EdgeKind::Semantic) {
            tx.delete_edge(edge.src, edge.kind, edge.dst)?;
        }
    }
    Ok(())
}
