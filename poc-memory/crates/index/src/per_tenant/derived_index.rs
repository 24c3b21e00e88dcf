//! Implements [`DerivedIndex`] for the indexes of all tenants, so that a store can load, change, save and unload them.

use super::{Index, Manifest, PerTenant, remove_folder};
use poc_graph::error::{Error, Result};
use poc_graph::{Delta, Tenant};
use poc_store::{DerivedIndex, LoadedIndex, NoteDigests, TenantSource, atomic_file};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// Size of a changed index in memory, in bytes, from which it is saved before it is unloaded.
const MIN_SAVED_BYTES: u64 = 4 << 20;

/// Whether changes affect any index.
fn are_indexed(deltas: &[Delta]) -> bool {
    let is_indexed = |delta: &Delta| {
        matches!(delta, Delta::Node(_) | Delta::NodeDeleted(_) | Delta::Vector(..) | Delta::VectorDeleted(..))
    };
    deltas.iter().any(is_indexed)
}

impl<I: Index> DerivedIndex for PerTenant<I> {
    fn name(&self) -> &'static str {
        I::NAME
    }

    fn connect(&self, source: Weak<dyn TenantSource>) {
        // A set of indexes belongs to one store.
        let _ = self.source.set(source);
    }

    fn load(&self, last: u64) -> Result<()> {
        let saved = self.read_manifest();
        let mut is_damaged = saved.is_none() && atomic_file::is_damaged(&self.manifest());
        if is_damaged {
            self.report_damaged(vec![self.manifest()]);
        }
        let (mut seq, manifest) = saved.clone().unwrap_or((0, vec![(Tenant::default(), 1)]));
        if seq > last {
            return self.reset();
        }
        for (tenant, at) in manifest {
            if !tenant.is_default() {
                self.others.write().unloaded.insert(tenant, at);
                continue;
            }
            if !self.main.load() {
                let damaged = self.main.damaged_files();
                if !damaged.is_empty() {
                    is_damaged = true;
                    self.report_damaged(damaged);
                    // If the files cannot be deleted, the next checkpoint fails, too, and reports it.
                    let _ = self.main.reset();
                }
                continue;
            }
            // After an interrupted checkpoint an index may be ahead of the manifest. That is harmless, because
            // applying a transaction twice has no effect.
            if (at..=last).contains(&self.main.applied()) {
                self.loaded.write().insert(tenant);
            } else {
                self.main.reset()?;
            }
        }
        if saved.is_none() && !self.lacks(Tenant::default()) {
            // A store that was written before tenants existed has no manifest: the file of the default tenant records
            // its own position. The other tenants are rebuilt.
            seq = self.main.applied();
        }
        self.applied.store(seq, Ordering::Release);
        *self.saved.lock() = saved;
        self.is_damaged.store(is_damaged, Ordering::Release);
        Ok(())
    }

    fn load_read_only(&self, usable: RangeInclusive<u64>) {
        self.is_read_only.store(true, Ordering::Release);
        let Some((seq, manifest)) = self.read_manifest().filter(|(seq, _)| usable.contains(seq)) else {
            return;
        };
        // The position is compared before the index is loaded, because one that is loaded can only be discarded
        // together with its files. The indexes of other tenants are built from the records.
        let at = manifest.iter().find(|(tenant, _)| tenant.is_default()).map(|(_, at)| *at);
        let claimed = self.main.claimed_seq();
        let is_usable = at.zip(claimed).is_some_and(|(at, claimed)| (at..=*usable.end()).contains(&claimed));
        if is_usable && self.main.load() {
            self.loaded.write().insert(Tenant::default());
            self.applied.store(seq, Ordering::Release);
        }
    }

    fn has_damaged_file(&self) -> bool {
        self.is_damaged.load(Ordering::Acquire)
    }

    fn lacks(&self, tenant: Tenant) -> bool {
        let others = self.others.read();
        if tenant.is_default() || others.filled.contains_key(&tenant) {
            return !self.loaded.read().contains(&tenant);
        }
        let Some(at) = others.unloaded.get(&tenant) else { return true };
        self.main.empty_in(&self.folder(tenant)).claimed_seq() != Some(*at)
    }

    fn admit(&self) {
        self.admitted.open();
    }

    fn start_feed(&self, tenant: Tenant) {
        let _lock = self.loads.lock(tenant);
        let mut others = self.others.write();
        if !tenant.is_default() && !others.filled.contains_key(&tenant) {
            let index = others.find(tenant).unwrap_or_else(|| self.create(&others, tenant));
            self.fill(&mut others, tenant, &index);
        }
    }

    fn prepare(&self, tenant: Tenant) {
        // A failure is reported when the index is used.
        let _ = self.find_or_load(tenant);
    }

    fn loaded(&self) -> Vec<LoadedIndex> {
        let others = self.others.read();
        let loaded =
            |(tenant, index): (&Tenant, &Arc<I>)| LoadedIndex { tenant: *tenant, bytes: index.bytes() };
        others.filled.iter().map(loaded).collect()
    }

    fn loads(&self) -> u64 {
        self.loads.count()
    }

    fn unload(&self, tenant: Tenant) -> Result<bool> {
        let is_in_use = |index: &Arc<I>, own_references: usize| Arc::strong_count(index) > own_references;
        let index = {
            let others = self.others.read();
            match others.filled.get(&tenant) {
                None => return Ok(true),
                Some(index) if is_in_use(index, 1) => return Ok(false),
                Some(index) => index.clone(),
            }
        };
        // A checkpoint may be writing the same files.
        let Some(_saving) = self.saving.try_lock() else { return Ok(false) };
        let at = match index.is_saved() || index.bytes() >= MIN_SAVED_BYTES {
            true => Some(PerTenant::save(index.as_ref())?),
            false => None,
        };
        let mut others = self.others.write();
        // The references are that of the map and that of this function. New ones are made under the lock.
        let is_same = others.filled.get(&tenant).is_some_and(|current| Arc::ptr_eq(current, &index));
        if !is_same || is_in_use(&index, 2) {
            return Ok(false);
        }
        match at {
            Some(at) if index.is_saved() && index.applied() == at => {
                others.unloaded.insert(tenant, at);
            }
            // It has changed meanwhile.
            Some(_) => return Ok(false),
            None => {
                others.outdated.insert(tenant);
            }
        }
        others.filled.remove(&tenant);
        drop(others);
        self.loaded.write().remove(&tenant);
        Ok(true)
    }

    fn load_failure(&self, tenant: Tenant) -> Option<Error> {
        self.loads.failure(tenant)
    }

    fn release(&self) {
        let mut others = self.others.write();
        others.released = true;
        self.main.release();
        others.filled.values().for_each(|index| index.release());
        others.unused.values().filter_map(Weak::upgrade).for_each(|index| index.release());
        drop(others);
        // After a failure, indexes are loaded but not brought up to date, which every answer reports.
        self.admitted.open();
    }

    fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    fn reset(&self) -> Result<()> {
        atomic_file::remove(&self.manifest())?;
        *self.saved.lock() = None;
        self.loaded.write().clear();
        self.others.write().unloaded.clear();
        self.applied.store(0, Ordering::Release);
        for index in self.all() {
            index.reset()?;
        }
        remove_folder(&self.tenants_folder()).map(drop)
    }

    fn apply(&self, seq: u64, tenant: Tenant, deltas: &[Delta]) -> Result<()> {
        let is_relevant = if tenant.is_default() { !deltas.is_empty() } else { are_indexed(deltas) };
        if is_relevant {
            self.for_writing(tenant)?.apply(seq, deltas)?;
        }
        self.applied.fetch_max(seq, Ordering::AcqRel);
        Ok(())
    }

    fn discard_deleted(&self) -> Result<()> {
        // Meanwhile no index is saved or unloaded, so one that is not in memory now, and is later, is discarded there.
        let _saving = self.saving.lock();
        let unloaded: Vec<Tenant> = self.others.read().unloaded.keys().copied().collect();
        for tenant in unloaded {
            let _lock = self.loads.lock(tenant);
            if self.others.read().unloaded.contains_key(&tenant) {
                self.main.empty_in(&self.folder(tenant)).discard_deleted_in_files()?;
            }
        }
        self.all().iter().for_each(|index| index.discard_deleted());
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        let _saving = self.saving.lock();
        // The position is read before the indexes are saved. A later transaction is then either included in
        // the saved index or applied again after the next open.
        let seq = self.applied();
        let (filled, mut manifest, mut outdated) = {
            let mut others = self.others.write();
            let filled: Vec<(Tenant, Arc<I>)> =
                others.filled.iter().map(|(tenant, index)| (*tenant, index.clone())).collect();
            let unloaded: Manifest = others.unloaded.iter().map(|(tenant, at)| (*tenant, *at)).collect();
            (filled, unloaded, std::mem::take(&mut others.outdated))
        };
        let saved = self.save_all(filled, &mut manifest, &mut outdated);
        let deleted = saved.and_then(|()| self.delete_outdated(&outdated));
        if deleted.is_err() {
            self.others.write().outdated.extend(outdated);
        }
        deleted?;
        manifest.sort_unstable();
        self.is_damaged.store(false, Ordering::Release);
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
        let empty = self.main.empty_in(&self.tenants_folder());
        empty.apply(0, deltas)?;
        empty.release();
        Ok(empty.digests())
    }

    fn damaged_files(&self) -> Vec<PathBuf> {
        let is_saved = self.saved.lock().is_some();
        let is_damaged = |file: &PathBuf| atomic_file::is_damaged(file) || is_saved && !file.exists();
        let manifest = Some(self.manifest()).filter(is_damaged);
        let mut found: Vec<PathBuf> = manifest.into_iter().collect();
        found.extend(self.all().iter().flat_map(|index| index.damaged_files()));
        let unloaded: Vec<Tenant> = self.others.read().unloaded.keys().copied().collect();
        for tenant in unloaded {
            found.extend(self.main.empty_in(&self.folder(tenant)).damaged_files());
        }
        found
    }
}
