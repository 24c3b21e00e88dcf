//! The tenants that a scheduled task has found nothing to do for. They need not be loaded to look again until they
//! change, or until time alone may have made something due.

use parking_lot::Mutex;
use poc_graph::Tenant;
use poc_graph::time::Timestamp;
use std::collections::HashMap;
use std::sync::Arc;

/// What the tasks of a process found. Clones share it. It is not stored, so that after a start each task looks once at
/// every tenant.
#[derive(Clone, Debug, Default)]
pub struct IdleTenants(Arc<Mutex<HashMap<String, IdleOfTask>>>);

/// The tenants that one task has nothing to do for.
#[derive(Debug, Default)]
struct IdleOfTask {
    /// The version of the task. What another version found does not count.
    version: String,
    tenants: HashMap<Tenant, IdleTenant>,
}

/// A tenant that a task had nothing to do for, or for which it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdleTenant {
    /// The number of the tenant's last transaction when it was looked at.
    pub(crate) seq: u64,
    /// When it was looked at.
    pub(crate) since: Timestamp,
    /// When time alone may have made something due; `None` means never.
    pub(crate) until: Option<Timestamp>,
    /// Whether the task fails for the tenant.
    pub(crate) fails: bool,
}

impl IdleTenants {
    /// What a task found in a tenant whose last transaction is `seq`, if that is still right.
    pub(crate) fn get(
        &self,
        task: &str,
        version: &str,
        tenant: Tenant,
        seq: u64,
        now: Timestamp,
    ) -> Option<IdleTenant> {
        let tasks = self.0.lock();
        let own = tasks.get(task).filter(|own| own.version == version)?;
        let idle = own.tenants.get(&tenant).copied()?;
        // If the clock goes back, ages that were reached are not reached any more.
        let is_right = idle.seq == seq && idle.since <= now && idle.until.is_none_or(|until| now < until);
        is_right.then_some(idle)
    }

    /// Remembers what a task found in a tenant.
    pub(crate) fn put(&self, task: &str, version: &str, tenant: Tenant, idle: IdleTenant) {
        let mut tasks = self.0.lock();
        let own = tasks.entry(task.to_owned()).or_default();
        if own.version != version {
            *own = IdleOfTask { version: version.to_owned(), tenants: HashMap::new() };
        }
        own.tenants.insert(tenant, idle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_counts_until_the_tenant_the_task_or_the_time_changes() {
        let (idle, tenant, at) = (IdleTenants::default(), Tenant([1; 16]), Timestamp(1000));
        let found = IdleTenant { seq: 7, since: at, until: Some(Timestamp(2000)), fails: false };
        idle.put("linker", "v1", tenant, found);
        let get =
            |task, version, tenant, seq, now| idle.get(task, version, tenant, seq, Timestamp(now)).is_some();
        assert!(get("linker", "v1", tenant, 7, 1000) && get("linker", "v1", tenant, 7, 1999));
        assert!(!get("linker", "v1", tenant, 8, 1500), "the tenant has changed");
        assert!(!get("linker", "v1", tenant, 7, 2000), "something may be due");
        assert!(!get("linker", "v1", tenant, 7, 999), "the clock went back");
        assert!(!get("linker", "v2", tenant, 7, 1500), "the file of the agent has changed");
        assert!(!get("linker", "v1", Tenant([2; 16]), 7, 1500) && !get("facts", "v1", tenant, 7, 1500));
        idle.put("linker", "v2", Tenant([2; 16]), IdleTenant { until: None, ..found });
        assert!(get("linker", "v2", Tenant([2; 16]), 7, i64::MAX));
        assert!(!get("linker", "v1", tenant, 7, 1500) && !get("linker", "v2", tenant, 7, 1500));
    }
}
