//! The sets that stages pass on: scored nodes, and pairs of nodes.

use poc_graph::Ix;

/// A node with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredNode {
    /// The index of the node in the view.
    pub ix: Ix,
    /// The score; higher is better. Its scale depends on the stage that computed it.
    pub score: f64,
}

/// A pair that `interference-pairs` reports: two similar nodes in different communities, or near-duplicates in the same
/// one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterferencePair {
    /// The node with the smaller id.
    pub a: Ix,
    /// The other node.
    pub b: Ix,
    /// The cosine of their most similar passages, 0 to 1.
    pub similarity: f64,
}

/// The input and output of a stage.
#[derive(Clone, Debug, Default)]
pub struct ResultSet {
    /// The nodes, in order.
    pub items: Vec<ScoredNode>,
    /// The pairs that a generator found, the most similar one first. Only pairs with both members in `items` count.
    pub pairs: Vec<InterferencePair>,
    /// In the result of a pipeline: the pairs whose members passed all filters, but of which a cut such as `limit:`
    /// removed at least one, the most similar one first.
    pub cut_pairs: Vec<InterferencePair>,
    /// If there are pairs: the nodes that passed all filters so far, including those that a cut removed.
    pub(super) uncut: Vec<ScoredNode>,
}

impl ResultSet {
    /// A set without pairs.
    pub fn of(items: Vec<ScoredNode>) -> ResultSet {
        ResultSet { items, ..ResultSet::default() }
    }

    /// A set with pairs.
    pub(super) fn with_pairs(items: Vec<ScoredNode>, pairs: Vec<InterferencePair>) -> ResultSet {
        ResultSet { uncut: items.clone(), items, pairs, cut_pairs: Vec::new() }
    }

    /// Removes the nodes with a score below `min_score`, except the first node.
    pub fn remove_below(&mut self, min_score: f64) {
        let mut is_first = true;
        self.items.retain(|item| std::mem::take(&mut is_first) || item.score >= min_score);
    }
}
