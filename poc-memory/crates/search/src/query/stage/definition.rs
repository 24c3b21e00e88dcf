//! The definition of a stage: its word, parameters, documentation and implementation.

use crate::query::arguments::Arguments;
use crate::query::context::QueryContext;
use crate::query::example::Example;
use crate::query::field::Field;
use crate::query::param::{Param, ParamPosition, ParamType, signature};
use crate::query::scan::{Filter, Order, Scan};
use crate::query::set::{ResultSet, ScoredNode};
use crate::query::value::FieldComparison;
use poc_graph::State;
use poc_graph::error::Result;
use std::ops::Range;

/// The definition of one stage of the language.
#[derive(Clone, Debug)]
pub struct StageDef {
    /// The word of the stage, such as `limit`.
    pub word: &'static str,
    /// The parameters of the stage, in the order in which they are written.
    pub params: &'static [Param],
    /// What the stage does, in one sentence.
    pub doc: &'static str,
    /// Details for the manual, in Markdown. For an algorithm they include its formula and published source. May be
    /// empty.
    pub more: &'static str,
    /// A pipeline that uses the stage, and the keys it returns for the sample notes of the manual.
    pub example: Example,
    /// Describes one use of the stage. For a filter, it describes the nodes that it selects, as in `of type `daily``.
    pub(in crate::query) describe: fn(&Arguments) -> String,
    /// The implementation.
    pub(in crate::query) implementation: StageImplementation,
    /// Properties that are known without running the stage.
    pub(in crate::query) hints: Hints,
}

/// The kind of a stage, by its input and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// Produces a set without any input. It can only be the first stage.
    Generator,
    /// Keeps some of the items, with their order and scores.
    Filter,
    /// Reorders or truncates the set, and keeps the scores.
    Transform,
    /// Produces a new scored set from the incoming one, best first.
    Algorithm,
}

impl StageKind {
    /// The name of the kind, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            StageKind::Generator => "generator",
            StageKind::Filter => "filter",
            StageKind::Transform => "transform",
            StageKind::Algorithm => "algorithm",
        }
    }
}

/// Computes a new set from the items. Only the given number of its first nodes must be in order.
pub(in crate::query) type Algorithm =
    fn(&Arguments, &QueryContext<'_>, &[ScoredNode], usize) -> Result<Vec<ScoredNode>>;

/// The implementation of a stage.
#[derive(Clone, Copy, Debug)]
pub(in crate::query) enum StageImplementation {
    /// Produces a set block by block, so that the filters directly after it can run in the same pass.
    Scan(for<'a> fn(&'a QueryContext<'a>) -> Box<dyn Scan + 'a>),
    /// Produces a set at once.
    Generate(fn(&Arguments, &QueryContext<'_>) -> Result<ResultSet>),
    /// Resolves the arguments once and returns the filter.
    Filter(for<'a> fn(&'a Arguments, &'a QueryContext<'a>) -> Result<Box<dyn Filter + 'a>>),
    /// Compares a field with the argument of the stage.
    FieldComparison(&'static Field),
    /// Returns the field and the direction to sort by.
    Sort(for<'a> fn(&'a Arguments, &'a QueryContext<'a>) -> Result<Order<'a>>),
    /// Orders the items. Only the first `wanted` matter; the others may be dropped.
    Order(fn(&Arguments, &QueryContext<'_>, &mut Vec<ScoredNode>, wanted: usize) -> Result<()>),
    /// Returns the range of positions to keep, for a set of the given length.
    Cut(fn(&Arguments, usize) -> Range<usize>),
    /// Computes a new set from the incoming one.
    Algorithm(Algorithm),
}

/// Properties of a stage that are known without running it.
#[derive(Clone, Copy, Debug)]
pub(in crate::query) struct Hints {
    /// The data that the stage reads.
    pub(in crate::query) cost: Cost,
    /// For a filter by an agent's visits, with the parameters `AGENT[,DURATION]`: `true` if it keeps the visited nodes,
    /// and `false` if it keeps the others.
    pub(in crate::query) keeps_visited: Option<bool>,
    /// For a filter by a keyword: the keyword, in the form in which keywords are stored.
    pub(in crate::query) keyword: Option<fn(&Arguments) -> Result<String>>,
    /// For a filter by state: the state that the scan must return in addition.
    pub(in crate::query) widens_to: Option<fn(&Arguments) -> Option<State>>,
    /// For a filter: whether it asks for derived notes, such as facts. A search before it then lists them beside their
    /// sources.
    pub(in crate::query) asks_for_derived: Option<fn(&Arguments) -> bool>,
    /// Whether a node that is not stored yet passes this filter.
    pub(in crate::query) passes: Option<fn(&Arguments, &NewNode<'_>) -> bool>,
    /// Whether search terms without a stage become the text of this generator. It is true for exactly one stage.
    pub(in crate::query) takes_free_terms: bool,
    /// Whether the result of this generator has pairs.
    pub(in crate::query) finds_pairs: bool,
}

impl Hints {
    /// The defaults: the stage reads columns and has no other known property.
    pub(in crate::query) const NONE: Hints = Hints {
        cost: Cost::Columns,
        keeps_visited: None,
        keyword: None,
        widens_to: None,
        asks_for_derived: None,
        passes: None,
        takes_free_terms: false,
        finds_pairs: false,
    };
}

/// The data that a filter or a transform reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum Cost {
    /// Columns of the view, which is always cheap.
    Columns,
    /// An index, or data derived from the whole graph.
    Derived,
}

/// The known properties of a node that is not stored yet.
#[derive(Clone, Copy, Debug)]
pub(in crate::query) struct NewNode<'a> {
    /// The node type.
    pub(in crate::query) node_type: &'a str,
    /// The provenance, such as `agent:linker`.
    pub(in crate::query) provenance: &'a str,
    /// The maximum length of the text in characters.
    pub(in crate::query) most_chars: usize,
}

impl StageDef {
    /// The kind of the stage.
    pub fn kind(&self) -> StageKind {
        match self.implementation {
            StageImplementation::Scan(_) | StageImplementation::Generate(_) => StageKind::Generator,
            StageImplementation::Filter(_) | StageImplementation::FieldComparison(_) => StageKind::Filter,
            StageImplementation::Sort(_) | StageImplementation::Order(_) | StageImplementation::Cut(_) => {
                StageKind::Transform
            }
            StageImplementation::Algorithm(_) => StageKind::Algorithm,
        }
    }

    /// For a generator that searches for a text: the parameter for the text.
    pub(in crate::query) fn text_param(&self) -> Option<&Param> {
        let mut params = self.params.iter();
        params
            .find(|param| param.position == ParamPosition::Colon && param.value_type == ParamType::Text)
            .filter(|_| self.kind() == StageKind::Generator)
    }

    /// The first parameter that is written after a `:`.
    pub(in crate::query) fn colon_param(&self) -> Option<&'static Param> {
        self.params.iter().find(|param| param.position == ParamPosition::Colon)
    }

    /// The parameter that is written as `NAME=value`.
    pub(in crate::query) fn named(&self, name: &str) -> Option<&'static Param> {
        self.params.iter().find(|param| param.position == ParamPosition::Named && param.name == name)
    }

    /// The syntax of the stage, with its defaults.
    pub fn signature(&self) -> String {
        signature(self.word, self.params)
    }

    /// Whether the stage scans the columns.
    pub(in crate::query) fn is_scan(&self) -> bool {
        matches!(self.implementation, StageImplementation::Scan(_))
    }

    /// Whether the stage keeps a limited number of nodes, whatever the length of the set.
    pub(in crate::query) fn is_limit(&self, arguments: &Arguments) -> bool {
        let StageImplementation::Cut(cut) = self.implementation else { return false };
        cut(arguments, usize::MAX).end < usize::MAX
    }

    /// Whether the stage sorts by a field.
    pub(in crate::query) fn is_sort(&self) -> bool {
        matches!(self.implementation, StageImplementation::Sort(_))
    }

    /// The state that the scan must return because of this filter.
    pub(in crate::query) fn widens_to(&self, arguments: &Arguments) -> Option<State> {
        self.hints.widens_to.and_then(|widens_to| widens_to(arguments))
    }

    /// Whether the filter asks for derived notes.
    pub(in crate::query) fn asks_for_derived(&self, arguments: &Arguments) -> bool {
        self.hints.asks_for_derived.is_some_and(|asks| asks(arguments))
    }

    /// Whether a node that is not stored yet passes this filter; `None` if that is unknown.
    pub(in crate::query) fn passes(&self, arguments: &Arguments, node: &NewNode<'_>) -> Option<bool> {
        match self.implementation {
            // The text may be shorter than the maximum, so only a failure is certain.
            StageImplementation::FieldComparison(field) if field.is_text_len => {
                let may_pass = |compare: FieldComparison| compare.can_hold_up_to(node.most_chars as f64);
                if arguments.compare("CMP").is_ok_and(may_pass) { None } else { Some(false) }
            }
            _ => self.hints.passes.map(|passes| passes(arguments, node)),
        }
    }
}
