//! Proposes links between notes that have a particular thing in common: an identifier, a name of several words, or two
//! names if one of them is rare. The name of a note that both link to does not count.

use super::Nodes;
use super::shared_names::{self, SharedName};
use crate::selection::Handle;
use poc_graph::{EdgeKind, Ix, Neighbor, View};
use poc_index::TextIndex;
use poc_rank::lookalike::are_lookalikes;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of names in a reason.
const MAX_NAMES: usize = 3;

/// A proposed link.
pub(super) struct LinkProposal<'a> {
    pub(super) from: &'a Handle,
    pub(super) to: &'a Handle,
    names: Vec<SharedName>,
}

impl LinkProposal<'_> {
    /// The action of a reply that adds the link with the given strength.
    pub(super) fn addition(&self, strength: f64) -> Value {
        json!({"reason": self.reason(), "from": self.from.name, "to": self.to.name, "strength": strength})
    }

    fn reason(&self) -> String {
        let names: Vec<String> =
            self.names.iter().take(MAX_NAMES).map(|name| format!("`{}`", name.name)).collect();
        format!("both mention {}", names.join(", "))
    }
}

/// Proposed links, within both limits on their number: each selected node with its candidates. A name in at most `rare`
/// notes is rare. `superseded` are the handles of nodes that the same reply supersedes.
pub(super) fn find<'a>(
    settings: &poc_config::HeuristicConfig,
    nodes: &Nodes<'a>,
    text: &TextIndex,
    rare: usize,
    superseded: &BTreeSet<&str>,
) -> Vec<LinkProposal<'a>> {
    let mut links = with_candidates(settings, nodes, text, rare);
    links.retain(|LinkProposal { from, to, .. }| {
        let stays = |handle: &Handle| !superseded.contains(handle.name.as_str());
        stays(from)
            && stays(to)
            && is_open(settings, nodes, from, to)
            && !are_lookalikes(&from.node.text(), &to.node.text())
    });

    let mut links_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut linked = BTreeSet::new();
    links.retain(|link| {
        let (from, to) = (link.from.name.as_str(), link.to.name.as_str());
        // Both ends count: otherwise a node similar to all others would become a hub within one run.
        let has_room = |name| links_of.get(name).is_none_or(|links| *links < settings.links_per_node);
        let room = has_room(from) && has_room(to);
        let fits = room && linked.len() < settings.max_links && linked.insert((from.min(to), from.max(to)));
        if fits {
            *links_of.entry(from).or_default() += 1;
            *links_of.entry(to).or_default() += 1;
        }
        fits
    });
    links
}

/// Each selected node with the candidates that share enough with it.
fn with_candidates<'a>(
    settings: &poc_config::HeuristicConfig,
    nodes: &Nodes<'a>,
    text: &TextIndex,
    rare: usize,
) -> Vec<LinkProposal<'a>> {
    let relates = |names: &[SharedName]| {
        let is_rare = |name: &&SharedName| name.notes <= rare;
        names.iter().filter(is_rare).any(|name| name.is_specific)
            || names.len() >= settings.link_names && names.iter().any(|name| is_rare(&name))
    };
    let mut links = Vec::new();
    for from in nodes.selection.selected() {
        for candidate in &from.candidates {
            let Some(to) = nodes.get(&candidate.handle) else { continue };
            let known = terms_of_common_targets(text, &nodes.selection.view, from.ix, to.ix);
            let names = shared_names::between(text, &from.node, &to.node, &candidate.shared_names, &known);
            if relates(&names) {
                links.push(LinkProposal { from, to, names });
            }
        }
    }
    links
}

/// The terms in the names of the nodes that both nodes link to. Such a node already connects the two.
fn terms_of_common_targets(text: &TextIndex, view: &View, from: Ix, to: Ix) -> BTreeSet<String> {
    let targets = |ix: Ix| -> BTreeSet<Ix> {
        let is_own_link = |edge: &&Neighbor| edge.is_outgoing() && edge.kind() == EdgeKind::Link;
        view.edges(ix).iter().filter(is_own_link).map(|edge| edge.target()).collect()
    };
    let common = targets(from).intersection(&targets(to)).copied().collect::<Vec<Ix>>();
    let names = common.into_iter().flat_map(|ix| view.names(ix).chain(view.other_names(ix)));
    names.flat_map(|name| text.tokens(name)).collect()
}

/// Whether a link between two nodes would be new, and neither of them is a hub.
fn is_open(settings: &poc_config::HeuristicConfig, nodes: &Nodes<'_>, from: &Handle, to: &Handle) -> bool {
    let view = &nodes.selection.view;
    from.node.id != to.node.id
        && !view.are_adjacent(from.ix, to.ix)
        && view.degree(from.ix) < settings.hub_degree
        && view.degree(to.ix) < settings.hub_degree
}
