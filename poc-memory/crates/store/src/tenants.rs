//! The tenants that have ever written anything, and the records of their names.

use super::loaded_tenants::LoadedTenants;
use super::record_encoding::Record;
use super::records::Records as _;
use super::table::Table;
use super::tenant_counts::TenantCounts;
use super::{Store, Transaction, keys};
use poc_graph::error::Result;
use poc_graph::{Tenant, Tuple};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
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

/// A tenant whose name is known.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedTenant {
    /// The keys and values that identify the tenant.
    pub tuple: Tuple,
    /// The counts of its newest published view.
    pub counts: TenantCounts,
}

impl Store {
    /// The default tenant and every tenant that has ever written anything, sorted by name. No view is loaded.
    /// [`Store::unnamed_tenants`] has those whose names are lost.
    pub fn tenants(&self) -> Result<Vec<NamedTenant>> {
        let rows = self.records().range::<TenantRow>(&[])?;
        let (_, main, counts) = self.shared.commits.main_and_counts();
        let mut named = vec![NamedTenant { tuple: Tuple::default(), counts: TenantCounts::of(&main) }];
        for (key, row) in rows {
            let counts = counts.get(&keys::read_tenant(&key)?).copied().unwrap_or_default();
            named.push(NamedTenant { tuple: row.tuple, counts });
        }
        named.sort_by(|a, b| a.tuple.pairs().cmp(b.tuple.pairs()));
        Ok(named)
    }

    /// Handles of all tenants: of the default one, and of every other that has data or a name.
    pub fn all_tenants(&self) -> Result<Vec<Store>> {
        let named = self.tenants()?.into_iter().map(|named| self.with_tuple(named.tuple));
        Ok(named.chain(self.unnamed_tenants()?).collect())
    }

    /// Handles of the tenants that have data but no name, because a damaged part of the store had the record of the
    /// name. [`Store::tuple`] of such a handle is empty, and its writes record no name. The next write through
    /// [`Store::for_tenant`] records the name again.
    pub fn unnamed_tenants(&self) -> Result<Vec<Store>> {
        // The records are read after the tenants: they have the name of every tenant that has published changes.
        let mut unnamed = self.shared.commits.tenants();
        let rows = self.records().raw_keys(Table::Tenants, &[])?;
        let named = rows.iter().map(|key| keys::read_tenant(key)).collect::<Result<FxHashSet<Tenant>>>()?;
        unnamed.retain(|tenant| !tenant.is_default() && !named.contains(tenant));
        unnamed.sort_unstable();
        let handle = |tenant| Store { shared: self.shared.clone(), tenant, tuple: Arc::default() };
        Ok(unnamed.into_iter().map(handle).collect())
    }

    /// The handle of the tenant whose name is spelled exactly like this.
    pub(super) fn with_tuple(&self, tuple: Tuple) -> Store {
        Store { shared: self.shared.clone(), tenant: tuple.id(), tuple: Arc::new(tuple) }
    }

    /// The spelling of a tenant's name that has data; the composed one if there is none. Former versions stored every
    /// name as it was given.
    pub(super) fn known_spelling<'a>(&self, tuple: &'a Tuple) -> Cow<'a, Tuple> {
        let (composed, decomposed) = (tuple.composed(), tuple.decomposed());
        let has_one_spelling = *composed == *tuple && *decomposed == *tuple;
        let is_known = |tuple: &Tuple| self.shared.commits.counts(tuple.id()).is_some();
        if has_one_spelling || is_known(tuple) {
            Cow::Borrowed(tuple)
        } else if !is_known(&composed) && is_known(&decomposed) {
            decomposed
        } else {
            composed
        }
    }

    /// The counts of this tenant's newest published view, which is not loaded.
    pub fn counts(&self) -> TenantCounts {
        if self.tenant.is_default() {
            return TenantCounts::of(&self.view());
        }
        self.shared.commits.counts(self.tenant).unwrap_or_default()
    }

    /// The sums of the counts of all tenants, with the number of the last transaction.
    pub fn total_counts(&self) -> TenantCounts {
        let (seq, main, others) = self.shared.commits.main_and_counts();
        let add = |sum: TenantCounts, of: &TenantCounts| TenantCounts {
            seq,
            nodes: sum.nodes + of.nodes,
            live: sum.live + of.live,
            edges: sum.edges + of.edges,
        };
        others.values().fold(TenantCounts { seq, ..TenantCounts::of(&main) }, add)
    }

    /// The tenants whose views or indexes are in memory.
    pub fn loaded_tenants(&self) -> LoadedTenants {
        self.shared.tenant_memory.loaded(&self.shared.commits, &self.shared.index_workers)
    }

    /// How many views of tenants were loaded, from files or from records, since the store was opened.
    pub fn view_loads(&self) -> u64 {
        self.shared.commits.loads()
    }

    /// Limits the memory for views and indexes of tenants to a number of bytes. The tenants that were used longest ago
    /// are unloaded. The default tenant does not count and always stays. Without a call, there is no limit.
    pub fn limit_tenant_memory(&self, bytes: u64) {
        self.shared.tenant_memory.set_limit(bytes);
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
