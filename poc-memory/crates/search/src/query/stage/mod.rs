//! The words of the language: one table, one file a word where a word has an algorithm or
//! arguments of its own. Comparisons of a field (`weight:>0.5`) come from the table of fields.

mod all;
mod community;
mod confluence;
pub(super) mod definition;
mod diverse;
mod generated_key;
mod geodesic;
mod hybrid;
mod interference_pairs;
mod key;
mod keyword;
mod limit;
mod linked_to;
mod manifold;
mod match_terms;
mod neighbors;
mod node_type;
mod not_visited;
mod offset;
mod provenance;
mod seeds;
mod similar;
mod sort;
mod spectral;
mod spread;
mod state;
mod visited;

pub use definition::{Kind, StageDef};
pub use generated_key::{is_generated, is_id};

use super::field::{FIELDS, Field};
use super::param::{Absent, Param, Place, Takes};
use super::value::Compare;
use definition::{Hints, Work};
use std::sync::LazyLock;

/// Every word with a file of its own, in the order help lists them.
pub const STAGES: &[StageDef] = &[
    all::STAGE,
    match_terms::STAGE,
    similar::STAGE,
    hybrid::STAGE,
    neighbors::STAGE,
    interference_pairs::STAGE,
    node_type::STAGE,
    key::STAGE,
    generated_key::STAGE,
    keyword::STAGE,
    provenance::STAGE,
    state::STAGE,
    not_visited::STAGE,
    visited::STAGE,
    community::STAGE,
    linked_to::STAGE,
    sort::STAGE,
    limit::STAGE,
    offset::STAGE,
    diverse::STAGE,
    spread::STAGE,
    confluence::STAGE,
    spectral::STAGE,
    geodesic::STAGE,
    manifold::STAGE,
];

/// The filter `FIELD:CMP` of a field that has one.
fn comparison(field: &'static Field) -> Option<StageDef> {
    const fn compared(takes: Takes) -> Param {
        let doc = "what the value is compared with";
        Param { name: "CMP", place: Place::Colon, takes, absent: Absent::Error, doc }
    }
    const NUMBER: &[Param] = &[compared(Takes::CompareNumber)];
    const DURATION: &[Param] = &[compared(Takes::CompareDuration)];
    Some(StageDef {
        word: field.word,
        params: if field.unit.is_time() { DURATION } else { NUMBER },
        doc: field.doc,
        more: "",
        example: field.filter?,
        does: |call| match call.compare("CMP") {
            Ok(compare) => format!("whose {} is {}", call.word, in_words(&compare)),
            Err(_) => String::new(),
        },
        work: Work::Compare(field),
        hints: Hints::NONE,
    })
}

/// `> 0.5` for `>0.5`, `= 7` for `7`.
fn in_words(compare: &Compare) -> String {
    let text = compare.to_string();
    match text.find(|char: char| char.is_ascii_digit()) {
        Some(0) | None => format!("= {text}"),
        Some(at) => format!("{} {}", text.get(..at).unwrap_or(""), text.get(at..).unwrap_or("")),
    }
}

static VOCABULARY: LazyLock<Vec<StageDef>> = LazyLock::new(|| {
    let (algorithms, others): (Vec<StageDef>, Vec<StageDef>) =
        STAGES.iter().cloned().partition(|stage| stage.kind() == Kind::Algorithm);
    let comparisons = FIELDS.iter().filter_map(comparison);
    algorithms.into_iter().chain(others).chain(comparisons).collect()
});

/// Every word of the language: algorithms, the other stages, comparisons of fields.
pub fn vocabulary() -> &'static [StageDef] {
    &VOCABULARY
}

/// The generator that a pipeline starts with when none is written.
pub(in crate::query) fn implied() -> &'static StageDef {
    static IMPLIED: StageDef = all::STAGE;
    &IMPLIED
}

/// The stage with a word.
pub(in crate::query) fn find(word: &str) -> Option<&'static StageDef> {
    vocabulary().iter().find(|stage| stage.word == word)
}
