//! What a stage is: its word, its parameters, its documentation, and how it works.

use crate::query::arguments::Arguments;
use crate::query::context::Ctx;
use crate::query::example::Example;
use crate::query::field::Field;
use crate::query::param::{Param, Place, Takes, signature};
use crate::query::scan::{Filter, Order, Scan};
use crate::query::set::{ResultSet, Scored};
use crate::query::value::Compare;
use poc_graph::State;
use poc_graph::error::Result;
use std::ops::Range;

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
    pub(in crate::query) does: fn(&Arguments) -> String,
    /// How it does it.
    pub(in crate::query) work: Work,
    /// What is known of it without running it.
    pub(in crate::query) hints: Hints,
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
pub(in crate::query) enum Work {
    /// Produces a set block by block, so that filters right behind it can join the pass.
    Scan(for<'a> fn(&'a Ctx<'a>) -> Box<dyn Scan + 'a>),
    /// Produces a set.
    Generate(fn(&Arguments, &Ctx<'_>) -> Result<ResultSet>),
    /// Resolves names once and gives the test.
    Filter(for<'a> fn(&'a Arguments, &'a Ctx<'a>) -> Result<Box<dyn Filter + 'a>>),
    /// Compares a field.
    Compare(&'static Field),
    /// Finds what the items are ordered by, and which way.
    Sort(for<'a> fn(&'a Arguments, &'a Ctx<'a>) -> Result<Order<'a>>),
    /// Puts the items in order. Only the first `wanted` matter: it may drop the others.
    Order(fn(&Arguments, &Ctx<'_>, &mut Vec<Scored>, wanted: usize) -> Result<()>),
    /// Which of so many items stay.
    Cut(fn(&Arguments, usize) -> Range<usize>),
    /// Makes a new set from the items.
    Algorithm(fn(&Arguments, &Ctx<'_>, &[Scored]) -> Result<Vec<Scored>>),
}

/// What is known of a stage without running it.
#[derive(Clone, Copy, Debug)]
pub(in crate::query) struct Hints {
    /// What it reads.
    pub(in crate::query) cost: Cost,
    /// For a filter by the visits of an agent, whose parameters are `AGENT[,DURATION]`: whether it keeps the
    /// nodes that the agent has visited, or the others.
    pub(in crate::query) keeps_visited: Option<bool>,
    /// A further state that the scan gives because of this filter.
    pub(in crate::query) widens_to: Option<fn(&Arguments) -> Option<State>>,
    /// Whether a node that is not stored yet passes this filter.
    pub(in crate::query) passes: Option<fn(&Arguments, &NewNode<'_>) -> bool>,
}

impl Hints {
    /// Nothing but that it reads columns, as most filters and transforms do.
    pub(in crate::query) const NONE: Hints =
        Hints { cost: Cost::Columns, keeps_visited: None, widens_to: None, passes: None };
}

/// What a filter or a transform reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum Cost {
    /// Columns of the view: cheap at any time.
    Columns,
    /// An index, or something that is derived from the whole graph.
    Derived,
}

/// A node that is not stored yet, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(in crate::query) struct NewNode<'a> {
    /// Its type.
    pub(in crate::query) node_type: &'a str,
    /// Who makes it.
    pub(in crate::query) provenance: &'a str,
    /// Characters its text has at most.
    pub(in crate::query) most_chars: usize,
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

    /// Whether it reads the columns from one end to the other.
    pub(in crate::query) fn is_scan(&self) -> bool {
        matches!(self.work, Work::Scan(_))
    }

    /// Whether it puts the items in order by a field.
    pub(in crate::query) fn is_sort(&self) -> bool {
        matches!(self.work, Work::Sort(_))
    }

    /// A further state that the scan gives because of this filter.
    pub(in crate::query) fn widens_to(&self, arguments: &Arguments) -> Option<State> {
        self.hints.widens_to.and_then(|widens_to| widens_to(arguments))
    }

    /// Whether a node that is not stored yet passes this filter; `None` where that is not known.
    pub(in crate::query) fn passes(&self, arguments: &Arguments, node: &NewNode<'_>) -> Option<bool> {
        match self.work {
            // The text may be shorter, so only that it is too short is known.
            Work::Compare(field) if field.is_text_len => {
                let may_pass = |compare: Compare| compare.holds_up_to(node.most_chars as f64);
                if arguments.compare("CMP").is_ok_and(may_pass) { None } else { Some(false) }
            }
            _ => self.hints.passes.map(|passes| passes(arguments, node)),
        }
    }
}
