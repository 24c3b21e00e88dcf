//! `not-visited:AGENT[,DURATION]`: nodes that the agent has never visited, or not within the duration.

use super::definition::{Hints, StageDef, StageImplementation};
use super::visited::{PARAMS, visited, within};
use crate::query::example::Example;

pub(super) const STAGE: StageDef = StageDef {
    word: "not-visited",
    params: PARAMS,
    doc: "Keeps notes an agent has never visited, or not within a duration",
    more: "A visit counts if it does for the agent: if its file says `revisit-on-change`, which is the default, a note \
           edited since the visit counts as not visited, and if the agent has a language model, its visits without \
           one do not count. In a search, the file of the agent that is named decides; without such a file, every \
           visit counts. In the query of an agent, its own file decides whether visits of earlier versions count, \
           also those of other agents. After `interference-pairs`, both notes of a pair stay if one of them \
           passes, and the other one directly follows it: a new copy can only be recognized beside the note that it \
           repeats.",
    example: Example { pipeline: "type:episodic | not-visited:linker,7d", output: &["session#2"] },
    describe: |call| format!("`{}` has not visited{}", call.text("AGENT").unwrap_or_default(), within(call)),
    implementation: StageImplementation::Filter(|call, ctx| {
        let agent = call.text("AGENT")?;
        let rule = ctx.sources.visits.not_visited(&agent);
        let mut visited = visited(&agent, call.duration("DURATION"), rule, ctx);
        Ok(Box::new(move |ix| !visited(ix)))
    }),
    hints: Hints { keeps_visited: Some(false), ..Hints::NONE },
};
