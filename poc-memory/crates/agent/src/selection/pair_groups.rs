//! Pairs of a stale node and a visited one. A stale node counts as read only if it was shown beside each visited node
//! that it is paired with, because no later run would show these pairs.

use crate::ledger::{self, Status};
use poc_graph::error::Result;
use poc_graph::{Ix, NodeId, View};
use poc_notes::Memory;
use poc_search::query::{InterferencePair, ResultSet};
use std::collections::{HashMap, HashSet};

/// The statuses of runs whose reply was read and whose visits count.
const COMPLETED: [Status; 5] =
    [Status::Ok, Status::Noop, Status::Partial, Status::Proposed, Status::Rejected];

/// The pairs of a result, also those that a cut separated, the most similar one first.
pub(super) fn pairs(set: &ResultSet) -> Vec<InterferencePair> {
    let mut pairs = [set.pairs.as_slice(), set.cut_pairs.as_slice()].concat();
    pairs.sort_by(|x, y| y.similarity.total_cmp(&x.similarity));
    pairs
}

/// The stale nodes of a result, in its order. Stale nodes that a cut removed follow if they are paired with a visited
/// node of the result, which may be in the result only because of them.
pub(super) fn stale_nodes(set: &ResultSet, is_stale: impl Fn(Ix) -> bool) -> Vec<Ix> {
    let mut stale: Vec<Ix> = set.items.iter().map(|item| item.ix).filter(|&ix| is_stale(ix)).collect();
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
/// A group of pairs may be too large for one prompt. Its stale node is then shown with a part of the visited ones in
/// each run and is not visited, so the rows of these runs tell which pairs were shown.
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
        // If all pairs were shown, the node is stale for another reason, such as actions beyond a limit. It is then
        // shown beside the same nodes again.
        if !left.is_empty() {
            *own = left;
        }
        own.sort_by_key(|&other| view.visit(agent, other).map(|visit| visit.at));
    }
    Ok(partners)
}

/// Orders stale nodes, each with its visited partners behind it, and keeps at most `max` nodes, but two if the first
/// node has a partner. A node whose partners do not fit waits for the next run, except the first one.
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

/// Pairs of a node that runs showed without visiting it, and a node that they visited. Only runs since the latest visit
/// of both nodes count.
fn shown_together(memory: &Memory, agent: &str, view: &View) -> Result<HashSet<(Ix, Ix)>> {
    let mut shown = HashSet::new();
    for run in ledger::rows_with_status(memory, Some(agent), &COMPLETED, usize::MAX)? {
        let Some(finished) = run.finished.filter(|_| run.tenant == *memory.store.tuple()) else { continue };
        let visited: HashSet<NodeId> = run.visited.iter().copied().collect();
        // A node that is visited again may be another version, or read by another model.
        let is_latest = |ix: Ix| view.visit(agent, ix).is_none_or(|visit| visit.at <= finished);
        let others: Vec<Ix> =
            run.visited.iter().filter_map(|&id| view.find(id)).filter(|&ix| is_latest(ix)).collect();
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
