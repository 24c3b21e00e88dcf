//! A textual description of everything that a view contains about a node, for comparing views.

use super::{Ix, View};

impl View {
    /// Everything that the view contains about a node, its edges and its visits, as text. The text depends neither on
    /// node indexes nor on the order of changes: two views of the same records give the same text.
    pub fn describe(&self, ix: Ix) -> String {
        let words: Vec<&str> = self.keywords(ix).iter().map(|&word| self.keyword_name(word)).collect();
        let mut edges: Vec<_> = self
            .edges(ix)
            .iter()
            .map(|edge| (self.id(edge.target()), edge.kind(), edge.strength.to_bits()))
            .collect();
        edges.sort();
        let mut others: Vec<_> = self
            .other_edges(ix)
            .iter()
            .map(|edge| (self.id(edge.target()), edge.kind(), edge.is_incoming()))
            .collect();
        others.sort();
        let mut merged: Vec<_> =
            self.merged_edges(ix).map(|edge| (self.id(edge.ix), edge.strength.to_bits())).collect();
        merged.sort();
        let visits: Vec<_> =
            self.visits.keys().filter_map(|agent| Some((&**agent, self.visit(agent, ix)?))).collect();
        let node = format!(
            "{:?} {:?} {:?} {} {} {:?} {:?} {:?} {} {:?} {:?} {:?} {}",
            self.id(ix),
            self.names(ix).collect::<Vec<_>>(),
            self.other_names(ix).collect::<Vec<_>>(),
            self.key_len(ix),
            self.body_len(ix),
            self.state(ix),
            self.category(ix),
            self.trust(ix),
            self.emotion(ix),
            self.created(ix),
            self.modified(ix),
            self.expires(ix),
            self.version(ix),
        );
        let rest = format!(
            "{} {:?} {} {:?} {} {} {} {} {words:?} {edges:?} {others:?} {merged:?} {visits:?} {}",
            self.stored_weight(ix),
            self.touched(ix),
            self.replay_interval(ix),
            self.replayed(ix),
            self.degree(ix),
            self.triangles(ix),
            self.type_name(ix),
            self.provenance_name(ix),
            self.names(ix).all(|name| self.find_key(name) == Some(ix))
                && self.other_names.are_found(ix)
                && self.id(ix).and_then(|id| self.find(id)) == Some(ix),
        );
        format!("{node} {rest}")
    }
}
