//! What a pipeline is known to do without running it.

use super::ast::{Call, Pipeline};
use super::stage::definition::{Cost, Kind, NewNode};
use poc_graph::time::Span;
use std::fmt::Write;

impl Pipeline {
    /// The duration of a `not-visited:AGENT,DURATION` stage for this agent, if it has one.
    pub fn not_visited(&self, agent: &str) -> Option<Option<Span>> {
        let keeps_unvisited = |call: &&Call| keeps_visited(call, agent) == Some(false);
        Some(self.calls.iter().find(keeps_unvisited)?.arguments.duration("DURATION"))
    }

    /// The same pipeline without what it says about an agent's visits.
    pub fn without_visits_of(&self, agent: &str) -> Pipeline {
        let calls = self.calls.iter().filter(|call| keeps_visited(call, agent).is_none()).cloned().collect();
        Pipeline { calls, used: self.used.clone() }
    }

    /// Whether it is one pass over the columns, sorts, cuts and filters: cheap at any time. Other
    /// generators and algorithms search an index or walk the graph; `diverse` compares vectors,
    /// `community` may have to compute the communities.
    pub fn is_scan(&self) -> bool {
        self.starts_with_scan()
            && self.calls.iter().skip(1).all(|call| {
                matches!(call.def.kind(), Kind::Filter | Kind::Transform)
                    && call.def.hints.cost == Cost::Columns
            })
    }

    /// Whether a new node of a type and a provenance, whose text has so many characters at most, may be among
    /// what it gives, as far as these tell.
    pub fn may_return(&self, node_type: &str, provenance: &str, most_chars: usize) -> bool {
        let node = NewNode { node_type, provenance, most_chars };
        // What an algorithm gives has nothing to do with the filters before it.
        let algorithm = self.calls.iter().rposition(|call| call.def.kind() == Kind::Algorithm);
        let behind = self.calls.get(algorithm.map_or(0, |at| at + 1)..).unwrap_or(&[]);
        behind.iter().all(|call| {
            let passes = call.def.passes(&call.arguments, &node);
            passes.is_none_or(|passes| passes != call.negated)
        })
    }

    /// What it filters by, as it is written where filters alone stand: without what gives all nodes in front.
    pub fn filters(&self) -> String {
        let from = usize::from(self.starts_with_scan() && self.calls.len() > 1);
        let mut text = String::new();
        for call in self.calls.iter().skip(from) {
            let separator = if text.is_empty() { "" } else { " | " };
            let _ = write!(text, "{separator}{call}");
        }
        text
    }

    /// Whether it does nothing but filter.
    pub fn only_filters(&self) -> bool {
        self.starts_with_scan() && self.calls.iter().skip(1).all(|call| call.def.kind() == Kind::Filter)
    }

    fn starts_with_scan(&self) -> bool {
        self.calls.first().is_some_and(|first| first.def.is_scan())
    }
}

/// For a filter by the visits of this agent: whether it keeps the nodes that the agent has visited, or those
/// it has not.
fn keeps_visited(call: &Call, agent: &str) -> Option<bool> {
    let keeps = call.def.hints.keeps_visited?;
    let is_asked = call.arguments.text("AGENT").is_ok_and(|named| named == agent);
    is_asked.then_some(keeps != call.negated)
}
