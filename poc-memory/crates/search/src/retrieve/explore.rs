//! Wandering from what is near a text along keyword and semantic edges: a beam search.

#[cfg(test)]
mod tests;

use super::nearest::{Near, near, nearest};
use poc_graph::error::Result;
use poc_graph::{EdgeKind, Ix, NodeId, View};
use poc_index::VectorReader;
use poc_rank::beam::step;
use poc_rank::cosine::cosine;
use poc_rank::mmr::mmr;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What is asked.
pub struct ExploreQuery<'a> {
    /// The vector of the text.
    pub vector: &'a [f32],
    /// Normalised keywords; starts that have one of them come before all others.
    pub keywords: &'a [String],
    /// Hops, at most.
    pub depth: usize,
    /// Ways that go on after each hop.
    pub beam: usize,
    /// Notes after which no further hop is made, and which are returned at most.
    pub target_count: usize,
}

/// A note on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visited {
    /// The note.
    pub id: NodeId,
    /// The best score it was reached with.
    pub score: f64,
    /// Cosine of its nearest part with the text.
    pub cosine: f64,
    /// Hops from a start, 0 for one.
    pub hop: usize,
}

/// An edge that was walked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walked {
    /// Where from.
    pub from: NodeId,
    /// Where to.
    pub to: NodeId,
    /// `keyword` or `semantic`.
    pub kind: EdgeKind,
    /// 0–1.
    pub strength: f64,
}

/// Where the walk led.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explored {
    /// Best first, ties by id.
    pub nodes: Vec<Visited>,
    /// Edges between them, in the order they were walked.
    pub edges: Vec<Walked>,
}

/// A way through the graph, from its end.
struct Way {
    ix: Ix,
    near: Near,
    score: f64,
    before: Option<Rc<Way>>,
}

impl Way {
    fn notes(&self) -> impl Iterator<Item = &Way> {
        std::iter::successors(Some(self), |way| way.before.as_deref())
    }

    /// The way one step further; `None` where the step leads nowhere.
    fn onwards(
        self: &Rc<Way>,
        ix: Ix,
        near: Near,
        edge: f64,
        hop: usize,
        config: &poc_config::Explore,
    ) -> Option<Way> {
        let nearest =
            self.notes().map(|way| cosine(&near.vector, &way.near.vector)).fold(f64::NEG_INFINITY, f64::max);
        let score = step(self.score, edge, near.cosine, hop, nearest, config)?;
        Some(Way { ix, near, score, before: Some(self.clone()) })
    }
}

/// Walks from the nearest notes that `keep` lets through. The start score of a note is its cosine, a
/// step is worth what [`step`] says, and after each hop `beam` ways are chosen by
/// [`poc_rank::mmr`].
pub fn explore(
    wish: &ExploreQuery<'_>,
    vectors: &dyn VectorReader,
    view: &View,
    config: &poc_config::Explore,
    keep: &dyn Fn(NodeId) -> bool,
) -> Result<Explored> {
    let mut ways = starts(wish, vectors, view, keep)?;
    let mut found = Found::default();
    ways.iter().for_each(|way| found.enter(way, 0, None));
    for hop in 1..=wish.depth {
        if found.nodes.len() >= wish.target_count || ways.is_empty() {
            break;
        }
        let steps = steps(&ways, hop, wish, vectors, view, config, keep);
        let scores: Vec<f64> = steps.iter().map(|step| step.way.score).collect();
        let alike = |a: usize, b: usize| match (steps.get(a), steps.get(b)) {
            (Some(a), Some(b)) => cosine(&a.way.near.vector, &b.way.near.vector),
            _ => 0.0,
        };
        let chosen: Vec<&Step> =
            mmr(&scores, config.mmr_lambda, alike).filter_map(|at| steps.get(at)).take(wish.beam).collect();
        chosen.iter().for_each(|step| found.enter(&step.way, hop, Some(step.edge)));
        ways = chosen.into_iter().map(|step| step.way.clone()).collect();
    }
    Ok(found.best(wish.target_count))
}

fn starts(
    wish: &ExploreQuery<'_>,
    vectors: &dyn VectorReader,
    view: &View,
    keep: &dyn Fn(NodeId) -> bool,
) -> Result<Vec<Rc<Way>>> {
    let wanted: Vec<u32> = wish.keywords.iter().filter_map(|word| view.keyword_number(word)).collect();
    let has = |way: &Way| view.keywords(way.ix).iter().any(|word| wanted.contains(word));
    let mut starts: Vec<Way> = nearest(vectors, wish.vector, wish.beam.saturating_mul(2), keep)?
        .into_iter()
        .filter_map(|near| Some(Way { ix: view.find(near.id)?, score: near.cosine, near, before: None }))
        .collect();
    if starts.iter().any(has) {
        starts.retain(has);
    }
    starts.truncate(wish.beam);
    Ok(starts.into_iter().map(Rc::new).collect())
}

/// A way and the last edge of it.
struct Step {
    way: Rc<Way>,
    edge: Walked,
}

/// The best way to each note one hop away, best first, ties by id.
fn steps(
    ways: &[Rc<Way>],
    hop: usize,
    wish: &ExploreQuery<'_>,
    vectors: &dyn VectorReader,
    view: &View,
    config: &poc_config::Explore,
    keep: &dyn Fn(NodeId) -> bool,
) -> Vec<Step> {
    let mut known: FxHashMap<Ix, Option<Near>> = FxHashMap::default();
    let mut best: FxHashMap<Ix, Step> = FxHashMap::default();
    for way in ways {
        for edge in view.edges(way.ix) {
            let (ix, kind) = (edge.target(), edge.kind());
            if !matches!(kind, EdgeKind::Keyword | EdgeKind::Semantic) || way.notes().any(|way| way.ix == ix)
            {
                continue;
            }
            let Some(id) = view.id(ix).filter(|id| keep(*id)) else { continue };
            let near = known.entry(ix).or_insert_with(|| near(vectors, wish.vector, id)).clone();
            let strength = f64::from(edge.strength);
            let Some(way) = near.and_then(|near| way.onwards(ix, near, strength, hop, config)) else {
                continue;
            };
            let from = way.before.as_ref().map_or(id, |before| before.near.id);
            if best.get(&ix).is_none_or(|other| other.way.score < way.score) {
                let edge = Walked { from, to: id, kind, strength };
                best.insert(ix, Step { way: Rc::new(way), edge });
            }
        }
    }
    let mut steps: Vec<Step> = best.into_values().collect();
    steps.sort_by(|a, b| b.way.score.total_cmp(&a.way.score).then_with(|| a.edge.to.cmp(&b.edge.to)));
    steps
}

#[derive(Default)]
struct Found {
    nodes: FxHashMap<NodeId, Visited>,
    edges: Vec<Walked>,
}

impl Found {
    fn enter(&mut self, way: &Way, hop: usize, edge: Option<Walked>) {
        let Near { id, cosine, .. } = way.near;
        let visited = Visited { id, score: way.score, cosine, hop };
        let known = self.nodes.entry(id).or_insert(visited);
        if known.score < visited.score {
            *known = visited;
        }
        self.edges.extend(edge.filter(|edge| !self.edges.contains(edge)));
    }

    fn best(self, count: usize) -> Explored {
        let mut nodes: Vec<Visited> = self.nodes.into_values().collect();
        nodes.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        nodes.truncate(count);
        let mut edges = self.edges;
        let shown = |id| nodes.iter().any(|node| node.id == id);
        edges.retain(|edge| shown(edge.from) && shown(edge.to));
        Explored { nodes, edges }
    }
}
