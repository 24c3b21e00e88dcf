//! Which nodes belong together.

use super::Nodes;
use super::words::{Rare, Shared};
use crate::selection::Handle;
use poc_index::TextIndex;
use poc_rank::lookalike::are_lookalikes;
use std::collections::{BTreeMap, BTreeSet};

/// Shared words a reason names.
const WORDS_NAMED: usize = 3;

/// A proposed link.
pub(super) struct Link<'a> {
    pub(super) from: &'a Handle,
    pub(super) to: &'a Handle,
    cosine: f64,
    shared: Shared,
}

impl Link<'_> {
    /// The cosine to two digits, 0.01–1.
    pub(super) fn strength(&self) -> f64 {
        (self.cosine.clamp(0.01, 1.0) * 100.0).round() / 100.0
    }

    pub(super) fn reason(&self) -> String {
        let named: Vec<String> =
            self.shared.words.iter().take(WORDS_NAMED).map(|word| format!("`{word}`")).collect();
        let alike = format!("alike in text ({:.2})", self.cosine);
        if named.is_empty() { alike } else { format!("{alike}; both mention {}", named.join(", ")) }
    }
}

/// Links of the best pairs first, until both caps are reached. `gone` are handles of nodes that are
/// to be superseded in the same answer.
pub(super) fn find<'a>(
    settings: &poc_config::HeuristicConfig,
    cosines: &poc_config::CosinesConfig,
    nodes: &Nodes<'a>,
    text: &TextIndex,
    gone: &BTreeSet<&str>,
) -> Vec<Link<'a>> {
    let rare = Rare::new(text, nodes.selection.view.live_count(), &nodes.selection.handles);
    let mut links: Vec<Link<'a>> = alike(cosines, nodes)
        .filter(|(from, to, _)| !gone.contains(from.name.as_str()) && !gone.contains(to.name.as_str()))
        .filter(|(from, to, _)| is_open(settings, nodes, from, to))
        .filter(|(from, to, _)| !are_lookalikes(&from.node.text(), &to.node.text()))
        .map(|(from, to, cosine)| Link { from, to, cosine, shared: rare.shared(from, to) })
        .filter(|link| {
            let told = link.shared.keyword || link.shared.weight >= settings.link_min_shared;
            told || link.cosine >= cosines.link_sure
        })
        .collect();
    links.sort_by(|a, b| {
        let place = |link: &Link<'_>| (nodes.position(link.from), nodes.position(link.to));
        b.cosine.total_cmp(&a.cosine).then_with(|| place(a).cmp(&place(b)))
    });

    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    let mut joined = BTreeSet::new();
    links.retain(|link| {
        let (from, to) = (link.from.name.as_str(), link.to.name.as_str());
        // Both ends count: a node that everything resembles would become a hub within one run.
        let has_room = |name| taken.get(name).is_none_or(|links| *links < settings.links_per_node);
        let room = has_room(from) && has_room(to);
        let fits = room && joined.len() < settings.max_links && joined.insert((from.min(to), from.max(to)));
        if fits {
            *taken.entry(from).or_default() += 1;
            *taken.entry(to).or_default() += 1;
        }
        fits
    });
    links
}

/// Pairs that are alike enough: those of the selection, and each chosen node with the best of its
/// candidates.
fn alike<'a>(
    cosines: &poc_config::CosinesConfig,
    nodes: &Nodes<'a>,
) -> impl Iterator<Item = (&'a Handle, &'a Handle, f64)> {
    let pairs = nodes.selection.pairs.iter();
    let pairs = pairs.filter_map(|pair| Some((nodes.get(&pair.a)?, nodes.get(&pair.b)?, pair.similarity)));
    let chosen = nodes.selection.handles.iter().filter(|handle| handle.is_chosen());
    let candidates = chosen.flat_map(move |handle| {
        let best = handle.candidates.iter().map(|(_, cosine)| *cosine).fold(f64::NEG_INFINITY, f64::max);
        let near = handle.candidates.iter().filter(move |(_, cosine)| *cosine >= best - cosines.link_within);
        near.filter_map(move |(name, cosine)| Some((handle, nodes.get(name)?, *cosine)))
    });
    pairs.chain(candidates).filter(|(_, _, cosine)| *cosine >= cosines.link)
}

/// Whether a link between the two would be new and would feed no hub.
fn is_open(settings: &poc_config::HeuristicConfig, nodes: &Nodes<'_>, from: &Handle, to: &Handle) -> bool {
    let view = &nodes.selection.view;
    from.node.id != to.node.id
        && !view.are_adjacent(from.ix, to.ix)
        && view.degree(from.ix) < settings.hub_degree
        && view.degree(to.ix) < settings.hub_degree
}
