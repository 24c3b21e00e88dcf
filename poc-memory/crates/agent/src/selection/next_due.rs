//! When time alone may give an agent something to do.

use crate::Definition;
use poc_graph::View;
use poc_graph::time::{Span, Timestamp};
use poc_search::query::Pipeline;

/// How often a pipeline that depends on the clock, for example because weights decay, runs again although no note
/// changed.
const RECHECK_AFTER: Span = Span::DAY;

/// The first instant after `now` at which an agent without work may have some although no note changes and none is
/// visited: when a visit or a note reaches an age that counts, a note expires, or the pipeline is to run again because
/// it depends on the clock in another way. `None` if that never happens.
pub(super) fn next_due(
    definition: &Definition,
    pipeline: &Pipeline,
    view: &View,
    now: Timestamp,
) -> Option<Timestamp> {
    let window = definition.window().map(|window| (definition.name.clone(), window));
    let visit_ages: Vec<(String, Span)> = window.into_iter().chain(pipeline.visit_ages()).collect();
    let note_ages: Vec<Span> = pipeline.note_ages().collect();
    let mut next = pipeline.depends_on_clock().then(|| now.plus(RECHECK_AFTER));
    let mut changes_at = |at: Timestamp| {
        if at > now {
            next = Some(next.map_or(at, |next| next.min(at)));
        }
    };
    for ix in 0..view.slots() {
        view.expires(ix).into_iter().for_each(&mut changes_at);
        for (agent, age) in &visit_ages {
            view.visit(agent, ix).map(|visit| visit.at.plus(*age)).into_iter().for_each(&mut changes_at);
        }
        for age in &note_ages {
            for instant in [view.created(ix), view.modified(ix)] {
                let reached = instant.plus(*age);
                // `>` and `<=` change a millisecond later than `>=` and `<`.
                [reached, reached.plus(Span(1))].into_iter().for_each(&mut changes_at);
            }
        }
    }
    next
}
