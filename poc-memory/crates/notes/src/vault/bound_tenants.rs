//! Finds the tenants with bound folders among all tenants.

use super::binding::{self, VaultBinding};
use crate::Memory;
use parking_lot::Mutex;
use poc_graph::Tenant;
use poc_graph::error::Result;
use poc_store::NamedTenant;
use std::collections::HashMap;

/// Finds the tenants with vaults. A tenant without one is not asked again until it has changed.
#[derive(Debug, Default)]
pub struct BoundTenants {
    /// The last transaction of each tenant that had no vault at that time. Binding a folder is a transaction.
    unbound: Mutex<HashMap<Tenant, u64>>,
}

/// A tenant's memory and its vaults.
pub struct VaultsOfTenant {
    /// The memory of the tenant.
    pub memory: Memory,
    /// Its vaults by name, or why they cannot be read.
    pub vaults: Result<Vec<VaultBinding>>,
}

impl BoundTenants {
    /// Every tenant with vaults, by name, and those whose vaults cannot be read. No view is loaded.
    ///
    /// # Errors
    /// Those of the store, if the tenants cannot be listed.
    pub fn find(&self, memory: &Memory) -> Result<Vec<VaultsOfTenant>> {
        let mut unbound = self.unbound.lock();
        let mut found = Vec::new();
        for NamedTenant { tuple: tenant, counts } in memory.store.tenants()? {
            let id = tenant.id();
            if unbound.get(&id) == Some(&counts.seq) {
                continue;
            }
            let memory = memory.of(&tenant);
            let vaults = binding::bindings(&memory);
            if vaults.as_ref().is_ok_and(Vec::is_empty) {
                unbound.insert(id, counts.seq);
            } else {
                found.push(VaultsOfTenant { memory, vaults });
            }
        }
        Ok(found)
    }
}
