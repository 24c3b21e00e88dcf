//! Edges that a new note gets automatically: to notes that share a keyword and to notes of similar meaning.

use super::Memory;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, NodeId, View, project_name};
use poc_index::{CosineBounds, NoteCosines};
use poc_rank::cosine::MeasuredVector;
use poc_rank::histogram::Histogram;
use poc_rank::lookalike::{WordProfile, WordSketch};
use poc_rank::mmr::mmr;
use poc_rank::top_k::{Ranked, TopK};
use poc_store::Transaction;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::cell::{LazyCell, OnceCell};

/// A note of a batch that is being prepared, as the other notes of the batch see it.
pub(super) struct BatchNote {
    /// The id that the note will have.
    pub id: NodeId,
    /// The title and body, as one text.
    pub text: String,
    /// The keywords, normalised.
    pub keywords: Vec<String>,
    /// The vectors of its passages.
    pub vectors: Vec<Vec<f32>>,
    /// Whether it is a quotation. These have no automatic edges: their sources have the same ones.
    pub is_quotation: bool,
}

/// An edge to create from a new note.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AutomaticEdge {
    dst: NodeId,
    kind: EdgeKind,
    cosine: f64,
    reason: String,
}

/// Number of edges created, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EdgeCounts {
    pub keyword: usize,
    pub semantic: usize,
}

/// The edges of each note of a batch to indexed notes and to the notes before it in the batch, and the cosines of
/// its candidates of similar meaning.
pub(super) fn find(
    memory: &Memory,
    view: &View,
    batch: &[BatchNote],
) -> Result<Vec<(Vec<AutomaticEdge>, Histogram)>> {
    let prepared = Batch::new(batch, view, memory.embedder.dimensions());
    let groups: Vec<Result<Vec<_>>> = (0..batch.len())
        .collect::<Vec<usize>>()
        .par_chunks(NOTES_PER_PASS)
        .map(|group| {
            let vectors = group.iter().filter_map(|&at| batch.get(at)).map(|note| note.vectors.as_slice());
            let cosines = memory
                .vectors
                .note_cosines(&vectors.collect::<Vec<_>>(), memory.config.insert.semantic_pool)?;
            let candidates = group.iter().enumerate().filter_map(|(new, &at)| {
                Some(Candidates {
                    memory,
                    view,
                    cosines: &cosines,
                    new,
                    batch: &prepared,
                    at,
                    note: batch.get(at)?,
                })
            });
            candidates.map(|candidates| candidates.edges()).collect()
        })
        .collect();
    Ok(groups.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Number of new notes whose cosines are computed in one pass over the vector index.
const NOTES_PER_PASS: usize = 8;

/// Maximum number of notes with a keyword that a new note is compared with when the vector index uses HNSW. If more
/// notes have the keyword, only those that got it last and the candidates of similar meaning are compared. A keyword on
/// every note would otherwise make an insert as slow as a scan of all vectors.
const MAX_KEYWORD_NOTES: usize = 1024;

/// The notes of a batch, prepared for comparisons with each other.
struct Batch<'a> {
    notes: &'a [BatchNote],
    /// The vectors of each note that are not zero.
    vectors: Vec<Vec<MeasuredVector<'a>>>,
    /// Upper bounds of the cosines of the notes.
    bounds: CosineBounds,
    /// The sketch of the words of each note.
    sketches: Vec<WordSketch>,
    /// The first position of each note.
    positions: FxHashMap<NodeId, usize>,
    /// The positions of the notes with each keyword, ascending.
    by_keyword: FxHashMap<&'a str, Vec<usize>>,
    /// Whether any of the notes is an update of one in the view.
    has_updates: bool,
}

impl<'a> Batch<'a> {
    fn new(notes: &'a [BatchNote], view: &View, dimensions: usize) -> Batch<'a> {
        let vectors = notes.iter().map(|note| {
            let vectors = note.vectors.iter().map(|vector| MeasuredVector::of(vector));
            vectors.filter(|vector| !vector.is_zero()).collect()
        });
        let slices = notes.iter().map(|note| note.vectors.iter().map(Vec::as_slice));
        let bounds = CosineBounds::new(slices, dimensions);
        let positions = notes.iter().enumerate().rev().map(|(at, note)| (note.id, at));
        let sketches = notes.iter().map(|note| WordSketch::of(&note.text));
        let mut by_keyword: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (at, note) in notes.iter().enumerate() {
            for keyword in &note.keywords {
                let positions = by_keyword.entry(keyword.as_str()).or_default();
                if positions.last() != Some(&at) {
                    positions.push(at);
                }
            }
        }
        Batch {
            notes,
            vectors: vectors.collect(),
            bounds,
            sketches: sketches.collect(),
            positions: positions.collect(),
            by_keyword,
            has_updates: notes.iter().any(|note| view.find(note.id).is_some()),
        }
    }

    /// The positions of the notes with a keyword, ascending.
    fn with_keyword(&self, keyword: &str) -> &[usize] {
        self.by_keyword.get(keyword).map(Vec::as_slice).unwrap_or_default()
    }

    /// The first note with this id, if it comes before position `at`.
    fn before(&self, at: usize, id: NodeId) -> Option<&BatchNote> {
        let position = self.positions.get(&id).filter(|position| **position < at)?;
        self.notes.get(*position)
    }

    /// The note at `position` as a note near note `at`; `None` if either has no vector, both have the same id, or the
    /// note at `position` is a quotation.
    fn near(&self, at: usize, position: usize) -> Option<NearNote<'a>> {
        let (note, own) = self.notes.get(at).zip(self.vectors.get(at))?;
        let (other, vectors) = self.notes.get(position).zip(self.vectors.get(position))?;
        if other.id == note.id || other.is_quotation {
            return None;
        }
        let pairs =
            own.iter().flat_map(|own| vectors.iter().map(|vector| (own.cosine(vector), vector.values())));
        let (cosine, vector) = pairs.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(NearNote { id: other.id, cosine, vector: NearVector::Batch(vector), position: Some(position) })
    }
}

/// The notes of a batch before a new one as notes near it, each computed when it is first needed.
struct EarlierNotes<'a> {
    batch: &'a Batch<'a>,
    /// The position of the new note.
    at: usize,
    near: Vec<OnceCell<Option<NearNote<'a>>>>,
}

impl<'a> EarlierNotes<'a> {
    fn new(batch: &'a Batch<'a>, at: usize) -> EarlierNotes<'a> {
        EarlierNotes { batch, at, near: std::iter::repeat_with(OnceCell::new).take(at).collect() }
    }

    /// The note at a position; `None` as for [`Batch::near`].
    fn get(&self, position: usize) -> Option<NearNote<'a>> {
        *self.near.get(position)?.get_or_init(|| self.batch.near(self.at, position))
    }

    /// All notes whose cosine is at least `floor`, and perhaps others.
    fn reaching(&self, floor: f64) -> Vec<NearNote<'a>> {
        let bounds = self.batch.bounds.before(self.at);
        let may_be_near = bounds.iter().enumerate().filter(|(_, bound)| **bound >= floor);
        may_be_near.filter_map(|(position, _)| self.get(position)).collect()
    }
}

/// A note near a new note.
#[derive(Clone, Copy)]
struct NearNote<'a> {
    id: NodeId,
    cosine: f64,
    vector: NearVector<'a>,
    /// Its position if it is in the batch; `None` if it is in the index.
    position: Option<usize>,
}

/// The passage of a note that is nearest.
#[derive(Clone, Copy)]
enum NearVector<'a> {
    Batch(&'a [f32]),
    Indexed(u16),
}

/// The notes that a new note is compared with.
struct Candidates<'a> {
    memory: &'a Memory,
    view: &'a View,
    cosines: &'a NoteCosines<'a>,
    /// The number of the note in `cosines`.
    new: usize,
    batch: &'a Batch<'a>,
    /// Its position in the batch.
    at: usize,
    note: &'a BatchNote,
}

impl Candidates<'_> {
    fn edges(&self) -> Result<(Vec<AutomaticEdge>, Histogram)> {
        let earlier = EarlierNotes::new(self.batch, self.at);
        let pool = self.similar(&earlier);
        let mut edges = Vec::new();
        if !self.note.is_quotation {
            edges = self.keyword_edges(&earlier, &pool)?;
            edges.extend(self.semantic_edges(&pool)?);
        }
        let mut cosines = Histogram::default();
        pool.iter().for_each(|near| cosines.add(near.cosine));
        Ok((edges, cosines))
    }

    /// Whether a note of the view is another one whose current text is in the index.
    fn is_indexed(&self, id: NodeId) -> bool {
        !self.batch.has_updates || id != self.note.id && self.batch.before(self.at, id).is_none()
    }

    /// The notes nearest in meaning, best first; equal cosines are ordered by id.
    fn similar<'a>(&'a self, earlier: &EarlierNotes<'a>) -> Vec<NearNote<'a>> {
        let k = self.memory.config.insert.semantic_pool;
        let is_note = |ix| self.view.is_live(ix) && !self.view.is_pointer(ix);
        let keep = |id: NodeId| self.is_indexed(id) && self.view.find(id).is_some_and(is_note);
        let indexed = self.cosines.best(self.new, k, &keep).into_iter().map(|hit| NearNote {
            id: hit.id,
            cosine: hit.cosine,
            vector: NearVector::Indexed(hit.passage),
            position: None,
        });
        let mut near: Vec<NearNote<'a>> = indexed.collect();
        // As soon as there are enough notes, a note below all of them cannot be among the nearest.
        let floor = near.last().filter(|_| near.len() >= k).map_or(f64::NEG_INFINITY, |last| last.cosine);
        near.extend(earlier.reaching(floor));
        best(near, k)
    }

    /// For each keyword, edges to the nearest notes that share it.
    fn keyword_edges(&self, earlier: &EarlierNotes<'_>, pool: &[NearNote<'_>]) -> Result<Vec<AutomaticEdge>> {
        let threshold = self.memory.config.cosines()?.keyword;
        let k = self.memory.config.insert.keyword_edges;
        let mut edges: Vec<AutomaticEdge> = Vec::new();
        let mut edge_indexes: FxHashMap<NodeId, usize> = FxHashMap::default();
        // Notes may share several keywords, but are compared once.
        let mut known: FxHashMap<NodeId, Option<f64>> = FxHashMap::default();
        // Notes of one project may be about different subjects, so the label of a project makes no edge.
        let words = self.note.keywords.iter().filter(|word| project_name(word).is_none());
        for keyword in words {
            let mut top: TopK<Ranked<()>> = TopK::new(k);
            let before = self.batch.with_keyword(keyword).iter().take_while(|at| **at < self.at);
            let near = before.filter_map(|at| earlier.get(*at));
            near.for_each(|near| top.offer(ranked(near.id, near.cosine)));
            if let Some(number) = self.view.keyword_number(keyword) {
                self.offer_indexed(number, pool, &mut known, &mut top);
            }
            for found in top.into_sorted().into_iter().take_while(|found| found.score >= threshold) {
                let index = *edge_indexes.entry(found.id).or_insert(edges.len());
                match edges.get_mut(index) {
                    Some(edge) => {
                        edge.reason.push_str(", ");
                        edge.reason.push_str(keyword);
                    }
                    None => edges.push(AutomaticEdge {
                        dst: found.id,
                        kind: EdgeKind::Keyword,
                        cosine: found.score,
                        reason: keyword.clone(),
                    }),
                }
            }
        }
        Ok(edges)
    }

    /// Offers the indexed notes with a keyword. If many notes have it, offers only those that are likely to be nearest.
    /// `known` keeps the cosines that were computed for other keywords.
    fn offer_indexed(
        &self,
        keyword: u32,
        pool: &[NearNote<'_>],
        known: &mut FxHashMap<NodeId, Option<f64>>,
        top: &mut TopK<Ranked<()>>,
    ) {
        let has_keyword = |ix| self.view.is_live(ix) && self.view.keywords(ix).contains(&keyword);
        let shares = |id| self.is_indexed(id) && self.view.find(id).is_some_and(has_keyword);
        let many = self.view.keyword_uses(keyword) as usize > MAX_KEYWORD_NOTES;
        if many && self.cosines.is_exact() {
            let nearest = self.cosines.best(self.new, self.memory.config.insert.keyword_edges, &shares);
            return nearest.iter().for_each(|hit| top.offer(ranked(hit.id, hit.cosine)));
        }
        let with_keyword = self.view.nodes_with_keyword(keyword).take(MAX_KEYWORD_NOTES);
        let ids = with_keyword.filter_map(|ix| self.view.id(ix)).filter(|&id| self.is_indexed(id));
        let mut seen = FxHashSet::default();
        for id in ids {
            if many {
                seen.insert(id);
            }
            let cosine = known.entry(id).or_insert_with(|| self.cosines.of(self.new, id));
            if let Some(cosine) = *cosine {
                top.offer(ranked(id, cosine));
            }
        }
        if many {
            let others = pool.iter().filter(|near| near.position.is_none() && shares(near.id));
            let others = others.filter(|near| !seen.contains(&near.id));
            others.for_each(|near| top.offer(ranked(near.id, near.cosine)));
        }
    }

    /// Edges to the nearest notes above the threshold, diversified by maximal marginal relevance.
    fn semantic_edges(&self, pool: &[NearNote<'_>]) -> Result<Vec<AutomaticEdge>> {
        let (memory, config) = (self.memory, &self.memory.config.insert);
        let threshold = memory.config.cosines()?.semantic;
        let mut edges = Vec::new();
        // The candidate chosen first is the nearest one.
        if pool.first().is_none_or(|nearest| nearest.cosine < threshold) {
            return Ok(edges);
        }
        let relevance: Vec<f64> = pool.iter().map(|near| near.cosine).collect();
        let vectors: Vec<Cow<'_, [f32]>> = pool.iter().map(|near| self.vector(near)).collect();
        let vectors: Vec<MeasuredVector<'_>> =
            vectors.iter().map(|vector| MeasuredVector::of(vector)).collect();
        let alike = |a: usize, b: usize| match (vectors.get(a), vectors.get(b)) {
            (Some(a), Some(b)) => a.cosine(b),
            _ => 0.0,
        };
        // Those of notes in the index; asking for all of them at once takes the lock of the index once.
        let sketches = memory.text.word_sketches(pool.iter().map(|near| near.id));
        let best = mmr(&relevance, config.semantic_lambda, alike)
            .filter_map(|at| Some((pool.get(at)?, *sketches.get(at)?)));
        // Nearly always, sketches are enough.
        let own = LazyCell::new(|| WordProfile::of(&self.note.text));
        let own_sketch = self.batch.sketches.get(self.at).copied().unwrap_or_default();
        for (candidate, indexed) in best.take_while(|(candidate, _)| candidate.cosine >= threshold) {
            let sketch = match candidate.position {
                Some(at) => self.batch.sketches.get(at).copied(),
                None => indexed,
            };
            // Texts that differ only in digits are about different things, but their cosine is close to 1.
            let is_no_lookalike = || -> Result<bool> {
                if sketch.is_some_and(|sketch| !own_sketch.may_be_lookalike_of(&sketch)) {
                    return Ok(true);
                }
                let text = match candidate.position {
                    Some(at) => self.batch.notes.get(at).map(|other| Cow::Borrowed(other.text.as_str())),
                    None => memory.store.node(candidate.id)?.map(|node| Cow::Owned(node.text())),
                };
                Ok(text.is_some_and(|text| !own.is_lookalike_of(&WordProfile::of(&text))))
            };
            if is_no_lookalike()? {
                edges.push(AutomaticEdge {
                    dst: candidate.id,
                    kind: EdgeKind::Semantic,
                    cosine: candidate.cosine,
                    reason: String::new(),
                });
            }
        }
        Ok(edges)
    }

    /// The vector of the passage of a note that is nearest.
    fn vector<'a>(&self, near: &NearNote<'a>) -> Cow<'a, [f32]> {
        match near.vector {
            NearVector::Batch(vector) => Cow::Borrowed(vector),
            NearVector::Indexed(passage) => {
                Cow::Owned(self.cosines.vector(near.id, passage).unwrap_or_default())
            }
        }
    }
}

fn ranked(id: NodeId, score: f64) -> Ranked<()> {
    Ranked { score, id, payload: () }
}

/// The `k` nearest notes, best first; equal cosines are ordered by id.
fn best(mut near: Vec<NearNote<'_>>, k: usize) -> Vec<NearNote<'_>> {
    // Most notes are dropped before the others are sorted.
    if k < near.len() {
        let mut cosines: Vec<f64> = near.iter().map(|near| near.cosine).collect();
        let (_, least, _) = cosines.select_nth_unstable_by(k, |a, b| b.total_cmp(a));
        near.retain(|near| near.cosine.total_cmp(least).is_ge());
    }
    near.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.id.cmp(&b.id)));
    near.truncate(k);
    near
}

/// The number of steps between the strengths 0 and 1 of automatic edges. A cosine of vectors with eight bits per
/// dimension is not more exact, and random digits would take space in the log and in the records.
const STRENGTH_STEPS: f64 = 65_536.0;

fn strength(cosine: f64) -> f64 {
    (cosine.clamp(0.0, 1.0) * STRENGTH_STEPS).round() / STRENGTH_STEPS
}

/// Creates the edges whose targets are still live.
pub(super) fn create(
    tx: &mut Transaction<'_>,
    src: NodeId,
    edges: &[AutomaticEdge],
    provenance: &str,
    now: Timestamp,
) -> Result<EdgeCounts> {
    let mut made = EdgeCounts::default();
    let mut record = Edge {
        src,
        dst: src,
        kind: EdgeKind::Semantic,
        strength: 0.0,
        created: now,
        touched: now,
        provenance: provenance.to_owned(),
        reason: String::new(),
    };
    for edge in edges {
        (record.dst, record.kind, record.strength) = (edge.dst, edge.kind, strength(edge.cosine));
        record.reason.clone_from(&edge.reason);
        if !tx.put_edge_to_live(&record)? {
            continue;
        }
        match edge.kind {
            EdgeKind::Keyword => made.keyword += 1,
            _ => made.semantic += 1,
        }
    }
    Ok(made)
}

/// Deletes all automatic edges of a node, in both directions.
pub(super) fn delete(tx: &mut Transaction<'_>, id: NodeId) -> Result<()> {
    for edge in tx.edges(id)? {
        if edge.kind.is_automatic() {
            tx.delete_edge(edge.src, edge.kind, edge.dst)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
