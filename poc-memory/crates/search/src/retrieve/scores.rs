//! Fusion by scores: standard scores from vector search and text search, bonuses for notes that the query names, and
//! one propagation step along the structure.

use super::candidates::{Candidates, POOL, RetrievalQuery};
use super::hit::{Retrieval, RetrievalHit};
use super::key::KeyMatch;
use super::retriever::{DEPTH, Retriever};
use super::{derived, key, links, structure, windows};
use poc_graph::error::Result;
use poc_graph::time::CalendarDay;
use poc_graph::{Ix, NodeId, View, Visibility, cancellation};
use poc_index::QueryTerms;
use poc_rank::fusion::name_bonus;
use poc_rank::propagation::PropagationWeights;
use poc_rank::top_k::{Ranked, TopK};

/// The `wanted` best notes for a question, best first. `vector` is the embedding of `text`.
///
/// # Errors
/// Those of the vector index; `unavailable` when the request is cancelled.
pub(super) fn find(
    retriever: &Retriever<'_>,
    text: &str,
    vector: &[f32],
    wanted: usize,
    visibility: Visibility,
) -> Result<Retrieval> {
    let weights = &retriever.config.scores;
    cancellation::check()?;
    let question = RetrievalQuery::of(retriever, text, vector, visibility)?;
    cancellation::check()?;
    let lists = question.lists(wanted.max(DEPTH), wanted.saturating_mul(4).max(POOL));
    let mut candidates = Candidates::of(&question, lists.pool);
    cancellation::check()?;
    let is_visible = |id| retriever.is_visible(id, visibility);
    let by_key = if weights.identifier_weight > 0.0 {
        key::notes_named(retriever.view, text, &is_visible)
    } else {
        Vec::new()
    };
    let (mut written, mut dated) = (Vec::new(), Vec::new());
    if weights.identifier_weight > 0.0 {
        match names_only_days(&question, text) {
            true => written = key::notes_written_on_days(retriever.view, text),
            false => dated = key::notes_with_days_in_names(retriever.view, text),
        }
    }
    let best_by_words = lists.matching.first().copied();
    let named = NamedNotes::of(retriever.view, &question, best_by_words, by_key, written);
    add_name_bonuses(retriever, &question, text, &named, &mut candidates);
    add_day_bonuses(&question, &dated, weights.identifier_weight, &mut candidates);
    let propagation = propagation_weights(retriever);
    let sources = match retriever.config.graph {
        true => propagate(retriever, &question, text, propagation, wanted, &mut candidates)?,
        false => PropagationSources::default(),
    };
    put_named_notes_first(&question, &named, propagation, weights.identifier_weight, &mut candidates);
    let mut best = TopK::new(wanted);
    for candidate in candidates.all.iter().filter(|candidate| !candidate.is_represented) {
        best.offer(Ranked { score: candidate.score(propagation), id: candidate.id, payload: candidate });
    }
    let rank = |list: &[NodeId], id| list.iter().position(|other| *other == id).map(|before| before + 1);
    let hits = best.into_sorted().into_iter().map(|Ranked { score, id, payload: candidate }| {
        let ranks = [("meaning", rank(&lists.nearest, id)), ("words", rank(&lists.matching, id))];
        let propagated = &candidate.propagated;
        RetrievalHit {
            id,
            score,
            ranks: ranks.into_iter().filter_map(|(list, rank)| Some((list, rank?))).collect(),
            shares: candidate.shares(propagation),
            led_by: propagated.name_source(propagation).and_then(|at| sources.structure.get(at)).copied(),
            derived: propagated.derived_source(propagation).and_then(|at| sources.derived.get(at)).copied(),
            linked_from: propagated
                .link_source(candidate.unlinked_score(propagation))
                .and_then(|at| sources.linking.get(at))
                .copied(),
            by_key: candidate.key > 0.0,
            near: question.cosines.nearest_passage(id),
            likelihood: None,
        }
    });
    Ok(Retrieval {
        hits: hits.collect(),
        named: vec![("meaning", lists.nearest.len()), ("words", lists.matching.len())],
        cosine: lists.cosine,
        nearest: lists.nearest.first().copied(),
    })
}

/// The notes that a question names by their keys or by a day.
struct NamedNotes<'a> {
    /// The notes that get a bonus for their keys.
    by_key: Vec<KeyMatch<'a>>,
    /// The note that mentions a day of the question and has all its words.
    mention: Option<NodeId>,
    /// The notes that come before all others.
    first: Vec<KeyMatch<'a>>,
    /// The other notes that were written on the days of a question that only names days. They come next.
    written: Vec<Ix>,
}

/// Whether a question asks for nothing but days (`what happened on 5 November?`).
fn names_only_days(question: &RetrievalQuery<'_>, text: &str) -> bool {
    let days = CalendarDay::in_text(text);
    let spellings: Vec<&str> = days.into_iter().filter_map(|(range, _)| text.get(range)).collect();
    !spellings.is_empty() && question.words.terms().all_terms_in(&spellings.join(" "))
}

impl<'a> NamedNotes<'a> {
    /// Decides between the notes of the days in a question and a note that mentions them. A question that only names a
    /// day asks for the note of the day. Others may be about a note that mentions it, and are if it has all their words
    /// and the note of the day, which rarely contains the day, does not.
    fn of(
        view: &View,
        question: &RetrievalQuery<'_>,
        best_by_words: Option<NodeId>,
        by_key: Vec<KeyMatch<'a>>,
        mut written: Vec<Ix>,
    ) -> NamedNotes<'a> {
        let terms = question.words.terms();
        let days: Vec<&str> =
            by_key.iter().filter(|named| named.is_day).map(|named| named.spelling).collect();
        let is_of_days = !days.is_empty() && terms.all_terms_in(&days.join(" "));
        let has_all_words = |id: NodeId, key: &str| terms.coverage(id, key, &[]) >= QueryTerms::FULL_COVERAGE;
        let may_mention = !days.is_empty() && !is_of_days;
        let mention = best_by_words.filter(|&id| may_mention && has_all_words(id, ""));
        let is_named = |named: &KeyMatch<'_>| {
            let of_day = || view.id(named.note).is_some_and(|id| has_all_words(id, named.spelling));
            mention.is_none() || !named.is_day || of_day()
        };
        let first: Vec<KeyMatch<'a>> =
            by_key.iter().filter(|named| is_of_days || !named.is_day).copied().collect();
        written.retain(|note| first.iter().all(|named| named.note != *note));
        NamedNotes { by_key: by_key.into_iter().filter(is_named).collect(), mention, first, written }
    }
}

/// Adds bonuses to the notes that the text names by title, by an identifier or by key, and to the note that mentions a
/// day in it.
fn add_name_bonuses(
    retriever: &Retriever<'_>,
    question: &RetrievalQuery<'_>,
    text: &str,
    named: &NamedNotes<'_>,
    candidates: &mut Candidates,
) {
    let weights = &retriever.config.scores;
    let best = candidates.best();
    for id in retriever.mentions.in_text(text) {
        if let Some(candidate) = candidates.at(question, id) {
            candidate.named += name_bonus(weights.named_weight, best);
        }
    }
    for id in question.words.terms().nodes_with_names() {
        if let Some(candidate) = candidates.at(question, id) {
            candidate.identifier += name_bonus(weights.identifier_weight, best);
        }
    }
    for matched in &named.by_key {
        if let Some(candidate) = candidates.at_index(question, matched.note) {
            candidate.identifier += name_bonus(weights.identifier_weight, best);
        }
    }
    if let Some(candidate) = named.mention.and_then(|id| candidates.at(question, id))
        && candidate.identifier <= 0.0
    {
        candidate.identifier += name_bonus(weights.identifier_weight, best);
    }
}

/// Adds bonuses to notes with a day of the question in their names, if they also share a word with it. They rarely
/// contain the day.
fn add_day_bonuses(
    question: &RetrievalQuery<'_>,
    dated: &[Ix],
    identifier_weight: f64,
    candidates: &mut Candidates,
) {
    let bonus = name_bonus(identifier_weight, candidates.best());
    for &note in dated {
        if let Some(candidate) = candidates.at_index(question, note)
            && candidate.identifier <= 0.0
            && question.words.of(candidate.id) > 0.0
        {
            candidate.identifier += bonus;
        }
    }
}

fn propagation_weights(retriever: &Retriever<'_>) -> PropagationWeights {
    let weights = &retriever.config.scores;
    PropagationWeights {
        mentioned: weights.mentioned_weight,
        mentioning: weights.mentioning_weight,
        sharing: weights.shared_weight,
        shared_by: retriever.max_sharing(),
        beside: weights.beside_weight,
        further: weights.further_weight,
        window: weights.window_weight,
        derived: weights.derived_weight,
        linking: weights.link_weight,
        linking_degree: weights.link_degree,
        alike: weights.alike_weight / weights.alike_notes.max(1) as f64,
    }
}

/// The notes whose scores were passed on. The shares of a candidate refer to positions in these lists.
#[derive(Default)]
struct PropagationSources {
    structure: Vec<NodeId>,
    derived: Vec<NodeId>,
    linking: Vec<NodeId>,
}

/// Passes shares of the scores on: from derived notes to their sources, along links, among similar notes, within
/// windows of sessions, and along mentions and sequences.
fn propagate(
    retriever: &Retriever<'_>,
    question: &RetrievalQuery<'_>,
    text: &str,
    propagation: PropagationWeights,
    wanted: usize,
    candidates: &mut Candidates,
) -> Result<PropagationSources> {
    let weights = &retriever.config.scores;
    let mut sources = PropagationSources::default();
    if weights.derived_weight > 0.0 {
        sources.derived = derived::propagate(question, weights, candidates);
    }
    if weights.link_weight > 0.0 {
        sources.linking = links::propagate(question, weights, propagation, candidates);
    }
    if retriever.embedder.contextual() && weights.alike_weight > 0.0 {
        structure::add_similarity_boosts(question, retriever.mentions, weights, candidates);
    }
    if weights.window_weight > 0.0 {
        windows::propagate(question, weights, candidates);
    }
    cancellation::check()?;
    sources.structure = structure::propagate(question, retriever, text, propagation, wanted, candidates);
    cancellation::check()?;
    Ok(sources)
}

/// Puts the notes that the text names by key before all others, because notes that only contain the key may have more
/// words of the query and get a share of the score of the named note. The bonus is that of a best score of at least one
/// standard deviation. The notes that were written on a day of the question follow, because their texts rarely contain
/// the day, and other notes contain its numbers.
fn put_named_notes_first(
    question: &RetrievalQuery<'_>,
    named: &NamedNotes<'_>,
    propagation: PropagationWeights,
    identifier_weight: f64,
    candidates: &mut Candidates,
) {
    let max = candidates.all.iter().map(|candidate| candidate.score(propagation)).fold(0.0, f64::max);
    let notes = named.first.iter().map(|matched| matched.note).chain(named.written.iter().copied());
    let scores = notes.filter_map(|note| Some(candidates.at_index(question, note)?.score(propagation)));
    let min = scores.fold(max, f64::min);
    let ahead = max - min + name_bonus(identifier_weight, max.max(1.0));
    let before_written = if named.written.is_empty() { 0.0 } else { ahead };
    for matched in &named.first {
        if let Some(candidate) = candidates.at_index(question, matched.note) {
            // A key may contain another key, so a key that is the whole query comes first.
            candidate.key = before_written + if matched.is_whole_text { 2.0 * ahead } else { ahead };
            candidate.is_represented = false;
        }
    }
    for &note in &named.written {
        if let Some(candidate) = candidates.at_index(question, note) {
            candidate.key = ahead;
        }
    }
}
