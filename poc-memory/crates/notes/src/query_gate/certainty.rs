//! The gate `certainty`: judges how well a query and its hits agree.

use super::{GateQuery, GateReason, GateResult};
use crate::{Memory, rerank};
use poc_config::{GateConfig, GateKind};
use poc_graph::error::{Error, Result};
use poc_graph::time::{CalendarDay, Timestamp};
use poc_graph::{Node, NodeId, View};
use poc_index::{ComparedNote, MentionIndex, QueryTerms};
use poc_rank::gate::{CertaintySignals, GateSignals, Verdict};
use poc_rank::histogram::Histogram;
use poc_search::retrieve::{Retrieval, RetrievalHit, key};

/// The first hit is the answer only if its certainty is at least this share of the highest coverage of any hit.
const MIN_CERTAINTY_SHARE: f64 = 0.5;

/// Judges by the hits of a retrieval.
///
/// # Errors
/// As for [`super::judge`].
pub(super) fn judge_hits(memory: &Memory, query: &GateQuery<'_>) -> Result<GateResult> {
    let config = &memory.config.query;
    let gate = thresholds(memory)?;
    let found = certainty(memory, query)?;
    let (verdict, reason) = found.verdict(gate);
    let Certainty { signals, mut found, best, unknown_names, missing_subjects, .. } = found;
    let mut cosines = Histogram::default();
    found.iter().take(config.pool).filter_map(|hit| hit.near).for_each(|near| cosines.add(near.cosine));
    found.truncate(config.fallback);
    let signals = GateSignals::Certainty(signals);
    let best = best.map(|id| memory.store.node(id)).transpose()?.flatten();
    Ok(GateResult {
        gate: GateKind::Certainty,
        verdict,
        reason,
        signals,
        best,
        found,
        unknown_names,
        missing_subjects,
        cosines,
    })
}

/// How well a query and its hits agree.
#[derive(Clone, Debug)]
pub struct Certainty {
    /// The signals of the gate.
    pub signals: CertaintySignals,
    /// The hits, best first.
    pub found: Vec<RetrievalHit>,
    /// The note that agrees best. If the query consists of keys only, it is the first hit. Otherwise, with a
    /// cross-encoder, it is the most likely hit. Otherwise it is the first hit if the query contains its key or
    /// if its certainty (coverage plus weighted cosine) is at least half of the highest coverage of any hit, and
    /// else the hit with the highest certainty. If the first hit lacks a rare word of the query, and its key is not in
    /// the query, the first hit with all words takes its place.
    pub best: Option<NodeId>,
    /// Names in the query that no note contains: tokens with the form of a name, capitalised words, and acronyms.
    pub unknown_names: Vec<String>,
    /// The names in the query if `best` has none of them in its text, key, keywords, author, source and
    /// dates; likewise the numbers. Then the compounds in the query (`mail worker`) for which `best` has another one
    /// (`invoice worker`), the days, weekdays, months and times of day for which it has others, the owner (`hotel` in
    /// `the password of the hotel`) if it has the same thing with another one, and the words in whose place one of its
    /// sentences has others.
    pub missing_subjects: Vec<String>,
    /// Whether the query consists of keys only and `best` has one of them.
    pub by_key: bool,
    /// Whether `best` has all words of the query, of which one is rare. The cosine of one word and a long note is low.
    pub has_all_words: bool,
}

impl Certainty {
    /// The verdict for these thresholds, and what decided.
    pub fn verdict(&self, gate: &GateConfig) -> (Verdict, GateReason) {
        let of_value = match self.signals.likelihood {
            Some(_) => GateReason::Likelihood,
            None => GateReason::Certainty,
        };
        match self.signals.judge(gate) {
            _ if self.best.is_none() => (Verdict::Miss, GateReason::NothingFound),
            _ if self.by_key => (Verdict::Strong, GateReason::Key),
            Verdict::Strong if !self.unknown_names.is_empty() => (Verdict::Weak, GateReason::UnknownName),
            Verdict::Strong if !self.missing_subjects.is_empty() => (Verdict::Weak, GateReason::OtherSubject),
            Verdict::Miss if self.has_all_words => (Verdict::Weak, GateReason::AllWords),
            verdict => (verdict, of_value),
        }
    }
}

/// How well a query and its hits ([`rerank::find_near`]) agree ([`poc_rank::gate::certainty`]).
///
/// # Errors
/// `invalid_config` if the cross-encoder cannot be read.
pub fn certainty(memory: &Memory, query: &GateQuery<'_>) -> Result<Certainty> {
    let &GateQuery { view, text, vector, visibility, exclusions } = query;
    let config = &memory.config.query;
    let wanted = config.pool.max(config.fallback);
    let retriever = memory.retriever(view).without(exclusions.except).within(exclusions.within);
    let found = rerank::find_near(memory, retriever, text, vector, wanted, visibility)?;
    let words = memory.text.query_terms(text);
    let pool = found.hits.iter().take(config.pool);
    let is_visible = |id| query.may_answer(id);
    let key_owners = key::notes_named(view, text, &is_visible);
    let keys: Vec<&str> = key_owners.iter().map(|owner| owner.spelling).collect();
    // Keys in the query count as covered: a note rarely contains its own key.
    let spelling = keys.join(" ");
    // Likewise, a note of a day, or with a day anywhere in its key, rarely contains the day.
    let days = CalendarDay::in_text(text);
    let of_day = |hit: &RetrievalHit| {
        let mut owners = key_owners.iter().filter(|owner| owner.is_day);
        let named = owners.find(|owner| view.id(owner.note) == Some(hit.id)).map(|owner| owner.spelling);
        let in_name = || {
            let note = view.find(hit.id).filter(|_| !days.is_empty())?;
            let (range, _) = days.iter().find(|(_, day)| view.has_day_in_name(note, *day))?;
            text.get(range.clone())
        };
        named.or_else(in_name).unwrap_or_default()
    };
    let covered_by = |hit: &RetrievalHit| {
        words.coverage(hit.id, if hit.by_key { &spelling } else { of_day(hit) }, exclusions.except)
    };
    let covered: Vec<(&RetrievalHit, f64)> = pool.map(|hit| (hit, covered_by(hit))).collect();
    let coverage = covered.iter().fold(0.0, |max: f64, (_, coverage)| max.max(*coverage));
    let likely = |hit: &&RetrievalHit| hit.likelihood.is_some();
    let by_likelihood = |a: &&RetrievalHit, b: &&RetrievalHit| {
        a.likelihood.unwrap_or(0.0).total_cmp(&b.likelihood.unwrap_or(0.0))
    };
    // The first hit may be first only because of its key, so it need not be the likeliest.
    let likeliest = found.hits.iter().rev().filter(likely).max_by(by_likelihood);
    let likelihood = likeliest.and_then(|hit| hit.likelihood);
    let own = |(hit, coverage): &(&RetrievalHit, f64)| {
        CertaintySignals::of(*coverage, hit.near.map_or(0.0, |near| near.cosine), config.cosine_weight)
            .certainty
    };
    let first = covered.first();
    // The order of the hits also uses mentions, names and neighbours, which the certainty ignores. The first
    // hit is therefore the answer unless it hardly matches the query itself. A certainty is coverage plus
    // weighted cosine, so only hits that were found through other notes fall below half of the best coverage.
    let agrees =
        |first: &(&RetrievalHit, f64)| first.0.by_key || own(first) >= MIN_CERTAINTY_SHARE * coverage;
    let max = || covered.iter().rev().max_by(|a, b| own(a).total_cmp(&own(b)));
    let only_keys = key_owners.iter().any(|owner| owner.is_whole_text) || words.all_terms_in(&spelling);
    let owner = first.map(|(hit, _)| *hit).filter(|hit| hit.by_key && only_keys);
    let has_all = |(_, coverage): &&(&RetrievalHit, f64)| *coverage >= QueryTerms::FULL_COVERAGE;
    let lacks_rare_term = |first: &(&RetrievalHit, f64)| !first.0.by_key && words.lacks_rare_term(first.0.id);
    let by_words = || {
        let first = first.filter(|first| agrees(first));
        // A rare word says what the question is about, so a note with all words answers it rather than one without.
        let complete =
            first.filter(|first| lacks_rare_term(first)).and_then(|_| covered.iter().find(has_all));
        complete.or(first).or_else(max).map(|(hit, _)| *hit)
    };
    let best = owner.or(likeliest).or_else(by_words).map(|hit| hit.id);
    let by_key = owner.is_some();
    let cosine = cosine(view, &found, best, &is_visible);
    let signals = CertaintySignals::of(coverage, cosine, config.cosine_weight).judged(likelihood);
    // With a cross-encoder, only its likelihood counts.
    let is_complete = |(hit, coverage): &(&RetrievalHit, f64)| {
        Some(hit.id) == best && *coverage >= QueryTerms::FULL_COVERAGE
    };
    let has_all_words = likelihood.is_none() && words.has_rare_term() && covered.iter().any(is_complete);
    // A key with spaces may contain words that look like unknown names.
    let unknown_names = if by_key {
        Vec::new()
    } else {
        unknown_names(memory, view, text, &words, &spelling, &found.hits, &is_visible)?
    };
    let best_note = best.filter(|_| !by_key).map(|id| memory.store.node(id)).transpose()?.flatten();
    let missing_subjects = best_note.map(|note| missing_subjects(text, &words, &note)).unwrap_or_default();
    let found = found.hits;
    Ok(Certainty { signals, best, found, unknown_names, missing_subjects, by_key, has_all_words })
}

/// The highest cosine of any note with the query. A note that others represent counts only if the best note is one of
/// them: the verdict is about that note.
fn cosine(view: &View, found: &Retrieval, best: Option<NodeId>, is_visible: &dyn Fn(NodeId) -> bool) -> f64 {
    let is_hit = |id: NodeId| found.hits.iter().any(|hit| hit.id == id);
    let hidden = found.nearest.filter(|&id| !is_hit(id)).and_then(|id| view.find(id));
    if let Some(ix) = hidden {
        let sources = view.ancestors(ix, &|ix| view.id(ix).is_some_and(is_visible));
        if !sources.is_empty() && !sources.iter().any(|(source, _)| view.id(*source) == best) {
            let cosines = found.hits.iter().filter_map(|hit| hit.near).map(|near| near.cosine);
            return cosines.reduce(f64::max).unwrap_or(0.0);
        }
    }
    found.cosine.unwrap_or(0.0)
}

/// The names of a query if a note contains none of them, likewise the numbers, then what else the subjects of the query
/// and of the note differ in ([`QueryTerms::differing_subjects`]). A note often answers a part of a question, so one
/// name is enough. A note rarely contains its own author and date, so these count as contained: the author, the source,
/// and year, month and day of the creation, of the last change and of the days in the names of the note.
fn missing_subjects(text: &str, words: &QueryTerms<'_>, note: &Node) -> Vec<String> {
    let lines = |names: &[&String]| names.iter().map(|name| format!("\n{name}")).collect::<String>();
    let names: Vec<&String> = [&note.key].into_iter().chain(&note.aliases).chain(&note.other_names).collect();
    let attributes: Vec<&String> =
        note.keywords.iter().chain(note.author.as_ref()).chain(note.source.as_ref()).collect();
    let (names, attributes) = (lines(&names), lines(&attributes));
    let named_days = CalendarDay::in_text(&names).into_iter().filter_map(|(_, day)| day.start());
    let mut dates = String::new();
    for at in [note.created, note.modified].into_iter().chain(named_days).filter_map(Timestamp::utc) {
        dates.push_str(&at.format("\n%Y-%m-%d %-m %-d %A %B").to_string());
    }
    let compared = ComparedNote {
        title: note.own_title().unwrap_or_default(),
        body: &note.body,
        names: &names,
        attributes: &attributes,
        dates: &dates,
    };
    let differing = words.differing_subjects(text, &compared);
    let known_words = MentionIndex::folded_words(&[note.text(), names, attributes, dates].concat());
    let has_digit = |word: &String| word.chars().any(|c| c.is_ascii_digit());
    let (mut numbers, mut names): (Vec<String>, Vec<String>) =
        MentionIndex::names_and_numbers(text).into_iter().partition(has_digit);
    for wanted in [&mut names, &mut numbers] {
        if wanted.iter().any(|word| known_words.contains(word)) {
            wanted.clear();
        }
    }
    names.append(&mut numbers);
    names.extend(differing.compounds_and_dates);
    // The owner and the words in a place are often a part of what was found before, such as `mail` of `mail worker`.
    if names.is_empty() {
        names.extend(differing.owner_or_place);
    }
    names
}

/// The names of a query that occur in no note: not in a text, key or keyword, and not as the author of a hit.
/// Keys in the query count as known in the form `spelling`.
fn unknown_names(
    memory: &Memory,
    view: &View,
    text: &str,
    words: &QueryTerms<'_>,
    spelling: &str,
    found: &[RetrievalHit],
    is_visible: &dyn Fn(NodeId) -> bool,
) -> Result<Vec<String>> {
    let is_key = |name: &str| !key::notes_named(view, name, is_visible).is_empty();
    let mut unknown: Vec<String> = words.missing_names(&is_visible, &is_key).map(str::to_owned).collect();
    let mut capitalized = MentionIndex::capitalized_names(text);
    capitalized.extend(MentionIndex::acronyms(text));
    if capitalized.is_empty() {
        return Ok(unknown);
    }
    let mut also = spelling.to_owned();
    for hit in found.iter().take(memory.config.query.pool) {
        let author = memory.store.node(hit.id)?.and_then(|node| node.author).unwrap_or_default();
        also = format!("{also} {author}");
    }
    let also = words.terms_of(&also);
    for word in capitalized {
        let is_known = words.is_indexed(&word, &also, is_visible) || view.keyword_number(&word).is_some();
        if !is_known && !is_key(&word) && unknown.iter().all(|name| !name.contains(&word)) {
            unknown.push(word);
        }
    }
    Ok(unknown)
}

/// The thresholds for the embedder or the cross-encoder in use.
///
/// # Errors
/// `invalid_config` if there are none for the embedder.
pub(crate) fn thresholds(memory: &Memory) -> Result<&GateConfig> {
    if let Some(reranker) = &memory.reranker {
        return Ok(&reranker.config().gate);
    }
    let kind = &memory.config.embedder.kind;
    memory.config.query.gate(kind).ok_or_else(|| {
        Error::config(format!("there is no gate for the embedder `{kind}`"))
            .hint("add a section `[query.gates.default]`")
            .field("query.gates")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn missing_subjects_never_raise_a_verdict(
            coverage in 0.0..1.0f64,
            cosine in -1.0..1.0f64,
            strong in 0.0..3.0f64,
            weak in 0.0..3.0f64,
            has_best in any::<bool>(),
            by_key in any::<bool>(),
            has_all_words in any::<bool>(),
        ) {
            let without = Certainty {
                signals: CertaintySignals::of(coverage, cosine, 2.0),
                found: Vec::new(),
                best: has_best.then(|| NodeId::from_bytes([1; 16])),
                unknown_names: Vec::new(),
                missing_subjects: Vec::new(),
                by_key,
                has_all_words,
            };
            let with = Certainty { missing_subjects: vec!["ferry".to_owned()], ..without.clone() };
            let gate = GateConfig { strong, weak };
            let ((with, reason), (without, _)) = (with.verdict(&gate), without.verdict(&gate));
            prop_assert!(with <= without);
            prop_assert!(with < Verdict::Strong || reason == GateReason::Key);
        }
    }
}
