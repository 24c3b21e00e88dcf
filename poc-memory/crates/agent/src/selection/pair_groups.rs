//! Pairs of a stale node and a visited one. A stale node counts as read only if it was shown beside each visited node
//! that it is paired with, because no later run would show these pairs.

use crate::ledger;
use poc_graph::error::Result;
use poc_graph::{Ix, NodeId, View};
use poc_notes::Memory;
use poc_search::query::{InterferencePair, ResultSet};
use std::collections::{HashMap, HashSet};

/// The pairs of a result, also those that a cut separated, the most similar one first.
pub(super) fn pairs(set: &ResultSet) -> Vec<InterferencePair> {
    let mut pairs = [set.pairs.as_slice(), set.cut_pairs.as_slice()].concat();
    pairs.sort_by(|x, y| y.similarity.total_cmp(&x.similarity));
    pairs
}

/// The stale nodes of a result, in its order. Stale nodes that a cut removed follow if a visited node that they are
/// paired with is in the result, because it may be there only because of them.
pub(super) fn stale_nodes(set: &ResultSet, is_stale: impl Fn(Ix) -> bool) -> Vec<Ix> {
    let mut stale: Vec<Ix> = set.items.iter().map(|item| item.ix).filter(|&ix| is_stale(ix)).collect();
    if set.cut_pairs.is_empty() {
        return stale;
    }
    let results: HashSet<Ix> = set.items.iter().map(|item| item.ix).collect();
    let mut seen: HashSet<Ix> = stale.iter().copied().collect();
    for (one, other) in both_ways(&set.cut_pairs) {
        if results.contains(&other) && is_stale(one) && !is_stale(other) && seen.insert(one) {
            stale.push(one);
        }
    }
    stale
}

/// The visited nodes beside which each stale node is still to be shown, the least recently visited first.
///
/// A stale node may have too many partners for one prompt. Each run then shows it beside some of them without visiting
/// it, and the rows of these runs tell which pairs were shown.
pub(super) fn visited_partners(
    memory: &Memory,
    agent: &str,
    view: &View,
    pairs: &[InterferencePair],
    is_stale: impl Fn(Ix) -> bool,
) -> Result<HashMap<Ix, Vec<Ix>>> {
    let mut partners: HashMap<Ix, Vec<Ix>> = HashMap::new();
    for (one, other) in both_ways(pairs) {
        if is_stale(one) && !is_stale(other) {
            partners.entry(one).or_default().push(other);
        }
    }
    if partners.is_empty() {
        return Ok(partners);
    }
    let shown = shown_together(memory, agent, view)?;
    for (&one, own) in &mut partners {
        let left: Vec<Ix> = own.iter().copied().filter(|&other| !shown.contains(&(one, other))).collect();
        // If all pairs were shown, the node is stale for another reason, such as actions beyond a limit, and all are
        // shown again.
        if !left.is_empty() {
            *own = left;
        }
        own.sort_by_key(|&other| view.visit(agent, other).map(|visit| visit.at));
    }
    Ok(partners)
}

/// The stale nodes, each followed by its visited partners: at most `max` nodes, but two if the first stale node has a
/// partner. If the partners of another stale node do not fit, it waits for the next run, and so do those after it.
pub(super) fn in_groups(stale: &[Ix], partners: &HashMap<Ix, Vec<Ix>>, max: usize) -> Vec<Ix> {
    let mut chosen: Vec<Ix> = Vec::new();
    let mut is_chosen: HashSet<Ix> = HashSet::new();
    for &ix in stale {
        let own = partners.get(&ix).into_iter().flatten().copied();
        let new: Vec<Ix> = own.filter(|other| !is_chosen.contains(other)).collect();
        if !chosen.is_empty() && chosen.len() + 1 + new.len() > max {
            break;
        }
        chosen.push(ix);
        chosen.extend(&new);
        is_chosen.extend(new);
    }
    chosen.truncate(max.max(2));
    chosen
}

/// Pairs of a node that a run read without visiting it, and another node that it read. Only runs since the latest visit
/// of both nodes count.
fn shown_together(memory: &Memory, agent: &str, view: &View) -> Result<HashSet<(Ix, Ix)>> {
    let mut shown = HashSet::new();
    for run in ledger::rows(memory, Some(agent), usize::MAX)? {
        // Only runs whose reply was applied have a transaction.
        let is_read = run.seq.is_some() && run.tenant == *memory.store.tuple();
        let Some(finished) = run.finished.filter(|_| is_read) else { continue };
        let visited: HashSet<NodeId> = run.visited.iter().copied().collect();
        // A node that is visited again may be another version, or read by another model.
        let is_latest = |ix: Ix| view.visit(agent, ix).is_none_or(|visit| visit.at <= finished);
        let others: Vec<Ix> =
            run.selected.iter().filter_map(|read| view.find(read.id)).filter(|&ix| is_latest(ix)).collect();
        for read in run.selected.iter().filter(|read| !visited.contains(&read.id)) {
            let same = view.find(read.id).filter(|&ix| view.version(ix) == read.version && is_latest(ix));
            shown.extend(same.into_iter().flat_map(|one| others.iter().map(move |&other| (one, other))));
        }
    }
    Ok(shown)
}

/// Both orders of the nodes of each pair.
fn both_ways(pairs: &[InterferencePair]) -> impl Iterator<Item = (Ix, Ix)> {
    pairs.iter().flat_map(|pair| [(pair.a, pair.b), (pair.b, pair.a)])
}
