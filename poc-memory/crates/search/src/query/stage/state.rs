//! `state:NAME`: nodes in a state.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::scan::state_at;
use poc_graph::State;

pub(super) const STAGE: StageDef = StageDef {
    word: "state",
    params: &[Param {
        name: "NAME",
        position: ParamPosition::Colon,
        value_type: ParamType::State,
        presence: Presence::Required,
        doc: "the state; `all` then returns notes in it too",
    }],
    doc: "Keeps notes in a state, and adds that state to `all`",
    more: "The states are `active`, `stale`, `superseded` and `expired`. A live note past its `expires` \
           counts as expired, even if consolidation has not recorded that yet. Without `!`, the stage adds \
           the state to `all`, wherever it is in the pipeline.",
    example: Example { pipeline: "all | state:superseded", output: &["old-tree"] },
    describe: |call| match call.state("NAME") {
        Ok(state) => format!("that are {state}"),
        Err(_) => String::new(),
    },
    implementation: StageImplementation::Filter(|call, ctx| {
        let wanted = call.state("NAME")?;
        let mut state = state_at(ctx.sources.view, ctx.sources.now);
        Ok(Box::new(move |ix| state(ix) == Some(wanted)))
    }),
    hints: Hints {
        widens_to: Some(|call| call.state("NAME").ok()),
        passes: Some(|call, _| call.state("NAME").is_ok_and(|state| state == State::Active)),
        ..Hints::NONE
    },
};
