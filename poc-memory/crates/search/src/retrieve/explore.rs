//! Exploration of the graph around a text: a beam search along keyword and semantic edges.

#[cfg(test)]
mod tests;

use super::nearest::{NearestNote, nearest, nearest_passage};
use poc_graph::error::Result;
use poc_graph::{EdgeKind, Ix, NodeId, View, cancellation};
use poc_index::VectorReader;
use poc_rank::beam::step;
use poc_rank::cosine::cosine;
use poc_rank::mmr::mmr;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The parameters of [`explore`].
pub struct ExploreQuery<'a> {
    /// The vector of the text to start from.
    pub vector: &'a [f32],
    /// Normalised keywords. If some start notes have any of them, only those start notes are used.
    pub keywords: &'a [String],
    /// The maximum number of hops.
    pub depth: usize,
    /// The number of paths that are extended in each hop (beam width).
    pub beam: usize,
    /// The maximum number of notes to return. The search stops after the hop that reaches this number.
    pub target_count: usize,
}

/// A note that the search reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExploredNode {
    /// The id of the note.
    pub id: NodeId,
    /// The best score of any path to the note.
    pub score: f64,
    /// The cosine of the note's nearest passage with the text, −1 to 1.
    pub cosine: f64,
    /// The number of hops from a start note; 0 for a start note.
    pub hop: usize,
}

/// An edge on a path of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraversedEdge {
    /// The note from which the search followed the edge.
    pub from: NodeId,
    /// The note at the other end.
    pub to: NodeId,
    /// The kind of the edge: `keyword` or `semantic`.
    pub kind: EdgeKind,
    /// The strength, 0 to 1.
    pub strength: f64,
}

/// The result of [`explore`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exploration {
    /// The notes found, best first. Equal scores are ordered by id.
    pub nodes: Vec<ExploredNode>,
    /// The edges between these notes, in the order in which the search followed them.
    pub edges: Vec<TraversedEdge>,
}

/// A path through the graph, as a linked list that starts at its end.
struct Path {
    ix: Ix,
    near: NearestNote,
    score: f64,
    before: Option<Rc<Path>>,
}

impl Path {
    fn notes(&self) -> impl Iterator<Item = &Path> {
        std::iter::successors(Some(self), |path| path.before.as_deref())
    }

    /// The path extended by one edge; `None` if the step's score is not finite.
    fn extended(
        self: &Rc<Path>,
        ix: Ix,
        near: NearestNote,
        edge: f64,
        hop: usize,
        config: &poc_config::ExploreConfig,
    ) -> Option<Path> {
        let nearest = self
            .notes()
            .map(|path| cosine(&near.vector, &path.near.vector))
            .fold(f64::NEG_INFINITY, f64::max);
        let score = step(self.score, edge, near.cosine, hop, nearest, config)?;
        Some(Path { ix, near, score, before: Some(self.clone()) })
    }
}

/// Searches from the nearest notes that `keep` accepts, without those that only lead a search to others
/// ([`View::is_pointer`]) and have no such edges. A start note scores its cosine, each step is scored by
/// [`step`], and [`poc_rank::mmr`] selects `beam` paths after each hop.
pub fn explore(
    query: &ExploreQuery<'_>,
    vectors: &dyn VectorReader,
    view: &View,
    config: &poc_config::ExploreConfig,
    keep: &dyn Fn(NodeId) -> bool,
) -> Result<Exploration> {
    let mut paths = starts(query, vectors, view, keep)?;
    let mut found = ReachedSubgraph::default();
    paths.iter().for_each(|path| found.add(path, 0, None));
    for hop in 1..=query.depth {
        if found.nodes.len() >= query.target_count || paths.is_empty() {
            break;
        }
        cancellation::check()?;
        let steps = steps(&paths, hop, query, vectors, view, config, keep);
        let scores: Vec<f64> = steps.iter().map(|step| step.path.score).collect();
        let alike = |a: usize, b: usize| match (steps.get(a), steps.get(b)) {
            (Some(a), Some(b)) => cosine(&a.path.near.vector, &b.path.near.vector),
            _ => 0.0,
        };
        let chosen: Vec<&Step> =
            mmr(&scores, config.mmr_lambda, alike).filter_map(|at| steps.get(at)).take(query.beam).collect();
        chosen.iter().for_each(|step| found.add(&step.path, hop, Some(step.edge)));
        paths = chosen.into_iter().map(|step| step.path.clone()).collect();
    }
    Ok(found.best(query.target_count))
}

fn starts(
    query: &ExploreQuery<'_>,
    vectors: &dyn VectorReader,
    view: &View,
    keep: &dyn Fn(NodeId) -> bool,
) -> Result<Vec<Rc<Path>>> {
    let wanted: Vec<u32> = query.keywords.iter().filter_map(|word| view.keyword_number(word)).collect();
    let has = |path: &Path| view.keywords(path.ix).iter().any(|word| wanted.contains(word));
    let keep = |id: NodeId| keep(id) && view.find(id).is_some_and(|ix| !view.is_pointer(ix));
    let mut starts: Vec<Path> = nearest(vectors, query.vector, query.beam.saturating_mul(2), &keep)?
        .into_iter()
        .filter_map(|near| Some(Path { ix: view.find(near.id)?, score: near.cosine, near, before: None }))
        .collect();
    if starts.iter().any(has) {
        starts.retain(has);
    }
    starts.truncate(query.beam);
    Ok(starts.into_iter().map(Rc::new).collect())
}

/// A path with its last edge.
struct Step {
    path: Rc<Path>,
    edge: TraversedEdge,
}

/// The best path to each note one hop away, best first. Equal scores are ordered by id.
fn steps(
    paths: &[Rc<Path>],
    hop: usize,
    query: &ExploreQuery<'_>,
    vectors: &dyn VectorReader,
    view: &View,
    config: &poc_config::ExploreConfig,
    keep: &dyn Fn(NodeId) -> bool,
) -> Vec<Step> {
    let mut known: FxHashMap<Ix, Option<NearestNote>> = FxHashMap::default();
    let mut best: FxHashMap<Ix, Step> = FxHashMap::default();
    for path in paths {
        for edge in view.edges(path.ix) {
            let (ix, kind) = (edge.target(), edge.kind());
            if !kind.is_automatic() || path.notes().any(|path| path.ix == ix) {
                continue;
            }
            let Some(id) = view.id(ix).filter(|id| keep(*id)) else { continue };
            let near = known.entry(ix).or_insert_with(|| nearest_passage(vectors, query.vector, id)).clone();
            let strength = f64::from(edge.strength);
            let Some(path) = near.and_then(|near| path.extended(ix, near, strength, hop, config)) else {
                continue;
            };
            let from = path.before.as_ref().map_or(id, |before| before.near.id);
            if best.get(&ix).is_none_or(|other| other.path.score < path.score) {
                let edge = TraversedEdge { from, to: id, kind, strength };
                best.insert(ix, Step { path: Rc::new(path), edge });
            }
        }
    }
    let mut steps: Vec<Step> = best.into_values().collect();
    steps.sort_by(|a, b| b.path.score.total_cmp(&a.path.score).then_with(|| a.edge.to.cmp(&b.edge.to)));
    steps
}

#[derive(Default)]
struct ReachedSubgraph {
    nodes: FxHashMap<NodeId, ExploredNode>,
    edges: Vec<TraversedEdge>,
}

impl ReachedSubgraph {
    fn add(&mut self, path: &Path, hop: usize, edge: Option<TraversedEdge>) {
        let NearestNote { id, cosine, .. } = path.near;
        let visited = ExploredNode { id, score: path.score, cosine, hop };
        let known = self.nodes.entry(id).or_insert(visited);
        if known.score < visited.score {
            *known = visited;
        }
        self.edges.extend(edge.filter(|edge| !self.edges.contains(edge)));
    }

    fn best(self, count: usize) -> Exploration {
        let mut nodes: Vec<ExploredNode> = self.nodes.into_values().collect();
        nodes.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        nodes.truncate(count);
        let mut edges = self.edges;
        let shown = |id| nodes.iter().any(|node| node.id == id);
        edges.retain(|edge| shown(edge.from) && shown(edge.to));
        Exploration { nodes, edges }
    }
}
