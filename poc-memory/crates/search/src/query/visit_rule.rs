//! Which visits of an agent count when notes are filtered by them.

use poc_graph::Visit;

/// Which of its visits count for an agent. A note without a visit that counts is one that it should read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VisitRule {
    /// Whether a visit counts only for the version of the note that was visited: `revisit-on-change` in its file.
    pub only_version: bool,
    /// Whether a visit counts only if the agent had a language model.
    pub only_read: bool,
}

impl VisitRule {
    /// Whether a visit counts for a note that has the version `version` now.
    pub fn counts(self, visit: Visit, version: u32) -> bool {
        self.is_read(visit) && self.is_current(visit, version)
    }

    /// Whether the agent read the note in a way that counts.
    pub fn is_read(self, visit: Visit) -> bool {
        !self.only_read || visit.is_read()
    }

    /// Whether the visit still counts for a note that has the version `version` now.
    pub fn is_current(self, visit: Visit, version: u32) -> bool {
        !self.only_version || visit.version >= version
    }
}

/// Which visits the filters of a pipeline count.
#[derive(Clone, Copy, Debug)]
pub enum VisitRules<'a> {
    /// A search. For `visited:`, every visit counts. For `not-visited:`, the visits count that do for the agent that
    /// it names; every visit of an agent that is not listed here.
    Search(&'a [(String, VisitRule)]),
    /// The query of an agent.
    Agent {
        /// Its name.
        name: &'a str,
        /// Which of its own visits count. `only_version` also applies to the visits of other agents that it names.
        rule: VisitRule,
    },
}

impl VisitRules<'_> {
    /// The rule of `visited:` for an agent.
    pub(in crate::query) fn visited(self, agent: &str) -> VisitRule {
        match self {
            VisitRules::Search(_) => VisitRule::default(),
            VisitRules::Agent { name, rule } => {
                VisitRule { only_read: rule.only_read && name == agent, ..rule }
            }
        }
    }

    /// The rule of `not-visited:` for an agent.
    pub(in crate::query) fn not_visited(self, agent: &str) -> VisitRule {
        match self {
            VisitRules::Search(rules) => rules
                .iter()
                .find(|(name, _)| name == agent)
                .map_or_else(VisitRule::default, |(_, rule)| *rule),
            VisitRules::Agent { .. } => self.visited(agent),
        }
    }
}
