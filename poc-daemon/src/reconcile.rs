//! Decides which changes a reload makes. Compares the catalog in use with a new scan of the agents' files:
//! some differences take effect, some are errors, and some need a second scan to confirm them.

use crate::debounce::{CONFIRM_AFTER, Pending};
use poc_agent::{Catalog, CatalogChange, CatalogEntry, EntryState};
use poc_graph::diagnostic::FileDiagnostic;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// The key of problems that belong to no agent.
const NO_AGENT: &str = "";

/// Remembers unconfirmed errors between scans.
#[derive(Debug, Default)]
pub(crate) struct Reconciler {
    /// When an unconfirmed error was first seen, by agent. [`NO_AGENT`] is the key of other problems.
    unconfirmed: BTreeMap<String, Instant>,
}

/// The result of one scan of the files.
pub(crate) struct CatalogSnapshot {
    /// The agents, and the problems that belong to none of them.
    pub(crate) catalog: Catalog,
    /// Whether the folder of the agents exists. If not, nothing is known about their files.
    pub(crate) folder_exists: bool,
    /// The problem with the settings, if there is one.
    pub(crate) settings: Option<String>,
}

/// The outcome of a scan.
pub(crate) struct Reconciliation {
    /// The catalog to use from now on.
    pub(crate) catalog: Arc<Catalog>,
    /// How it differs from the catalog in use before.
    pub(crate) events: Vec<CatalogEvent>,
    /// Why another scan is needed soon.
    pub(crate) pending: Pending,
}

/// One difference between two catalogs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CatalogEvent {
    /// A change of an agent.
    Agent(CatalogChange),
    /// The file of an agent is broken.
    Broken {
        /// The agent.
        agent: String,
        /// Whether its last valid version stays in use.
        last_valid_in_use: bool,
        /// The errors in the file.
        errors: Vec<FileDiagnostic>,
    },
    /// A new problem that belongs to no agent.
    Problem(String),
    /// The end of such a problem.
    Solved(String),
}

impl CatalogEvent {
    /// The change of an agent as one word. `None` for problems that belong to no agent.
    pub(crate) fn change(&self) -> Option<&'static str> {
        match self {
            CatalogEvent::Agent(CatalogChange::Added(_)) => Some("added"),
            CatalogEvent::Agent(CatalogChange::Changed(_)) => Some("changed"),
            CatalogEvent::Agent(CatalogChange::Valid(_)) => Some("repaired"),
            CatalogEvent::Agent(CatalogChange::Retired(_)) => Some("retired"),
            CatalogEvent::Broken { .. } => Some("broken"),
            CatalogEvent::Problem(_) | CatalogEvent::Solved(_) => None,
        }
    }
}

impl Reconciler {
    /// Compares a scan with the catalog in use. With `confirmed`, errors count at once.
    pub(crate) fn reconcile(
        &mut self,
        current: &Catalog,
        scan: CatalogSnapshot,
        confirmed: bool,
        now: Instant,
    ) -> Reconciliation {
        let CatalogSnapshot { catalog: scanned, folder_exists, settings } = scan;
        let before = std::mem::take(&mut self.unconfirmed);
        let since = |name: &str| before.get(name).copied();
        let is_confirmed =
            |name: &str| confirmed || since(name).is_some_and(|since| now >= since + CONFIRM_AFTER);
        let mut wait = |name: &str| self.unconfirmed.insert(name.to_owned(), since(name).unwrap_or(now));
        let mut pending = Pending::default();
        let mut problems = scanned.problems;
        problems.extend(settings);
        if !is_confirmed(NO_AGENT) && problems.iter().any(|problem| !current.problems.contains(problem)) {
            wait(NO_AGENT);
            problems.clone_from(&current.problems);
        }
        let mut agents = BTreeMap::new();
        for (name, entry) in scanned.agents {
            let before = current.agents.get(&name);
            let is_new_error =
                !entry.errors.is_empty() && before.is_none_or(|before| before.errors != entry.errors);
            if is_new_error && !is_confirmed(&name) {
                wait(&name);
                agents.extend(before.map(|before| (name, before.clone())));
            } else {
                agents.insert(name, entry);
            }
        }
        for (name, entry) in &current.agents {
            if agents.contains_key(name) {
                continue;
            }
            let in_grace = folder_exists && scanned.missing.contains(name);
            pending.missing |= in_grace;
            if in_grace || !folder_exists {
                agents.insert(name.clone(), entry.clone());
            }
        }
        pending.error = !self.unconfirmed.is_empty();
        let consolidation = scanned.consolidation;
        let catalog = Catalog { agents, consolidation, problems, missing: scanned.missing };
        Reconciliation { events: diff(current, &catalog), catalog: Arc::new(catalog), pending }
    }
}

/// The differences between two catalogs.
fn diff(before: &Catalog, after: &Catalog) -> Vec<CatalogEvent> {
    let mut events = Vec::new();
    for (name, entry) in &after.agents {
        let (agent, before) = (name.clone(), before.agents.get(name));
        if entry.state != EntryState::Ok {
            if before.is_none_or(|before| before.errors != entry.errors || before.state != entry.state) {
                let (last_valid_in_use, errors) = (entry.definition.is_some(), entry.errors.clone());
                events.push(CatalogEvent::Broken { agent, last_valid_in_use, errors });
            }
            continue;
        }
        let change = match before {
            None => Some(CatalogChange::Added(agent)),
            Some(before) if fingerprint(before) != fingerprint(entry) => Some(CatalogChange::Changed(agent)),
            Some(before) => (before.state != EntryState::Ok).then_some(CatalogChange::Valid(agent)),
        };
        events.extend(change.map(CatalogEvent::Agent));
    }
    let retired = before.agents.keys().filter(|name| !after.agents.contains_key(*name));
    events.extend(retired.map(|name| CatalogEvent::Agent(CatalogChange::Retired(name.clone()))));
    let only = |these: &Catalog, those: &Catalog| -> Vec<String> {
        these.problems.iter().filter(|problem| !those.problems.contains(problem)).cloned().collect()
    };
    events.extend(only(after, before).into_iter().map(CatalogEvent::Problem));
    events.extend(only(before, after).into_iter().map(CatalogEvent::Solved));
    events
}

fn fingerprint(entry: &CatalogEntry) -> Option<&str> {
    entry.definition.as_ref().map(|definition| definition.fingerprint.as_str())
}

#[cfg(test)]
mod tests;
