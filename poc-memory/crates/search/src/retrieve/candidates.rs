//! The candidates for a query, and the components of their scores.

use super::retriever::Retriever;
use poc_graph::error::Result;
use poc_graph::{Ix, NodeId, NoteSet, Representation, View, Visibility};
use poc_index::{CosineScores, TextScores};
use poc_rank::fusion::{clarity, fused, meaning_factor, of_meaning};
use poc_rank::propagation::{PropagatedScore, PropagationWeights};
use poc_rank::standard_score::Scale;
use poc_rank::top_k::{Ranked, TopK};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// Minimum number of candidates, which are the best notes by both scores together. If four times the number of wanted
/// notes is more, that number is used.
pub(super) const POOL: usize = 128;

/// The number of best notes by text score that are considered if not all cosines are known.
const MATCHING: usize = 1000;

/// A query, with the text and vector scores of all notes.
pub(super) struct RetrievalQuery<'a> {
    pub(super) view: &'a View,
    visibility: Visibility,
    pub(super) words: TextScores<'a>,
    pub(super) cosines: CosineScores<'a>,
    by_words: Scale,
    by_meaning: Scale,
    // The weight of the vector score for this question.
    meaning_weight: f64,
    // The live notes that may be found.
    visible: NoteSet,
    list_derived: bool,
    // Whether derived notes pass score to their sources. Otherwise the sources do not represent them, because nothing
    // would lead to the sources.
    derived_pass_score: bool,
}

/// The best notes by vector score, by text score, and by both.
pub(super) struct CandidateLists {
    // The lists in which hits report their ranks, best first.
    pub(super) nearest: Vec<NodeId>,
    pub(super) matching: Vec<NodeId>,
    pub(super) cosine: Option<f64>,
    pub(super) pool: Vec<Ranked<BaseScore>>,
}

impl CandidateLists {
    fn all(&self) -> impl Iterator<Item = NodeId> {
        let both = self.pool.iter().map(|found| found.id);
        self.nearest.iter().chain(&self.matching).copied().chain(both)
    }
}

/// The standard scores of a note, before score is propagated along the structure.
#[derive(Clone, Copy, Debug)]
pub(super) struct BaseScore {
    words: f64,
    meaning: f64,
}

impl<'a> RetrievalQuery<'a> {
    /// Scores all notes for a question. `vector` is the embedding of `text`.
    ///
    /// # Errors
    /// Those of the vector index.
    pub(super) fn of(
        retriever: &Retriever<'a>,
        text: &str,
        vector: &[f32],
        visibility: Visibility,
    ) -> Result<RetrievalQuery<'a>> {
        let view = retriever.view;
        let visible = visible_notes(retriever, visibility);
        let (cosines, count) = match &visible {
            NoteSet::Only(notes) => (retriever.vectors.cosine_scores_of(vector, notes)?, notes.len()),
            NoteSet::AllBut(hidden) => {
                (retriever.vectors.cosine_scores(vector)?, view.live_count().saturating_sub(hidden.len()))
            }
        };
        let words = retriever.text.scores(text);
        let weights = &retriever.config.scores;
        let mut question = RetrievalQuery {
            view,
            visibility,
            by_words: words.moments(&visible).scale(count),
            by_meaning: cosines.moments(&visible).scale(count),
            meaning_weight: weights.meaning_weight,
            visible,
            list_derived: retriever.list_derived || !retriever.config.graph,
            derived_pass_score: weights.derived_weight > 0.0,
            cosines,
            words,
        };
        if retriever.embedder.contextual() {
            question.meaning_weight = weights.contextual_weight
                * meaning_factor(question.clarity(), weights.clear_words, weights.meaning_factor);
        }
        Ok(question)
    }

    /// How clearly the words of the question point to a visible note.
    fn clarity(&self) -> f64 {
        let best = self.words.best(1, &|id| self.visible_index(id).is_some());
        best.first().map_or(0.0, |best| clarity(best.score, self.by_words.standard(best.score)))
    }

    /// The index of a note in the view; `None` if the note must not be found.
    fn visible_index(&self, id: NodeId) -> Option<Ix> {
        let ix = self.view.find(id)?;
        self.is_visible(ix, id).then_some(ix)
    }

    fn is_visible(&self, ix: Ix, id: NodeId) -> bool {
        self.visible.contains(id) && self.view.is_visible(ix, self.visibility)
    }

    /// The id of a note; `None` if the note must not be found.
    pub(super) fn visible_id(&self, ix: Ix) -> Option<NodeId> {
        let id = self.view.id(ix)?;
        self.is_visible(ix, id).then_some(id)
    }

    /// Whether visible notes that a note was derived from represent it, or the note only leads to other
    /// notes.
    fn is_represented(&self, ix: Ix, representation: &Representation) -> bool {
        let is_visible = |origin| self.visible_id(origin).is_some();
        (self.derived_pass_score && representation.is_represented(self.view, ix, &is_visible))
            || self.view.is_pointer(ix)
    }

    /// The standard scores of a note with this BM25 score and this cosine.
    pub(super) fn base_score(&self, bm25: f64, cosine: f64) -> BaseScore {
        BaseScore { words: self.by_words.standard(bm25), meaning: self.by_meaning.standard(cosine) }
    }

    /// The fused score of the standard scores of a note, in standard deviations.
    pub(super) fn score(&self, own: BaseScore) -> f64 {
        fused(own.words, own.meaning, self.meaning_weight)
    }

    /// The best `depth` notes by vector score and by text score, and the best `pool` notes by both. A note without any
    /// of the words can be among the latter only if it is among the `pool` nearest, because all such notes have the
    /// same text score.
    ///
    /// If all cosines are known, the result is exact. The notes in the first two lists are scored first, then the other
    /// notes that can still be among the best (the threshold algorithm of Fagin, Lotem and Naor 2003).
    pub(super) fn lists(&self, depth: usize, pool: usize) -> CandidateLists {
        let lists = self.lists_of(depth, pool, &|id| self.visible.contains(id));
        // The indexes rarely contain notes that the view does not have. Only in that case, every note is looked up.
        let is_in_view = |id| self.visible_index(id).is_some();
        if lists.all().all(is_in_view) {
            return lists;
        }
        self.lists_of(depth, pool, &is_in_view)
    }

    fn lists_of(&self, depth: usize, pool: usize, keep: &dyn Fn(NodeId) -> bool) -> CandidateLists {
        let nearest = self.cosines.best(pool, keep);
        let matching = self.words.best(if self.cosines.is_exact() { pool } else { pool.max(MATCHING) }, keep);
        let found = |id, bm25, cosine: Option<f64>| {
            let base = self.base_score(bm25, cosine.unwrap_or(0.0));
            Ranked { score: self.score(base), id, payload: base }
        };
        let mut both = TopK::new(pool);
        nearest.iter().for_each(|&(id, cosine)| both.offer(found(id, self.words.of(id), Some(cosine))));
        let mut scored_ids =
            FxHashSet::with_capacity_and_hasher(nearest.len() + matching.len(), FxBuildHasher);
        scored_ids.extend(nearest.iter().map(|(id, _)| *id));
        for hit in matching.iter().filter(|hit| scored_ids.insert(hit.id)) {
            both.offer(found(hit.id, hit.score, self.cosines.of(hit.id)));
        }
        if self.cosines.is_exact() {
            both.narrow();
            let min = both.floor().map(|min| min.score);
            // No other note has a higher cosine. A note without a vector has cosine 0.
            let max = nearest.last().map_or(0.0, |(_, cosine)| cosine.max(0.0));
            let can_enter = |bm25| min.is_none_or(|min| self.score(self.base_score(bm25, max)) >= min);
            for hit in self.words.hits_where(can_enter) {
                if keep(hit.id) && !scored_ids.contains(&hit.id) {
                    both.offer(found(hit.id, hit.score, self.cosines.of(hit.id)));
                }
            }
        }
        CandidateLists {
            cosine: nearest.first().map(|(_, cosine)| *cosine),
            nearest: nearest.into_iter().take(depth).map(|(id, _)| id).collect(),
            matching: matching.into_iter().take(depth).map(|hit| hit.id).collect(),
            pool: both.into_sorted(),
        }
    }
}

/// The live notes that a retriever may find.
fn visible_notes(retriever: &Retriever<'_>, visibility: Visibility) -> NoteSet {
    let view = retriever.view;
    let outside = match retriever.within {
        Some(NoteSet::Only(notes)) => {
            let visible = notes.iter().copied().filter(|&id| retriever.is_visible(id, visibility));
            return NoteSet::Only(visible.collect());
        }
        Some(NoteSet::AllBut(outside)) => Some(outside),
        None => None,
    };
    let mut hidden = FxHashSet::default();
    hidden.extend(view.hidden_nodes(visibility).into_iter().filter_map(|ix| view.id(ix)));
    let is_live = |id: &&NodeId| view.find(**id).is_some_and(|ix| view.is_live(ix));
    let left_out = retriever.except.iter().chain(outside.into_iter().flatten());
    hidden.extend(left_out.filter(is_live));
    NoteSet::AllBut(hidden)
}

/// A candidate and the components of its score.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    ix: Ix,
    pub(super) id: NodeId,
    words: f64,
    meaning: f64,
    pub(super) named: f64,
    pub(super) identifier: f64,
    pub(super) propagated: PropagatedScore,
    // The bonus of a note that the question names by its key. It is not propagated.
    pub(super) key: f64,
    // Whether the note was derived from visible notes, which represent it among the hits.
    pub(super) is_represented: bool,
}

impl Candidate {
    /// The score without the score that was propagated to the note.
    pub(super) fn base_score(&self) -> f64 {
        self.words + self.meaning + self.named + self.identifier
    }

    /// The score, with all shares that were propagated to the note.
    pub(super) fn score(&self, weights: PropagationWeights) -> f64 {
        let unlinked = self.unlinked_score(weights);
        unlinked + self.propagated.link_share(unlinked)
    }

    /// The score without the share of the best link.
    pub(super) fn unlinked_score(&self, weights: PropagationWeights) -> f64 {
        let propagated = &self.propagated;
        let [mention, shared] = propagated.name_shares(weights);
        self.base_score()
            + mention
            + shared
            + propagated.sequence_share(weights)
            + propagated.window_share(weights)
            + propagated.derived_share(weights)
            + propagated.similarity_share(weights)
            + self.key
    }

    /// The components of the score by name, without those that are 0.
    pub(super) fn shares(&self, weights: PropagationWeights) -> Vec<(&'static str, f64)> {
        let [mention, shared] = self.propagated.name_shares(weights);
        let mut shares = vec![
            ("meaning", self.meaning),
            ("words", self.words),
            ("named", self.named),
            ("identifier", self.identifier),
            ("mention", mention),
            ("shared", shared),
            ("order", self.propagated.sequence_share(weights)),
            ("window", self.propagated.window_share(weights)),
            ("derived", self.propagated.derived_share(weights)),
            ("link", self.propagated.link_share(self.unlinked_score(weights))),
            ("alike", self.propagated.similarity_share(weights)),
            ("key", self.key),
        ];
        shares.retain(|(_, share)| *share != 0.0);
        shares
    }
}

/// The base score of a candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct CandidateScore {
    pub(super) ix: Ix,
    pub(super) id: NodeId,
    pub(super) score: f64,
}

/// The candidates of a query.
pub(super) struct Candidates {
    pub(super) all: Vec<Candidate>,
    // The position in `all` of each candidate, by index in the view.
    positions: FxHashMap<Ix, usize>,
    // The result of the last call of `in_order`.
    ordered: Vec<CandidateScore>,
    // The highest base score of any other note; infinite if not all are known.
    max_other: f64,
    representation: Representation,
}

impl Candidates {
    /// The notes of a pool as candidates, except those that must not be found.
    pub(super) fn of(question: &RetrievalQuery<'_>, pool: Vec<Ranked<BaseScore>>) -> Candidates {
        // Notes without matching words and without a vector are in no list.
        let nothing = question.score(question.base_score(0.0, 0.0));
        let last = pool.last().filter(|_| question.cosines.is_exact());
        let max_other = last.map_or(f64::INFINITY, |last| last.score.max(nothing));
        let indexes: Vec<Option<Ix>> = pool.iter().map(|found| question.visible_index(found.id)).collect();
        let capacity = pool.len() * 2;
        let mut candidates = Candidates {
            all: Vec::with_capacity(capacity),
            positions: FxHashMap::with_capacity_and_hasher(capacity, FxBuildHasher),
            ordered: Vec::with_capacity(capacity),
            max_other,
            representation: Representation::default(),
        };
        for (found, ix) in pool.into_iter().zip(indexes) {
            if let Some(ix) = ix {
                candidates.add(question, ix, found.id, found.payload);
            }
        }
        candidates
    }

    fn add(&mut self, question: &RetrievalQuery<'_>, ix: Ix, id: NodeId, own: BaseScore) -> usize {
        let at = self.all.len();
        self.all.push(Candidate {
            ix,
            id,
            words: own.words,
            meaning: of_meaning(own.meaning, question.meaning_weight),
            named: 0.0,
            identifier: 0.0,
            propagated: PropagatedScore::default(),
            key: 0.0,
            is_represented: !question.list_derived && question.is_represented(ix, &self.representation),
        });
        self.positions.insert(ix, at);
        at
    }

    /// The highest base score.
    pub(super) fn best(&self) -> f64 {
        self.all.iter().map(Candidate::base_score).fold(0.0, f64::max)
    }

    /// The candidate with an index in the view. A note that is not yet a candidate is added. `None` if the note must
    /// not be found.
    pub(super) fn at_index(&mut self, question: &RetrievalQuery<'_>, ix: Ix) -> Option<&mut Candidate> {
        let at = match self.positions.get(&ix) {
            Some(&at) => at,
            None => self.add_scored(question, ix, question.visible_id(ix)?),
        };
        self.all.get_mut(at)
    }

    /// Like [`Candidates::at_index`], by id.
    pub(super) fn at(&mut self, question: &RetrievalQuery<'_>, id: NodeId) -> Option<&mut Candidate> {
        self.at_if(question, id, |_| true)
    }

    /// Like [`Candidates::at`], but adds a note only if `may` accepts an upper bound for its base score.
    pub(super) fn at_if(
        &mut self,
        question: &RetrievalQuery<'_>,
        id: NodeId,
        may: impl Fn(f64) -> bool,
    ) -> Option<&mut Candidate> {
        let ix = question.visible_index(id)?;
        let at = match self.positions.get(&ix) {
            Some(&at) => at,
            None if !may(self.max_other) => return None,
            None => self.add_scored(question, ix, id),
        };
        self.all.get_mut(at)
    }

    fn add_scored(&mut self, question: &RetrievalQuery<'_>, ix: Ix, id: NodeId) -> usize {
        let (bm25, cosine) = (question.words.of(id), question.cosines.of(id));
        self.add(question, ix, id, question.base_score(bm25, cosine.unwrap_or(0.0)))
    }

    /// The current `n`-th best score; −∞ if there are fewer candidates.
    pub(super) fn nth_best(&self, n: usize, weights: PropagationWeights) -> f64 {
        let mut best = TopK::new(n);
        let of =
            |candidate: &Candidate| Ranked { score: candidate.score(weights), id: candidate.id, payload: () };
        self.all
            .iter()
            .filter(|candidate| !candidate.is_represented)
            .for_each(|candidate| best.offer(of(candidate)));
        best.narrow();
        best.floor().map_or(f64::NEG_INFINITY, |last| last.score)
    }

    /// All candidates with their base scores, best first. Equal scores are ordered by id. Between two calls, candidates
    /// may be added, but base scores must not change.
    pub(super) fn in_order(&mut self) -> Vec<CandidateScore> {
        let added = self.all.iter().skip(self.ordered.len());
        let base = |candidate: &Candidate| CandidateScore {
            ix: candidate.ix,
            id: candidate.id,
            score: candidate.base_score(),
        };
        self.ordered.extend(added.map(base));
        // The stable sort recognizes the part that is already in order.
        self.ordered.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        self.ordered.clone()
    }
}
