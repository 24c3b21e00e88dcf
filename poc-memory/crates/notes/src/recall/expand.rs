//! Paths along associative edges from the starts of a recall.

use poc_config::Config;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, Ix, NodeId, View, cancellation};
use poc_rank::decay::edge_at;
use poc_rank::recall_score::{RecallSignals, after_hops};
use poc_store::{Records, Store};
use rustc_hash::FxHashMap;

/// A hop of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathHop {
    /// Its source.
    pub from: NodeId,
    /// Its target.
    pub to: NodeId,
    /// Kind of the strongest edge between them.
    pub kind: EdgeKind,
    /// Its weight decayed to now.
    pub strength: f64,
}

/// A node found by its relevance to the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) ix: Ix,
    pub(super) id: NodeId,
    pub(super) signals: RecallSignals,
    pub(super) score: f64,
}

/// The end of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathEnd {
    /// The node.
    pub(super) ix: Ix,
    /// How well the start agrees with the text.
    pub(super) signals: RecallSignals,
    /// Hops from the start.
    pub(super) hops: usize,
    /// The remaining score of the path: `relevance^α / factor^hops`.
    factor: f64,
    /// The index of the previous path end, and the edge from there.
    from: Option<(usize, EdgeKind, f64)>,
}

/// All paths found so far.
pub(super) struct Expansion<'a> {
    store: &'a Store,
    view: &'a View,
    config: &'a Config,
    now: Timestamp,
    /// All path ends that were the best of their node when they were found.
    ends: Vec<PathEnd>,
    /// The index of the best path end of each node.
    best: FxHashMap<Ix, usize>,
    /// The path ends found in the last step.
    frontier: Vec<usize>,
}

impl<'a> Expansion<'a> {
    /// An expansion that consists of the starts only.
    pub(super) fn new(
        store: &'a Store,
        view: &'a View,
        starts: &[Start],
        config: &'a Config,
        now: Timestamp,
    ) -> Self {
        let mut expansion = Expansion {
            store,
            view,
            config,
            now,
            ends: Vec::new(),
            best: FxHashMap::default(),
            frontier: Vec::new(),
        };
        for start in starts {
            let signals = start.signals;
            expansion.push(PathEnd {
                ix: start.ix,
                signals,
                hops: 0,
                factor: expansion.factor(signals, 0),
                from: None,
            });
        }
        expansion
    }

    /// Follows edges for `hops` hops, to nodes that `accepts` returns true for.
    pub(super) fn walk(&mut self, hops: usize, accepts: &dyn Fn(Ix) -> bool) -> Result<()> {
        for hop in 1..=hops {
            let mut frontier = std::mem::take(&mut self.frontier);
            // Sorted so that the first path to a node in this hop is the best one; equal scores are ordered by
            // the id of the source.
            let order = |at: &usize| self.ends.get(*at).map(|end| (end.factor, self.view.id(end.ix)));
            frontier.sort_by(|a, b| {
                let (a, b) = (order(a), order(b));
                let factor = |of: &Option<(f64, _)>| of.map_or(0.0, |(factor, _)| factor);
                factor(&b).total_cmp(&factor(&a)).then_with(|| a.map(|(_, id)| id).cmp(&b.map(|(_, id)| id)))
            });
            for at in frontier {
                cancellation::check()?;
                self.step(at, hop, accepts)?;
            }
        }
        Ok(())
    }

    /// Follows one hop from a path end to every node that no path of at least the same score has reached.
    fn step(&mut self, at: usize, hop: usize, accepts: &dyn Fn(Ix) -> bool) -> Result<()> {
        let Some(&PathEnd { ix, signals, .. }) = self.ends.get(at) else { return Ok(()) };
        let factor = self.factor(signals, hop);
        let edges = self.view.edges(ix);
        for run in edges.chunk_by(|a, b| a.target() == b.target()) {
            let Some(target) = run.first().map(|edge| edge.target()) else { continue };
            let known = self.best.get(&target).and_then(|&known| self.ends.get(known));
            if known.is_some_and(|known| known.factor >= factor) || !accepts(target) {
                continue;
            }
            let kinds = run
                .iter()
                .filter(|edge| edge.is_outgoing() && edge.kind().is_associative())
                .map(|edge| edge.kind());
            if let Some((kind, strength)) = self.strongest(ix, target, kinds)? {
                self.push(PathEnd {
                    ix: target,
                    signals,
                    hops: hop,
                    factor,
                    from: Some((at, kind, strength)),
                });
            }
        }
        Ok(())
    }

    /// The strongest edge from one node to another, decayed to now, unless it is below the floor. If several edges are
    /// equally strong, the first kind wins.
    fn strongest(
        &self,
        from: Ix,
        to: Ix,
        kinds: impl Iterator<Item = EdgeKind>,
    ) -> Result<Option<(EdgeKind, f64)>> {
        let (Some(src), Some(dst)) = (self.view.id(from), self.view.id(to)) else { return Ok(None) };
        let mut best: Option<(EdgeKind, f64)> = None;
        for kind in kinds {
            // The edge may have been deleted after the view was taken.
            let Some(edge) = self.store.edge(src, kind, dst)? else { continue };
            let strength = edge_at(&edge, &self.config.edges, self.now);
            if strength >= self.config.edges.floor && best.is_none_or(|(_, best)| strength > best) {
                best = Some((kind, strength));
            }
        }
        Ok(best)
    }

    /// The score of a path that remains after so many hops.
    fn factor(&self, signals: RecallSignals, hops: usize) -> f64 {
        let recall = &self.config.recall;
        signals.relevance().powf(recall.likeness_exponent) * after_hops(hops, recall.depth_factor)
    }

    /// Adds a path end as the best of its node.
    fn push(&mut self, end: PathEnd) {
        let at = self.ends.len();
        self.ends.push(end);
        self.best.insert(end.ix, at);
        self.frontier.push(at);
    }

    /// The best path end of every reached node, with its index.
    pub(super) fn best(&self) -> impl Iterator<Item = (usize, &PathEnd)> {
        self.best.values().filter_map(|&at| Some((at, self.ends.get(at)?)))
    }

    /// The path to a path end.
    pub(super) fn path(&self, at: usize) -> Vec<PathHop> {
        let id = |at: usize| -> Option<NodeId> { self.view.id(self.ends.get(at)?.ix) };
        let mut path = Vec::new();
        let mut at = at;
        while let Some((from, kind, strength)) = self.ends.get(at).and_then(|end| end.from) {
            path.extend(id(from).zip(id(at)).map(|(from, to)| PathHop { from, to, kind, strength }));
            at = from;
        }
        path.reverse();
        path
    }
}
