//! The open memory: store, indexes, embedder and settings together, and what can be done to notes.

pub mod classify;
pub mod delete;
pub mod diff;
mod draft;
pub mod edges;
pub mod export;
pub mod freshness;
pub mod history;
pub mod import;
pub mod insert;
pub mod interchange;
mod key;
pub mod keywords;
pub mod link;
pub mod markdown;
mod past;
mod plan;
mod reading;
pub mod recognize;
pub mod resolve;
pub mod stats;
pub mod structure;
pub mod supersede;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
mod ties;
pub mod visit;
pub mod weigh;

pub use draft::{Draft, EMOTION_MAX};
pub use past::Past;
pub use reading::Reading;

use crate::chance::Chance;
use crate::config::Config;
use crate::embed::{self, Embedder};
use crate::error::Result;
use crate::graph::{Minter, Node, NodeId, RunId, View};
use crate::index::{TextIndex, VectorIndex};
use crate::paths::Paths;
use crate::query::{Indexes, Names, Sources};
use crate::retrieve::Retriever;
use crate::store::{Cause, Store};
use crate::time::{Clock, Timestamp};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::sync::Arc;

/// Everything an op or an agent needs.
pub struct Memory {
    /// Where things live.
    pub paths: Paths,
    /// The settings.
    pub config: Config,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub chance: Arc<dyn Chance>,
    /// Text to vectors.
    pub embedder: Arc<dyn Embedder>,
    /// Durable truth.
    pub store: Store,
    /// Words.
    pub text: Arc<TextIndex>,
    /// Vectors.
    pub vectors: Arc<VectorIndex>,
    /// What the texts of pipelines may name.
    pub names: ArcSwap<Names>,
    /// Names this opening of the store: one process holds it at a time, so a run that carries
    /// another name is nobody's any more.
    pub boot: String,
    minter: Minter,
    // The past state that was asked for last.
    past: Mutex<Option<Arc<Past>>>,
}

impl Memory {
    /// Opens the memory of a profile, making it when it is missing.
    pub fn open(
        paths: Paths,
        config: Config,
        clock: Arc<dyn Clock>,
        chance: Arc<dyn Chance>,
    ) -> Result<Memory> {
        paths.create()?;
        let embedder = embed::open(&config.embedder)?;
        let directory = paths.store();
        let text = Arc::new(TextIndex::closed(&directory.join("text"), &config.text)?);
        let vectors = Arc::new(VectorIndex::closed(
            &directory.join("vectors"),
            &config.vectors,
            embedder.name(),
            embedder.dimensions(),
        )?);
        let store = Store::open(&directory, embedder.name(), vec![text.clone(), vectors.clone()])?;
        structure::remember(&store.view(), &paths.structure(), config.structure.rules());
        let boot = format!("{:016x}", chance.bits());
        let minter = Minter::default();
        let names = ArcSwap::from_pointee(Names::of(&config));
        let past = Mutex::default();
        Ok(Memory { paths, config, names, clock, chance, embedder, store, text, vectors, boot, minter, past })
    }

    /// Now, by the memory's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The node, in any state, that an id or a key names.
    pub fn find(&self, name: &str) -> Result<Node> {
        resolve::find(&self.store, &self.store.view(), name)
    }

    /// A fresh node id.
    pub fn new_node_id(&self) -> NodeId {
        self.minter.node(self.now(), self.chance.as_ref())
    }

    /// A fresh run id.
    pub fn new_run_id(&self) -> RunId {
        self.minter.run(self.now(), self.chance.as_ref())
    }

    /// The cause of a transaction a person's op makes.
    pub fn cause(&self, actor: &str, op: &str) -> Cause {
        Cause { at: self.now(), actor: actor.into(), run: None, op: op.into() }
    }

    /// What finds by meaning and by words together.
    pub fn retriever(&self) -> Retriever<'_> {
        Retriever {
            text: &self.text,
            vectors: &self.vectors,
            embedder: self.embedder.as_ref(),
            config: &self.config.retrieve,
        }
    }

    /// What a pipeline reads, over `view`.
    pub fn sources<'a>(&'a self, view: &'a View) -> Sources<'a> {
        Sources {
            view,
            indexes: self,
            embedder: self.embedder.as_ref(),
            config: &self.config,
            now: self.now(),
            revisit_on_change: true,
        }
    }
}

impl Indexes for Memory {
    fn text(&self) -> Result<&TextIndex> {
        Ok(&self.text)
    }

    fn vectors(&self) -> Result<&VectorIndex> {
        Ok(&self.vectors)
    }
}
