//! Decides whether a derived value is reused or computed.

/// The settings of derived structure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StructureOptions {
    /// Dimensions of the spectral embedding.
    pub dimensions: usize,
    /// Graphs of up to this many live nodes and edges together always get results for exactly their state.
    pub exact_below: usize,
    /// For larger graphs, an earlier result is reused while at most this share of the edges, 0–1, has changed
    /// since.
    pub max_drift: f64,
}

/// The size of the graph and the age of the latest result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GraphStatus {
    /// Live nodes.
    pub(super) nodes: usize,
    /// Edges.
    pub(super) edges: usize,
    /// Changes of the graph since the latest result; `None` without a result.
    pub(super) changes: Option<u64>,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// The latest result is for exactly this graph.
    Fresh,
    /// Reuse the latest result, which is this many changes old.
    Reuse(u64),
    /// Compute it for a small graph.
    Compute,
    /// Compute it for a large graph.
    ComputeLarge,
}

/// Decides by the size of the graph and the age of the latest result.
pub(super) fn plan(status: GraphStatus, options: &StructureOptions) -> Plan {
    let small = status.nodes + status.edges <= options.exact_below;
    match status.changes {
        Some(0) => Plan::Fresh,
        _ if small => Plan::Compute,
        Some(changes) if changes as f64 <= options.max_drift * status.edges as f64 => Plan::Reuse(changes),
        _ => Plan::ComputeLarge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OPTIONS: StructureOptions = StructureOptions { dimensions: 16, exact_below: 1000, max_drift: 0.05 };

    fn check(nodes: usize, edges: usize, changes: Option<u64>, expected: Plan) {
        assert_eq!(plan(GraphStatus { nodes, edges, changes }, &OPTIONS), expected);
    }

    #[test]
    fn by_hand() {
        check(10, 20, None, Plan::Compute);
        check(10, 20, Some(0), Plan::Fresh);
        check(10, 20, Some(1), Plan::Compute);
        check(400, 600, Some(1), Plan::Compute);
        check(1000, 8000, None, Plan::ComputeLarge);
        check(1000, 8000, Some(0), Plan::Fresh);
        check(1000, 8000, Some(1), Plan::Reuse(1));
        check(1000, 8000, Some(400), Plan::Reuse(400));
        check(1000, 8000, Some(401), Plan::ComputeLarge);
        check(2000, 0, Some(1), Plan::ComputeLarge);
    }

    proptest! {
        /// More changes never make an old result reusable that was not; small graphs never reuse an old
        /// result.
        #[test]
        fn more_drift_never_allows_reuse(nodes in 0usize..3000, edges in 0usize..9000, changes in 0u64..900, more in 1u64..900) {
            let at = |changes| plan(GraphStatus { nodes, edges, changes: Some(changes) }, &OPTIONS);
            if matches!(at(changes + more), Plan::Reuse(_)) {
                prop_assert!(matches!(at(changes), Plan::Reuse(_) | Plan::Fresh));
            }
            if nodes + edges <= OPTIONS.exact_below {
                prop_assert!(!matches!(at(changes), Plan::Reuse(_) | Plan::ComputeLarge));
            }
        }
    }
}
