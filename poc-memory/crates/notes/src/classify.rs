//! Which keywords would fit a text: those that tie the notes nearest to it.

use super::Memory;
use poc_graph::error::Result;
use poc_graph::{EdgeKind, NodeId, View, Visibility};
use std::collections::{BTreeMap, BTreeSet};

/// Notes whose titles are nearest that are asked.
const POOL: usize = 50;

/// Keywords that are named.
const MOST: usize = 6;

/// What separates the keywords of one edge.
const SEPARATOR: char = ',';

/// The keywords on the keyword edges of the [`POOL`] notes with the nearest titles, with the number
/// of edges each is on: the [`MOST`] most frequent, ties in alphabetical order. An edge between two
/// of the notes counts once.
pub fn classify(
    memory: &Memory,
    view: &View,
    text: &str,
    visibility: Visibility,
) -> Result<Vec<(String, usize)>> {
    let vector = memory.embedder.embed_one(text)?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen: BTreeSet<(NodeId, NodeId)> = BTreeSet::new();
    for hit in memory.vectors.search_titles(&vector, POOL, &view.found_at(visibility))? {
        for edge in memory.store.edges(hit.id)? {
            if edge.kind == EdgeKind::Keyword && seen.insert((edge.src, edge.dst)) {
                let words = edge.reason.split(SEPARATOR).map(str::trim).filter(|word| !word.is_empty());
                words.for_each(|word| *counts.entry(word.to_owned()).or_default() += 1);
            }
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    // The words are in order already, and a stable sort keeps them so.
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.truncate(MOST);
    Ok(counts)
}
