//! The published views that are in memory: that of the default tenant, and those of the tenants that were used last.

use super::tenant_counts::{TenantCounts, TenantTable};
use super::views::{StoreViews, Views};
use poc_graph::{Tenant, View};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// As long as this exists, the view of its tenant stays in memory.
#[derive(Clone, Debug)]
pub(super) struct TenantPin {
    /// `None` for the default tenant.
    _pin: Option<Arc<()>>,
}

/// The newest published view of a tenant.
struct LoadedView {
    view: Arc<View>,
    /// Shared with the pins.
    pin: Arc<()>,
    /// When it was last used, as a value of [`TenantViews::clock`].
    used: AtomicU64,
}

impl LoadedView {
    fn is_pinned(&self) -> bool {
        Arc::strong_count(&self.pin) > 1
    }
}

/// A view that may be unloaded.
pub(super) struct UnloadCandidate {
    pub(super) tenant: Tenant,
    /// Tenants with lower values were used longer ago.
    pub(super) used: u64,
    /// The approximate size of the view.
    pub(super) bytes: u64,
}

/// The views in memory, and the counts of all tenants.
pub(super) struct TenantViews {
    main: Arc<View>,
    loaded: FxHashMap<Tenant, LoadedView>,
    /// The counts of all tenants except the default one.
    counts: TenantTable,
    /// The number of uses so far.
    clock: AtomicU64,
    /// Whether all views stay in memory, because they cannot be built again.
    is_fixed: bool,
}

impl TenantViews {
    /// Only the view of the default tenant is in memory; the others are loaded when they are needed.
    pub(super) fn on_demand(views: StoreViews) -> TenantViews {
        TenantViews {
            main: views.main,
            loaded: FxHashMap::default(),
            counts: views.others,
            clock: AtomicU64::new(0),
            is_fixed: false,
        }
    }

    /// All views are in memory and stay there.
    pub(super) fn fixed(mut views: Views) -> TenantViews {
        let main = views.remove(&Tenant::default()).unwrap_or_else(|| Arc::new(View::new()));
        let mut all = TenantViews::on_demand(StoreViews { main, others: TenantTable::default() });
        for (tenant, view) in views {
            all.publish(tenant, view);
        }
        TenantViews { is_fixed: true, ..all }
    }

    /// Whether all views stay in memory.
    pub(super) fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// The view of the default tenant.
    pub(super) fn main(&self) -> &Arc<View> {
        &self.main
    }

    /// The counts of the other tenants.
    pub(super) fn counts(&self) -> &TenantTable {
        &self.counts
    }

    /// The tenants besides the default one whose views are in memory.
    pub(super) fn loaded(&self) -> impl Iterator<Item = Tenant> {
        self.loaded.keys().copied()
    }

    /// The views in memory, without that of the default tenant. This does not count as a use of them.
    pub(super) fn loaded_views(&self) -> impl Iterator<Item = (Tenant, &Arc<View>)> {
        self.loaded.iter().map(|(tenant, loaded)| (*tenant, &loaded.view))
    }

    /// The view of a tenant other than the default one if it is in memory. This does not count as a use of it.
    pub(super) fn peek(&self, tenant: Tenant) -> Option<&Arc<View>> {
        self.loaded.get(&tenant).map(|loaded| &loaded.view)
    }

    /// The view of a tenant if it is in memory.
    pub(super) fn get(&self, tenant: Tenant) -> Option<Arc<View>> {
        if tenant.is_default() {
            return Some(self.main.clone());
        }
        self.mark_used(tenant).map(|loaded| loaded.view.clone())
    }

    /// Keeps the view of a tenant in memory, if it is there.
    pub(super) fn pin(&self, tenant: Tenant) -> Option<TenantPin> {
        if tenant.is_default() {
            return Some(TenantPin { _pin: None });
        }
        self.mark_used(tenant).map(|loaded| TenantPin { _pin: Some(loaded.pin.clone()) })
    }

    /// The view of a tenant other than the default one, which counts as used now.
    fn mark_used(&self, tenant: Tenant) -> Option<&LoadedView> {
        let loaded = self.loaded.get(&tenant)?;
        loaded.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(loaded)
    }

    /// Adds a view that was loaded.
    pub(super) fn insert(&mut self, tenant: Tenant, view: Arc<View>) {
        let used = AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed));
        self.loaded.insert(tenant, LoadedView { view, pin: Arc::default(), used });
    }

    /// Replaces the view of a tenant with a newer one, and returns the old one. If it was not in memory, it is now.
    pub(super) fn publish(&mut self, tenant: Tenant, view: Arc<View>) -> Option<Arc<View>> {
        if tenant.is_default() {
            return Some(std::mem::replace(&mut self.main, view));
        }
        self.counts.insert(tenant, TenantCounts::of(&view));
        match self.loaded.get_mut(&tenant) {
            Some(loaded) => Some(std::mem::replace(&mut loaded.view, view)),
            None => {
                self.insert(tenant, view);
                None
            }
        }
    }

    /// Replaces the counts of a tenant whose view is not in memory.
    pub(super) fn set_counts(&mut self, tenant: Tenant, counts: TenantCounts) {
        self.counts.insert(tenant, counts);
    }

    /// The views that may be unloaded, in any order.
    pub(super) fn candidates(&self) -> impl Iterator<Item = UnloadCandidate> {
        self.loaded.iter().filter(|(_, loaded)| !loaded.is_pinned()).map(|(tenant, loaded)| UnloadCandidate {
            tenant: *tenant,
            used: loaded.used.load(Ordering::Relaxed),
            bytes: loaded.view.approximate_bytes() as u64,
        })
    }

    /// The approximate size of all views except that of the default tenant.
    pub(super) fn bytes(&self) -> u64 {
        self.loaded.values().map(|loaded| loaded.view.approximate_bytes() as u64).sum()
    }

    /// Unloads a view, unless it is pinned. Readers that have it keep it.
    pub(super) fn remove(&mut self, tenant: Tenant) -> Option<Arc<View>> {
        // A pin is taken under the lock of the views, so none can appear now.
        if self.loaded.get(&tenant)?.is_pinned() {
            return None;
        }
        self.loaded.remove(&tenant).map(|loaded| loaded.view)
    }
}
