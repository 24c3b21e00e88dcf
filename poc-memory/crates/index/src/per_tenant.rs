//! The indexes of all tenants, which are kept up to date with the log together.
//!
//! Each tenant has its own index with its own files. The files of the default tenant are in the directory itself, and
//! those of other tenants in subdirectories of `tenants`. A manifest records the transaction up to which all of them
//! are saved, and for each index the transaction of its last change. An unchanged index is not written again. An index
//! that does not match the manifest starts empty, and only that index is rebuilt.
//!
//! The index of the default tenant is always in memory. Those of other tenants are loaded when they are needed, and
//! unloaded when memory is short. A small index that has changed is then not saved, because saving it takes longer than
//! building it from the notes again. Its files are deleted at the next checkpoint.

mod derived_index;

use crate::error::IndexError;
use crate::latch::Latch;
use parking_lot::{Mutex, RwLock};
use poc_graph::error::Result;
use poc_graph::{Delta, Tenant};
use poc_store::atomic_file::{self, Fingerprint};
use poc_store::{NoteDigests, TenantLoads, TenantSource};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs;
use std::io::ErrorKind;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Number of unused indexes from which those without readers are dropped.
const UNUSED_LIMIT: usize = 64;
/// Maximum number of times that an index is saved in a row because it was changed while it was saved.
const MAX_SAVES: usize = 3;

/// The index of one tenant.
pub trait Index: Send + Sync {
    /// The name used in messages.
    const NAME: &'static str;
    /// Creates an empty index with the same settings and its files in another directory. Its readers wait for
    /// [`Index::release`].
    fn empty_in(&self, directory: &Path) -> Self;
    /// Loads the saved files. Returns whether they were valid.
    fn load(&self) -> bool;
    /// The last transaction in the saved files, if they have the right settings. Their content is not checked.
    fn claimed_seq(&self) -> Option<u64>;
    /// Admits readers from now on.
    fn release(&self);
    /// The sequence number of the last applied transaction of the tenant; 0 while the index is being rebuilt.
    fn applied(&self) -> u64;
    /// Discards the content and the saved files.
    fn reset(&self) -> Result<()>;
    /// Applies a transaction. `seq` is 0 during a rebuild.
    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()>;
    /// Discards what the index in memory still has of deleted and replaced content.
    fn discard_deleted(&self) {}
    /// Like [`Index::discard_deleted`], in the saved files of an index that is not in memory.
    ///
    /// # Errors
    /// If the files cannot be changed.
    fn discard_deleted_in_files(&self) -> Result<()> {
        Ok(())
    }
    /// Saves the index if it has changed since it was last saved.
    fn checkpoint(&self) -> Result<()>;
    /// Whether the index has not changed since it was last saved.
    fn is_saved(&self) -> bool;
    /// The approximate size in memory in bytes.
    fn bytes(&self) -> u64;
    /// A hash of the index's data about each live note. Waits until readers are admitted.
    fn digests(&self) -> NoteDigests;
    /// The saved files that are damaged or were deleted.
    fn damaged_files(&self) -> Vec<PathBuf>;
}

/// The indexes of one kind, one per tenant.
pub struct PerTenant<I> {
    directory: PathBuf,
    main: Arc<I>,
    others: RwLock<TenantIndexes<I>>,
    source: OnceLock<Weak<dyn TenantSource>>,
    // Open when indexes of tenants may be loaded.
    admitted: Latch,
    loads: TenantLoads,
    // The last transaction that was applied to all indexes.
    applied: AtomicU64,
    // The tenants whose index in memory was loaded from its files.
    loaded: RwLock<FxHashSet<Tenant>>,
    // The transaction and the content of the saved manifest.
    saved: Mutex<Option<(u64, Manifest)>>,
    // Held while files of indexes are written or deleted.
    saving: Mutex<()>,
    // Whether a saved file was damaged when it was loaded.
    is_damaged: AtomicBool,
    // Whether no file may be changed.
    is_read_only: AtomicBool,
}

/// For each tenant, the last transaction in its index.
type Manifest = Vec<(Tenant, u64)>;

/// The indexes of all tenants except the default one.
struct TenantIndexes<I> {
    /// The indexes in memory that have content or once had.
    filled: FxHashMap<Tenant, Arc<I>>,
    /// Empty indexes that are still in use. Their readers will see later writes.
    unused: FxHashMap<Tenant, Weak<I>>,
    /// The saved indexes that are not in memory, with the last transaction in their files.
    unloaded: FxHashMap<Tenant, u64>,
    /// The tenants whose index was unloaded without being saved. Their files are outdated.
    outdated: FxHashSet<Tenant>,
    /// Whether readers are admitted.
    released: bool,
}

impl<I: Index> PerTenant<I> {
    /// Creates the set of indexes. `main` is the index of the default tenant, with its files in `directory`.
    pub fn new(main: I, directory: &Path) -> PerTenant<I> {
        PerTenant {
            directory: directory.to_owned(),
            main: Arc::new(main),
            others: RwLock::new(TenantIndexes {
                filled: FxHashMap::default(),
                unused: FxHashMap::default(),
                unloaded: FxHashMap::default(),
                outdated: FxHashSet::default(),
                released: false,
            }),
            source: OnceLock::new(),
            admitted: Latch::default(),
            loads: TenantLoads::default(),
            applied: AtomicU64::new(0),
            loaded: RwLock::default(),
            saved: Mutex::default(),
            saving: Mutex::default(),
            is_damaged: AtomicBool::new(false),
            is_read_only: AtomicBool::new(false),
        }
    }

    /// The index of a tenant, which is loaded if it is not in memory. It stays in memory while it is in use. A tenant
    /// without notes gets an empty index, which fills when the tenant writes.
    ///
    /// If the index cannot be loaded, it is empty, and [`poc_store::DerivedIndex::load_failure`] has the reason.
    pub fn of(&self, tenant: Tenant) -> Arc<I> {
        self.find_or_load(tenant).unwrap_or_else(|error| {
            tracing::error!("the index `{}` of a tenant cannot be loaded: {error}", I::NAME);
            self.create(&self.others.read(), tenant)
        })
    }

    /// All indexes in memory that have content, including that of the default tenant.
    pub fn all(&self) -> Vec<Arc<I>> {
        let others = self.others.read();
        std::iter::once(&self.main).chain(others.filled.values()).cloned().collect()
    }

    /// The index of a tenant, from memory, from its files or built from the tenant's notes; empty if there are none.
    fn find_or_load(&self, tenant: Tenant) -> Result<Arc<I>> {
        if tenant.is_default() {
            return Ok(self.main.clone());
        }
        if let Some(index) = self.others.read().find(tenant) {
            return Ok(index);
        }
        self.admitted.wait();
        let _lock = self.loads.lock(tenant);
        if let Some(index) = self.others.read().find(tenant) {
            return Ok(index);
        }
        let loaded = self.load_tenant(tenant);
        self.loads.set_failure(tenant, loaded.as_ref().err());
        if let Some(index) = loaded? {
            return Ok(index);
        }
        let mut others = self.others.write();
        let index = self.create(&others, tenant);
        others.add_unused(tenant, &index);
        Ok(index)
    }

    /// Loads the saved index of a tenant, or builds it from the tenant's notes; `None` if there are neither. The lock
    /// of the tenant must be held.
    fn load_tenant(&self, tenant: Tenant) -> Result<Option<Arc<I>>> {
        let at = self.others.read().unloaded.get(&tenant).copied();
        let source = self.source.get().and_then(Weak::upgrade);
        if at.is_none() && source.is_none() {
            return Ok(None);
        }
        let index = self.create(&self.others.read(), tenant);
        // A file with another transaction comes from an interrupted checkpoint or from a log that was truncated later.
        let is_valid = at.is_some() && index.load() && Some(index.applied()) == at;
        if !is_valid {
            let damaged = if at.is_some() { index.damaged_files() } else { Vec::new() };
            if !damaged.is_empty() {
                self.is_damaged.store(true, Ordering::Release);
                self.report_damaged(damaged);
            }
            // If no file may be changed, nothing was loaded from them, so the index is empty.
            if !self.is_read_only.load(Ordering::Acquire) {
                // If the files cannot be deleted, the next checkpoint fails, too, and reports it.
                let _ = index.reset();
            }
            let source = source.ok_or(IndexError::Closed)?;
            // The index is built from the records, because they include changes that were applied to the index before
            // it was unloaded and are not published yet.
            let mut is_empty = true;
            source.feed(tenant, &mut |deltas| {
                is_empty &= deltas.is_empty();
                index.apply(0, deltas)
            })?;
            if at.is_none() && is_empty {
                return Ok(None);
            }
        }
        if is_valid {
            self.loaded.write().insert(tenant);
        }
        self.loads.increment();
        self.fill(&mut self.others.write(), tenant, &index);
        Ok(Some(index))
    }

    /// Names files that were damaged when they were loaded.
    fn report_damaged(&self, files: Vec<PathBuf>) {
        if let Some(source) = self.source.get().and_then(Weak::upgrade) {
            files.into_iter().for_each(|file| source.report_damaged(file));
        }
    }

    /// Adds an index to those in memory.
    fn fill(&self, others: &mut TenantIndexes<I>, tenant: Tenant, index: &Arc<I>) {
        if others.released {
            index.release();
        }
        others.unused.remove(&tenant);
        others.unloaded.remove(&tenant);
        others.filled.insert(tenant, index.clone());
    }

    /// The index of a tenant for writing.
    fn for_writing(&self, tenant: Tenant) -> Result<Arc<I>> {
        if tenant.is_default() {
            return Ok(self.main.clone());
        }
        if let Some(index) = self.others.read().filled.get(&tenant) {
            return Ok(index.clone());
        }
        let index = self.find_or_load(tenant)?;
        let mut others = self.others.write();
        if !others.filled.contains_key(&tenant) {
            self.fill(&mut others, tenant, &index);
        }
        Ok(index)
    }

    /// An empty index of a tenant, which is not added to those in memory.
    fn create(&self, others: &TenantIndexes<I>, tenant: Tenant) -> Arc<I> {
        let index = self.main.empty_in(&self.folder(tenant));
        if others.released {
            index.release();
        }
        Arc::new(index)
    }

    /// The folder of the files of all tenants except the default one.
    fn tenants_folder(&self) -> PathBuf {
        self.directory.join("tenants")
    }

    fn folder(&self, tenant: Tenant) -> PathBuf {
        self.tenants_folder().join(tenant.to_string())
    }

    fn manifest(&self) -> PathBuf {
        self.tenants_folder().join("manifest")
    }

    fn read_manifest(&self) -> Option<(u64, Manifest)> {
        let (seq, bytes) = atomic_file::read(&self.manifest(), fingerprint())?;
        Some((seq, postcard::from_bytes(&bytes).ok()?))
    }

    fn write_manifest(&self, seq: u64, manifest: &Manifest) -> Result<()> {
        let bytes = postcard::to_allocvec(manifest)
            .map_err(|problem| IndexError::Encode { what: "list of tenants", problem })?;
        atomic_file::write(&self.manifest(), fingerprint(), seq, &[&bytes])
    }

    /// Deletes the files of tenants whose index has changed and was unloaded without being saved. Texts that were
    /// erased must not stay in them. An index that is in memory again replaces its files when it is saved.
    fn delete_outdated(&self, outdated: &FxHashSet<Tenant>) -> Result<()> {
        let mut is_removed = false;
        for tenant in outdated {
            let _lock = self.loads.lock(*tenant);
            let mut others = self.others.write();
            if others.filled.contains_key(tenant) {
                others.outdated.insert(*tenant);
            } else if !others.unloaded.contains_key(tenant) {
                drop(others);
                is_removed |= remove_folder(&self.folder(*tenant))?;
            }
        }
        match is_removed.then(|| fs::File::open(self.tenants_folder()).and_then(|folder| folder.sync_all())) {
            Some(Err(problem)) => {
                Err(IndexError::RemoveFolder { path: self.tenants_folder(), problem }.into())
            }
            _ => Ok(()),
        }
    }

    /// Saves the index of the default tenant and those of others. Adds them to the manifest, and removes them from the
    /// outdated ones.
    fn save_all(
        &self,
        others: Vec<(Tenant, Arc<I>)>,
        manifest: &mut Manifest,
        outdated: &mut FxHashSet<Tenant>,
    ) -> Result<()> {
        let at = self.main.applied();
        self.main.checkpoint()?;
        manifest.push((Tenant::default(), at));
        for (tenant, index) in others {
            manifest.push((tenant, PerTenant::save(index.as_ref())?));
            outdated.remove(&tenant);
        }
        Ok(())
    }

    /// Saves the index of a tenant other than the default one. Returns the last transaction in its files. If the index
    /// keeps changing, its files may be newer, and are not used.
    fn save(index: &I) -> Result<u64> {
        let mut at = index.applied();
        for _ in 0..MAX_SAVES {
            index.checkpoint()?;
            let now = index.applied();
            if now == at {
                break;
            }
            at = now;
        }
        Ok(at)
    }
}

impl<I> TenantIndexes<I> {
    /// The index of a tenant if it is in memory.
    fn find(&self, tenant: Tenant) -> Option<Arc<I>> {
        self.filled.get(&tenant).cloned().or_else(|| self.unused.get(&tenant)?.upgrade())
    }

    /// Keeps track of an empty index as long as it is in use.
    fn add_unused(&mut self, tenant: Tenant, index: &Arc<I>) {
        // Amortised: either the map shrinks, or its capacity doubles.
        if self.unused.len() >= UNUSED_LIMIT && self.unused.len() == self.unused.capacity() {
            self.unused.retain(|_, index| index.strong_count() > 0);
        }
        self.unused.insert(tenant, Arc::downgrade(index));
    }
}

fn fingerprint() -> Fingerprint {
    Fingerprint::of("indexes of tenants 1")
}

/// Removes a folder with everything in it. Returns whether it existed.
fn remove_folder(path: &Path) -> Result<bool> {
    match fs::remove_dir_all(path) {
        Ok(()) => Ok(true),
        Err(problem) if problem.kind() == ErrorKind::NotFound => Ok(false),
        Err(problem) => Err(IndexError::RemoveFolder { path: path.to_owned(), problem }.into()),
    }
}

/// The index of one tenant, which is loaded when it is first used, and stays in memory from then on.
pub struct TenantIndex<I> {
    all: Arc<PerTenant<I>>,
    tenant: Tenant,
    index: OnceLock<Arc<I>>,
}

impl<I> TenantIndex<I> {
    /// The index of a tenant among those of all.
    pub fn new(all: Arc<PerTenant<I>>, tenant: Tenant) -> TenantIndex<I> {
        TenantIndex { all, tenant, index: OnceLock::new() }
    }
}

impl<I> Clone for TenantIndex<I> {
    fn clone(&self) -> Self {
        TenantIndex { all: self.all.clone(), tenant: self.tenant, index: self.index.clone() }
    }
}

impl<I: Index> Deref for TenantIndex<I> {
    type Target = I;

    fn deref(&self) -> &I {
        self.index.get_or_init(|| self.all.of(self.tenant))
    }
}

#[cfg(test)]
mod tests;
