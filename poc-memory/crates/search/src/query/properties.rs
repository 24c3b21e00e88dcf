//! Properties of a pipeline that are known without running it.

use super::ast::{Pipeline, StageCall};
use super::field::{Unit, sorted_by};
use super::stage;
use super::stage::definition::{Cost, NewNode, StageImplementation, StageKind};
use super::value::{Quantity, Relation};
use poc_graph::time::Span;
use std::fmt::Write;

impl Pipeline {
    /// The duration of the first `not-visited:AGENT[,DURATION]` stage for this agent. The outer `None` means that there
    /// is no such stage, and the inner `None` that it has no duration.
    pub fn not_visited(&self, agent: &str) -> Option<Option<Span>> {
        let keeps_unvisited = |call: &&StageCall| keeps_visited(call, agent) == Some(false);
        Some(self.calls.iter().find(keeps_unvisited)?.arguments.duration("DURATION"))
    }

    /// The agents of all filters by visits.
    pub fn visiting_agents(&self) -> impl Iterator<Item = String> {
        self.filters_by_visits().filter_map(|call| call.arguments.text("AGENT").ok())
    }

    /// The keywords of all filters by a keyword, in the form in which keywords are stored.
    pub fn keywords(&self) -> impl Iterator<Item = String> {
        self.calls.iter().filter_map(|call| (call.def.hints.keyword?)(&call.arguments).ok())
    }

    /// The ages with which its filters compare visits, each with the agent.
    pub fn visit_ages(&self) -> impl Iterator<Item = (String, Span)> {
        self.filters_by_visits().filter_map(|call| {
            let age = call.arguments.duration("DURATION")?;
            Some((call.arguments.text("AGENT").ok()?, age))
        })
    }

    fn filters_by_visits(&self) -> impl Iterator<Item = &StageCall> {
        self.calls.iter().filter(|call| call.def.hints.keeps_visited.is_some())
    }

    /// The ages with which its filters compare the times of notes.
    pub fn note_ages(&self) -> impl Iterator<Item = Span> {
        self.calls.iter().filter_map(note_age)
    }

    /// Its filters that keep only notes of exactly one age, such as `age:7d`, as text. Ages are exact to the millisecond,
    /// so hardly any note passes such a filter.
    pub fn exact_ages(&self) -> impl Iterator<Item = String> {
        let is_exact = |call: &&StageCall| {
            let compare = call.arguments.compare("CMP");
            !call.negated
                && note_age(call).is_some()
                && compare.is_ok_and(|compare| compare.relation == Relation::Equal)
        };
        self.calls.iter().filter(is_exact).map(ToString::to_string)
    }

    /// Whether the passing of time can change its result although no visit reaches one of
    /// [`visit_ages`](Self::visit_ages), no note reaches one of [`note_ages`](Self::note_ages), and none expires: for
    /// example because weights decay. It is assumed of stages that use an index or walk the graph.
    pub fn depends_on_clock(&self) -> bool {
        self.calls.iter().any(depends_on_clock)
    }

    /// The same pipeline without the filters by this agent's visits.
    pub fn without_visits_of(&self, agent: &str) -> Pipeline {
        let calls = self.calls.iter().filter(|call| keeps_visited(call, agent).is_none()).cloned().collect();
        Pipeline { calls, used: self.used.clone() }
    }

    /// The same pipeline without the limits after its last filter or algorithm. These limits determine which notes come
    /// first, not which notes the pipeline is about.
    pub fn without_final_limits(&self) -> Pipeline {
        let meant = self.last_choice();
        let calls = self.calls.iter().enumerate();
        let calls = calls.filter(|(at, call)| *at <= meant || !call.def.is_limit(&call.arguments));
        Pipeline { calls: calls.map(|(_, call)| call.clone()).collect(), used: self.used.clone() }
    }

    /// The same pipeline up to its last filter or algorithm. It returns every note that the pipeline is about, in
    /// another order.
    pub fn without_final_order(&self) -> Pipeline {
        let calls = self.calls.iter().take(self.last_choice() + 1).cloned().collect();
        Pipeline { calls, used: self.used.clone() }
    }

    /// The position of its last filter or algorithm; 0 if there is none.
    fn last_choice(&self) -> usize {
        let chooses = |call: &StageCall| matches!(call.def.kind(), StageKind::Filter | StageKind::Algorithm);
        self.calls.iter().rposition(chooses).unwrap_or(0)
    }

    /// Whether the pipeline consists only of a scan of the columns, sorts, cuts and filters, and is therefore always
    /// cheap. Other generators and algorithms search an index or walk the graph. `diverse` compares vectors, and
    /// `community` may have to compute the communities.
    pub fn is_scan(&self) -> bool {
        self.starts_with_scan()
            && self.calls.iter().skip(1).all(|call| {
                matches!(call.def.kind(), StageKind::Filter | StageKind::Transform)
                    && call.def.hints.cost == Cost::Columns
            })
    }

    /// Whether the result may contain a new node with this type and provenance and a text of at most `most_chars`
    /// characters. It is `true` unless these properties rule that out.
    pub fn may_return(&self, node_type: &str, provenance: &str, most_chars: usize) -> bool {
        let node = NewNode { node_type, provenance, most_chars };
        // The result of an algorithm does not depend on the filters before it.
        let algorithm = self.calls.iter().rposition(|call| call.def.kind() == StageKind::Algorithm);
        let after = self.calls.get(algorithm.map_or(0, |at| at + 1)..).unwrap_or(&[]);
        after.iter().all(|call| {
            let passes = call.def.passes(&call.arguments, &node);
            passes.is_none_or(|passes| passes != call.negated)
        })
    }

    /// The text of the pipeline for a place where only filters are expected: without a leading `all`.
    pub fn filters(&self) -> String {
        let from = usize::from(self.starts_with_scan() && self.calls.len() > 1);
        let mut text = String::new();
        for call in self.calls.iter().skip(from) {
            let separator = if text.is_empty() { "" } else { " | " };
            let _ = write!(text, "{separator}{call}");
        }
        text
    }

    /// Whether the pipeline consists only of filters over all nodes.
    pub fn only_filters(&self) -> bool {
        self.starts_with_scan() && self.calls.iter().skip(1).all(|call| call.def.kind() == StageKind::Filter)
    }

    /// Whether the pipeline only chooses among the notes of the plain search (`hybrid:`), orders them and cuts them.
    pub fn narrows_plain_search(&self) -> bool {
        let plain = stage::for_free_terms().map(|stage| stage.word);
        self.calls.first().is_some_and(|first| Some(first.def.word) == plain)
            && self.calls.iter().all(|call| call.def.kind() != StageKind::Algorithm)
    }

    /// Whether the pipeline begins with a search for pairs.
    pub fn finds_pairs(&self) -> bool {
        self.calls.first().is_some_and(|first| first.def.hints.finds_pairs)
    }

    fn starts_with_scan(&self) -> bool {
        self.calls.first().is_some_and(|first| first.def.is_scan())
    }
}

/// For a filter by this agent's visits: `true` if it keeps the visited nodes, and `false` if it keeps the others.
/// `None` for any other stage.
fn keeps_visited(call: &StageCall, agent: &str) -> Option<bool> {
    let keeps = call.def.hints.keeps_visited?;
    let is_agent = call.arguments.text("AGENT").is_ok_and(|named| named == agent);
    is_agent.then_some(keeps != call.negated)
}

/// The age with which a filter compares a time of the notes.
fn note_age(call: &StageCall) -> Option<Span> {
    let StageImplementation::FieldComparison(_) = call.def.implementation else { return None };
    match call.arguments.compare("CMP").ok()?.quantity {
        Quantity::Span(age) => Some(age),
        Quantity::Number(_) | Quantity::Day(_) => None,
    }
}

/// Like [`Pipeline::depends_on_clock`], for one stage.
fn depends_on_clock(call: &StageCall) -> bool {
    let is_constant =
        |unit: Unit| matches!(unit, Unit::Characters | Unit::Neighbors | Unit::Age | Unit::Instant);
    call.def.hints.cost == Cost::Derived
        || match call.def.implementation {
            StageImplementation::Scan(_) | StageImplementation::Filter(_) | StageImplementation::Cut(_) => {
                false
            }
            StageImplementation::FieldComparison(field) => !is_constant(field.unit),
            StageImplementation::Sort(_) => {
                let name = call.arguments.text("FIELD").unwrap_or_default();
                !sorted_by(&name).is_ok_and(|(field, _)| is_constant(field.unit))
            }
            StageImplementation::Generate(_)
            | StageImplementation::Order(_)
            | StageImplementation::Algorithm(_) => true,
        }
}
