//! `visited:AGENT[,DURATION]`: nodes that the agent has visited, ever or within the duration.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::arguments::Arguments;
use crate::query::context::QueryContext;
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::value::in_days;
use crate::query::visit_rule::VisitRule;
use poc_graph::Ix;
use poc_graph::time::Span;

/// `AGENT[,DURATION]`
pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "AGENT",
        position: ParamPosition::Colon,
        value_type: ParamType::Name,
        presence: Presence::Required,
        doc: "the agent's name",
    },
    Param {
        name: "DURATION",
        position: ParamPosition::Comma,
        value_type: ParamType::Duration,
        presence: Presence::Optional,
        doc: "how far back visits count; without it, all visits count",
    },
];

pub(super) const STAGE: StageDef = StageDef {
    word: "visited",
    params: PARAMS,
    doc: "Keeps notes an agent has visited, ever or within a duration",
    more: "The duration counts back from the current time. In a search every visit counts, also one of an earlier \
           version of the note. In the query of an agent with `revisit-on-change`, a visit counts \
           only for the version that was visited. In the query of an agent with a language model, its own visits \
           without one do not count.",
    example: Example { pipeline: "visited:linker,7d", output: &["session#1"] },
    describe: |call| format!("`{}` has visited{}", call.text("AGENT").unwrap_or_default(), within(call)),
    implementation: StageImplementation::Filter(|call, ctx| {
        let agent = call.text("AGENT")?;
        Ok(Box::new(visited(&agent, call.duration("DURATION"), ctx.sources.visits.visited(&agent), ctx)))
    }),
    hints: Hints { keeps_visited: Some(true), ..Hints::NONE },
};

/// The text ` within 7d`, or an empty text without a duration.
pub(super) fn within(call: &Arguments) -> String {
    call.duration("DURATION").map_or_else(String::new, |span| format!(" within {}", in_days(span)))
}

/// Returns a function that tells whether a node has a visit of the agent that counts by the rule and is not older than
/// the duration.
pub(super) fn visited<'a>(
    agent: &str,
    within: Option<Span>,
    rule: VisitRule,
    ctx: &QueryContext<'a>,
) -> impl FnMut(Ix) -> bool + 'a {
    let view = ctx.sources.view;
    let mut visits = view.visits_of(agent).map(|column| column.cursor());
    if visits.is_none() {
        ctx.remark(format!("`{agent}` has visited nothing"));
    }
    let mut versions = view.versions();
    let after = within.map(|span| ctx.sources.now.minus(span));
    move |ix| {
        let visit = visits.as_mut().and_then(|visits| visits.of(ix, None));
        visit.is_some_and(|visit| {
            after.is_none_or(|after| visit.at > after) && rule.counts(visit, versions.of(ix, 0))
        })
    }
}
