//! Names that two notes have in common, as reasons to relate them.

use super::generic_term::{is_generic, is_option_in};
use super::own_text::{Segment, distinct, segments};
use crate::rare_words::{self, RARE_NOTES};
use poc_config::ScoreFusionConfig;
use poc_graph::Node;
use poc_index::TextIndex;
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
/// Parts of identifiers among them are no names of their own, and neither are options that both notes only use. Names
/// made of the terms in `known` are left out.
pub(super) fn between(
    text: &TextIndex,
    one: &Node,
    other: &Node,
    names: &[String],
    known: &BTreeSet<String>,
) -> Vec<SharedName> {
    let (first, second) = (segments(&one.body), segments(&other.body));
    let terms_of = |own: Vec<Segment<'_>>| -> Vec<Vec<String>> {
        own.iter().map(|segment| text.tokens(segment.text)).collect()
    };
    let own = terms_of(distinct(first, &[second.as_slice()]));
    let theirs = terms_of(distinct(second, &[segments(&one.body).as_slice()]));
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
    shared
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
