//! The indexes of all tenants, which follow the log together.
//!
//! Each tenant has its own index with its own files. The files of the default tenant are in the directory itself, and
//! those of other tenants in subdirectories of `tenants`. A manifest records the transaction up to which all of them
//! are saved, and for each index the transaction of its last change. An unchanged index is not written again. An index
//! that does not match the manifest starts empty, and only that index is rebuilt.

use crate::error::IndexError;
use parking_lot::{Mutex, RwLock};
use poc_graph::error::Result;
use poc_graph::{Delta, Tenant};
use poc_store::atomic_file::{self, Fingerprint};
use poc_store::{Follower, NoteDigests};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Number of unused indexes from which those without readers are dropped.
const UNUSED_LIMIT: usize = 64;

/// The index of one tenant.
pub trait Index: Send + Sync {
    /// The name used in messages.
    const NAME: &'static str;
    /// Creates an empty index with the same settings and its files in another directory. Its readers wait for
    /// [`Index::release`].
    fn empty_in(&self, directory: &Path) -> Self;
    /// Loads the saved files. Returns whether they were valid.
    fn load(&self) -> bool;
    /// Admits readers from now on.
    fn release(&self);
    /// The sequence number of the last applied transaction of the tenant; 0 while the index is being rebuilt.
    fn applied(&self) -> u64;
    /// Discards the content and the saved files.
    fn reset(&self) -> Result<()>;
    /// Applies a transaction. `seq` is 0 during a rebuild.
    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()>;
    /// Saves the index if it has changed since it was last saved.
    fn checkpoint(&self) -> Result<()>;
    /// A hash of the index's data about each live note. Waits until readers are admitted.
    fn digests(&self) -> NoteDigests;
    /// The saved files that are damaged.
    fn damaged_files(&self) -> Vec<PathBuf>;
}

/// The indexes of one kind, one per tenant.
pub struct PerTenant<I> {
    directory: PathBuf,
    main: Arc<I>,
    others: RwLock<TenantIndexes<I>>,
    // The last transaction that was applied to all of them.
    applied: AtomicU64,
    // The tenants whose saved index was loaded.
    loaded: RwLock<FxHashSet<Tenant>>,
    saved: Mutex<Option<(u64, Manifest)>>,
    // Whether a saved file was damaged when it was loaded.
    is_damaged: AtomicBool,
}

/// For each tenant, the last transaction in its index.
type Manifest = Vec<(Tenant, u64)>;

/// The indexes of all tenants except the default one.
struct TenantIndexes<I> {
    /// The indexes that have content or once had.
    filled: FxHashMap<Tenant, Arc<I>>,
    /// Empty indexes that are still in use. Their readers will see later writes.
    unused: FxHashMap<Tenant, Weak<I>>,
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
                released: false,
            }),
            applied: AtomicU64::new(0),
            loaded: RwLock::default(),
            saved: Mutex::default(),
            is_damaged: AtomicBool::new(false),
        }
    }

    /// The index of a tenant. A tenant without notes gets an empty index, which fills when the tenant writes.
    pub fn of(&self, tenant: Tenant) -> Arc<I> {
        if tenant.is_default() {
            return self.main.clone();
        }
        if let Some(index) = self.others.read().find(tenant) {
            return index;
        }
        let mut others = self.others.write();
        match others.find(tenant) {
            Some(index) => index,
            None => {
                let index = self.create(&others, tenant);
                others.add_unused(tenant, &index);
                index
            }
        }
    }

    /// All indexes that have content, including that of the default tenant.
    pub fn all(&self) -> Vec<Arc<I>> {
        let others = self.others.read();
        std::iter::once(&self.main).chain(others.filled.values()).cloned().collect()
    }

    /// The index of a tenant for writing.
    fn get_or_create(&self, tenant: Tenant) -> Arc<I> {
        if tenant.is_default() {
            return self.main.clone();
        }
        if let Some(index) = self.others.read().filled.get(&tenant) {
            return index.clone();
        }
        let mut others = self.others.write();
        let index = others.find(tenant).unwrap_or_else(|| self.create(&others, tenant));
        others.unused.remove(&tenant);
        others.filled.insert(tenant, index.clone());
        index
    }

    fn create(&self, others: &TenantIndexes<I>, tenant: Tenant) -> Arc<I> {
        let index = self.main.empty_in(&self.folders().join(tenant.to_string()));
        if others.released {
            index.release();
        }
        Arc::new(index)
    }

    fn folders(&self) -> PathBuf {
        self.directory.join("tenants")
    }

    fn manifest(&self) -> PathBuf {
        self.folders().join("manifest")
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
}

impl<I> TenantIndexes<I> {
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

impl<I: Index> Follower for PerTenant<I> {
    fn name(&self) -> &'static str {
        I::NAME
    }

    fn load(&self, last: u64) -> Result<()> {
        let saved = self.read_manifest();
        let mut is_damaged = saved.is_none() && atomic_file::is_damaged(&self.manifest());
        let (mut seq, manifest) = saved.clone().unwrap_or((0, vec![(Tenant::default(), 1)]));
        if seq > last {
            return self.reset();
        }
        for (tenant, at) in manifest {
            let index = self.get_or_create(tenant);
            if !index.load() {
                if !index.damaged_files().is_empty() {
                    is_damaged = true;
                    // If the files cannot be deleted, the next checkpoint fails, too, and reports it.
                    let _ = index.reset();
                }
                continue;
            }
            // After an interrupted checkpoint an index may be ahead of the manifest. That is harmless, because
            // applying a transaction twice has no effect.
            if (at..=last).contains(&index.applied()) {
                self.loaded.write().insert(tenant);
            } else {
                index.reset()?;
            }
        }
        if saved.is_none() && !self.lacks(Tenant::default()) {
            // A store from before there were tenants has no manifest: the file of the default tenant records
            // its own position. The other tenants are rebuilt.
            seq = self.main.applied();
        }
        self.applied.store(seq, Ordering::Release);
        *self.saved.lock() = saved;
        self.is_damaged.store(is_damaged, Ordering::Release);
        Ok(())
    }

    fn has_damaged_file(&self) -> bool {
        self.is_damaged.load(Ordering::Acquire)
    }

    fn lacks(&self, tenant: Tenant) -> bool {
        !self.loaded.read().contains(&tenant)
    }

    fn release(&self) {
        let mut others = self.others.write();
        others.released = true;
        self.main.release();
        others.filled.values().for_each(|index| index.release());
        others.unused.values().filter_map(Weak::upgrade).for_each(|index| index.release());
    }

    fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    fn reset(&self) -> Result<()> {
        atomic_file::remove(&self.manifest())?;
        *self.saved.lock() = None;
        self.loaded.write().clear();
        self.applied.store(0, Ordering::Release);
        for index in self.all() {
            index.reset()?;
        }
        match fs::remove_dir_all(self.folders()) {
            Err(problem) if problem.kind() != ErrorKind::NotFound => {
                Err(IndexError::RemoveFolder { path: self.folders(), problem }.into())
            }
            _ => Ok(()),
        }
    }

    fn apply(&self, seq: u64, tenant: Tenant, deltas: &[Delta]) -> Result<()> {
        if !deltas.is_empty() {
            self.get_or_create(tenant).apply(seq, deltas)?;
        }
        self.applied.fetch_max(seq, Ordering::AcqRel);
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        // The position is read before the indexes are saved. A later transaction is then either included in
        // the saved index or applied again after the next open.
        let seq = self.applied();
        let filled: Vec<(Tenant, Arc<I>)> =
            self.others.read().filled.iter().map(|(tenant, index)| (*tenant, index.clone())).collect();
        let mut manifest = Manifest::new();
        for (tenant, index) in std::iter::once((Tenant::default(), self.main.clone())).chain(filled) {
            let at = index.applied();
            index.checkpoint()?;
            manifest.push((tenant, at));
        }
        manifest.sort_unstable();
        let mut saved = self.saved.lock();
        if saved.as_ref().is_some_and(|(at, known)| *at == seq && *known == manifest) {
            return Ok(());
        }
        self.write_manifest(seq, &manifest)?;
        *saved = Some((seq, manifest));
        Ok(())
    }

    fn digests(&self, tenant: Tenant) -> Option<NoteDigests> {
        Some(self.of(tenant).digests())
    }

    fn digests_of(&self, deltas: &[Delta]) -> Result<NoteDigests> {
        // This index is never saved, so the folder is not used.
        let blank = self.main.empty_in(&self.folders());
        blank.apply(0, deltas)?;
        blank.release();
        Ok(blank.digests())
    }

    fn damaged_files(&self) -> Vec<PathBuf> {
        let manifest = Some(self.manifest()).filter(|manifest| atomic_file::is_damaged(manifest));
        manifest.into_iter().chain(self.all().iter().flat_map(|index| index.damaged_files())).collect()
    }
}

#[cfg(test)]
mod tests;
