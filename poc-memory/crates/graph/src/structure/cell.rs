//! Where what is derived from the graph is kept: one cell for every state of the graph, and the
//! latest that was computed for any.

use super::policy::{GraphStatus, Plan, StructureOptions, plan};
use super::saved::{SavedStructure, StructureLoader};
use super::{Communities, Embedding, Health, Outliers};
use arc_swap::ArcSwapOption;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Where an answer about the whole graph came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StructureSource {
    /// It was there for exactly this graph.
    Fresh,
    /// It was there for the graph as it was so many changes ago.
    Reused(u64),
    /// It was computed for the asker.
    Computed(Duration),
}

impl StructureSource {
    /// Its name, without figures.
    pub fn name(self) -> &'static str {
        match self {
            StructureSource::Fresh => "fresh",
            StructureSource::Reused(_) => "reused",
            StructureSource::Computed(_) => "computed now",
        }
    }
}

impl fmt::Display for StructureSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StructureSource::Fresh => f.write_str(self.name()),
            StructureSource::Reused(1) => write!(f, "{}, 1 change old", self.name()),
            StructureSource::Reused(changes) => write!(f, "{}, {changes} changes old", self.name()),
            StructureSource::Computed(time) => {
                write!(f, "{} in {:.1} ms", self.name(), time.as_secs_f64() * 1e3)
            }
        }
    }
}

/// The cell of one state of the graph, shared by the views that show it.
#[derive(Debug, Default)]
pub(crate) struct StructureCell {
    /// How many changes have led to this state.
    generation: i64,
    pub(super) communities: DerivedValue<Communities>,
    pub(super) embedding: DerivedValue<Embedding>,
    pub(super) outliers: DerivedValue<Outliers>,
    pub(super) health: DerivedValue<Health>,
    saved: Arc<LazyLoader>,
}

/// What was computed before the store was opened, until it is asked for.
#[derive(Default)]
struct LazyLoader {
    recall: Arc<OnceLock<StructureLoader>>,
    asked: OnceLock<()>,
}

impl fmt::Debug for LazyLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl StructureCell {
    /// Leaves the cell to the other views that share it: the graph is about to be another one.
    pub(crate) fn renew(this: &mut Arc<StructureCell>) {
        let generation = this.generation + 1;
        match Arc::get_mut(this) {
            // Nobody else can fill it, and nobody has: it is as good as another.
            Some(own) if own.is_empty() => own.generation = generation,
            _ => {
                *this = Arc::new(StructureCell {
                    generation,
                    communities: this.communities.next(),
                    embedding: this.embedding.next(),
                    outliers: this.outliers.next(),
                    health: this.health.next(),
                    saved: this.saved.clone(),
                });
            }
        }
    }

    /// A cell for a view that goes another way: what is computed for it does not take the place of
    /// what is computed for the others.
    pub(super) fn fork(&self) -> StructureCell {
        StructureCell {
            generation: self.generation,
            communities: self.communities.fork(),
            embedding: self.embedding.fork(),
            outliers: self.outliers.fork(),
            health: self.health.fork(),
            saved: Arc::new(LazyLoader { recall: self.saved.recall.clone(), asked: OnceLock::new() }),
        }
    }

    /// Says what brings back what was saved. Only the first word counts.
    pub(super) fn remember(&self, recall: StructureLoader) {
        let _ = self.saved.recall.set(recall);
    }

    /// Hands over what was saved, the first time it is asked for.
    pub(super) fn recall(&self, take: impl FnOnce(SavedStructure)) {
        self.saved.asked.get_or_init(|| {
            if let Some(saved) = self.saved.recall.get().and_then(|recall| recall()) {
                take(saved);
            }
        });
    }

    fn is_empty(&self) -> bool {
        self.communities.here.get().is_none()
            && self.embedding.here.get().is_none()
            && self.outliers.here.get().is_none()
            && self.health.here.get().is_none()
    }

    /// How many changes have led to this state.
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

/// One thing that is derived.
#[derive(Debug)]
pub(super) struct DerivedValue<T> {
    here: OnceLock<Arc<T>>,
    latest: Arc<ArcSwapOption<Versioned<T>>>,
}

impl<T> Default for DerivedValue<T> {
    fn default() -> Self {
        DerivedValue { here: OnceLock::new(), latest: Arc::default() }
    }
}

impl<T> DerivedValue<T> {
    /// The part of another state.
    fn next(&self) -> Self {
        DerivedValue { here: OnceLock::new(), latest: self.latest.clone() }
    }

    /// The part of the same state on another way.
    fn fork(&self) -> Self {
        let latest = ArcSwapOption::new(self.latest.load_full());
        DerivedValue { here: self.here.clone(), latest: Arc::new(latest) }
    }

    /// How many changes ago the latest there is was computed.
    pub(super) fn changes(&self, generation: i64) -> Option<u64> {
        if self.here.get().is_some() {
            return Some(0);
        }
        self.latest.load().as_ref().map(|latest| generation.abs_diff(latest.generation))
    }

    /// What is there, or what `compute` gives when the rules want it computed. When computing it
    /// would take more than a moment and nobody must wait for it: none.
    pub(super) fn get(
        &self,
        generation: i64,
        (nodes, edges): (usize, usize),
        options: &StructureOptions,
        must: bool,
        compute: impl FnOnce() -> T,
    ) -> Option<(Arc<T>, StructureSource)> {
        let status = GraphStatus { nodes, edges, changes: self.changes(generation) };
        match plan(status, options) {
            Plan::ComputeLarge if !must => None,
            Plan::Reuse(changes) => {
                let latest = self.latest.load();
                latest.as_ref().map(|latest| (latest.value.clone(), StructureSource::Reused(changes)))
            }
            Plan::Fresh | Plan::Compute | Plan::ComputeLarge => Some(self.fresh(generation, compute)),
        }
    }

    /// For exactly this state: what is there, or what `compute` gives. However many ask at the same
    /// time, it is computed once; the others wait.
    pub(super) fn fresh(&self, generation: i64, compute: impl FnOnce() -> T) -> (Arc<T>, StructureSource) {
        let mut source = StructureSource::Fresh;
        let value = self.here.get_or_init(|| {
            let started = Instant::now();
            let value = Arc::new(compute());
            source = StructureSource::Computed(started.elapsed());
            value
        });
        if source != StructureSource::Fresh {
            self.publish(generation, value.clone());
        }
        (value.clone(), source)
    }

    /// Takes a value that was computed for the generation `then`.
    pub(super) fn put(&self, generation: i64, then: i64, value: Arc<T>) {
        if then == generation {
            let _ = self.here.set(value.clone());
        }
        self.publish(then, value);
    }

    /// Makes a value the latest, unless there is a later one.
    fn publish(&self, generation: i64, value: Arc<T>) {
        let dated = Arc::new(Versioned { generation, value });
        self.latest.rcu(|latest| match latest {
            Some(latest) if latest.generation > generation => Some(latest.clone()),
            _ => Some(dated.clone()),
        });
    }
}
