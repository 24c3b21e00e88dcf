//! What is derived from the graph as a whole: communities, the spectral embedding, outlier scores.
//!
//! Each part is computed once for a state of the graph, however many ask.

mod adjacency;
mod clustering;
mod communities;
mod draw;
mod embedding;
mod health;
mod outliers;
mod parts;

pub use clustering::clustering;
pub use communities::Communities;
pub use embedding::Embedding;
pub use health::{Health, PowerLaw};
pub use outliers::Outliers;

use super::View;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Where an answer about the whole graph came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// It was there for exactly this graph.
    Fresh,
    /// It was computed for the asker.
    Computed(Duration),
}

impl Source {
    /// Its name, without figures.
    pub fn name(self) -> &'static str {
        match self {
            Source::Fresh => "fresh",
            Source::Computed(_) => "computed now",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Fresh => f.write_str(self.name()),
            Source::Computed(time) => write!(f, "{} in {:.1} ms", self.name(), time.as_secs_f64() * 1e3),
        }
    }
}

/// The cell of one state of the graph, shared by the views that show it.
#[derive(Debug, Default)]
pub(super) struct Structure {
    communities: OnceLock<Arc<Communities>>,
    embedding: OnceLock<Arc<Embedding>>,
    outliers: OnceLock<Arc<Outliers>>,
    health: OnceLock<Arc<Health>>,
}

impl Structure {
    /// Leaves the cell to the other views: the graph is about to be another one.
    pub(super) fn renew(this: &mut Arc<Structure>) {
        // Nobody else may fill an empty cell that is not shared.
        let empty =
            this.communities.get().is_none() && this.embedding.get().is_none() && this.health.get().is_none();
        if !empty || Arc::strong_count(this) > 1 {
            *this = Arc::default();
        }
    }
}

impl View {
    /// The communities of the graph.
    pub fn communities(&self) -> (Arc<Communities>, Source) {
        part(&self.structure.communities, || Communities::compute(self))
    }

    /// The spectral embedding of the graph in so many dimensions. All who ask give the same
    /// number; the first one counts.
    pub fn embedding(&self, dimensions: usize) -> (Arc<Embedding>, Source) {
        part(&self.structure.embedding, || Embedding::compute(self, dimensions))
    }

    /// The outlier scores that belong to the two.
    pub fn outliers(&self, dimensions: usize) -> (Arc<Outliers>, Source) {
        let parts = || (self.communities().0, self.embedding(dimensions).0);
        part(&self.structure.outliers, || {
            let (communities, embedding) = parts();
            Outliers::compute(&communities, &embedding)
        })
    }
}

impl View {
    /// The figures that tell about the graph's health.
    pub fn health(&self) -> (Arc<Health>, Source) {
        part(&self.structure.health, || Health::compute(self))
    }

    /// Whether [`View::health`] would answer without computing.
    pub fn health_ready(&self) -> bool {
        self.structure.health.get().is_some()
    }
}

/// What is in the cell; computed when it is empty, by one of all who ask.
fn part<T>(cell: &OnceLock<Arc<T>>, compute: impl FnOnce() -> T) -> (Arc<T>, Source) {
    let mut source = Source::Fresh;
    let value = cell.get_or_init(|| {
        let started = Instant::now();
        let value = Arc::new(compute());
        source = Source::Computed(started.elapsed());
        value
    });
    (value.clone(), source)
}
