//! Storage for derived structure: one cell per state of the graph, and the latest value computed for any state.

use super::policy::{GraphStatus, RefreshDecision, StructureOptions, decide};
use super::saved::{SavedStructure, StructureLoader};
use super::source::StructureSource;
use super::{Communities, GraphMetrics, Outliers, SpectralEmbedding};
use crate::cancellation;
use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The derived structure of one state of the graph, shared by all views of that state.
#[derive(Debug, Default)]
pub(crate) struct StructureCell {
    /// The number of graph changes that led to this state.
    generation: i64,
    pub(super) communities: DerivedValue<Communities>,
    pub(super) embedding: DerivedValue<SpectralEmbedding>,
    pub(super) outliers: DerivedValue<Outliers>,
    pub(super) graph_metrics: DerivedValue<GraphMetrics>,
    saved: Arc<LazyLoader>,
}

/// Loads the structure saved by an earlier process, at most once.
#[derive(Default)]
struct LazyLoader {
    loader: Arc<OnceLock<StructureLoader>>,
    /// Set by the first call of the loader.
    was_called: OnceLock<()>,
}

impl fmt::Debug for LazyLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLoader").field("was_called", &self.was_called).finish_non_exhaustive()
    }
}

impl StructureCell {
    /// Replaces the cell before the graph changes. Other views keep the old cell.
    pub(crate) fn renew(this: &mut Arc<StructureCell>) {
        let generation = this.generation + 1;
        match Arc::get_mut(this) {
            // The cell is not shared and still empty, so it can be reused.
            Some(own) if own.is_empty() => own.generation = generation,
            _ => {
                *this = Arc::new(StructureCell {
                    generation,
                    communities: this.communities.next(),
                    embedding: this.embedding.next(),
                    outliers: this.outliers.next(),
                    graph_metrics: this.graph_metrics.next(),
                    saved: this.saved.clone(),
                });
            }
        }
    }

    /// A cell for a forked view: values computed for it do not replace the latest values of the original.
    pub(super) fn fork(&self) -> StructureCell {
        StructureCell {
            generation: self.generation,
            communities: self.communities.fork(),
            embedding: self.embedding.fork(),
            outliers: self.outliers.fork(),
            graph_metrics: self.graph_metrics.fork(),
            saved: Arc::new(LazyLoader { loader: self.saved.loader.clone(), was_called: OnceLock::new() }),
        }
    }

    /// Sets the loader of the saved structure. Only the first call has an effect.
    pub(super) fn set_loader(&self, loader: StructureLoader) {
        let _ = self.saved.loader.set(loader);
    }

    /// Loads the saved structure on the first call and passes it to `take`; later calls do nothing.
    pub(super) fn load_saved(&self, take: impl FnOnce(SavedStructure)) {
        self.saved.was_called.get_or_init(|| {
            if let Some(saved) = self.saved.loader.get().and_then(|loader| loader()) {
                take(saved);
            }
        });
    }

    fn is_empty(&self) -> bool {
        self.communities.exact.get().is_none()
            && self.embedding.exact.get().is_none()
            && self.outliers.exact.get().is_none()
            && self.graph_metrics.exact.get().is_none()
    }

    /// The number of graph changes that led to this state.
    pub(super) fn generation(&self) -> i64 {
        self.generation
    }
}

/// A value with the generation it was computed for.
#[derive(Debug)]
struct Versioned<T> {
    generation: i64,
    value: Arc<T>,
}

/// One derived value, for this state of the graph and for the latest state that it was computed for.
#[derive(Debug)]
pub(super) struct DerivedValue<T> {
    /// The value for exactly this state.
    exact: OnceLock<Arc<T>>,
    /// The latest value for any state. All cells of a view and its later states share it.
    latest: Arc<ArcSwapOption<Versioned<T>>>,
    /// Held while a value is computed, so that concurrent callers compute it once.
    computing: Mutex<()>,
}

impl<T> Default for DerivedValue<T> {
    fn default() -> Self {
        DerivedValue { exact: OnceLock::new(), latest: Arc::default(), computing: Mutex::default() }
    }
}

impl<T> DerivedValue<T> {
    /// The value for the next state of the graph.
    fn next(&self) -> Self {
        DerivedValue { latest: self.latest.clone(), ..DerivedValue::default() }
    }

    /// The value for a fork of the same state.
    fn fork(&self) -> Self {
        let latest = ArcSwapOption::new(self.latest.load_full());
        DerivedValue { exact: self.exact.clone(), latest: Arc::new(latest), computing: Mutex::default() }
    }

    /// The number of graph changes since the latest value was computed; `None` if there is no value.
    pub(super) fn changes(&self, generation: i64) -> Option<u64> {
        if self.exact.get().is_some() {
            return Some(0);
        }
        self.latest.load().as_ref().map(|latest| generation.abs_diff(latest.generation))
    }

    /// The latest value, and the number of changes since it was computed.
    pub(super) fn latest(&self, generation: i64) -> Option<(Arc<T>, u64)> {
        let latest = self.latest.load();
        latest.as_ref().map(|latest| (latest.value.clone(), generation.abs_diff(latest.generation)))
    }

    /// The value, reused or computed as [`decide`] decides. `None` if it would have to be computed for a large graph
    /// and `is_required` is false.
    pub(super) fn get(
        &self,
        generation: i64,
        (nodes, edges): (usize, usize),
        options: &StructureOptions,
        is_required: bool,
        compute: impl FnOnce() -> T,
    ) -> Option<(Arc<T>, StructureSource)> {
        let status = GraphStatus { nodes, edges, changes: self.changes(generation) };
        match decide(status, options) {
            RefreshDecision::ComputeLarge if !is_required => None,
            RefreshDecision::Reuse(changes) => {
                let latest = self.latest.load();
                latest.as_ref().map(|latest| (latest.value.clone(), StructureSource::Reused(changes)))
            }
            RefreshDecision::Fresh | RefreshDecision::Compute | RefreshDecision::ComputeLarge => {
                Some(self.fresh(generation, compute))
            }
        }
    }

    /// The value for exactly this state, computed if necessary. Concurrent callers wait for a single computation. A
    /// cancelled computation returns an incomplete value to its own caller only; it is not stored.
    pub(super) fn fresh(&self, generation: i64, compute: impl FnOnce() -> T) -> (Arc<T>, StructureSource) {
        let found = || self.exact.get().map(|value| (value.clone(), StructureSource::Fresh));
        if let Some(found) = found() {
            return found;
        }
        let _computing = self.computing.lock();
        if let Some(found) = found() {
            return found;
        }
        let started = Instant::now();
        let value = Arc::new(compute());
        if !cancellation::is_requested() {
            let _ = self.exact.set(value.clone());
            self.publish(generation, value.clone());
        }
        (value, StructureSource::Computed(started.elapsed()))
    }

    /// Stores a value that was computed for the generation `computed_for`. `generation` is that of this state.
    pub(super) fn put(&self, generation: i64, computed_for: i64, value: Arc<T>) {
        if computed_for == generation {
            let _ = self.exact.set(value.clone());
        }
        self.publish(computed_for, value);
    }

    /// Makes a value the latest unless there is a later one.
    fn publish(&self, generation: i64, value: Arc<T>) {
        let versioned = Arc::new(Versioned { generation, value });
        self.latest.rcu(|latest| match latest {
            Some(latest) if latest.generation > generation => Some(latest.clone()),
            _ => Some(versioned.clone()),
        });
    }
}
