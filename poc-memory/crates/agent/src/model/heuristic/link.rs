//! Proposes links between nodes that share rare names, and between the members of similar pairs.

use super::Nodes;
use super::words::{Rare, Shared};
use crate::selection::{Handle, LinkCandidate};
use poc_index::TextIndex;
use poc_rank::lookalike::are_lookalikes;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of shared words in a reason.
const WORDS_NAMED: usize = 3;

/// A proposed link.
pub(super) struct Link<'a> {
    pub(super) from: &'a Handle,
    pub(super) to: &'a Handle,
    evidence: Evidence,
}

/// Why a link is proposed.
enum Evidence {
    /// Rare names that both notes contain.
    Names(Vec<String>),
    /// The similarity of a pair of the selection, and what the notes have in common.
    Similarity(f64, Shared),
}

impl Link<'_> {
    pub(super) fn reason(&self) -> String {
        let list = |words: &[String]| {
            let words: Vec<String> = words.iter().take(WORDS_NAMED).map(|word| format!("`{word}`")).collect();
            words.join(", ")
        };
        match &self.evidence {
            Evidence::Names(names) => format!("both mention {}", list(names)),
            Evidence::Similarity(cosine, shared) if shared.words.is_empty() => {
                format!("similar text ({cosine:.2})")
            }
            Evidence::Similarity(cosine, shared) => {
                format!("similar text ({cosine:.2}); both mention {}", list(&shared.words))
            }
        }
    }
}

/// Proposed links, within both limits on their number: the pairs of the selection, the most similar first, then each
/// chosen node with the candidates that share enough rare names. `gone` are the handles of nodes that the same reply
/// supersedes.
pub(super) fn find<'a>(
    settings: &poc_config::HeuristicConfig,
    cosines: &poc_config::CosinesConfig,
    nodes: &Nodes<'a>,
    text: &TextIndex,
    gone: &BTreeSet<&str>,
) -> Vec<Link<'a>> {
    let rare = Rare::new(text, nodes.selection.view.live_count(), &nodes.selection.handles);
    let mut links: Vec<Link<'a>> = similar_pairs(settings, cosines, nodes, &rare);
    links.extend(sharing_names(settings, nodes));
    links.retain(|Link { from, to, .. }| {
        let stays = |handle: &Handle| !gone.contains(handle.name.as_str());
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

/// The pairs of the selection that are similar and have something in common, the most similar first.
fn similar_pairs<'a>(
    settings: &poc_config::HeuristicConfig,
    cosines: &poc_config::CosinesConfig,
    nodes: &Nodes<'a>,
    rare: &Rare<'_>,
) -> Vec<Link<'a>> {
    let pairs = nodes.selection.pairs.iter().filter(|pair| pair.similarity >= cosines.link);
    let mut links: Vec<(f64, Link<'a>)> = pairs
        .filter_map(|pair| {
            let (from, to) = (nodes.get(&pair.a)?, nodes.get(&pair.b)?);
            let shared = rare.shared(from, to);
            let shares_enough = shared.keyword || shared.weight >= settings.link_min_shared;
            let evidence = Evidence::Similarity(pair.similarity, shared);
            let is_sure = shares_enough || pair.similarity >= cosines.link_sure;
            is_sure.then_some((pair.similarity, Link { from, to, evidence }))
        })
        .collect();
    links.sort_by(|a, b| {
        let position = |link: &Link<'_>| (nodes.position(link.from), nodes.position(link.to));
        b.0.total_cmp(&a.0).then_with(|| position(&a.1).cmp(&position(&b.1)))
    });
    links.into_iter().map(|(_, link)| link).collect()
}

/// Each chosen node with the candidates that share enough rare names with it. One name in common is often a
/// coincidence, unless it is an identifier such as `inc-412`.
fn sharing_names<'a>(settings: &poc_config::HeuristicConfig, nodes: &Nodes<'a>) -> Vec<Link<'a>> {
    let least = settings.link_names;
    let chosen = nodes.selection.handles.iter().filter(|handle| handle.is_chosen());
    let links = chosen.flat_map(|from| {
        let sharing = from.candidates.iter().filter(move |LinkCandidate { shared_names: names, .. }| {
            names.len() >= least || names.iter().any(|name| has_letters_and_digits(name))
        });
        sharing.filter_map(move |LinkCandidate { handle, shared_names, .. }| {
            Some(Link { from, to: nodes.get(handle)?, evidence: Evidence::Names(shared_names.clone()) })
        })
    });
    links.collect()
}

fn has_letters_and_digits(name: &str) -> bool {
    name.chars().any(char::is_alphabetic) && name.chars().any(char::is_numeric)
}

/// Whether a link between two nodes would be new, and neither of them is a hub.
fn is_open(settings: &poc_config::HeuristicConfig, nodes: &Nodes<'_>, from: &Handle, to: &Handle) -> bool {
    let view = &nodes.selection.view;
    from.node.id != to.node.id
        && !view.are_adjacent(from.ix, to.ix)
        && view.degree(from.ix) < settings.hub_degree
        && view.degree(to.ix) < settings.hub_degree
}
