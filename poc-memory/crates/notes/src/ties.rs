//! The edges a new note gets by itself: to notes that share a keyword, and to notes alike in
//! meaning.

use super::Memory;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, NodeId, View};
use poc_rank::cosine::cosine;
use poc_rank::histogram::Histogram;
use poc_rank::lookalike::Wording;
use poc_rank::mmr::mmr;
use poc_search::retrieve::nearest::{self, Near};
use poc_store::Tx;
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// A note that is being prepared, as others of its batch see it.
pub(super) struct Mate {
    /// The id it will have.
    pub id: NodeId,
    /// Its title and body.
    pub text: String,
    /// Its keywords.
    pub keywords: Vec<String>,
    /// Its vectors.
    pub parts: Vec<Vec<f32>>,
}

/// An edge to make from a new note.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tie {
    dst: NodeId,
    kind: EdgeKind,
    cosine: f64,
    reason: String,
}

/// How many edges of each kind were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Made {
    pub keyword: usize,
    pub semantic: usize,
}

/// The ties of a note: to what the index holds, and to the `mates` prepared before it; and the cosines
/// of those that were looked at for their meaning.
pub(super) fn find(
    memory: &Memory,
    view: &View,
    note: &Mate,
    mates: &[Mate],
) -> Result<(Vec<Tie>, Histogram)> {
    let mut ties = keyword_ties(memory, view, note, mates)?;
    let (semantic, seen) = semantic_ties(memory, view, note, mates)?;
    ties.extend(semantic);
    Ok((ties, seen))
}

/// Per keyword the nearest notes that share it.
fn keyword_ties(memory: &Memory, view: &View, note: &Mate, mates: &[Mate]) -> Result<Vec<Tie>> {
    let config = &memory.config.insert;
    let least = memory.config.cosines()?.keyword;
    let mut ties: Vec<Tie> = Vec::new();
    let is_mate = among(mates);
    for keyword in &note.keywords {
        let number = view.keyword_number(keyword);
        let shares = |id: NodeId| {
            number.is_some_and(|number| {
                id != note.id
                    && !is_mate(id)
                    && view.find(id).is_some_and(|ix| view.keywords(ix).contains(&number))
            })
        };
        let sharing = mates.iter().filter(|mate| mate.keywords.contains(keyword));
        let nearest = match number {
            Some(_) => nearest(memory, note, config.keyword_edges, &shares, sharing)?,
            None => nearest_mates(note, config.keyword_edges, sharing),
        };
        for found in nearest.iter().filter(|found| found.cosine >= least) {
            match ties.iter_mut().find(|tie| tie.dst == found.id) {
                Some(tie) => tie.reason = format!("{}, {keyword}", tie.reason),
                None => ties.push(Tie {
                    dst: found.id,
                    kind: EdgeKind::Keyword,
                    cosine: found.cosine,
                    reason: keyword.clone(),
                }),
            }
        }
    }
    Ok(ties)
}

/// Of the nearest notes those that are near enough and say something the others do not.
fn semantic_ties(memory: &Memory, view: &View, note: &Mate, mates: &[Mate]) -> Result<(Vec<Tie>, Histogram)> {
    let config = &memory.config.insert;
    let least = memory.config.cosines()?.semantic;
    let is_mate = among(mates);
    let live = |id: NodeId| id != note.id && !is_mate(id) && view.find(id).is_some_and(|ix| view.is_live(ix));
    let pool = nearest(memory, note, config.semantic_pool, &live, mates.iter())?;
    let relevance: Vec<f64> = pool.iter().map(|candidate| candidate.cosine).collect();
    let mut seen = Histogram::default();
    relevance.iter().for_each(|&cosine| seen.add(cosine));
    let alike = |a: usize, b: usize| match (pool.get(a), pool.get(b)) {
        (Some(a), Some(b)) => cosine(&a.vector, &b.vector),
        _ => 0.0,
    };
    let best = mmr(&relevance, config.semantic_lambda, alike).filter_map(|at| pool.get(at));
    let own = Wording::of(&note.text);
    let mut ties = Vec::new();
    for candidate in best.take_while(|candidate| candidate.cosine >= least) {
        let text = match mates.iter().find(|mate| mate.id == candidate.id) {
            Some(mate) => Some(Cow::Borrowed(mate.text.as_str())),
            None => memory.store.node(candidate.id)?.map(|node| Cow::Owned(node.text())),
        };
        // Other digits are another thing, and no cosine tells.
        if text.is_some_and(|text| !own.is_lookalike_of(&Wording::of(&text))) {
            ties.push(Tie {
                dst: candidate.id,
                kind: EdgeKind::Semantic,
                cosine: candidate.cosine,
                reason: String::new(),
            });
        }
    }
    Ok((ties, seen))
}

/// Whether a note is a mate: what the indexes know of it may be what it said before.
fn among(mates: &[Mate]) -> impl Fn(NodeId) -> bool {
    let mates: FxHashSet<NodeId> = mates.iter().map(|mate| mate.id).collect();
    move |id| mates.contains(&id)
}

/// The `k` notes nearest to any part of `note`, best first, ties by id.
fn nearest<'a>(
    memory: &Memory,
    note: &Mate,
    k: usize,
    keep: &dyn Fn(NodeId) -> bool,
    mates: impl Iterator<Item = &'a Mate>,
) -> Result<Vec<Near>> {
    let mut found = nearest_mates(note, k, mates);
    for part in directed(&note.parts) {
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

fn nearest_mates<'a>(note: &Mate, k: usize, mates: impl Iterator<Item = &'a Mate>) -> Vec<Near> {
    let mut found: Vec<Near> = mates
        .filter(|mate| mate.id != note.id)
        .filter_map(|mate| {
            let pairs = directed(&note.parts)
                .flat_map(|own| directed(&mate.parts).map(move |other| (cosine(own, other), other)));
            let (cosine, vector) = pairs.max_by(|a, b| a.0.total_cmp(&b.0))?;
            Some(Near { id: mate.id, cosine, vector: vector.into() })
        })
        .collect();
    best(&mut found, k);
    found
}

fn best(found: &mut Vec<Near>, k: usize) {
    found.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.id.cmp(&b.id)));
    found.truncate(k);
}

/// The parts that have any content.
fn directed(parts: &[Vec<f32>]) -> impl Iterator<Item = &[f32]> {
    parts.iter().map(Vec::as_slice).filter(|part| part.iter().any(|&value| value != 0.0))
}

/// Makes the edges whose ends are still live.
pub(super) fn make(
    tx: &mut Tx<'_>,
    src: NodeId,
    ties: &[Tie],
    provenance: &str,
    now: Timestamp,
) -> Result<Made> {
    let mut made = Made::default();
    for tie in ties {
        if !tx.node(tie.dst)?.is_some_and(|node| node.state.is_live()) {
            continue;
        }
        tx.put_edge(&Edge {
            src,
            dst: tie.dst,
            kind: tie.kind,
            strength: tie.cosine.clamp(0.0, 1.0),
            created: now,
            touched: now,
            provenance: provenance.to_owned(),
            reason: tie.reason.clone(),
        })?;
        match tie.kind {
            EdgeKind::Keyword => made.keyword += 1,
            _ => made.semantic += 1,
        }
    }
    Ok(made)
}

/// Takes away the edges that [`make`] made, at both ends of the node.
pub(super) fn unmake(tx: &mut Tx<'_>, id: NodeId) -> Result<()> {
    for edge in tx.edges(id)? {
        if matches!(edge.kind, EdgeKind::Keyword | EdgeKind::Semantic) {
            tx.delete_edge(edge.src, edge.kind, edge.dst)?;
        }
    }
    Ok(())
}
