//! The tenants that a scheduled task has found nothing to do for. They are scanned again only when they have changed, or
//! when time alone may have made something due. Until then they need not be loaded.

use super::Catalog;
use super::consolidation;
use parking_lot::Mutex;
use poc_config::Config;
use poc_graph::Tenant;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use poc_store::atomic_file::Fingerprint;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The name of the file, among the derived files of the store.
const FILE: &str = "idle-tenants";

/// The number must change whenever the encoding or its meaning changes.
const FORMAT: &str = "idle tenants 1";

/// Minimum number of unsaved scans of tenants that are saved before the process ends, if they are also at least an
/// eighth of all. A process that is killed repeats fewer scans than that, and a process with many scans writes at
/// most 300 bytes for each of them.
const MIN_UNSAVED: usize = 1000;

/// What the tasks of a process and of earlier ones found. Clones share it. It is saved in the folder of the store. If
/// the file is lost or does not fit, each task scans every tenant once.
#[derive(Clone, Debug, Default)]
pub struct IdleTenants(Arc<SharedIdleTenants>);

#[derive(Debug, Default)]
struct SharedIdleTenants {
    found: Mutex<IdleByTask>,
    /// Held while the file is written.
    saving: Mutex<()>,
}

/// The tenants without work, by task.
#[derive(Debug, Default)]
struct IdleByTask {
    /// The configuration that `settings` was computed from, to notice another one.
    config: Option<Arc<Config>>,
    /// What decides, besides the task and the tenant, what is found. What was found with other settings does not count.
    settings: String,
    tasks: BTreeMap<String, IdleOfTask>,
    /// Number of scans that are not in the file.
    unsaved: usize,
}

/// The tenants that one task has nothing to do for.
#[derive(Debug, Default)]
struct IdleOfTask {
    /// The version of the task. What another version found does not count.
    version: String,
    tenants: HashMap<Tenant, IdleTenant>,
}

/// A tenant for which a task had nothing to do, or for which it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdleTenant {
    /// The number of the tenant's last transaction when it was scanned.
    pub(crate) seq: u64,
    /// When it was scanned.
    pub(crate) since: Timestamp,
    /// When time alone may have made something due; `None` means never.
    pub(crate) until: Option<Timestamp>,
    /// Whether the task fails for the tenant.
    pub(crate) fails: bool,
}

/// The contents of the file. The default tenant is not in it, because its view is always in memory.
#[derive(Serialize, Deserialize)]
struct SavedIdleTenants {
    /// Name and version of each task.
    tasks: Vec<(String, String)>,
    /// What was found in each tenant, with the position of the task in `tasks`.
    tenants: BTreeMap<Tenant, Vec<(u32, IdleTenant)>>,
}

impl IdleTenants {
    /// What earlier processes found and saved.
    pub fn load(memory: &Memory) -> IdleTenants {
        let settings = settings_of(memory);
        let saved = memory.store.load_derived(FILE, Fingerprint::of(&settings)).unwrap_or_else(|error| {
            tracing::warn!("every agent scans all tenants again: {error}");
            None
        });
        let tasks = saved.and_then(|bytes| decode(&bytes)).unwrap_or_default();
        let found = IdleByTask { config: Some(memory.config.clone()), settings, tasks, unsaved: 0 };
        IdleTenants(Arc::new(SharedIdleTenants { found: Mutex::new(found), saving: Mutex::default() }))
    }

    /// Saves what was found since it was saved last, without what is no longer right: that of other tasks than those of
    /// `catalog`, and of tenants that have changed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn save(&self, memory: &Memory, catalog: &Catalog) -> Result<()> {
        let _saving = self.0.saving.lock();
        if self.0.found.lock().unsaved == 0 {
            return Ok(());
        }
        let tenants = memory.store.tenants()?.into_iter();
        let seqs: HashMap<Tenant, u64> = tenants.map(|named| (named.tuple.id(), named.counts.seq)).collect();
        let (fingerprint, payload, saved) = {
            let mut found = self.0.found.lock();
            found.remove_outdated(&seqs, catalog);
            (Fingerprint::of(&found.settings), found.encode()?, found.unsaved)
        };
        if memory.store.save_derived(FILE, fingerprint, &payload)? {
            let mut found = self.0.found.lock();
            found.unsaved = found.unsaved.saturating_sub(saved);
        }
        Ok(())
    }

    /// Like [`IdleTenants::save`], but only if much was found since it was saved last.
    ///
    /// # Errors
    /// Those of the store.
    pub fn save_if_many(&self, memory: &Memory, catalog: &Catalog) -> Result<()> {
        let are_many = {
            let found = self.0.found.lock();
            let all: usize = found.tasks.values().map(|task| task.tenants.len()).sum();
            found.unsaved >= MIN_UNSAVED.max(all / 8)
        };
        if are_many { self.save(memory, catalog) } else { Ok(()) }
    }

    /// What a task found in a tenant whose last transaction is `seq`; `None` if that is no longer valid.
    pub(crate) fn get(
        &self,
        memory: &Memory,
        task: &str,
        version: &str,
        tenant: Tenant,
        seq: u64,
    ) -> Option<IdleTenant> {
        let mut found = self.0.found.lock();
        found.use_settings_of(memory);
        found.get(task, version, tenant, seq, memory.now())
    }

    /// Remembers what a task found in a tenant.
    pub(crate) fn put(&self, memory: &Memory, task: &str, version: &str, tenant: Tenant, idle: IdleTenant) {
        let mut found = self.0.found.lock();
        found.use_settings_of(memory);
        found.put(task, version, tenant, idle);
    }
}

/// A text that differs if anything differs that decides what is found in a tenant, except the task and the tenant: the
/// program, its settings, and the embedder. The settings also decide whether the models of an agent are language
/// models, which read notes again that were visited without one. Saved pipelines are part of the version of an agent.
fn settings_of(memory: &Memory) -> String {
    let (version, settings) = (env!("CARGO_PKG_VERSION"), memory.config.fingerprint());
    format!("{FORMAT} of version {version} with settings {settings} and embedder {}", memory.embedder.name())
}

fn decode(bytes: &[u8]) -> Option<BTreeMap<String, IdleOfTask>> {
    let saved: SavedIdleTenants = postcard::from_bytes(bytes).ok()?;
    let empty = |(name, version)| (name, IdleOfTask { version, tenants: HashMap::new() });
    let mut tasks: Vec<(String, IdleOfTask)> = saved.tasks.into_iter().map(empty).collect();
    for (tenant, found) in saved.tenants {
        for (task, idle) in found {
            let (_, own) = tasks.get_mut(task as usize)?;
            own.tenants.insert(tenant, idle);
        }
    }
    Some(tasks.into_iter().collect())
}

impl IdleByTask {
    fn use_settings_of(&mut self, memory: &Memory) {
        if self.config.as_ref().is_some_and(|config| Arc::ptr_eq(config, &memory.config)) {
            return;
        }
        let settings = settings_of(memory);
        if settings != self.settings {
            self.tasks.clear();
            self.unsaved = 0;
        }
        (self.config, self.settings) = (Some(memory.config.clone()), settings);
    }

    fn get(&self, task: &str, version: &str, tenant: Tenant, seq: u64, now: Timestamp) -> Option<IdleTenant> {
        let own = self.tasks.get(task).filter(|own| own.version == version)?;
        let idle = own.tenants.get(&tenant).copied()?;
        // If the clock goes back, ages that were reached are not reached any more.
        let is_right = idle.seq == seq && idle.since <= now && idle.until.is_none_or(|until| now < until);
        is_right.then_some(idle)
    }

    fn put(&mut self, task: &str, version: &str, tenant: Tenant, idle: IdleTenant) {
        let own = self.tasks.entry(task.to_owned()).or_default();
        if own.version != version {
            *own = IdleOfTask { version: version.to_owned(), tenants: HashMap::new() };
        }
        own.tenants.insert(tenant, idle);
        self.unsaved += usize::from(!tenant.is_default());
    }

    /// `seqs` has the last transaction of every tenant, at this time or earlier.
    fn remove_outdated(&mut self, seqs: &HashMap<Tenant, u64>, catalog: &Catalog) {
        let is_current = |name: &str, version: &str| {
            let definition = catalog.agents.get(name).and_then(|entry| entry.definition.as_ref());
            name == consolidation::NAME || definition.is_some_and(|found| found.fingerprint == version)
        };
        self.tasks.retain(|name, task| is_current(name, &task.version));
        for task in self.tasks.values_mut() {
            task.tenants.retain(|tenant, idle| seqs.get(tenant).is_some_and(|seq| *seq <= idle.seq));
        }
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let tasks = self.tasks.iter().map(|(name, task)| (name.clone(), task.version.clone())).collect();
        let mut tenants: BTreeMap<Tenant, Vec<(u32, IdleTenant)>> = BTreeMap::new();
        for (number, task) in (0u32..).zip(self.tasks.values()) {
            for (tenant, idle) in task.tenants.iter().filter(|(tenant, _)| !tenant.is_default()) {
                tenants.entry(*tenant).or_default().push((number, *idle));
            }
        }
        postcard::to_allocvec(&SavedIdleTenants { tasks, tenants })
            .map_err(|error| Error::internal(format!("the idle tenants cannot be encoded: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUND: IdleTenant =
        IdleTenant { seq: 7, since: Timestamp(1000), until: Some(Timestamp(2000)), fails: false };

    #[test]
    fn what_was_found_counts_until_the_tenant_the_task_or_the_time_changes() {
        let (mut idle, tenant) = (IdleByTask::default(), Tenant([1; 16]));
        idle.put("linker", "v1", tenant, FOUND);
        let get = |idle: &IdleByTask, task, version, tenant, seq, now| {
            idle.get(task, version, tenant, seq, Timestamp(now)).is_some()
        };
        assert!(get(&idle, "linker", "v1", tenant, 7, 1000) && get(&idle, "linker", "v1", tenant, 7, 1999));
        assert!(!get(&idle, "linker", "v1", tenant, 8, 1500), "the tenant has changed");
        assert!(!get(&idle, "linker", "v1", tenant, 7, 2000), "something may be due");
        assert!(!get(&idle, "linker", "v1", tenant, 7, 999), "the clock went back");
        assert!(!get(&idle, "linker", "v2", tenant, 7, 1500), "the file of the agent has changed");
        assert!(!get(&idle, "linker", "v1", Tenant([2; 16]), 7, 1500));
        assert!(!get(&idle, "facts", "v1", tenant, 7, 1500));
        idle.put("linker", "v2", Tenant([2; 16]), IdleTenant { until: None, ..FOUND });
        assert!(get(&idle, "linker", "v2", Tenant([2; 16]), 7, i64::MAX));
        assert!(!get(&idle, "linker", "v1", tenant, 7, 1500) && !get(&idle, "linker", "v2", tenant, 7, 1500));
    }

    #[test]
    fn what_is_saved_of_a_tenant_is_read_back() {
        let mut idle = IdleByTask::default();
        let fails = IdleTenant { seq: u64::MAX, since: Timestamp(-1), until: None, fails: true };
        for (task, tenant, found) in [("a", 1, FOUND), ("a", 2, fails), ("b", 1, fails), ("b", 0, FOUND)] {
            idle.put(task, "v1", Tenant([tenant; 16]), found);
        }
        let read = decode(&idle.encode().unwrap()).unwrap();
        let mut all: Vec<(&str, &str, Tenant, IdleTenant)> = read
            .iter()
            .flat_map(|(task, own)| {
                own.tenants
                    .iter()
                    .map(move |(tenant, idle)| (task.as_str(), own.version.as_str(), *tenant, *idle))
            })
            .collect();
        all.sort_by_key(|(task, _, tenant, _)| (*task, *tenant));
        let (one, two) = (Tenant([1; 16]), Tenant([2; 16]));
        assert_eq!(all, [("a", "v1", one, FOUND), ("a", "v1", two, fails), ("b", "v1", one, fails)]);
    }

    /// 100,000 tenants and 7 agents need 15 MB.
    #[test]
    fn the_file_has_about_150_bytes_for_a_tenant_and_seven_agents() {
        let now = Timestamp(1_800_000_000_000);
        let mut idle = IdleByTask::default();
        for number in 0..1000u64 {
            let bytes = (u128::from(number) + 1).to_le_bytes();
            for agent in 0..7 {
                let found =
                    IdleTenant { seq: 5_000_000 + number, since: now, until: Some(now), fails: false };
                idle.put(&format!("agent-{agent}"), "v1", Tenant(bytes), found);
            }
        }
        let bytes = idle.encode().unwrap().len();
        assert!((130..180).contains(&(bytes / 1000)), "{bytes}");
    }
}
