//! Keeps the views and indexes of tenants within a limit of memory: the tenants that were used longest ago are
//! unloaded.
//!
//! The view and the indexes of the default tenant always stay, and so do those that are in use: a view while a
//! transaction of its tenant is not published, an index while a request has it. The limit is therefore exceeded if the
//! tenants that are used at the same time need more.

use super::CommitQueue;
use crate::derived_index::LoadedIndex;
use crate::index_workers::IndexWorkers;
use crate::loaded_tenants::LoadedTenants;
use crate::lock::Lock;
use crate::log::{Log, SyncedLog};
use crate::tenant_views::UnloadCandidate;
use parking_lot::Mutex;
use poc_graph::Tenant;
use poc_graph::error::Result;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The limit, until [`TenantMemory::set_limit`] sets another.
const UNLIMITED: u64 = u64::MAX;

/// The limit, and the state of unloading tenants.
pub(crate) struct TenantMemory {
    lock: Arc<Lock>,
    log: Arc<Log>,
    limit: AtomicU64,
    /// The number of loads after which the memory was checked last. Held during the check, so that there is only one.
    checked: Mutex<u64>,
}

/// The memory of a tenant.
#[derive(Default)]
struct Usage {
    used: u64,
    bytes: u64,
}

impl TenantMemory {
    /// Without a limit. Indexes and views are saved only while the store's folder is locked and its log can be synced.
    pub(crate) fn new(lock: Arc<Lock>, log: Arc<Log>) -> TenantMemory {
        TenantMemory { lock, log, limit: AtomicU64::new(UNLIMITED), checked: Mutex::new(0) }
    }

    /// Sets the limit in bytes, which applies from the next load on.
    pub(crate) fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Unloads tenants if more than the limit is in memory and a tenant was loaded since the last check.
    pub(crate) fn make_room(&self, commits: &CommitQueue, workers: &IndexWorkers) {
        let limit = self.limit.load(Ordering::Relaxed);
        if limit == UNLIMITED {
            return;
        }
        // If another thread holds the lock, it makes room.
        let Some(mut checked) = self.checked.try_lock() else { return };
        let loads = commits.loads() + workers.loads();
        if *checked == loads || commits.is_fixed() {
            return;
        }
        let (usage, total) = usage(commits, workers);
        let may_save =
            || self.log.is_recovered() && self.log.lost_bytes().is_none() && self.lock.is_current();
        if total > limit && may_save() {
            let unloaded = self.log.keep_synced().and_then(|synced| {
                // Some more than necessary is unloaded, so that this is not repeated at every load.
                unload_oldest(commits, workers, usage, total - limit / 10 * 9, &synced)
            });
            if let Err(error) = unloaded {
                tracing::warn!("a tenant stays in memory, because it cannot be saved: {error}");
            }
        }
        *checked = loads;
    }

    /// What is in memory now.
    pub(crate) fn loaded(&self, commits: &CommitQueue, workers: &IndexWorkers) -> LoadedTenants {
        let indexes = workers.loaded();
        let bytes = commits.view_bytes() + indexes.iter().map(|index| index.bytes).sum::<u64>();
        let mut tenants = commits.loaded();
        tenants.extend(indexes.iter().map(|index| index.tenant));
        LoadedTenants { count: tenants.len(), bytes, limit: self.limit.load(Ordering::Relaxed) }
    }
}

/// Unloads the tenants that were used longest ago, until they had `excess` bytes together.
fn unload_oldest(
    commits: &CommitQueue,
    workers: &IndexWorkers,
    usage: FxHashMap<Tenant, Usage>,
    mut excess: u64,
    synced: &SyncedLog<'_>,
) -> Result<()> {
    let mut oldest: Vec<(Tenant, Usage)> = usage.into_iter().collect();
    oldest.sort_unstable_by_key(|(_, usage)| usage.used);
    for (tenant, usage) in oldest {
        if excess == 0 {
            break;
        }
        if workers.unload(tenant, synced)? && unload_view(commits, tenant, synced) {
            excess = excess.saturating_sub(usage.bytes);
        }
    }
    Ok(())
}

/// Unloads the view of a tenant, after saving it if it has many notes. Returns whether it was unloaded.
fn unload_view(commits: &CommitQueue, tenant: Tenant, synced: &SyncedLog<'_>) -> bool {
    let may_unload = commits.save_view(tenant, synced).unwrap_or_else(|error| {
        tracing::warn!("a view is unloaded without being saved, and will be built again: {error}");
        true
    });
    if may_unload {
        commits.unload(tenant);
    }
    may_unload
}

/// The memory of each tenant that may be unloaded, and the total of all.
fn usage(commits: &CommitQueue, workers: &IndexWorkers) -> (FxHashMap<Tenant, Usage>, u64) {
    let mut total = commits.view_bytes();
    let mut usage: FxHashMap<Tenant, Usage> = FxHashMap::default();
    for UnloadCandidate { tenant, used, bytes } in commits.candidates() {
        usage.insert(tenant, Usage { used, bytes });
    }
    let pinned = commits.loaded();
    for LoadedIndex { tenant, bytes } in workers.loaded() {
        total += bytes;
        // The indexes of a tenant whose view is not in memory are not in use, so they are unloaded first.
        if usage.contains_key(&tenant) || !pinned.contains(&tenant) {
            usage.entry(tenant).or_default().bytes += bytes;
        }
    }
    (usage, total)
}
