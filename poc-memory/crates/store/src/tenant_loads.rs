//! The bookkeeping of data of single tenants that is loaded on demand: views and indexes.

use parking_lot::{Mutex, MutexGuard};
use poc_graph::Tenant;
use poc_graph::error::Error;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of locks that are shared by all tenants.
const LOCKS: usize = 64;

/// Prevents two threads from loading the same data, counts the loads, and remembers those that failed.
#[derive(Debug)]
pub struct TenantLoads {
    locks: Vec<Mutex<()>>,
    count: AtomicU64,
    /// The tenants whose data could not be loaded the last time, with the reason.
    failures: Mutex<FxHashMap<Tenant, Error>>,
}

impl Default for TenantLoads {
    fn default() -> Self {
        TenantLoads {
            locks: std::iter::repeat_with(Mutex::default).take(LOCKS).collect(),
            count: AtomicU64::new(0),
            failures: Mutex::default(),
        }
    }
}

impl TenantLoads {
    /// Waits until no other thread loads the data of the tenant, and locks it. Several tenants share a lock.
    pub fn lock(&self, tenant: Tenant) -> Option<MutexGuard<'_, ()>> {
        let number = usize::from(tenant.0.first().copied().unwrap_or_default()) % LOCKS;
        self.locks.get(number).map(Mutex::lock)
    }

    /// Counts a load.
    pub fn increment(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of loads.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Remembers why the data of a tenant could not be loaded; `None` if it could.
    pub fn set_failure(&self, tenant: Tenant, failure: Option<&Error>) {
        match failure {
            Some(error) => self.failures.lock().insert(tenant, error.clone()),
            None => self.failures.lock().remove(&tenant),
        };
    }

    /// Why the data of a tenant could not be loaded the last time; `None` if it could. For the default tenant, the
    /// reason for any tenant.
    pub fn failure(&self, tenant: Tenant) -> Option<Error> {
        let failures = self.failures.lock();
        let failure = match tenant.is_default() {
            true => failures.values().next(),
            false => failures.get(&tenant),
        };
        failure.cloned()
    }
}
