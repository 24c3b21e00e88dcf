//! Proposes to supersede notes that another note repeats.

use super::Nodes;
use super::words::sentences;
use crate::selection::{Handle, HandlePair};
use poc_graph::{Node, NodeType};
use poc_rank::lookalike::identifiers;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// For texts with fewer words, the titles have to be equal as well.
const MIN_WORDS: usize = 8;

/// A pair of notes, one of which contains all sentences of the other.
pub(super) struct NearDuplicate<'a> {
    /// The note to keep.
    pub(super) original: &'a Handle,
    /// The note to supersede.
    pub(super) duplicate: &'a Handle,
    similarity: f64,
}

impl NearDuplicate<'_> {
    /// The action of a reply that supersedes the duplicate.
    pub(super) fn supersession(&self) -> Value {
        json!({"reason": self.reason(), "node": self.duplicate.name, "by": self.original.name,
               "key": "", "title": "", "body": ""})
    }

    fn reason(&self) -> String {
        let same = sentences(&self.original.node.body) == sentences(&self.duplicate.node.body);
        let more = if same { "" } else { " and more" };
        format!(
            "`{}` contains all its sentences{more}, with the same numbers and names (cosine {:.2})",
            self.original.node.key, self.similarity
        )
    }
}

/// The near-duplicates among the pairs of the selection. A node is in at most one of them.
pub(super) fn find<'a>(settings: &poc_config::HeuristicConfig, nodes: &Nodes<'a>) -> Vec<NearDuplicate<'a>> {
    let mut pairs: Vec<&HandlePair> = nodes.selection.pairs.iter().collect();
    pairs.retain(|pair| pair.similarity >= settings.twin_min_similarity);
    pairs.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| (&a.a, &a.b).cmp(&(&b.a, &b.b))));
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    for pair in pairs {
        let (Some(a), Some(b)) = (nodes.get(&pair.a), nodes.get(&pair.b)) else { continue };
        if used.contains(&a.node.id) || used.contains(&b.node.id) {
            continue;
        }
        let (original, duplicate) = if is_kept(&a.node, &b.node) { (a, b) } else { (b, a) };
        if duplicate.is_replaceable() && repeats(&original.node, &duplicate.node) {
            used.extend([a.node.id, b.node.id]);
            found.push(NearDuplicate { original, duplicate, similarity: pair.similarity });
        }
    }
    found
}

/// Whether the first of two notes is kept: the one with more sentences, then the one of which the other is a copy, then
/// the longer one, then the newer one.
fn is_kept(node: &Node, other: &Node) -> bool {
    let rank = |node: &Node, other: &Node| {
        let has_copy = is_name_of_copy(&other.key, &node.key);
        (sentences(&node.body).len(), has_copy, node.body.chars().count(), node.created, node.id)
    };
    rank(node, other) > rank(other, node)
}

/// Whether a key reads like that of a copy of a note: `notes/soup copy`, `soup (1)` and `soup-2` of `soup`.
fn is_name_of_copy(key: &str, of: &str) -> bool {
    let last = |key: &str| key.rsplit('/').next().unwrap_or_default().to_lowercase();
    let (name, of) = (last(key), last(of));
    let added = name.strip_prefix(&of).and_then(|added| added.chars().next());
    !of.is_empty() && added.is_some_and(|first| !first.is_alphanumeric())
}

/// Whether `long` contains all sentences of `short`, and both have the same type, author, numbers and names.
fn repeats(long: &Node, short: &Node) -> bool {
    let duplicate = sentences(&short.body);
    let words = short.body.split_whitespace().count();
    long.id != short.id
        && long.node_type == short.node_type
        // Two episodes are two events even if their texts are equal.
        && !NodeType::is_episodic_kind(&long.node_type.0)
        && long.author == short.author
        && identifiers(&long.text()) == identifiers(&short.text())
        && (words >= MIN_WORDS || sentences(&long.title) == sentences(&short.title))
        && !duplicate.is_empty()
        && duplicate.is_subset(&sentences(&long.body))
}
