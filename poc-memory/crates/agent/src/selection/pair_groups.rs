//! Pairs of a stale node and a visited one. A stale node counts as read only if it was shown beside each visited node
//! that it is paired with, because no later run would show these pairs.

use crate::ledger;
use poc_graph::error::Result;
use poc_graph::{Ix, View};
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

/// The visited nodes beside which the stale nodes of a result are shown.
#[derive(Debug, Default)]
pub(super) struct VisitedPartners {
    /// For each stale node, the visited nodes beside which it is still to be shown, the least recently visited first. If
    /// it was shown beside each of them, these are all of them again.
    pub(super) of: HashMap<Ix, Vec<Ix>>,
    /// The stale nodes that were shown beside each of their partners. They are stale for another reason, such as
    /// actions beyond a limit.
    pub(super) shown: HashSet<Ix>,
}

impl VisitedPartners {
    /// Moves the stale nodes that were shown beside each of their partners behind the others. They may stay stale
    /// however often they are shown, and must not prevent that further pairs are shown.
    pub(super) fn move_shown_back(&self, stale: &mut [Ix]) {
        stale.sort_by_key(|ix| self.shown.contains(ix));
    }
}

/// The visited nodes beside which each stale node is still to be shown.
///
/// A stale node may have too many partners for one prompt. Each run then shows it beside some of them without visiting
/// it, and the rows of these runs tell which pairs were shown.
pub(super) fn visited_partners(
    memory: &Memory,
    agent: &str,
    view: &View,
    pairs: &[InterferencePair],
    is_stale: impl Fn(Ix) -> bool,
) -> Result<VisitedPartners> {
    let mut partners = VisitedPartners::default();
    for (one, other) in both_ways(pairs) {
        if is_stale(one) && !is_stale(other) {
            partners.of.entry(one).or_default().push(other);
        }
    }
    if partners.of.is_empty() {
        return Ok(partners);
    }
    let shown = shown_together(memory, agent, view, &partners.of)?;
    for (&one, own) in &mut partners.of {
        let left: Vec<Ix> = own.iter().copied().filter(|&other| !shown.contains(&(one, other))).collect();
        if left.is_empty() {
            partners.shown.insert(one);
        } else {
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

/// The pairs of stale nodes and their visited partners that runs have shown without visiting the stale node. Only runs
/// since the latest visit of both nodes count. The rows are read from the newest one on, until all pairs are found or
/// no older run can have shown one.
fn shown_together(
    memory: &Memory,
    agent: &str,
    view: &View,
    partners: &HashMap<Ix, Vec<Ix>>,
) -> Result<HashSet<(Ix, Ix)>> {
    let visited_at = |ix: Ix| view.visit(agent, ix).map(|visit| visit.at);
    let now = memory.now();
    // A run before the last change of a node has read another version. A time in the future is no bound, because the
    // clock was set back since.
    let last_change = |&ix: &Ix| visited_at(ix).max(Some(view.modified(ix))).filter(|at| *at <= now);
    let since = partners.keys().map(last_change).min().flatten();
    let pairs = partners.iter().flat_map(|(&one, own)| own.iter().map(move |&other| (one, other)));
    let mut left: HashSet<(Ix, Ix)> = pairs.collect();
    let mut shown = HashSet::new();
    ledger::newest(memory, agent, |run| {
        let finished = run.finished?;
        if since.is_some_and(|since| finished < since) {
            return Some(());
        }
        if run.tenant == *memory.store.tuple() {
            // A node that is visited again may be another version, or read by another model.
            let is_latest = |ix: &Ix| visited_at(*ix).is_none_or(|at| at <= finished);
            for (one, other) in run.shown_pairs() {
                let same = view.find(one.id).filter(|&ix| view.version(ix) == one.version);
                let pair = same.filter(is_latest).zip(view.find(other.id).filter(is_latest));
                shown.extend(pair.filter(|pair| left.remove(pair)));
            }
        }
        left.is_empty().then_some(())
    })?;
    Ok(shown)
}

/// Both orders of the nodes of each pair.
fn both_ways(pairs: &[InterferencePair]) -> impl Iterator<Item = (Ix, Ix)> {
    pairs.iter().flat_map(|pair| [(pair.a, pair.b), (pair.b, pair.a)])
}
