//! `not-visited:AGENT[,DURATION]`: nodes that the agent has never visited, or not within the duration.

use super::definition::{Hints, StageDef, StageImplementation};
use super::visited::{PARAMS, visited, within};
use crate::query::example::Example;

pub(super) const STAGE: StageDef = StageDef {
    word: "not-visited",
    params: PARAMS,
    doc: "Keeps notes an agent has never visited, or not within a duration",
    more: "The same as `!visited:AGENT[,DURATION]`. After `interference-pairs`, both notes of a pair stay if one of them \
           passes, and the other one directly follows it: a new copy can only be recognized beside the note that it \
           repeats.",
    example: Example { pipeline: "type:episodic | not-visited:linker,7d", output: &["session#2"] },
    describe: |call| format!("`{}` has not visited{}", call.text("AGENT").unwrap_or_default(), within(call)),
    implementation: StageImplementation::Filter(|call, ctx| {
        let mut visited = visited(&call.text("AGENT")?, call.duration("DURATION"), ctx);
        Ok(Box::new(move |ix| !visited(ix)))
    }),
    hints: Hints { keeps_visited: Some(false), ..Hints::NONE },
};
