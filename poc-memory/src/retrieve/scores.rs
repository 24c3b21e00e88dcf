//! Fusion by scores: how far a note stands out by its words and by its meaning, what the question names,
//! and one step along the structure.

use super::structure;
use super::{DEPTH, Hit, Retrieved, Retriever};
use crate::error::Result;
use crate::graph::{Ix, NodeId, Sight, View};
use crate::index::{Nearness, TextScores, VectorHit};
use crate::rank::flow::{Inflow, Weights};
use crate::rank::fusion::{fused, lift, of_meaning};
use crate::rank::standard::Scale;
use crate::rank::top::{Ranked, Top};
use rustc_hash::{FxHashMap, FxHashSet};

/// The best by words and meaning that are looked at further; four times as many as are wanted, if that is
/// more.
pub(super) const POOL: usize = 256;

/// The best by words that are looked at where not all cosines are known.
const MATCHING: usize = 1000;

pub(super) fn find(
    retriever: &Retriever<'_>,
    text: &str,
    vector: &[f32],
    wanted: usize,
    sight: Sight,
) -> Result<Retrieved> {
    let (view, weights) = (retriever.view, &retriever.config.scores);
    let near = retriever.vectors.nearness(vector)?;
    let words = retriever.text.scores(text);
    let mut hidden = FxHashSet::default();
    hidden.extend(view.hidden_at(sight).into_iter().filter_map(|ix| view.id(ix)));
    hidden.extend(retriever.except.iter().filter(|id| view.find(**id).is_some_and(|ix| view.is_live(ix))));
    let count = view.live_count().saturating_sub(hidden.len());
    let question = Question {
        retriever: *retriever,
        view,
        sight,
        by_words: words.sums(&hidden).scale(count),
        by_meaning: near.sums(&hidden).scale(count),
        meaning_weight: weights.meaning_weight,
        near,
        words,
    };
    let lists = question.lists(wanted.max(DEPTH), wanted.saturating_mul(4).max(POOL));
    let mut candidates = Candidates::of(&question, lists.pool);
    let best = candidates.best();
    for id in retriever.mentions.in_text(text) {
        if let Some(named) = candidates.at(&question, id) {
            named.named += lift(weights.named_weight, best);
        }
    }
    for id in question.words.named() {
        if let Some(holder) = candidates.at(&question, id) {
            holder.identifier += lift(weights.identifier_weight, best);
        }
    }
    let flow = Weights {
        mentioned: weights.mentioned_weight,
        mentioning: weights.mentioning_weight,
        beside: weights.beside_weight,
        further: weights.further_weight,
        alike: weights.alike_weight / weights.alike_notes.max(1) as f64,
    };
    if retriever.config.graph {
        if retriever.embedder.contextual() && weights.alike_weight > 0.0 {
            structure::liken(&question, retriever.mentions, weights, &mut candidates);
        }
        structure::flow(&question, retriever.mentions, weights.mention_from, &mut candidates);
    }
    let mut found: Vec<(f64, Candidate)> =
        candidates.all.into_iter().map(|candidate| (candidate.score(flow), candidate)).collect();
    found.sort_unstable_by(|(a, x), (b, y)| b.total_cmp(a).then(x.id.cmp(&y.id)));
    found.truncate(wanted);
    let rank = |list: &[NodeId], id| list.iter().position(|other| *other == id).map(|before| before + 1);
    let hits = found.into_iter().map(|(score, candidate)| {
        let id = candidate.id;
        let ranks = [("meaning", rank(&lists.nearest, id)), ("words", rank(&lists.matching, id))];
        Hit {
            id,
            score,
            ranks: ranks.into_iter().filter_map(|(list, rank)| Some((list, rank?))).collect(),
            shares: candidate.shares(flow),
            near: question.near.part(id),
            likelihood: None,
        }
    });
    Ok(Retrieved {
        hits: hits.collect(),
        named: vec![("meaning", lists.nearest.len()), ("words", lists.matching.len())],
        cosine: lists.cosine,
    })
}

/// A question, and what is known of every note for it.
pub(super) struct Question<'a> {
    retriever: Retriever<'a>,
    pub(super) view: &'a View,
    sight: Sight,
    words: TextScores<'a>,
    pub(super) near: Nearness<'a>,
    by_words: Scale,
    by_meaning: Scale,
    meaning_weight: f64,
}

/// What is best by each and by both.
struct Lists {
    // As many as a list names, best first.
    nearest: Vec<NodeId>,
    matching: Vec<NodeId>,
    cosine: Option<f64>,
    pool: Vec<Ranked<Own>>,
}

/// What a note is worth by itself: standard scores.
#[derive(Clone, Copy, Debug)]
struct Own {
    words: f64,
    meaning: f64,
}

impl Question<'_> {
    fn sees(&self, id: NodeId) -> bool {
        self.retriever.sees(id, self.sight)
    }

    fn own(&self, bm25: f64, cosine: f64) -> Own {
        Own { words: self.by_words.standard(bm25), meaning: self.by_meaning.standard(cosine) }
    }

    fn score(&self, own: Own) -> f64 {
        fused(own.words, own.meaning, self.meaning_weight)
    }

    /// The best `depth` by each, and the best `pool` by both. A note that holds no word is among the
    /// latter only if it is among the nearest as many, since all such notes are worth the same by words.
    fn lists(&self, depth: usize, pool: usize) -> Lists {
        let keep = |id| self.sees(id);
        let nearest = self.near.best(pool, &keep);
        let mut both = Top::new(pool);
        let mut offer = |id, bm25, cosine: Option<f64>| {
            let own = self.own(bm25, cosine.unwrap_or(0.0));
            let found = Ranked { score: self.score(own), id, with: own };
            // What is not seen is asked last: it costs more than the comparison.
            if both.takes(&found) && self.sees(id) {
                both.offer(found);
            }
        };
        for VectorHit { id, cosine, .. } in &nearest {
            if self.words.of(*id) == 0.0 {
                offer(*id, 0.0, Some(*cosine));
            }
        }
        let mut matching = Top::new(if self.near.is_exact() { depth } else { depth.max(MATCHING) });
        for hit in self.words.hits() {
            let found = Ranked { score: hit.score, id: hit.id, with: () };
            if matching.takes(&found) && self.sees(hit.id) {
                matching.offer(found);
            }
            if self.near.is_exact() {
                offer(hit.id, hit.score, self.near.of(hit.id));
            }
        }
        let mut matching = matching.into_sorted();
        if !self.near.is_exact() {
            matching.iter().for_each(|hit| offer(hit.id, hit.score, self.near.of(hit.id)));
            for VectorHit { id, cosine, .. } in &nearest {
                let bm25 = self.words.of(*id);
                if bm25 > 0.0 && !matching.iter().any(|hit| hit.id == *id) {
                    offer(*id, bm25, Some(*cosine));
                }
            }
        }
        matching.truncate(depth);
        Lists {
            cosine: nearest.first().map(|hit| hit.cosine),
            nearest: nearest.into_iter().take(depth).map(|hit| hit.id).collect(),
            matching: matching.into_iter().map(|hit| hit.id).collect(),
            pool: both.into_sorted(),
        }
    }
}

/// A note that may be an answer, and what speaks for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    id: NodeId,
    words: f64,
    meaning: f64,
    named: f64,
    identifier: f64,
    pub(super) inflow: Inflow,
}

impl Candidate {
    /// What it is worth by itself.
    pub(super) fn own(&self) -> f64 {
        self.words + self.meaning + self.named + self.identifier
    }

    fn score(&self, flow: Weights) -> f64 {
        self.own() + self.inflow.by_mention(flow) + self.inflow.by_order(flow) + self.inflow.by_likeness(flow)
    }

    fn shares(&self, flow: Weights) -> Vec<(&'static str, f64)> {
        let mut shares = vec![
            ("meaning", self.meaning),
            ("words", self.words),
            ("named", self.named),
            ("identifier", self.identifier),
            ("mention", self.inflow.by_mention(flow)),
            ("order", self.inflow.by_order(flow)),
            ("alike", self.inflow.by_likeness(flow)),
        ];
        shares.retain(|(_, share)| *share != 0.0);
        shares
    }
}

/// The notes that may be answers.
pub(super) struct Candidates {
    all: Vec<Candidate>,
    // By the index in the view.
    places: FxHashMap<Ix, usize>,
}

impl Candidates {
    fn of(question: &Question<'_>, pool: Vec<Ranked<Own>>) -> Candidates {
        let mut candidates = Candidates { all: Vec::with_capacity(pool.len()), places: FxHashMap::default() };
        for found in pool {
            if let Some(ix) = question.view.find(found.id) {
                candidates.add(question, ix, found.id, found.with);
            }
        }
        candidates
    }

    fn add(&mut self, question: &Question<'_>, ix: Ix, id: NodeId, own: Own) -> usize {
        let at = self.all.len();
        self.all.push(Candidate {
            id,
            words: own.words,
            meaning: of_meaning(own.meaning, question.meaning_weight),
            named: 0.0,
            identifier: 0.0,
            inflow: Inflow::default(),
        });
        self.places.insert(ix, at);
        at
    }

    /// The greatest worth by itself.
    fn best(&self) -> f64 {
        self.all.iter().map(Candidate::own).fold(0.0, f64::max)
    }

    /// The candidate at an index of the view, made one if need be; `None` when the note is not seen.
    pub(super) fn at_index(&mut self, question: &Question<'_>, ix: Ix) -> Option<&mut Candidate> {
        let at = match self.places.get(&ix) {
            Some(&at) => at,
            None => {
                let id = question.view.id(ix)?;
                if !question.sees(id) {
                    return None;
                }
                let (bm25, cosine) = (question.words.of(id), question.near.of(id));
                self.add(question, ix, id, question.own(bm25, cosine.unwrap_or(0.0)))
            }
        };
        self.all.get_mut(at)
    }

    /// As [`Candidates::at_index`] by the note's id.
    pub(super) fn at(&mut self, question: &Question<'_>, id: NodeId) -> Option<&mut Candidate> {
        self.at_index(question, question.view.find(id)?)
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
