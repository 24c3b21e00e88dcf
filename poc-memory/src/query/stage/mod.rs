//! The words of the language: one table, one file a word where a word has an algorithm or
//! arguments of its own. Comparisons of a field (`weight:>0.5`) come from the table of fields.

mod all;
mod community;
mod confluence;
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
pub(super) use provenance::goes_by;
mod seeds;
mod similar;
mod sort;
mod spectral;
mod spread;
mod state;
mod visited;

pub use generated_key::{is_generated, is_id};

use super::ast::Call;
use super::field::{self, Field};
use super::param::{Absent, Param, Place, Takes, signature};
use super::pass::Order;
use super::plan::Ctx;
use super::scan::{Filter, Scan};
use super::{ResultSet, Scored};
use crate::error::Result;
use std::ops::Range;
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

/// A word of the language.
#[derive(Clone, Debug)]
pub struct StageDef {
    /// The word.
    pub word: &'static str,
    /// Its parameters, in the order they are written.
    pub params: &'static [Param],
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// What the manual says beyond that, in Markdown: of an algorithm its formula and published
    /// source; may be empty.
    pub more: &'static str,
    /// A pipeline that uses it, and the keys that come out over the sample notes of the manual.
    pub example: Example,
    /// What one use of it does, in words. For a filter: which nodes it is about, as in `of type
    /// `daily``.
    pub(super) does: fn(&Call) -> String,
    /// How it does it.
    pub(super) work: Work,
}

/// A pipeline with its answer.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The pipeline.
    pub pipeline: &'static str,
    /// Keys of the nodes that come out, in order.
    pub gives: &'static [&'static str],
}

/// What a stage takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ignores its input and produces a set; stands first.
    Generator,
    /// Keeps items, their order and their scores.
    Filter,
    /// Reorders or cuts, keeps scores.
    Transform,
    /// Makes a new scored set from the incoming one, best first.
    Algorithm,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Generator => "generator",
            Kind::Filter => "filter",
            Kind::Transform => "transform",
            Kind::Algorithm => "algorithm",
        }
    }
}

/// How a stage does its work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// Produces a set block by block, so that filters right behind it can join the pass.
    Scan(for<'a> fn(&'a Ctx<'a>) -> Box<dyn Scan + 'a>),
    /// Produces a set.
    Generate(fn(&Call, &Ctx<'_>) -> Result<ResultSet>),
    /// Resolves names once and gives the test.
    Filter(for<'a> fn(&'a Call, &'a Ctx<'a>) -> Result<Box<dyn Filter + 'a>>),
    /// Compares a field.
    Compare(&'static Field),
    /// Finds what the items are ordered by, and which way.
    Sort(for<'a> fn(&'a Call, &'a Ctx<'a>) -> Result<Order<'a>>),
    /// Puts the items in order. Only the first `wanted` matter: it may drop the others.
    Order(fn(&Call, &Ctx<'_>, &mut Vec<Scored>, wanted: usize) -> Result<()>),
    /// Which of so many items stay.
    Cut(fn(&Call, usize) -> Range<usize>),
    /// Makes a new set from the items.
    Algorithm(fn(&Call, &Ctx<'_>, &[Scored]) -> Result<Vec<Scored>>),
}

impl StageDef {
    /// What it takes and gives.
    pub fn kind(&self) -> Kind {
        match self.work {
            Work::Scan(_) | Work::Generate(_) => Kind::Generator,
            Work::Filter(_) | Work::Compare(_) => Kind::Filter,
            Work::Sort(_) | Work::Order(_) | Work::Cut(_) => Kind::Transform,
            Work::Algorithm(_) => Kind::Algorithm,
        }
    }

    /// The parameter that takes a text, of a generator that has one.
    pub(in crate::query) fn text(&self) -> Option<&Param> {
        let mut params = self.params.iter();
        params
            .find(|param| param.place == Place::Colon && param.takes == Takes::Text)
            .filter(|_| self.kind() == Kind::Generator)
    }

    /// How it is written, with its defaults.
    pub fn signature(&self) -> String {
        signature(self.word, self.params)
    }
}

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
            Ok(compare) => format!("whose {} is {}", call.def.word, in_words(&compare)),
            Err(_) => String::new(),
        },
        work: Work::Compare(field),
    })
}

/// `> 0.5` for `>0.5`, `= 7` for `7`.
fn in_words(compare: &super::value::Compare) -> String {
    let text = compare.to_string();
    match text.find(|char: char| char.is_ascii_digit()) {
        Some(0) | None => format!("= {text}"),
        Some(at) => format!("{} {}", text.get(..at).unwrap_or(""), text.get(at..).unwrap_or("")),
    }
}

static VOCABULARY: LazyLock<Vec<StageDef>> = LazyLock::new(|| {
    let (algorithms, others): (Vec<StageDef>, Vec<StageDef>) =
        STAGES.iter().cloned().partition(|stage| stage.kind() == Kind::Algorithm);
    let comparisons = field::FIELDS.iter().filter_map(comparison);
    algorithms.into_iter().chain(others).chain(comparisons).collect()
});

/// Every word of the language: algorithms, the other stages, comparisons of fields.
pub fn vocabulary() -> &'static [StageDef] {
    &VOCABULARY
}

/// The stage with a word.
pub(in crate::query) fn find(word: &str) -> Option<&'static StageDef> {
    vocabulary().iter().find(|stage| stage.word == word)
}
