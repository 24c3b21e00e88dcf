//! Pairs of notes that may be duplicates, with their differing words.
//!
//! Comparing all pairs would take a time quadratic in the number of notes. Only pairs with a semantic edge and pairs
//! with the same title are compared: a new note gets semantic edges to the notes nearest in meaning.

use super::Memory;
use poc_graph::error::Result;
use poc_graph::{EdgeKind, Ix, Node, NodeId, View, Visibility, cancellation};
use rustc_hash::{FxHashMap, FxHashSet};

/// The maximum number of differing words listed for each note.
const MAX_DIFFERENT_WORDS: usize = 20;

/// At most this many notes with the same title are compared. A more frequent title names a series, such as `Standup`.
const MAX_SAME_TITLE: usize = 16;

/// Two notes that may be duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct NearDuplicatePair {
    /// The note that was created first.
    pub older: NodeId,
    /// The other note.
    pub newer: NodeId,
    /// The share of common words among all words of both notes (Jaccard), 0 to 1.
    pub words: f64,
    /// Whether both notes have titles of their own (not derived from the body) that are equal, ignoring case.
    pub same_title: bool,
    /// Words that only the older note has, in its order, without repeats, at most 20.
    pub only_older: Vec<String>,
    /// Words that only the newer note has, in its order, without repeats, at most 20.
    pub only_newer: Vec<String>,
}

/// The pairs of visible notes in which at least the share `min` of the words is common, the most similar first, then by
/// ids. A note and one that replaces it, contradicts it or was derived from it are not a pair.
///
/// # Errors
/// Those of the store.
pub fn find(
    memory: &Memory,
    view: &View,
    visibility: Visibility,
    min: f64,
) -> Result<Vec<NearDuplicatePair>> {
    let mut notes = Notes { memory, view, nodes: FxHashMap::default() };
    let visible: Vec<Ix> = (0..view.slots())
        .filter(|ix| view.is_visible(*ix, visibility) && !view.is_confirmed_question(*ix))
        .collect();
    let is_visible: FxHashSet<Ix> = visible.iter().copied().collect();
    let mut candidates: FxHashSet<(Ix, Ix)> = FxHashSet::default();
    for &ix in &visible {
        let near = view.edges(ix).iter().filter(|edge| edge.kind() == EdgeKind::Semantic);
        let near = near.map(|edge| edge.target()).filter(|other| is_visible.contains(other));
        candidates.extend(near.filter(|other| *other != ix).map(|other| (ix.min(other), ix.max(other))));
    }
    let mut titles: FxHashMap<String, Vec<Ix>> = FxHashMap::default();
    for &ix in &visible {
        cancellation::check()?;
        if let Some(title) = notes.get(ix)?.and_then(|node| node.own_title().map(str::to_lowercase)) {
            titles.entry(title).or_default().push(ix);
        }
    }
    for same in titles.into_values().filter(|same| same.len() <= MAX_SAME_TITLE) {
        let pairs =
            same.iter().enumerate().flat_map(|(at, &a)| same.iter().skip(at + 1).map(move |&b| (a, b)));
        candidates.extend(pairs);
    }
    let mut pairs = Vec::new();
    for (a, b) in candidates {
        cancellation::check()?;
        if is_related(view, a, b) {
            continue;
        }
        let (Some(a), Some(b)) = (notes.get(a)?.cloned(), notes.get(b)?.cloned()) else { continue };
        pairs.extend(Some(compared(a, b)).filter(|pair| pair.words >= min));
    }
    pairs.sort_by(|a, b| {
        b.words.total_cmp(&a.words).then_with(|| (a.older, a.newer).cmp(&(b.older, b.newer)))
    });
    Ok(pairs)
}

/// The records of notes, each read once.
struct Notes<'a> {
    memory: &'a Memory,
    view: &'a View,
    nodes: FxHashMap<Ix, Option<Node>>,
}

impl Notes<'_> {
    fn get(&mut self, ix: Ix) -> Result<Option<&Node>> {
        if !self.nodes.contains_key(&ix) {
            let node = self.view.id(ix).map(|id| self.memory.store.node(id)).transpose()?.flatten();
            self.nodes.insert(ix, node);
        }
        Ok(self.nodes.get(&ix).and_then(Option::as_ref))
    }
}

/// Whether one note is known to replace, to contradict or to be derived from the other.
fn is_related(view: &View, a: Ix, b: Ix) -> bool {
    view.other_edges(a).iter().any(|edge| edge.target() == b)
        || view.sources(a).chain(view.derived_notes(a)).any(|other| other == b)
}

/// Compares two notes.
fn compared(a: Node, b: Node) -> NearDuplicatePair {
    let (older, newer) = if (a.created, a.id) <= (b.created, b.id) { (a, b) } else { (b, a) };
    let (one, other) = (words(&older), words(&newer));
    let sets: [FxHashSet<&str>; 2] = [&one, &other].map(|words| words.iter().map(String::as_str).collect());
    let both = sets[0].intersection(&sets[1]).count();
    let either = sets[0].len() + sets[1].len() - both;
    let same_title = match (older.own_title(), newer.own_title()) {
        (Some(a), Some(b)) => a.to_lowercase() == b.to_lowercase(),
        _ => false,
    };
    let only = |own: &[String], others: &FxHashSet<&str>| {
        let own = own.iter().filter(|word| !others.contains(word.as_str()));
        own.take(MAX_DIFFERENT_WORDS).cloned().collect()
    };
    NearDuplicatePair {
        older: older.id,
        newer: newer.id,
        words: if either == 0 { 0.0 } else { both as f64 / either as f64 },
        same_title,
        only_older: only(&one, &sets[1]),
        only_newer: only(&other, &sets[0]),
    }
}

/// The words of a note in lower case, in order, without repeats.
fn words(node: &Node) -> Vec<String> {
    let text = node.text();
    let mut seen = FxHashSet::default();
    let tokens = text.split_whitespace().map(|token| token.trim_matches(|c: char| !c.is_alphanumeric()));
    let words = tokens.filter(|token| !token.is_empty()).map(str::to_lowercase);
    words.filter(|word| seen.insert(word.clone())).collect()
}
