//! The open memory (store, indexes, embedder and configuration) and the operations on its notes.

pub mod answer_status;
mod automatic_edges;
pub mod backup;
pub mod batch;
mod chunks;
pub mod classify;
pub mod compaction;
pub mod confirmed_question;
pub mod consolidate;
pub mod delete;
pub mod derivation;
pub mod diff;
mod draft;
pub mod duplicates;
mod embedder;
pub mod erasure;
pub mod eval;
pub mod export;
mod folder_entries;
pub mod forget;
pub mod front_matter;
pub mod graph_layout;
pub mod growth;
pub mod history;
pub mod import;
pub mod insert;
mod insert_plan;
pub mod interchange;
mod key;
pub mod keyword_normalization;
pub mod link;
pub mod mark;
pub mod markdown;
pub mod markdown_frame;
pub mod message;
pub mod migrate;
pub mod neighbor_edges;
pub mod passages;
mod past;
mod per_tenant_indexes;
pub mod project;
pub mod quarantine;
pub mod query_gate;
mod read_snapshot;
pub mod recall;
mod regular_file;
pub mod rename;
pub mod rerank;
pub mod resolve;
pub mod samples;
pub mod secrets;
mod sequence;
pub mod session_context;
pub mod speakers;
pub mod stats;
pub mod structure;
pub mod succession;
pub mod supersede;
pub mod sync;
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod undo;
pub mod vault;
mod vault_walk;
pub mod verification;
pub mod visit;
pub mod weight;
pub mod write;

pub use chunks::check_language as check_write_language;
pub use draft::{ClearableField, Draft, EMOTION_MAX, check_origin, known_type};
pub use embedder::recorded_name as recorded_embedder;
pub use key::{fits_in_key, key_words};
pub use past::PastMemory;
pub use per_tenant_indexes::INDEX_FOLDERS;
pub use read_snapshot::ReadSnapshot;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use per_tenant_indexes::PerTenantIndexes;
use poc_config::paths::Paths;
use poc_config::{Config, CopyStartSetting};
use poc_embed::{Embedder, Reranker};
use poc_graph::error::{Error, Result};
use poc_graph::rng::Rng;
use poc_graph::time::{Clock, Timestamp};
use poc_graph::{IdGenerator, MessageId, Node, NodeId, RunId, Tuple, View};
use poc_index::{
    MentionIndex, MentionReader, PerTenant, TenantIndex, TextIndex, TextReader, VectorIndex, VectorReader,
};
use poc_search::query::{Indexes, Names, Sources, VisitRules};
use poc_search::retrieve::Retriever;
use poc_store::{Cause, CopyStart, SharedLog, Store, WriterId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Everything an op or an agent needs, as one tenant sees it. A clone is another handle to the same memory.
#[derive(Clone)]
pub struct Memory {
    /// The directories and files of the profile.
    pub paths: Arc<Paths>,
    /// The configuration, with `embedder` replaced by the embedder of the store.
    pub config: Arc<Config>,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// The random source, for example for ids.
    pub rng: Arc<dyn Rng>,
    /// The embedder of the store.
    pub embedder: Arc<dyn Embedder>,
    /// The cross-encoder that reorders the best hits, if the configuration names one.
    pub reranker: Option<Arc<Reranker>>,
    /// The embedder of the configuration, if the store has another one.
    pub configured_embedder: Option<Arc<poc_config::EmbedderConfig>>,
    /// [`Config::startup_fingerprint`] of the configuration as it was given.
    pub startup_fingerprint: String,
    /// The durable records and their log.
    pub store: Store,
    /// The text index of the tenant.
    pub text: TenantIndex<TextIndex>,
    /// The vector index of the tenant.
    pub vectors: TenantIndex<VectorIndex>,
    /// The mention index of the tenant: which notes mention which.
    pub mentions: TenantIndex<MentionIndex>,
    /// The text indexes of all tenants.
    pub text_by_tenant: Arc<PerTenant<TextIndex>>,
    /// The vector indexes of all tenants.
    pub vectors_by_tenant: Arc<PerTenant<VectorIndex>>,
    /// The mention indexes of all tenants.
    pub mentions_by_tenant: Arc<PerTenant<MentionIndex>>,
    /// The names that a pipeline may use.
    pub names: Arc<ArcSwap<Names>>,
    /// The instance id, which identifies this process in the rows of its runs. Each open of the store gets a new one.
    /// With a shared log it is the id of the writer, so that other processes can tell whether this one is alive.
    pub instance: String,
    /// The agent runs in progress in this process.
    pub active_runs: Arc<Mutex<BTreeSet<RunId>>>,
    id_generator: Arc<IdGenerator>,
    /// The past state that was requested last, by any tenant.
    past: Arc<Mutex<Option<Arc<PastMemory>>>>,
    /// Held by the erasure in progress.
    pub(crate) erasing: Arc<Mutex<()>>,
    pub(crate) pending_samples: Arc<samples::PendingSamples>,
    pub(crate) pending_updates: Arc<recall::PendingUpdates>,
    pub(crate) large_transactions: Arc<Mutex<history::LargeTransactions>>,
    pub(crate) call_ends: Arc<Mutex<history::CallEnds>>,
    pub(crate) call_parts: Arc<Mutex<history::PartsOfCalls>>,
    pub(crate) growth_cache: Arc<Mutex<growth::GrowthCache>>,
    /// Why notes have no vectors of the store's embedder, why there are none of questions, or why the configured
    /// embedder is not in use.
    pub(crate) missing_vectors: Arc<Mutex<Option<String>>>,
}

/// Where the log of a memory is.
#[derive(Clone)]
enum LogKind {
    /// In the folder of the profile.
    Local,
    /// In a folder that need not survive a power failure.
    Temporary,
    /// Outside of the folder of the profile, which has a copy.
    Shared(Arc<dyn SharedLog>),
}

/// The value of [`Memory::instance`] of a writer of a shared log.
pub fn instance_of(writer: WriterId) -> String {
    format!("{:032x}", u128::from_be_bytes(writer))
}

impl Memory {
    /// Opens the memory of a profile, and creates it if it does not exist.
    ///
    /// # Errors
    /// `invalid_config` when the settings name a shared log, besides the errors of `Store::open`.
    pub fn open(paths: Paths, config: Config, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Memory> {
        if !config.store.log.is_empty() {
            return Err(Error::config("the memory has a shared log, which this program cannot open")
                .hint("leave `log` in `[store]` empty, or use the daemon of that memory")
                .field("store.log"));
        }
        Memory::open_with(paths, config, clock, rng, LogKind::Local)
    }

    /// Like [`open`](Self::open), in a folder that need not survive a power failure ([`Store::open_temporary`]). The log
    /// is in that folder, whatever `store.log` says.
    pub fn open_temporary(
        paths: Paths,
        mut config: Config,
        clock: Arc<dyn Clock>,
        rng: Arc<dyn Rng>,
    ) -> Result<Memory> {
        config.store.log.clear();
        Memory::open_with(paths, config, clock, rng, LogKind::Temporary)
    }

    /// Like [`open`](Self::open), with a shared log. The folder of the profile has a local copy of that log.
    pub fn open_shared(
        paths: Paths,
        config: Config,
        clock: Arc<dyn Clock>,
        rng: Arc<dyn Rng>,
        log: Arc<dyn SharedLog>,
    ) -> Result<Memory> {
        Memory::open_with(paths, config, clock, rng, LogKind::Shared(log))
    }

    fn open_with(
        paths: Paths,
        config: Config,
        clock: Arc<dyn Clock>,
        rng: Arc<dyn Rng>,
        log: LogKind,
    ) -> Result<Memory> {
        paths.create()?;
        let startup_fingerprint = config.startup_fingerprint();
        let directory = paths.store();
        let choice = embedder::choose(&directory, &config.embedder)?;
        let embedder = choice.embedder.clone();
        let indexes = PerTenantIndexes::closed(&directory, &config, embedder.as_ref())?;
        let (name, derived) = (embedder.name(), indexes.for_store());
        let store = match log.clone() {
            LogKind::Local => Store::open(&directory, name, derived)?,
            LogKind::Temporary => Store::open_temporary(&directory, name, derived)?,
            LogKind::Shared(log) => {
                let start = copy_start(config.store.begin_with);
                Store::open_shared(&directory, name, derived, log, start)?
            }
        };
        let Some(settled) = embedder::record_choice(&directory, &store, &choice)? else {
            drop(store);
            return Memory::open_with(paths, config, clock, rng, log);
        };
        store.limit_tenant_memory(config.store.tenant_memory);
        let config = Config { embedder: choice.settings, ..config };
        structure::set_loader(&store, &paths.structure(), config.structure.options());
        let memory = Memory {
            text: TenantIndex::new(indexes.text.clone(), store.tenant()),
            vectors: TenantIndex::new(indexes.vectors.clone(), store.tenant()),
            mentions: TenantIndex::new(indexes.mentions.clone(), store.tenant()),
            text_by_tenant: indexes.text,
            vectors_by_tenant: indexes.vectors,
            mentions_by_tenant: indexes.mentions,
            names: Arc::new(ArcSwap::from_pointee(Names::of(&config))),
            instance: store.writer().map_or_else(|| format!("{:016x}", rng.next_u64()), instance_of),
            active_runs: Arc::default(),
            id_generator: Arc::default(),
            past: Arc::default(),
            erasing: Arc::default(),
            pending_samples: Arc::default(),
            pending_updates: Arc::default(),
            large_transactions: Arc::default(),
            call_ends: Arc::default(),
            call_parts: Arc::default(),
            growth_cache: Arc::default(),
            reranker: Reranker::from_config(&config.rerank).map(Arc::new),
            missing_vectors: Arc::default(),
            paths: Arc::new(paths),
            config: Arc::new(config),
            embedder,
            clock,
            rng,
            store,
            configured_embedder: choice.wanted.map(Arc::new),
            startup_fingerprint,
        };
        if memory.configured_embedder.is_none() && settled.incomplete {
            *memory.missing_vectors.lock() = migrate::complete(&memory);
        }
        if let Some(problem) = choice.problem {
            tracing::warn!("{problem}");
            *memory.missing_vectors.lock() = Some(problem);
        } else if !memory.embedder.is_available() {
            let name = memory.embedder.name();
            let problem = format!("vectors: `{name}` is not available: notes are found by words only");
            *memory.missing_vectors.lock() = Some(problem);
        }
        // `doctor` reports a list that cannot be read.
        if memory.store.read_only().is_none()
            && let Err(error) = erasure::remove_without_deletion(&memory)
        {
            tracing::debug!("{error}");
        }
        Ok(memory)
    }

    /// The memory of a tenant. Its indexes are loaded when they are first used, and stay in memory as long as the
    /// returned value.
    pub fn of(&self, tenant: &Tuple) -> Memory {
        self.with_store(self.store.for_tenant(tenant))
    }

    /// The memory of the tenant of a store's handle.
    fn with_store(&self, store: Store) -> Memory {
        Memory {
            text: TenantIndex::new(self.text_by_tenant.clone(), store.tenant()),
            vectors: TenantIndex::new(self.vectors_by_tenant.clone(), store.tenant()),
            mentions: TenantIndex::new(self.mentions_by_tenant.clone(), store.tenant()),
            store,
            ..self.clone()
        }
    }

    /// Stores the pending updates of requests: samples of questions and the updates of recalls.
    ///
    /// # Errors
    /// `read_only` when the disk fails a write. What could not be stored stays in memory.
    pub fn flush(&self) -> Result<()> {
        samples::flush(self).and(recall::flush(self))
    }

    /// The current time of the memory's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The node with an id or a key, in any state.
    pub fn find(&self, name: &str) -> Result<Node> {
        resolve::find(&self.store, &self.store.view(), name)
    }

    /// A fresh node id.
    pub fn new_node_id(&self) -> NodeId {
        self.id_generator.node(self.now(), self.rng.as_ref())
    }

    /// A fresh message id.
    pub fn new_message_id(&self) -> MessageId {
        self.id_generator.message(self.now(), self.rng.as_ref())
    }

    /// A fresh run id.
    pub fn new_run_id(&self) -> RunId {
        self.id_generator.run(self.now(), self.rng.as_ref())
    }

    /// A fresh run id that sorts after `last`, although `last` is not older than the current time.
    pub fn new_run_id_after(&self, last: RunId) -> RunId {
        // In a millisecond of its own, so that the first digits of ids tell runs apart. It has its own generator,
        // because ids of notes must not follow.
        IdGenerator::default().run(Timestamp(last.millis() + 1), self.rng.as_ref())
    }

    /// The cause of a transaction that an op makes for a person.
    pub fn cause(&self, actor: &str, op: &str) -> Cause {
        Cause::new(self.now(), actor, op)
    }

    /// The hybrid retriever over `view`: vectors, text and mentions.
    pub fn retriever<'a>(&'a self, view: &'a View) -> Retriever<'a> {
        Retriever {
            view,
            text: &*self.text,
            vectors: &*self.vectors,
            mentions: &*self.mentions,
            embedder: self.embedder.as_ref(),
            config: &self.config.retrieve,
            except: &[],
            within: None,
            list_derived: false,
        }
    }

    /// The inputs of a pipeline over `view`. Every visit counts for its filters.
    pub fn sources<'a>(&'a self, view: &'a View) -> Sources<'a> {
        Sources {
            view,
            indexes: self,
            embedder: self.embedder.as_ref(),
            config: &self.config,
            now: self.now(),
            quarantined: true,
            pointers: true,
            visits: VisitRules::Search(&[]),
            past: None,
        }
    }
}

/// Where a new copy of the shared log starts.
fn copy_start(setting: CopyStartSetting) -> CopyStart {
    match setting {
        CopyStartSetting::Snapshot => CopyStart::Snapshot,
        CopyStartSetting::History => CopyStart::History,
    }
}

impl Indexes for Memory {
    fn text(&self) -> Result<&dyn TextReader> {
        Ok(&*self.text)
    }

    fn vectors(&self) -> Result<&dyn VectorReader> {
        Ok(&*self.vectors)
    }

    fn mentions(&self) -> Result<&dyn MentionReader> {
        Ok(&*self.mentions)
    }
}
