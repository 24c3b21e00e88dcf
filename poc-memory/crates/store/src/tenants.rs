//! The tenants that have ever written anything, and the records of their names.

use super::record_encoding::Record;
use super::records::Records as _;
use super::table::Table;
use super::{Store, Transaction, keys};
use poc_graph::error::Result;
use poc_graph::{Tenant, Tuple, View};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The record of a tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TenantRow {
    /// The keys and values that identify the tenant.
    pub(super) tuple: Tuple,
}

impl Record for TenantRow {
    const TABLE: Table = Table::Tenants;
}

impl Store {
    /// The default tenant and every tenant that has ever written anything, sorted by name, each with its newest
    /// published view. [`Store::unnamed_tenants`] has those whose names are lost.
    pub fn tenants(&self) -> Result<Vec<(Tuple, Arc<View>)>> {
        let mut named: Vec<(Tuple, Arc<View>)> = vec![(Tuple::default(), self.view_of(Tenant::default()))];
        for (key, row) in self.records().range::<TenantRow>(&[])? {
            named.push((row.tuple, self.view_of(keys::read_tenant(&key)?)));
        }
        named.sort_by(|(a, _), (b, _)| a.pairs().cmp(b.pairs()));
        Ok(named)
    }

    /// Handles of all tenants: of the default one, and of every other that has data or a name.
    pub fn all_tenants(&self) -> Result<Vec<Store>> {
        let named = self.tenants()?.into_iter().map(|(tuple, _)| self.for_tenant(&tuple));
        Ok(named.chain(self.unnamed_tenants()?).collect())
    }

    /// Handles of the tenants that have data but no name, because a damaged part of the store had the record of the
    /// name. [`Store::tuple`] of such a handle is empty, and its writes record no name. The next write through
    /// [`Store::for_tenant`] records the name again.
    pub fn unnamed_tenants(&self) -> Result<Vec<Store>> {
        // The records are read after the views: they have the name of every tenant that has a published view.
        let (_, views) = self.shared.commits.views();
        let rows = self.records().raw_keys(Table::Tenants, &[])?;
        let named = rows.iter().map(|key| keys::read_tenant(key)).collect::<Result<FxHashSet<Tenant>>>()?;
        let is_unnamed = |tenant: &Tenant| !tenant.is_default() && !named.contains(tenant);
        let mut unnamed: Vec<Tenant> = views.into_keys().filter(is_unnamed).collect();
        unnamed.sort_unstable();
        let handle = |tenant| Store { shared: self.shared.clone(), tenant, tuple: Arc::default() };
        Ok(unnamed.into_iter().map(handle).collect())
    }
}

impl Transaction<'_> {
    /// Writes the name of this transaction's tenant if the store lacks it. The name of another tenant is ignored: the
    /// id of a tenant is derived from its name.
    pub fn record_name(&mut self, name: &Tuple) -> Result<()> {
        let tenant = self.tenant();
        if tenant.is_default() || self.get_raw(Table::Tenants, &tenant.0)?.is_some() || name.id() != tenant {
            return Ok(());
        }
        self.put(&tenant.0, &TenantRow { tuple: name.clone() })
    }
}
