//! The agents that a pipeline names.

use super::Ctx;
use poc_agent::{Catalog, consolidation};
use poc_graph::View;
use poc_search::query::{Pipeline, VisitRule};

/// Which visits count for the agents that pipelines name and that have a file.
pub(super) fn visit_rules<'a>(
    ctx: &Ctx<'_>,
    pipelines: impl IntoIterator<Item = &'a Pipeline>,
) -> Vec<(String, VisitRule)> {
    let agents: Vec<String> = pipelines.into_iter().flat_map(Pipeline::visiting_agents).collect();
    if agents.is_empty() {
        return Vec::new();
    }
    let Some(catalog) = catalog(ctx) else { return Vec::new() };
    let rule = |agent: String| {
        let definition = catalog.agents.get(&agent)?.definition.as_ref()?;
        Some((agent, definition.visit_rule(&ctx.memory.config)))
    };
    agents.into_iter().filter_map(rule).collect()
}

/// The problems of a pipeline that filters by the visits of an agent whose name is probably misspelt: there is no such
/// agent, nothing was visited under its name, and an agent has a similar name. A visit of an agent that was removed, or
/// of a program that is no agent, counts as any other.
pub(super) fn problems(ctx: &Ctx<'_>, view: &View, pipeline: &Pipeline) -> Vec<String> {
    let is_unvisited = |agent: &String| view.visits_of(agent).is_none();
    let unvisited: Vec<String> = pipeline.visiting_agents().filter(is_unvisited).collect();
    if unvisited.is_empty() {
        return Vec::new();
    }
    let Some(catalog) = catalog(ctx) else { return Vec::new() };
    let is_known = |agent: &str| agent == consolidation::NAME || catalog.agents.contains_key(agent);
    let problem = |agent: String| {
        let near = catalog.closest(&agent).filter(|_| !is_known(&agent))?;
        Some(format!("there is no agent `{agent}`; did you mean `{near}`?"))
    };
    unvisited.into_iter().filter_map(problem).collect()
}

/// The agents. Without them, a memory can still be searched, and a search stores nothing about them.
fn catalog(ctx: &Ctx<'_>) -> Option<Catalog> {
    Catalog::read(ctx.memory).ok()
}
