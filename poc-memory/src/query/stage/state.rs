//! `state:NAME`: nodes in a state: `active`, `stale`, `superseded` or `expired`. It widens `all`
//! to that state. A live node past its date counts as expired.

use super::{Example, StageDef, Work};
use crate::query::param::{Absent, Param, Place, Takes};
use crate::query::scan::state_at;

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
    more: "",
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
};
