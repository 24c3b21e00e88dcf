//! Decides whether a derived value is reused or computed.

/// The settings for derived structure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StructureOptions {
    /// Maximum number of dimensions of the spectral embedding; small components may have more.
    pub dimensions: usize,
    /// Size up to which results are always computed for the exact state of the graph: live nodes plus edges.
    pub exact_below: usize,
    /// In larger graphs, an earlier result is reused while at most this share of the edges, 0–1, has changed since.
    pub max_drift: f64,
}

/// The size of the graph and the age of the latest result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GraphStatus {
    /// The number of live nodes.
    pub(super) nodes: usize,
    /// The number of edges.
    pub(super) edges: usize,
    /// The number of graph changes since the latest result; `None` without a result.
    pub(super) changes: Option<u64>,
}

/// How to obtain a derived value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefreshDecision {
    /// Use the latest result, which is for exactly this graph.
    Fresh,
    /// Reuse the latest result, which is this many graph changes old.
    Reuse(u64),
    /// Compute it; the graph is small, so this is fast.
    Compute,
    /// Compute it; the graph is large, so this takes noticeable time.
    ComputeLarge,
}

/// Decides by the size of the graph and the age of the latest result.
pub(super) fn decide(status: GraphStatus, options: &StructureOptions) -> RefreshDecision {
    let small = status.nodes + status.edges <= options.exact_below;
    match status.changes {
        Some(0) => RefreshDecision::Fresh,
        _ if small => RefreshDecision::Compute,
        Some(changes) if changes as f64 <= options.max_drift * status.edges as f64 => {
            RefreshDecision::Reuse(changes)
        }
        _ => RefreshDecision::ComputeLarge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OPTIONS: StructureOptions = StructureOptions { dimensions: 16, exact_below: 1000, max_drift: 0.05 };

    fn check(nodes: usize, edges: usize, changes: Option<u64>, expected: RefreshDecision) {
        assert_eq!(decide(GraphStatus { nodes, edges, changes }, &OPTIONS), expected);
    }

    #[test]
    fn results_match_values_computed_by_hand() {
        check(10, 20, None, RefreshDecision::Compute);
        check(10, 20, Some(0), RefreshDecision::Fresh);
        check(10, 20, Some(1), RefreshDecision::Compute);
        check(400, 600, Some(1), RefreshDecision::Compute);
        check(1000, 8000, None, RefreshDecision::ComputeLarge);
        check(1000, 8000, Some(0), RefreshDecision::Fresh);
        check(1000, 8000, Some(1), RefreshDecision::Reuse(1));
        check(1000, 8000, Some(400), RefreshDecision::Reuse(400));
        check(1000, 8000, Some(401), RefreshDecision::ComputeLarge);
        check(2000, 0, Some(1), RefreshDecision::ComputeLarge);
    }

    poc_laws::laws! {
        /// Further changes never make an old result reusable again, and small graphs never reuse an old result.
        #[test]
        fn more_drift_never_allows_reuse(nodes in 0usize..3000, edges in 0usize..9000, changes in 0u64..900, more in 1u64..900) {
            let at = |changes| decide(GraphStatus { nodes, edges, changes: Some(changes) }, &OPTIONS);
            if matches!(at(changes + more), RefreshDecision::Reuse(_)) {
                prop_assert!(matches!(at(changes), RefreshDecision::Reuse(_) | RefreshDecision::Fresh));
            }
            if nodes + edges <= OPTIONS.exact_below {
                prop_assert!(!matches!(at(changes), RefreshDecision::Reuse(_) | RefreshDecision::ComputeLarge));
            }
        }
    }
}
