//! Agents that a pipeline names and that do not exist.

use super::Ctx;
use poc_agent::Catalog;
use poc_graph::View;
use poc_search::query::Pipeline;

/// The problems of a pipeline that filters by the visits of an agent whose name is probably misspelt: there is no such
/// agent, nothing was visited under its name, and an agent has a similar name. A visit of an agent that was removed, or
/// of a program that is no agent, counts as any other.
pub(super) fn problems(ctx: &Ctx<'_>, view: &View, pipeline: &Pipeline) -> Vec<String> {
    let mut problems = Vec::new();
    for agent in pipeline.visiting_agents() {
        if view.visits_of(&agent).is_some() {
            continue;
        }
        // Without its agents, a memory can still be searched. A search stores nothing about them.
        let Some(error) = Catalog::read(ctx.memory).ok().and_then(|catalog| catalog.entry(&agent).err())
        else {
            continue;
        };
        if let Some(hint) = error.hint.filter(|hint| hint.starts_with("did you mean")) {
            problems.push(format!("{}; {hint}", error.message));
        }
    }
    problems
}
