//! What is derived from the graph as a whole: communities, the spectral embedding, outlier scores,
//! figures about its health.
//!
//! Each is computed once for a state of the graph, however many ask; a large graph that has changed
//! little is answered with what was computed before.

mod adjacency;
mod cell;
mod clustering;
mod communities;
mod draw;
mod embedding;
mod health;
mod layout;
mod outliers;
mod parts;
mod policy;
mod saved;
#[cfg(test)]
mod tests;

pub(crate) use cell::StructureCell;

pub use cell::StructureSource;
pub use clustering::clustering;
pub use communities::Communities;
pub use embedding::Embedding;
pub use health::{Health, PowerLaw};
pub use layout::Layout;
pub use outliers::Outliers;
pub use policy::StructureOptions;
pub use saved::SavedStructure;

use super::View;
use std::sync::Arc;

impl View {
    /// The communities of the graph.
    pub fn communities(&self, options: &StructureOptions) -> (Arc<Communities>, StructureSource) {
        self.restore_structure(options);
        let part = &self.structure.communities;
        let found = part.get(self.generation(), self.size(), options, true, || Communities::compute(self));
        found.unwrap_or_else(|| self.fresh_communities())
    }

    /// The communities of the graph; `None` when it would take more than a moment to compute them.
    pub fn cached_communities(
        &self,
        options: &StructureOptions,
    ) -> Option<(Arc<Communities>, StructureSource)> {
        self.restore_structure(options);
        let part = &self.structure.communities;
        part.get(self.generation(), self.size(), options, false, || Communities::compute(self))
    }

    /// The spectral embedding of the graph. All who ask give the same dimensions; the first one
    /// counts.
    pub fn embedding(&self, options: &StructureOptions) -> (Arc<Embedding>, StructureSource) {
        self.restore_structure(options);
        let compute = || Embedding::compute(self, options.dimensions);
        let found = self.structure.embedding.get(self.generation(), self.size(), options, true, compute);
        found.unwrap_or_else(|| self.fresh_embedding(options))
    }

    /// The outlier scores of the nodes; `None` when it would take more than a moment to compute
    /// them. Nodes made since they were computed have none.
    pub fn outliers(&self, options: &StructureOptions) -> Option<(Arc<Outliers>, StructureSource)> {
        self.restore_structure(options);
        let compute = || self.compute_outliers(options);
        self.structure.outliers.get(self.generation(), self.size(), options, false, compute)
    }

    /// The figures that tell about the graph's health; `None` when it would take more than a moment
    /// to compute them.
    pub fn health(&self, options: &StructureOptions) -> Option<(Arc<Health>, StructureSource)> {
        self.restore_structure(options);
        let part = &self.structure.health;
        part.get(self.generation(), self.size(), options, false, || Health::compute(self))
    }

    /// Finds what was saved when the graph is so large that it matters, and nothing is there.
    pub fn restore_structure(&self, options: &StructureOptions) {
        if self.is_large(options) && self.drift().is_none() {
            self.structure.recall(|saved| self.restore(saved));
        }
    }

    /// Computes all of it for exactly this graph, where it is not there yet.
    pub fn refresh(&self, options: &StructureOptions) {
        self.fresh_communities();
        self.fresh_embedding(options);
        self.structure.outliers.fresh(self.generation(), || self.compute_outliers(options));
        self.structure.health.fresh(self.generation(), || Health::compute(self));
    }

    /// How many changes of the graph ago the oldest of what is derived was computed; `None` when
    /// some of it never was.
    pub fn drift(&self) -> Option<u64> {
        self.ages().into_iter().try_fold(0, |oldest, (_, changes)| Some(changes?.max(oldest)))
    }

    /// How many changes of the graph ago each of what is derived was computed, by name; `None` for
    /// what never was. Computes nothing.
    pub fn ages(&self) -> [(&'static str, Option<u64>); 4] {
        let (structure, now) = (&self.structure, self.generation());
        [
            ("communities", structure.communities.changes(now)),
            ("embedding", structure.embedding.changes(now)),
            ("outliers", structure.outliers.changes(now)),
            ("health", structure.health.changes(now)),
        ]
    }

    /// Whether computing takes more than a moment.
    pub fn is_large(&self, options: &StructureOptions) -> bool {
        self.live_count() + self.edge_count() > options.exact_below
    }

    /// A number that goes up with every change of the graph.
    pub fn generation(&self) -> i64 {
        self.structure.generation()
    }

    /// A copy that will be changed in another way than this view and those after it: for each way
    /// what is derived is kept apart.
    pub fn fork(&self) -> View {
        let mut view = self.clone();
        view.structure = Arc::new(self.structure.fork());
        view
    }

    fn fresh_communities(&self) -> (Arc<Communities>, StructureSource) {
        self.structure.communities.fresh(self.generation(), || Communities::compute(self))
    }

    fn fresh_embedding(&self, options: &StructureOptions) -> (Arc<Embedding>, StructureSource) {
        let compute = || Embedding::compute(self, options.dimensions);
        self.structure.embedding.fresh(self.generation(), compute)
    }

    fn compute_outliers(&self, options: &StructureOptions) -> Outliers {
        Outliers::compute(&self.fresh_communities().0, &self.fresh_embedding(options).0)
    }

    fn size(&self) -> (usize, usize) {
        (self.live_count(), self.edge_count())
    }
}
