//! The shape of the graph.

use poc_graph::{StructureOptions, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The shape of the graph of live notes. Undefined figures are null, for example in a graph without edges; so
/// are all figures of a large graph that has just changed.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(super) struct GraphShape {
    /// How current the figures are: `fresh`, `reused, N changes old`, `computed now in N ms` or
    /// `not computed yet`.
    source: String,
    /// Connected components, including isolated notes.
    components: Option<usize>,
    /// Notes of the largest component.
    largest: Option<usize>,
    /// Notes without edges.
    isolated: Option<usize>,
    /// Mean local clustering coefficient, 0 to 1.
    clustering: Option<f64>,
    /// Mean shortest path between two notes of the largest component, in edges.
    path_length: Option<f64>,
    /// Small-world σ of the largest component; above 1 it is a small world.
    small_world: Option<f64>,
    /// Gini coefficient of the degrees: 0 if all are equal, 1 if one note has all edges.
    degree_gini: Option<f64>,
    /// Age of each figure derived from the whole graph, in changes of the graph: 0 is up to date, null is not
    /// computed yet.
    ages: BTreeMap<String, Option<u64>>,
    /// Exponent α, above 1, of the power law fitted to the degrees of at least `power_law_least`; null if
    /// fewer than two different degrees occur.
    power_law_alpha: Option<f64>,
    /// The degree from which on the power law fits.
    power_law_least: Option<u32>,
}

impl GraphShape {
    pub(super) fn of(view: &View, options: &StructureOptions) -> GraphShape {
        let found = view.graph_metrics(options);
        let ages = view.ages().into_iter().map(|(name, age)| (name.to_owned(), age)).collect();
        let Some((health, source)) = found else {
            return GraphShape { source: "not computed yet".into(), ages, ..GraphShape::default() };
        };
        GraphShape {
            source: source.to_string(),
            ages,
            components: Some(health.components),
            largest: Some(health.largest),
            isolated: Some(health.isolated),
            clustering: health.clustering,
            path_length: health.path_length,
            small_world: health.small_world,
            degree_gini: health.gini,
            power_law_alpha: health.power_law.map(|law| law.alpha),
            power_law_least: health.power_law.map(|law| law.least),
        }
    }
}

impl std::fmt::Display for GraphShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Some(components), Some(largest), Some(isolated)) =
            (self.components, self.largest, self.isolated)
        else {
            return f.write_str(&self.source);
        };
        let parts = if components == 1 { "component" } else { "components" };
        write!(f, "{components} {parts}, the largest of {largest}; {isolated} without edges")?;
        for (name, figure) in [
            ("clustering", self.clustering),
            ("path length", self.path_length),
            ("small-world σ", self.small_world),
            ("degree Gini", self.degree_gini),
            ("power-law α", self.power_law_alpha),
        ] {
            if let Some(figure) = figure {
                write!(f, ", {name} {figure:.2}")?;
            }
        }
        write!(f, " ({})", self.source)
    }
}
