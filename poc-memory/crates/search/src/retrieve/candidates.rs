//! The notes that may answer a question, and what speaks for each.

use super::retriever::Retriever;
use poc_graph::error::Result;
use poc_graph::{Ix, NodeId, View, Visibility};
use poc_index::{CosineScores, TextScores};
use poc_rank::fusion::{fused, of_meaning};
use poc_rank::propagation::{PropagatedScore, PropagationWeights};
use poc_rank::standard_score::Scale;
use poc_rank::top::{Ranked, Top};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// The best by words and meaning that are looked at further; four times as many as are wanted, if that is
/// more.
pub(super) const POOL: usize = 128;

/// The best by words that are looked at where not all cosines are known.
const MATCHING: usize = 1000;

/// A question, and what is known of every note for it.
pub(super) struct Question<'a> {
    pub(super) view: &'a View,
    visibility: Visibility,
    pub(super) words: TextScores<'a>,
    pub(super) cosines: CosineScores<'a>,
    by_words: Scale,
    by_meaning: Scale,
    meaning_weight: f64,
    // Live, but not to be found.
    hidden: FxHashSet<NodeId>,
}

/// What is best by each and by both.
pub(super) struct CandidateLists {
    // As many as a list names, best first.
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

/// What a note is worth by itself: standard scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct BaseScore {
    words: f64,
    meaning: f64,
}

impl<'a> Question<'a> {
    pub(super) fn of(
        retriever: &Retriever<'a>,
        text: &str,
        vector: &[f32],
        visibility: Visibility,
    ) -> Result<Question<'a>> {
        let view = retriever.view;
        let cosines = retriever.vectors.cosine_scores(vector)?;
        let words = retriever.text.scores(text);
        let mut hidden = FxHashSet::default();
        hidden.extend(view.hidden_nodes(visibility).into_iter().filter_map(|ix| view.id(ix)));
        let is_live = |id: &&NodeId| view.find(**id).is_some_and(|ix| view.is_live(ix));
        hidden.extend(retriever.except.iter().filter(is_live));
        let count = view.live_count().saturating_sub(hidden.len());
        Ok(Question {
            view,
            visibility,
            by_words: words.moments(&hidden).scale(count),
            by_meaning: cosines.moments(&hidden).scale(count),
            meaning_weight: retriever.config.scores.meaning_weight,
            hidden,
            cosines,
            words,
        })
    }

    /// The note's index in the view, if it is to be found.
    fn place(&self, id: NodeId) -> Option<Ix> {
        let ix = self.view.find(id)?;
        (!self.hidden.contains(&id) && self.view.is_visible(ix, self.visibility)).then_some(ix)
    }

    pub(super) fn own(&self, bm25: f64, cosine: f64) -> BaseScore {
        BaseScore { words: self.by_words.standard(bm25), meaning: self.by_meaning.standard(cosine) }
    }

    pub(super) fn score(&self, own: BaseScore) -> f64 {
        fused(own.words, own.meaning, self.meaning_weight)
    }

    /// The best `depth` by each, and the best `pool` by both. A note that holds no word is among the
    /// latter only if it is among the nearest as many, since all such notes are worth the same by words.
    ///
    /// Where all cosines are known no note is missed: what is among the nearest and the best by words is
    /// looked at first, then the others that could still come in (the threshold algorithm of Fagin, Lotem
    /// and Naor 2003).
    pub(super) fn lists(&self, depth: usize, pool: usize) -> CandidateLists {
        let lists = self.lists_of(depth, pool, &|id| !self.hidden.contains(&id));
        // The indexes hold live notes, and seldom others than the view: then each is asked for.
        let is_there = |id| self.place(id).is_some();
        if lists.all().all(is_there) {
            return lists;
        }
        self.lists_of(depth, pool, &is_there)
    }

    fn lists_of(&self, depth: usize, pool: usize, keep: &dyn Fn(NodeId) -> bool) -> CandidateLists {
        let nearest = self.cosines.best(pool, keep);
        let matching = self.words.best(if self.cosines.is_exact() { pool } else { pool.max(MATCHING) }, keep);
        let found = |id, bm25, cosine: Option<f64>| {
            let own = self.own(bm25, cosine.unwrap_or(0.0));
            Ranked { score: self.score(own), id, with: own }
        };
        let mut both = Top::new(pool);
        nearest.iter().for_each(|&(id, cosine)| both.offer(found(id, self.words.of(id), Some(cosine))));
        let mut looked_at =
            FxHashSet::with_capacity_and_hasher(nearest.len() + matching.len(), FxBuildHasher);
        looked_at.extend(nearest.iter().map(|(id, _)| *id));
        for hit in matching.iter().filter(|hit| looked_at.insert(hit.id)) {
            both.offer(found(hit.id, hit.score, self.cosines.of(hit.id)));
        }
        if self.cosines.is_exact() {
            both.narrow();
            let least = both.floor().map(|least| least.score);
            // None of the others is nearer than this; without a vector a note counts as 0.
            let most = nearest.last().map_or(0.0, |(_, cosine)| cosine.max(0.0));
            let may_come_in = |bm25| least.is_none_or(|least| self.score(self.own(bm25, most)) >= least);
            for hit in self.words.hits_where(may_come_in) {
                if keep(hit.id) && !looked_at.contains(&hit.id) {
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

/// A note that may be an answer, and what speaks for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) id: NodeId,
    words: f64,
    meaning: f64,
    pub(super) named: f64,
    pub(super) identifier: f64,
    pub(super) propagated: PropagatedScore,
    // What it does not give on.
    pub(super) key: f64,
}

impl Candidate {
    /// What it is worth by itself.
    pub(super) fn own(&self) -> f64 {
        self.words + self.meaning + self.named + self.identifier
    }

    pub(super) fn score(&self, flow: PropagationWeights) -> f64 {
        let propagated = &self.propagated;
        let [mention, shared] = propagated.name_shares(flow);
        self.own()
            + mention
            + shared
            + propagated.sequence_share(flow)
            + propagated.similarity_share(flow)
            + self.key
    }

    pub(super) fn shares(&self, flow: PropagationWeights) -> Vec<(&'static str, f64)> {
        let [mention, shared] = self.propagated.name_shares(flow);
        let mut shares = vec![
            ("meaning", self.meaning),
            ("words", self.words),
            ("named", self.named),
            ("identifier", self.identifier),
            ("mention", mention),
            ("shared", shared),
            ("order", self.propagated.sequence_share(flow)),
            ("alike", self.propagated.similarity_share(flow)),
            ("key", self.key),
        ];
        shares.retain(|(_, share)| *share != 0.0);
        shares
    }
}

/// The notes that may be answers.
pub(super) struct Candidates {
    pub(super) all: Vec<Candidate>,
    // By the index in the view.
    places: FxHashMap<Ix, usize>,
    // What any other note is worth by itself at most; infinite where not all are known.
    rest: f64,
}

impl Candidates {
    pub(super) fn of(question: &Question<'_>, pool: Vec<Ranked<BaseScore>>) -> Candidates {
        // Notes without words and vector are in no list.
        let nothing = question.score(question.own(0.0, 0.0));
        let last = pool.last().filter(|_| question.cosines.is_exact());
        let rest = last.map_or(f64::INFINITY, |last| last.score.max(nothing));
        let places: Vec<Option<Ix>> = pool.iter().map(|found| question.place(found.id)).collect();
        let room = pool.len() * 2;
        let mut candidates = Candidates {
            all: Vec::with_capacity(room),
            places: FxHashMap::with_capacity_and_hasher(room, FxBuildHasher),
            rest,
        };
        for (found, ix) in pool.into_iter().zip(places) {
            if let Some(ix) = ix {
                candidates.add(question, ix, found.id, found.with);
            }
        }
        candidates
    }

    fn add(&mut self, question: &Question<'_>, ix: Ix, id: NodeId, own: BaseScore) -> usize {
        let at = self.all.len();
        self.all.push(Candidate {
            id,
            words: own.words,
            meaning: of_meaning(own.meaning, question.meaning_weight),
            named: 0.0,
            identifier: 0.0,
            propagated: PropagatedScore::default(),
            key: 0.0,
        });
        self.places.insert(ix, at);
        at
    }

    /// The greatest worth by itself.
    pub(super) fn best(&self) -> f64 {
        self.all.iter().map(Candidate::own).fold(0.0, f64::max)
    }

    /// The candidate at an index of the view, made one if need be; `None` when the note is not to be found.
    pub(super) fn at_index(&mut self, question: &Question<'_>, ix: Ix) -> Option<&mut Candidate> {
        match self.places.get(&ix) {
            Some(&at) => self.all.get_mut(at),
            None => self.at(question, question.view.id(ix)?),
        }
    }

    /// As [`Candidates::at_index`] by the note's id.
    pub(super) fn at(&mut self, question: &Question<'_>, id: NodeId) -> Option<&mut Candidate> {
        self.at_if(question, id, |_| true)
    }

    /// As [`Candidates::at`]; a note that is no candidate yet becomes one only if it may, by what it is worth
    /// by itself at most.
    pub(super) fn at_if(
        &mut self,
        question: &Question<'_>,
        id: NodeId,
        may: impl Fn(f64) -> bool,
    ) -> Option<&mut Candidate> {
        let ix = question.place(id)?;
        let at = match self.places.get(&ix) {
            Some(&at) => at,
            None if !may(self.rest) => return None,
            None => {
                let (bm25, cosine) = (question.words.of(id), question.cosines.of(id));
                self.add(question, ix, id, question.own(bm25, cosine.unwrap_or(0.0)))
            }
        };
        self.all.get_mut(at)
    }

    /// The `n`-th best score as it is by now; less than any when there are not as many.
    pub(super) fn nth_best(&self, n: usize, flow: PropagationWeights) -> f64 {
        let mut best = Top::new(n);
        let of = |candidate: &Candidate| Ranked { score: candidate.score(flow), id: candidate.id, with: () };
        self.all.iter().for_each(|candidate| best.offer(of(candidate)));
        best.narrow();
        best.floor().map_or(f64::NEG_INFINITY, |last| last.score)
    }

    /// Every candidate with its worth, best first, ties by id.
    pub(super) fn in_order(&self) -> Vec<(Ix, NodeId, f64)> {
        let of = |(&ix, &at): (&Ix, &usize)| {
            let candidate = self.all.get(at)?;
            Some((ix, candidate.id, candidate.own()))
        };
        let mut all: Vec<(Ix, NodeId, f64)> = self.places.iter().filter_map(of).collect();
        all.sort_unstable_by(|a, b| b.2.total_cmp(&a.2).then(a.1.cmp(&b.1)));
        all
    }
}
