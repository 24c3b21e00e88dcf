//! Proposes links between similar nodes.

use super::Nodes;
use super::words::{Rare, Shared};
use crate::selection::Handle;
use poc_index::TextIndex;
use poc_rank::lookalike::are_lookalikes;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of shared words in a reason.
const WORDS_NAMED: usize = 3;

/// A proposed link.
pub(super) struct Link<'a> {
    pub(super) from: &'a Handle,
    pub(super) to: &'a Handle,
    cosine: f64,
    shared: Shared,
}

impl Link<'_> {
    /// The cosine rounded to two digits, 0.01–1.
    pub(super) fn strength(&self) -> f64 {
        (self.cosine.clamp(0.01, 1.0) * 100.0).round() / 100.0
    }

    pub(super) fn reason(&self) -> String {
        let named: Vec<String> =
            self.shared.words.iter().take(WORDS_NAMED).map(|word| format!("`{word}`")).collect();
        let similar = format!("similar text ({:.2})", self.cosine);
        if named.is_empty() { similar } else { format!("{similar}; both mention {}", named.join(", ")) }
    }
}

/// Proposed links, the most similar pairs first, within both limits on their number. `gone` are the handles of
/// nodes that the same reply supersedes.
pub(super) fn find<'a>(
    settings: &poc_config::HeuristicConfig,
    cosines: &poc_config::CosinesConfig,
    nodes: &Nodes<'a>,
    text: &TextIndex,
    gone: &BTreeSet<&str>,
) -> Vec<Link<'a>> {
    let rare = Rare::new(text, nodes.selection.view.live_count(), &nodes.selection.handles);
    let mut links: Vec<Link<'a>> = similar_pairs(cosines, nodes)
        .filter(|(from, to, _)| !gone.contains(from.name.as_str()) && !gone.contains(to.name.as_str()))
        .filter(|(from, to, _)| is_open(settings, nodes, from, to))
        .filter(|(from, to, _)| !are_lookalikes(&from.node.text(), &to.node.text()))
        .map(|(from, to, cosine)| Link { from, to, cosine, shared: rare.shared(from, to) })
        .filter(|link| {
            let shares_enough = link.shared.keyword || link.shared.weight >= settings.link_min_shared;
            shares_enough || link.cosine >= cosines.link_sure
        })
        .collect();
    links.sort_by(|a, b| {
        let position = |link: &Link<'_>| (nodes.position(link.from), nodes.position(link.to));
        b.cosine.total_cmp(&a.cosine).then_with(|| position(a).cmp(&position(b)))
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

/// Pairs above the similarity threshold: the pairs of the selection, and each chosen node with its best
/// candidates.
fn similar_pairs<'a>(
    cosines: &poc_config::CosinesConfig,
    nodes: &Nodes<'a>,
) -> impl Iterator<Item = (&'a Handle, &'a Handle, f64)> {
    let pairs = nodes.selection.pairs.iter();
    let pairs = pairs.filter_map(|pair| Some((nodes.get(&pair.a)?, nodes.get(&pair.b)?, pair.similarity)));
    let chosen = nodes.selection.handles.iter().filter(|handle| handle.is_chosen());
    let candidates = chosen.flat_map(move |handle| {
        let cosines_of = handle.candidates.iter().map(|candidate| candidate.cosine);
        let best = cosines_of.fold(f64::NEG_INFINITY, f64::max);
        let near = handle.candidates.iter().filter(move |near| near.cosine >= best - cosines.link_within);
        near.filter_map(move |near| Some((handle, nodes.get(&near.handle)?, near.cosine)))
    });
    pairs.chain(candidates).filter(|(_, _, cosine)| *cosine >= cosines.link)
}

/// Whether a link between two nodes would be new, and neither of them is a hub.
fn is_open(settings: &poc_config::HeuristicConfig, nodes: &Nodes<'_>, from: &Handle, to: &Handle) -> bool {
    let view = &nodes.selection.view;
    from.node.id != to.node.id
        && !view.are_adjacent(from.ix, to.ix)
        && view.degree(from.ix) < settings.hub_degree
        && view.degree(to.ix) < settings.hub_degree
}
