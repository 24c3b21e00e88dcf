//! Suggests keywords for a text: those of the keyword edges between the nearest notes.

use super::Memory;
use poc_graph::error::Result;
use poc_graph::{EdgeKind, NodeId, View, Visibility, cancellation};
use std::collections::{BTreeMap, BTreeSet};

/// Number of notes with the nearest titles that are considered.
const POOL: usize = 50;

/// Maximum number of suggested keywords.
const MAX_KEYWORDS: usize = 6;

/// The separator of the keywords of an edge.
const SEPARATOR: char = ',';

/// The [`MAX_KEYWORDS`] most frequent keywords on the keyword edges of the [`POOL`] notes with the nearest titles, with
/// the number of edges of each; equal counts in alphabetical order. An edge between two of the notes counts
/// once.
pub fn classify(
    memory: &Memory,
    view: &View,
    text: &str,
    visibility: Visibility,
) -> Result<Vec<(String, usize)>> {
    let vector = memory.embedder.embed_one(text)?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen: BTreeSet<(NodeId, NodeId)> = BTreeSet::new();
    for hit in memory.vectors.search_titles(&vector, POOL, &view.visible_filter(visibility))? {
        cancellation::check()?;
        for edge in memory.store.edges(hit.id)? {
            if edge.kind == EdgeKind::Keyword && seen.insert((edge.src, edge.dst)) {
                let words = edge.reason.split(SEPARATOR).map(str::trim).filter(|word| !word.is_empty());
                words.for_each(|word| *counts.entry(word.to_owned()).or_default() += 1);
            }
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    // A stable sort keeps the alphabetical order of equal counts.
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.truncate(MAX_KEYWORDS);
    Ok(counts)
}
