//! Sequences of notes: the chunks of a message and the turns of a session.

use super::{Ix, View};
use crate::EdgeKind;
use std::collections::BTreeSet;

impl View {
    /// The live nodes directly before and after a node in a sequence, by index. Their `structural` edges to the node go
    /// in both directions. There are at most two, unless the node is part of several sequences.
    pub fn sequence_neighbors(&self, ix: Ix) -> impl Iterator<Item = Ix> {
        self.edges(ix).chunk_by(|a, b| a.target() == b.target()).filter_map(move |run| {
            let mut both = [false; 2];
            for edge in run.iter().filter(|edge| edge.kind() == EdgeKind::Structural) {
                let [out, back] = &mut both;
                *(if edge.is_outgoing() { out } else { back }) = true;
            }
            let target = run.first()?.target();
            (both == [true; 2] && target != ix && self.is_live(target)).then_some(target)
        })
    }

    /// An identifier of the node's session: the smallest index of all nodes reachable along sequences. It is the same
    /// for all notes of a session. A node outside any sequence has its own index.
    pub fn session(&self, ix: Ix) -> Ix {
        self.session_nodes(ix).first().copied().unwrap_or(ix)
    }

    /// All nodes of the node's session, with the node itself. The cost is proportional to the length of the session.
    pub fn session_nodes(&self, ix: Ix) -> BTreeSet<Ix> {
        let (mut seen, mut next) = (BTreeSet::from([ix]), vec![ix]);
        while let Some(at) = next.pop() {
            next.extend(self.sequence_neighbors(at).filter(|other| seen.insert(*other)));
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use crate::Delta;
    use crate::EdgeKind;
    use crate::Node;
    use crate::State;
    use crate::testing::{edge, node, view};
    use std::sync::Arc;

    #[test]
    fn sequence_neighbors_have_structural_edges_in_both_directions() {
        let mut view = view(6, &[(0, 4, 1.0), (4, 0, 1.0)]);
        let order = |a, b| Delta::from(edge(a, b, EdgeKind::Structural, 0.5));
        view.apply(2, &[order(0, 1), order(1, 0), order(1, 2), order(2, 1), order(0, 3), order(5, 0)]);
        let beside = |view: &crate::View, ix| view.sequence_neighbors(ix).collect::<Vec<_>>();
        assert_eq!([beside(&view, 0), beside(&view, 1), beside(&view, 3)], [vec![1], vec![0, 2], vec![]]);
        assert_eq!([2, 1, 0, 3].map(|ix| view.session(ix)), [0, 0, 0, 3]);
        assert_eq!([2, 3].map(|ix| view.session_nodes(ix).len()), [3, 1]);
        view.apply(3, &[Delta::Node(Arc::new(Node { state: State::Superseded, ..node(0) }))]);
        assert_eq!(beside(&view, 1), [2]);
    }
}
