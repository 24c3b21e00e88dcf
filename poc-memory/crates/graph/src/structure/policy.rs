//! What to do when something derived from the whole graph is asked for.

/// The settings that decide it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StructureOptions {
    /// Dimensions of the spectral embedding.
    pub dimensions: usize,
    /// Live nodes and edges together up to which the answer is always for exactly this graph.
    pub exact_below: usize,
    /// Above, an answer for an earlier graph serves as long as at most this share of the edges has
    /// changed since.
    pub max_drift: f64,
}

/// How the graph stands to what is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GraphStatus {
    /// Live nodes.
    pub(super) nodes: usize,
    /// Edges.
    pub(super) edges: usize,
    /// Changes of the graph since the last answer that is there; none at all when there is none.
    pub(super) changes: Option<u64>,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// What is there is for exactly this graph.
    Fresh,
    /// What is there serves, though the graph has changed so many times since.
    Reuse(u64),
    /// Compute it, for a graph where that takes no longer than a moment.
    Compute,
    /// Compute it, for one where it does.
    ComputeLarge,
}

/// What to do with the graph as it stands.
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
        /// More changes never make an old answer serve that did not; a small graph is never
        /// answered from an old one.
        #[test]
        fn drift_only_counts_against(nodes in 0usize..3000, edges in 0usize..9000, changes in 0u64..900, more in 1u64..900) {
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
