//! Loads the views of tenants when they are needed: from their files, or else from their records.
//!
//! A tenant whose view is not in memory has no transaction that is built and not yet published: building one pins the
//! view. Its records and its last transaction therefore change during a load only if the records of another daemon are
//! applied, which excludes loads.

use super::CommitQueue;
use crate::catch_up;
use crate::engine::Engine;
use crate::tenant_counts::{TenantCounts, TenantTable};
use crate::tenant_loads::TenantLoads;
use crate::tenant_views::{TenantPin, TenantViews, UnloadCandidate};
use parking_lot::RwLock;
use poc_graph::error::{Error, Result};
use poc_graph::{Tenant, View};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The state of the loads.
#[derive(Debug, Default)]
pub(super) struct ViewLoads {
    tenants: TenantLoads,
    /// Read while a view is loaded. Written while records of other daemons are applied.
    pub(super) records: RwLock<()>,
}

impl CommitQueue {
    /// The newest published view of a tenant, which is loaded if it is not in memory.
    ///
    /// # Errors
    /// Those of the records.
    pub(crate) fn view(&self, tenant: Tenant, engine: &dyn Engine) -> Result<Arc<View>> {
        {
            let published = self.published.read();
            if let Some(view) = published.views.get(tenant) {
                return Ok(view);
            }
            if !published.views.counts().contains_key(&tenant) {
                return Ok(self.empty.clone());
            }
        }
        Ok(self.load(tenant, engine)?.0)
    }

    /// Keeps the view of a tenant in memory, and loads it if it is not there.
    ///
    /// # Errors
    /// Those of the records.
    pub(crate) fn pin(&self, tenant: Tenant, engine: &dyn Engine) -> Result<TenantPin> {
        let pin = self.published.read().views.pin(tenant);
        pin.map_or_else(|| Ok(self.load(tenant, engine)?.1), Ok)
    }

    /// The newest published view of a tenant that is pinned.
    pub(crate) fn pinned_view(&self, tenant: Tenant) -> Arc<View> {
        self.published.read().views.get(tenant).unwrap_or_else(|| self.empty.clone())
    }

    fn load(&self, tenant: Tenant, engine: &dyn Engine) -> Result<(Arc<View>, TenantPin)> {
        let _lock = self.loads.tenants.lock(tenant);
        let _records = self.loads.records.read();
        let in_memory = |views: &TenantViews| Some((views.get(tenant)?, views.pin(tenant)?));
        let known = {
            let published = self.published.read();
            if let Some(found) = in_memory(&published.views) {
                return Ok(found);
            }
            published.views.counts().get(&tenant).copied()
        };
        let saved =
            self.view_files.as_ref().zip(known).and_then(|(files, counts)| files.load(tenant, &counts));
        let loaded = match (saved, known) {
            (Some(view), _) => Ok(view),
            (None, Some(counts)) => catch_up::view(engine, tenant, counts.seq, &|| {}),
            (None, None) => Ok(View::new()),
        };
        self.loads.tenants.set_failure(tenant, loaded.as_ref().err());
        let view = Arc::new(loaded?);
        let mut published = self.published.write();
        published.views.insert(tenant, view.clone());
        self.loads.tenants.increment();
        let pin = published.views.pin(tenant);
        pin.map(|pin| (view, pin)).ok_or_else(|| Error::internal("a view that was loaded is not in memory"))
    }

    /// The number of views that were loaded since the store was opened.
    pub(crate) fn loads(&self) -> u64 {
        self.loads.tenants.count()
    }

    /// Why the view of a tenant could not be loaded the last time; `None` if it could. For the default tenant, the
    /// reason for any tenant.
    pub(crate) fn load_failure(&self, tenant: Tenant) -> Option<Error> {
        self.loads.tenants.failure(tenant)
    }

    /// The newest published view of the default tenant, the counts of the others, and the number of the last
    /// transaction in them.
    pub(crate) fn main_and_counts(&self) -> (u64, Arc<View>, TenantTable) {
        let published = self.published.read();
        (published.seq, published.views.main().clone(), published.views.counts().clone())
    }

    /// The default tenant, and every other one that has ever written anything.
    pub(crate) fn tenants(&self) -> Vec<Tenant> {
        let published = self.published.read();
        std::iter::once(Tenant::default()).chain(published.views.counts().keys().copied()).collect()
    }

    /// The counts of a tenant other than the default one; `None` if it has never written anything.
    pub(crate) fn counts(&self, tenant: Tenant) -> Option<TenantCounts> {
        self.published.read().views.counts().get(&tenant).copied()
    }

    /// Whether all views stay in memory.
    pub(crate) fn is_fixed(&self) -> bool {
        self.published.read().views.is_fixed()
    }

    /// The tenants whose views are in memory, without the default one.
    pub(crate) fn loaded(&self) -> FxHashSet<Tenant> {
        self.published.read().views.loaded().collect()
    }

    /// The views that may be unloaded.
    pub(crate) fn candidates(&self) -> Vec<UnloadCandidate> {
        self.published.read().views.candidates().collect()
    }

    /// The approximate size of all views except that of the default tenant, in bytes.
    pub(crate) fn view_bytes(&self) -> u64 {
        self.published.read().views.bytes()
    }

    /// Unloads a view, unless it is pinned.
    pub(crate) fn unload(&self, tenant: Tenant) {
        // It is freed after the lock is released.
        let _view = self.published.write().views.remove(tenant);
    }
}
