//! Agents that a pipeline names and that do not exist.

use super::Ctx;
use poc_agent::{Catalog, consolidation};
use poc_graph::View;
use poc_search::query::Pipeline;

/// The problems of a pipeline that filters by the visits of an agent whose name is probably misspelt: there is no such
/// agent, nothing was visited under its name, and an agent has a similar name. A visit of an agent that was removed, or
/// of a program that is no agent, counts as any other.
pub(super) fn problems(ctx: &Ctx<'_>, view: &View, pipeline: &Pipeline) -> Vec<String> {
    let is_unvisited = |agent: &String| view.visits_of(agent).is_none();
    let unvisited: Vec<String> = pipeline.visiting_agents().filter(is_unvisited).collect();
    if unvisited.is_empty() {
        return Vec::new();
    }
    // Without its agents, a memory can still be searched. A search stores nothing about them.
    let Ok(catalog) = Catalog::read(ctx.memory) else { return Vec::new() };
    let is_known = |agent: &str| agent == consolidation::NAME || catalog.agents.contains_key(agent);
    let problem = |agent: String| {
        let near = catalog.closest(&agent).filter(|_| !is_known(&agent))?;
        Some(format!("there is no agent `{agent}`; did you mean `{near}`?"))
    };
    unvisited.into_iter().filter_map(problem).collect()
}
