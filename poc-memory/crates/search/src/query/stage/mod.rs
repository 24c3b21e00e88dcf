//! The stages of the language: one table, and one file for each stage. The comparisons of fields
//! (`weight:>0.5`) are generated from the table of fields.

mod all;
mod category;
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
mod project;
mod provenance;
mod seeds;
mod similar;
mod sort;
mod spectral;
mod spread;
mod state;
mod visited;

pub use definition::{StageDef, StageKind};
pub use generated_key::{is_generated, is_id};

use super::field::{FIELDS, Field, Unit};
use super::param::{Param, ParamPosition, ParamType, Presence};
use super::value::FieldComparison;
use definition::{Hints, StageImplementation};
use std::sync::LazyLock;

/// All stages that have a file of their own, in the order of the help.
pub const STAGES: &[StageDef] = &[
    all::STAGE,
    match_terms::STAGE,
    similar::STAGE,
    hybrid::STAGE,
    neighbors::STAGE,
    interference_pairs::STAGE,
    node_type::STAGE,
    category::STAGE,
    key::STAGE,
    generated_key::STAGE,
    keyword::STAGE,
    project::STAGE,
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

/// The filter `FIELD:CMP` for a field; `None` if the field has no filter.
fn comparison(field: &'static Field) -> Option<StageDef> {
    const fn compared(value_type: ParamType) -> Param {
        let doc = "what the value is compared with";
        Param { name: "CMP", position: ParamPosition::Colon, value_type, presence: Presence::Required, doc }
    }
    const NUMBER: &[Param] = &[compared(ParamType::CompareNumber)];
    const DURATION: &[Param] = &[compared(ParamType::CompareDuration)];
    const INSTANT: &[Param] = &[compared(ParamType::CompareInstant)];
    Some(StageDef {
        word: field.word,
        params: match field.unit {
            Unit::Age => DURATION,
            Unit::Instant => INSTANT,
            Unit::Characters | Unit::Neighbors | Unit::Number | Unit::Hundredths => NUMBER,
        },
        doc: field.doc,
        more: "",
        example: field.filter?,
        describe: |call| match call.compare("CMP") {
            Ok(compare) => format!("whose {} is {}", call.word, spaced(&compare)),
            Err(_) => String::new(),
        },
        implementation: StageImplementation::FieldComparison(field),
        hints: Hints::NONE,
    })
}

/// A comparison with a space after its sign: `> 0.5` for `>0.5`, `= 7` for `7`.
fn spaced(compare: &FieldComparison) -> String {
    let text = compare.to_string();
    match text.find(|char: char| char.is_ascii_digit()) {
        Some(0) | None => format!("= {text}"),
        Some(at) => format!("{} {}", text.get(..at).unwrap_or(""), text.get(at..).unwrap_or("")),
    }
}

static VOCABULARY: LazyLock<Vec<StageDef>> = LazyLock::new(|| {
    let (algorithms, others): (Vec<StageDef>, Vec<StageDef>) =
        STAGES.iter().cloned().partition(|stage| stage.kind() == StageKind::Algorithm);
    let comparisons = FIELDS.iter().filter_map(comparison);
    algorithms.into_iter().chain(others).chain(comparisons).collect()
});

/// All stages of the language: algorithms first, then the other stages, then the comparisons of fields.
pub fn vocabulary() -> &'static [StageDef] {
    &VOCABULARY
}

/// The generator of a pipeline that has none.
pub(in crate::query) fn implicit_generator() -> &'static StageDef {
    static IMPLICIT: StageDef = all::STAGE;
    &IMPLICIT
}

/// The generator that takes search terms without a stage as its text.
pub(in crate::query) fn for_free_terms() -> Option<&'static StageDef> {
    vocabulary().iter().find(|stage| stage.hints.takes_free_terms)
}

/// Looks up a stage by its word.
pub(in crate::query) fn find(word: &str) -> Option<&'static StageDef> {
    vocabulary().iter().find(|stage| stage.word == word)
}
