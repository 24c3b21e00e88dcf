//! Names that two notes have in common, as reasons to relate them.

use super::generic_term::{is_generic, is_option_in};
use super::honorifics::is_honorific;
use super::own_text::{Segment, distinct, segments};
use crate::rare_words::{self, RARE_NOTES};
use poc_config::ScoreFusionConfig;
use poc_graph::Node;
use poc_graph::time::calendar_names::is_day_or_month;
use poc_index::{MentionIndex, TextIndex, without_possessive};
use poc_rank::lookalike::is_identifier;
use std::cell::LazyCell;
use std::collections::BTreeSet;

/// Minimum characters of an identifier. Shorter ones are often versions, sizes or quarters: `v2`, `A4`, `Q3`.
const IDENTIFIER_CHARS: usize = 5;

/// Maximum number of notes that contain a name for it to be a reason for a link, in a memory with `notes` notes. It is
/// never more than the limit of the permit layer, which would refuse the link otherwise.
pub(super) fn rare(notes: usize, config: &ScoreFusionConfig) -> usize {
    (notes.isqrt() / 2).max(RARE_NOTES).min(rare_words::limit(notes, config))
}

/// An identifier, or a name of one word or several.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SharedName {
    /// In lower case without accents.
    pub(super) name: String,
    /// The terms of its words.
    terms: BTreeSet<String>,
    /// Number of notes with the rarest of its words.
    pub(super) notes: usize,
    /// Whether it alone names one particular thing: an identifier, or a name of several words.
    pub(super) is_specific: bool,
}

/// The shared names of a pair of notes among the `names` that both contain, outside of what they repeat word by word.
/// Parts of identifiers among them are no names of their own, and neither are options that both notes only use, honorifics
/// without a name, and words that are parts of different names. Names made of the terms in `known` are left out.
pub(super) fn between(
    text: &TextIndex,
    one: &Node,
    other: &Node,
    names: &[String],
    known: &BTreeSet<String>,
) -> Vec<SharedName> {
    let (first, second) = (segments(&one.body), segments(&other.body));
    let own_segments = distinct(first, &[second.as_slice()]);
    let their_segments = distinct(second, &[segments(&one.body).as_slice()]);
    let terms_of = |own: &[Segment<'_>]| -> Vec<Vec<String>> {
        own.iter().map(|segment| text.tokens(segment.text)).collect()
    };
    let (own, theirs) = (terms_of(&own_segments), terms_of(&their_segments));
    let contains = |all: &[Vec<String>], term: &String| all.iter().any(|segment| segment.contains(term));
    let term_of = |name: &String| text.tokens(name).into_iter().next();
    let named = names.iter().filter_map(|name| Some((name, term_of(name)?)));
    let found: Vec<(&String, String)> =
        named.filter(|(_, term)| contains(&own, term) && contains(&theirs, term)).collect();
    // The terms of an identifier are the whole, followed by its parts.
    let parts: BTreeSet<String> =
        found.iter().flat_map(|(name, _)| text.tokens(name).into_iter().skip(1)).collect();
    let is_known = |name: &String, term: &String| {
        let parts: Vec<String> = text.tokens(name).into_iter().skip(1).collect();
        known.contains(term) || !parts.is_empty() && parts.iter().all(|part| known.contains(part))
    };
    // Once for all names, because a body may be long.
    let folded = LazyCell::new(|| [&one.body, &other.body].map(|body| body.to_lowercase()));
    let is_option = |name: &str| folded.iter().all(|text| is_option_in(text, name));
    let mut shared: Vec<SharedName> = Vec::new();
    for (name, term) in found {
        if parts.contains(&term) || is_generic(name) || is_known(name, &term) || is_option(name) {
            continue;
        }
        let has_letters = name.chars().any(char::is_alphabetic);
        shared.push(SharedName {
            name: name.clone(),
            notes: text.frequency(&term).max(1),
            is_specific: has_letters && is_identifier(name) && name.chars().count() >= IDENTIFIER_CHARS,
            terms: BTreeSet::from([term]),
        });
    }
    join_adjacent(&mut shared, &own, &theirs);
    shared.retain(|name| {
        let beside = |segments: &[Segment<'_>], terms: &[Vec<String>]| {
            words_beside(text, segments, terms, &name.terms)
        };
        let differ = || {
            let (own, theirs) = (beside(&own_segments, &own), beside(&their_segments, &theirs));
            own.zip(theirs).is_some_and(|(own, theirs)| own.is_disjoint(&theirs))
        };
        name.is_specific || !is_honorific(&name.name) && !differ()
    });
    shared
}

/// The words directly before and after a name that form a longer name with it, folded: `shop` for `museum` in `the Museum
/// Shop`. `None` if the name occurs alone, in one place or in all. `terms` has the terms of each segment.
fn words_beside(
    text: &TextIndex,
    segments: &[Segment<'_>],
    terms: &[Vec<String>],
    name: &BTreeSet<String>,
) -> Option<BTreeSet<String>> {
    let is_name = |word: &str| text.tokens(word).first().is_some_and(|term| name.contains(term));
    let mut all = BTreeSet::new();
    for (segment, _) in
        segments.iter().zip(terms).filter(|(_, terms)| terms.iter().any(|term| name.contains(term)))
    {
        let words: Vec<&str> = segment.text.split_whitespace().collect();
        for (at, word) in words.iter().enumerate().filter(|(_, word)| is_name(word)) {
            // `Ann's Garden` is no longer name of Ann.
            let is_joined = |one: &str, next: &str| {
                one.ends_with(char::is_alphanumeric)
                    && without_possessive(one) == one
                    && next.starts_with(char::is_uppercase)
            };
            // The first word of a sentence has a capital even if it is no name.
            let before = at.checked_sub(1).filter(|before| *before > 0).and_then(|before| words.get(before));
            let before =
                before.filter(|before| before.starts_with(char::is_uppercase) && is_joined(before, word));
            let after = words.get(at + 1).filter(|after| is_joined(word, after));
            let beside = before.into_iter().chain(after).flat_map(|word| MentionIndex::folded_words(word));
            let mut names = beside.filter(|word| !is_honorific(word) && !is_day_or_month(word)).peekable();
            names.peek()?;
            all.extend(names);
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Joins names that follow each other in both notes, such as first and last name.
fn join_adjacent(names: &mut Vec<SharedName>, own: &[Vec<String>], theirs: &[Vec<String>]) {
    let follow = |all: &[Vec<String>], a: &str, b: &str| {
        all.iter().any(|segment| segment.windows(2).any(|pair| pair == [a, b]))
    };
    let mut joined: Vec<SharedName> = Vec::new();
    for name in std::mem::take(names) {
        let precedes = |first: &SharedName, second: &SharedName| {
            first
                .terms
                .iter()
                .any(|a| second.terms.iter().any(|b| a != b && follow(own, a, b) && follow(theirs, a, b)))
        };
        let beside = joined.iter_mut().find(|other| precedes(&name, other) || precedes(other, &name));
        let Some(other) = beside else {
            joined.push(name);
            continue;
        };
        other.name = match precedes(&name, other) {
            true => format!("{} {}", name.name, other.name),
            false => format!("{} {}", other.name, name.name),
        };
        other.terms.extend(name.terms);
        other.notes = other.notes.min(name.notes);
        other.is_specific = true;
    }
    *names = joined;
}
