//! When time alone may give an agent something to do.

use crate::Definition;
use poc_graph::View;
use poc_graph::time::{Span, Timestamp};
use poc_search::query::Pipeline;

/// How often a pipeline whose result changes as time passes runs again at least, although no note changed.
const RECHECK_AFTER: Span = Span::DAY;

/// The first instant after `now` at which an agent without work may have some although no note changes and none is
/// visited: when a visit becomes too old, a note expires, or the pipeline is to run again because it depends on time in
/// another way. `None` if that never happens.
pub(super) fn next_due(
    definition: &Definition,
    pipeline: &Pipeline,
    view: &View,
    now: Timestamp,
) -> Option<Timestamp> {
    let recheck = pipeline.recheck_after(RECHECK_AFTER).map(|after| now.plus(after));
    let expiry = (0..view.slots()).filter_map(|ix| view.expires(ix)).filter(|at| *at > now).min();
    let window = definition.window().map(|window| (definition.name.clone(), window));
    let ages = window.into_iter().chain(pipeline.visit_ages());
    let visits = ages.filter_map(|(agent, age)| {
        let ends = (0..view.slots()).filter_map(|ix| Some(view.visit(&agent, ix)?.at.plus(age)));
        ends.filter(|at| *at > now).min()
    });
    visits.chain(recheck).chain(expiry).min()
}
