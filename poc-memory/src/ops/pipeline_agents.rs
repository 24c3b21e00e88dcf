//! The agents that a pipeline names.

use super::Ctx;
use poc_agent::Catalog;
use poc_config::Config;
use poc_graph::View;
use poc_search::query::{Pipeline, VisitRule};

/// The agents that pipelines name, with the catalog of all agents.
pub(super) struct PipelineAgents {
    named: Vec<String>,
    /// `None` if no agent is named, or if the files cannot be read. A memory can still be searched then, and a search
    /// stores nothing about agents.
    catalog: Option<Catalog>,
}

impl PipelineAgents {
    /// Reads the files of the agents, if pipelines name any.
    pub(super) fn of<'a>(ctx: &Ctx<'_>, pipelines: impl IntoIterator<Item = &'a Pipeline>) -> PipelineAgents {
        let named: Vec<String> = pipelines.into_iter().flat_map(Pipeline::visiting_agents).collect();
        let catalog = if named.is_empty() { None } else { Catalog::read(ctx.memory).ok() };
        PipelineAgents { named, catalog }
    }

    /// Which visits count for the named agents that have a file.
    pub(super) fn visit_rules(&self, config: &Config) -> Vec<(String, VisitRule)> {
        let Some(catalog) = &self.catalog else { return Vec::new() };
        let rule = |agent: &String| {
            let definition = catalog.agents.get(agent)?.definition.as_ref()?;
            Some((agent.clone(), definition.visit_rule(config)))
        };
        self.named.iter().filter_map(rule).collect()
    }

    /// The problems of one of the pipelines if it filters by the visits of an agent whose name is probably misspelt:
    /// there is no such agent, nothing was visited under its name, and an agent has a similar name. A visit of an agent
    /// that was removed, or of a program that is no agent, counts as any other.
    pub(super) fn problems(&self, view: &View, pipeline: &Pipeline) -> Vec<String> {
        let Some(catalog) = &self.catalog else { return Vec::new() };
        let problem = |agent: String| {
            let near = catalog.closest(&agent).filter(|_| !catalog.has(&agent))?;
            Some(format!("there is no agent `{agent}`; did you mean `{near}`?"))
        };
        let unvisited = pipeline.visiting_agents().filter(|agent| view.visits_of(agent).is_none());
        unvisited.filter_map(problem).collect()
    }
}
