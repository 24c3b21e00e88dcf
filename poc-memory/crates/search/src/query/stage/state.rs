//! `state:NAME`: nodes in a state.

use super::definition::{Hints, StageDef, Work};
use crate::query::example::Example;
use crate::query::param::{Absent, Param, Place, Takes};
use crate::query::scan::state_at;
use poc_graph::State;

pub(super) const STAGE: StageDef = StageDef {
    word: "state",
    params: &[Param {
        name: "NAME",
        place: Place::Colon,
        takes: Takes::State,
        absent: Absent::Error,
        doc: "the state; `all` gives nodes in it too",
    }],
    doc: "Keeps nodes in a state, and widens `all` to it",
    more: "`active`, `stale`, `superseded` or `expired`. A live node past its date counts as expired \
           before any housekeeping has written so. Without `!`, it widens `all` to that state, wherever \
           in the pipeline it stands.",
    example: Example { pipeline: "all | state:superseded", gives: &["old-tree"] },
    does: |call| match call.state("NAME") {
        Ok(state) => format!("that are {state}"),
        Err(_) => String::new(),
    },
    work: Work::Filter(|call, ctx| {
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
