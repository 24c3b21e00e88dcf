//! Values derived from the graph as a whole: communities, the spectral embedding, outlier scores and graph metrics.
//!
//! Each value is computed at most once per state of the graph, even for concurrent requests. For a large graph that has
//! changed little since, an earlier result is reused.

mod adjacency;
mod cell;
mod clustering;
mod communities;
mod graph_metrics;
mod id_hash;
mod layout;
mod leiden;
mod outliers;
mod partition;
mod policy;
mod saved;
mod source;
mod space;
mod spectral_embedding;
#[cfg(test)]
mod tests;

pub(crate) use cell::StructureCell;

pub use clustering::clustering;
pub use communities::Communities;
pub use graph_metrics::{GraphMetrics, PowerLaw};
pub use layout::Layout;
pub use outliers::Outliers;
pub use policy::StructureOptions;
pub use saved::SavedStructure;
pub use source::StructureSource;
pub use spectral_embedding::SpectralEmbedding;

use super::View;
use std::sync::Arc;

impl View {
    /// The communities of the graph.
    pub fn communities(&self, options: &StructureOptions) -> (Arc<Communities>, StructureSource) {
        self.restore_structure(options);
        let cell = &self.structure.communities;
        let compute = || self.compute_communities(options);
        let found = cell.get(self.generation(), self.size(), options, true, compute);
        found.unwrap_or_else(|| self.fresh_communities(options))
    }

    /// The communities of the graph; `None` if the graph is large and they would have to be computed.
    pub fn cached_communities(
        &self,
        options: &StructureOptions,
    ) -> Option<(Arc<Communities>, StructureSource)> {
        self.restore_structure(options);
        let cell = &self.structure.communities;
        cell.get(self.generation(), self.size(), options, false, || self.compute_communities(options))
    }

    /// The spectral embedding of the graph. All callers must pass the same number of dimensions; later values are
    /// ignored.
    pub fn embedding(&self, options: &StructureOptions) -> (Arc<SpectralEmbedding>, StructureSource) {
        self.restore_structure(options);
        let compute = || SpectralEmbedding::compute(self, options.dimensions);
        let found = self.structure.embedding.get(self.generation(), self.size(), options, true, compute);
        found.unwrap_or_else(|| self.fresh_embedding(options))
    }

    /// The outlier scores of the nodes; `None` if the graph is large and they would have to be computed. Nodes created
    /// since the computation have no score.
    pub fn outliers(&self, options: &StructureOptions) -> Option<(Arc<Outliers>, StructureSource)> {
        self.restore_structure(options);
        let compute = || self.compute_outliers(options);
        self.structure.outliers.get(self.generation(), self.size(), options, false, compute)
    }

    /// The metrics of the graph; `None` if the graph is large and they would have to be computed.
    pub fn graph_metrics(&self, options: &StructureOptions) -> Option<(Arc<GraphMetrics>, StructureSource)> {
        self.restore_structure(options);
        let cell = &self.structure.graph_metrics;
        cell.get(self.generation(), self.size(), options, false, || GraphMetrics::compute(self))
    }

    /// Loads the saved structure if the graph is large and no structure was computed yet.
    pub fn restore_structure(&self, options: &StructureOptions) {
        if self.is_large(options) && self.drift().is_none() {
            self.structure.load_saved(|saved| self.restore(saved));
        }
    }

    /// Computes every value that was not yet computed for exactly this graph.
    pub fn refresh(&self, options: &StructureOptions) {
        self.fresh_communities(options);
        self.fresh_embedding(options);
        self.structure.outliers.fresh(self.generation(), || self.compute_outliers(options));
        self.structure.graph_metrics.fresh(self.generation(), || GraphMetrics::compute(self));
    }

    /// The number of graph changes since the oldest derived value was computed; `None` if any was never computed.
    pub fn drift(&self) -> Option<u64> {
        self.ages().into_iter().try_fold(0, |oldest, (_, changes)| Some(changes?.max(oldest)))
    }

    /// The number of graph changes since each derived value was computed, by name; `None` for values never computed.
    /// This call computes nothing.
    pub fn ages(&self) -> [(&'static str, Option<u64>); 4] {
        let (structure, now) = (&self.structure, self.generation());
        [
            ("communities", structure.communities.changes(now)),
            ("embedding", structure.embedding.changes(now)),
            ("outliers", structure.outliers.changes(now)),
            ("health", structure.graph_metrics.changes(now)),
        ]
    }

    /// Whether the graph exceeds `exact_below`, so that computing its structure takes noticeable time.
    pub fn is_large(&self, options: &StructureOptions) -> bool {
        self.live_count() + self.edge_count() > options.exact_below
    }

    /// A number that increases with every change of the graph.
    pub fn generation(&self) -> i64 {
        self.structure.generation()
    }

    /// A copy with a separate history: structure computed for the copy does not replace that of this view and its
    /// successors.
    pub fn fork(&self) -> View {
        let mut view = self.clone();
        view.structure = Arc::new(self.structure.fork());
        view
    }

    fn fresh_communities(&self, options: &StructureOptions) -> (Arc<Communities>, StructureSource) {
        self.structure.communities.fresh(self.generation(), || self.compute_communities(options))
    }

    /// The communities of this graph. In a large graph that has changed little since the latest computation, the
    /// computation starts from the earlier communities, which preserves most of them and their numbers. In a small
    /// graph the result depends on the graph alone.
    fn compute_communities(&self, options: &StructureOptions) -> Communities {
        let latest = self.structure.communities.latest(self.generation());
        let near =
            |changes: u64| changes as f64 <= Communities::MAX_CONTINUED_DRIFT * self.edge_count() as f64;
        match latest.filter(|(_, changes)| self.is_large(options) && near(*changes)) {
            Some((earlier, _)) => Communities::continued(self, &earlier),
            None => Communities::compute(self),
        }
    }

    fn fresh_embedding(&self, options: &StructureOptions) -> (Arc<SpectralEmbedding>, StructureSource) {
        let compute = || SpectralEmbedding::compute(self, options.dimensions);
        self.structure.embedding.fresh(self.generation(), compute)
    }

    fn compute_outliers(&self, options: &StructureOptions) -> Outliers {
        Outliers::compute(&self.fresh_communities(options).0, &self.fresh_embedding(options).0)
    }

    fn size(&self) -> (usize, usize) {
        (self.live_count(), self.edge_count())
    }
}
