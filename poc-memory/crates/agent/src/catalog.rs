//! The agents of a profile, as last read from the `agents` folder.

mod entry;
mod folder;
mod scan;
mod stored_agent;

use super::Definition;
use super::consolidation::{self, ScheduledConsolidation};
use super::ledger;
use super::pause_reason::PauseReason;
pub use entry::{AgentStatus, CatalogChange, CatalogEntry, EntryState};
pub(super) use folder::{MAX_BYTES, template, text as read_text};
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
pub use scan::CatalogScan;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
pub use stored_agent::GRACE;

/// Every agent file of the profile.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// The agents by name.
    pub agents: BTreeMap<String, CatalogEntry>,
    /// When the daemon consolidates; `None` in a catalog that was not scanned.
    pub consolidation: Option<ScheduledConsolidation>,
    /// Agents whose file is missing but may be in the process of being replaced, because their [`GRACE`]
    /// period is not over.
    pub missing: BTreeSet<String>,
    /// Problems with the folder itself and with saved pipelines.
    pub problems: Vec<String>,
}

impl Catalog {
    /// Scans and stores the result at once; for processes that scan only once, and for the first scan.
    ///
    /// # Errors
    /// Only those of the store; diagnostics of files are in the catalog.
    pub fn load(memory: &Memory) -> Result<Catalog> {
        let scan = CatalogScan::new(memory, false)?;
        scan.save(memory, &scan.catalog)?;
        Ok(scan.catalog)
    }

    /// Like [`Catalog::load`], but stores nothing.
    ///
    /// # Errors
    /// Only those of the store.
    pub fn read(memory: &Memory) -> Result<Catalog> {
        Ok(CatalogScan::new(memory, false)?.catalog)
    }

    /// The definition of the agent with this name.
    ///
    /// # Errors
    /// `not_found` when there is no such agent, `invalid_config` when no version of it is valid.
    pub fn get(&self, name: &str) -> Result<&Arc<Definition>> {
        let entry = self.entry(name)?;
        entry.definition.as_ref().ok_or_else(|| {
            let first = entry.errors.first().map_or_else(String::new, |error| format!(": {error}"));
            Error::config(format!("the agent `{name}` is invalid{first}"))
                .hint(format!("`poc-memory agent check {name}` lists all errors"))
        })
    }

    /// Like [`Catalog::get`], but without an agent whose file was deleted since the catalog was read.
    ///
    /// # Errors
    /// Those of [`Catalog::get`], and `not_found` if the file was deleted.
    pub fn get_undeleted(&self, memory: &Memory, name: &str) -> Result<&Arc<Definition>> {
        let definition = self.get(name)?;
        if self.lacks_file(memory, name) {
            return Err(Error::not_found(format!("the file of the agent `{name}` was deleted"))
                .hint("`poc-memory agent list` shows the agents")
                .field("agent"));
        }
        Ok(definition)
    }

    /// Whether the file of an agent has disappeared since the catalog was read.
    pub(crate) fn lacks_file(&self, memory: &Memory, name: &str) -> bool {
        let definition = self.agents.get(name).and_then(|entry| entry.definition.as_ref());
        definition.is_some_and(|definition| folder::lacks_file(&memory.paths.agents(), definition))
    }

    /// The agent with this name, or all agents, in order of their names.
    ///
    /// # Errors
    /// `not_found` when there is no such agent.
    pub fn named(&self, name: Option<&str>) -> Result<impl Iterator<Item = (&String, &CatalogEntry)>> {
        name.map(|name| self.entry(name)).transpose()?;
        Ok(self.agents.iter().filter(move |(agent, _)| name.is_none_or(|name| name == *agent)))
    }

    /// The agents that are paused because too many of their runs failed, each with the command that resumes it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn paused_by_failures(&self, memory: &Memory) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for (name, entry) in &self.agents {
            let paused = entry.paused(&ledger::state(memory, name)?, memory.now());
            if let Some(paused @ PauseReason::Failing { .. }) = paused {
                lines.push(format!("`{name}`: {}", paused.line(name)));
            }
        }
        Ok(lines)
    }

    /// The names of the agents, and of consolidation.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let consolidation = self.consolidation.as_ref().map(|_| consolidation::NAME);
        self.agents.keys().map(String::as_str).chain(consolidation)
    }

    /// The entry of the agent with this name.
    ///
    /// # Errors
    /// `not_found` when there is no such agent.
    pub fn entry(&self, name: &str) -> Result<&CatalogEntry> {
        self.agents.get(name).ok_or_else(|| {
            if name == consolidation::NAME {
                return Error::not_found(format!("`{name}` is not an agent"))
                    .hint("`poc-memory consolidate` runs it now, `[consolidate] schedule` sets when the daemon runs it")
                    .field("agent");
            }
            let error = Error::not_found(format!("there is no agent `{name}`")).field("agent");
            match self.closest(name) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("`poc-memory agent list` shows the agents"),
            }
        })
    }

    /// Whether notes may be visited under a name: that of an agent, or of scheduled consolidation.
    pub fn has(&self, name: &str) -> bool {
        name == consolidation::NAME || self.agents.contains_key(name)
    }

    /// The agent with the most similar name, if one is similar enough that the name may be a misspelling of it.
    pub fn closest(&self, name: &str) -> Option<&str> {
        poc_graph::similar::closest(name, self.agents.keys().map(String::as_str))
    }
}

/// The text of a file named by a test of an agent, relative to the `agents` folder.
pub(super) fn test_file(memory: &Memory, name: &str) -> Result<String> {
    test_file_of(&memory.paths.agents(), name)
}

/// Like [`test_file`], in a folder with agents.
pub(super) fn test_file_of(folder: &Path, name: &str) -> Result<String> {
    super::template::checked_name(name).map_err(|_| {
        Error::config(format!("the file `{name}` is outside the `agents` folder"))
            .hint("name a file in that folder, such as `tests/notes.jsonl`")
    })?;
    folder::test_file(folder, name)
}
