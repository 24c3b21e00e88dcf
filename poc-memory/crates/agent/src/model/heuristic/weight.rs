//! Proposes weight changes.

use super::Nodes;
use crate::selection::Handle;
use poc_graph::time::{Span, Timestamp};
use std::collections::BTreeSet;

/// A proposed change of a weight.
pub(super) struct Change<'a> {
    pub(super) node: &'a Handle,
    pub(super) delta: f64,
    pub(super) reason: String,
}

/// Weight changes of chosen nodes. Nodes with many links gain weight up to a limit; short, old nodes without
/// links lose weight. A node changes again only after its weight has been unchanged for `trivial_age`;
/// otherwise weights would depend on how often the agent runs. `linked` and `gone` are the handles of nodes
/// that the same reply links or supersedes. Protected notes keep their weight: similarity and structure alone do not tell
/// what a note that a person wrote is worth.
pub(super) fn find<'a>(
    settings: &poc_config::HeuristicConfig,
    nodes: &Nodes<'a>,
    (linked, gone): (&BTreeSet<&str>, &BTreeSet<&str>),
    (agent, now): (&str, Timestamp),
) -> Vec<Change<'a>> {
    let view = &nodes.selection.view;
    let chosen = nodes.selection.handles.iter().filter(|handle| handle.is_chosen());
    chosen
        .filter(|handle| !handle.protected && !gone.contains(handle.name.as_str()))
        .filter_map(|handle| {
            let degree = view.degree(handle.ix);
            let rests = Span(now.0.saturating_sub(view.touched(handle.ix).0)) < settings.trivial_age;
            let known = view.visit(agent, handle.ix).is_some_and(|seen| seen.version >= handle.node.version);
            let is_settled = known && rests;
            if !is_settled && degree >= settings.busy_degree && handle.weight < settings.busy_weight {
                let reason = format!("linked to {degree} others");
                return Some(Change { node: handle, delta: settings.weight_step, reason });
            }
            let node = &handle.node;
            let chars = node.title.chars().count() + node.body.chars().count();
            let age = Span(now.0.saturating_sub(node.modified.0));
            let trivial = degree == 0
                && chars < settings.trivial_chars
                && node.keywords.is_empty()
                // Below one step, nothing is left to lose.
                && handle.weight > settings.weight_step
                && age >= settings.trivial_age
                && !rests
                && !linked.contains(handle.name.as_str());
            trivial.then(|| Change {
                node: handle,
                delta: -settings.weight_step,
                reason: format!("short, without links and {} days old", age.0 / Span::DAY.0),
            })
        })
        .collect()
}
