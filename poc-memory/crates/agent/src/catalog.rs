//! The agents of a profile, as last read from the `agents` folder.

mod folder;
mod stored_agent;

use super::housekeeping::{self, Housekeeping};
use super::ledger::AgentState;
use super::pause::Paused;
use super::schedule::Schedule;
use super::{Context, Definition};
use crate::embedded;
use folder::Folder;
pub(super) use folder::template;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use poc_search::query::Names;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
pub use stored_agent::GRACE;
use stored_agent::{AgentOrigin, LastGoodVersion, StoredAgent, StoredAgents};

/// State of an agent file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// The file is valid.
    Ok,
    /// The file is invalid; its last valid version is used.
    LastGood,
    /// The file is invalid, and no valid version is known.
    Invalid,
}

/// One agent file.
#[derive(Clone, Debug)]
pub struct CatalogEntry {
    /// The definition to run: that of the file, or the last valid version.
    pub definition: Option<Arc<Definition>>,
    /// State of the file.
    pub state: EntryState,
    /// The diagnostics of the file.
    pub errors: Vec<FileDiagnostic>,
    /// When the agent was first seen with its current schedule; earlier slots do not count. An agent whose
    /// file was deleted and restored counts as new.
    pub since: Timestamp,
}

impl CatalogEntry {
    /// Whether two entries are equivalent.
    fn is_same(&self, other: &CatalogEntry) -> bool {
        let definition = |entry: &CatalogEntry| entry.definition.as_ref().map(|it| it.fingerprint.clone());
        self.state == other.state
            && self.errors == other.errors
            && self.since == other.since
            && definition(self) == definition(other)
    }

    /// The definition of the file, if the file is valid.
    pub fn valid_definition(&self) -> Option<&Definition> {
        self.definition.as_deref().filter(|_| self.errors.is_empty())
    }

    /// Why the agent is paused at `now`; `None` when it is not.
    pub fn paused(&self, state: &AgentState, now: Timestamp) -> Option<Paused> {
        let after = self.definition.as_ref().map_or(0, |definition| definition.failure.pause_after);
        Paused::of(after, state, now)
    }

    /// Status of the agent: `ok`, `on-demand`, `disabled`, `paused`, `last-good` or `invalid`.
    pub fn status(&self, paused: Option<&Paused>) -> &'static str {
        match self.file_status() {
            "ok" | "on-demand" | "last-good" if paused.is_some() => "paused",
            status => status,
        }
    }

    fn file_status(&self) -> &'static str {
        match (self.state, &self.definition) {
            (EntryState::Invalid, _) | (_, None) => "invalid",
            (EntryState::LastGood, _) => "last-good",
            (EntryState::Ok, Some(definition)) if !definition.enabled => "disabled",
            (EntryState::Ok, Some(definition)) if definition.execution.schedule == Schedule::OnDemand => {
                "on-demand"
            }
            (EntryState::Ok, Some(_)) => "ok",
        }
    }
}

/// A change of an agent since the last scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogChange {
    /// The agent is new.
    Added(String),
    /// The definition changed.
    Changed(String),
    /// The file was invalid and has its previous content again.
    Repaired(String),
    /// The agent was removed.
    Retired(String),
}

/// Every agent file of the profile.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// By name.
    pub agents: BTreeMap<String, CatalogEntry>,
    /// When the daemon consolidates; `None` in a catalog that was not scanned.
    pub housekeeping: Option<Housekeeping>,
    /// Agents whose file is missing but may just be in the process of being replaced: their [`GRACE`] period
    /// is not over.
    pub missing: BTreeSet<String>,
    /// Problems with the folder itself and with saved pipelines.
    pub problems: Vec<String>,
}

/// One scan of the agent files: the catalog, and the records to store once the scan is confirmed. A scan that
/// catches a file in the middle of a save changes nothing by itself.
#[derive(Debug)]
pub struct CatalogScan {
    /// The agents.
    pub catalog: Catalog,
    before: StoredAgents,
    after: StoredAgents,
}

impl CatalogScan {
    /// Reads the folder. Agents with an invalid file use their last valid version from the store. A bundled
    /// agent is active as long as no file of its name was ever seen. With `sure`, a missing file counts as
    /// deleted at once instead of after [`GRACE`].
    ///
    /// # Errors
    /// Only the store's: the diagnostics of files are in the catalog.
    pub fn new(memory: &Memory, sure: bool) -> Result<CatalogScan> {
        CatalogScan::rescan(memory, sure, &Catalog::default())
    }

    /// Like [`CatalogScan::new`], but reuses the definitions of an earlier catalog (`shown`) whose files have
    /// not changed.
    ///
    /// # Errors
    /// Only the store's.
    pub fn rescan(memory: &Memory, sure: bool, shown: &Catalog) -> Result<CatalogScan> {
        let before = stored_agent::all(memory)?;
        let (names, prompts) = (memory.names.load_full(), memory.paths.prompts());
        let mut scan = FolderScan { memory, names, prompts, shown, stored: before.clone(), sure };
        let catalog = scan.catalog();
        Ok(CatalogScan { catalog, before, after: scan.stored })
    }

    /// The changes since the records in the store.
    pub fn changes(&self) -> Vec<CatalogChange> {
        let mut changes = Vec::new();
        for name in self
            .catalog
            .agents
            .iter()
            .filter(|(_, entry)| entry.state == EntryState::Ok)
            .map(|(name, _)| name)
        {
            let good = |memos: &StoredAgents| memos.get(name).and_then(|stored| stored.last_good.clone());
            match self.before.get(name) {
                Some(before) if before.retired.is_none() => {
                    let changed = good(&self.before) != good(&self.after);
                    changes.extend(changed.then(|| CatalogChange::Changed(name.clone())));
                }
                _ => changes.push(CatalogChange::Added(name.clone())),
            }
        }
        let retired = |(name, stored): &(&String, &StoredAgent)| {
            let (there, waits) = (&self.catalog.agents, &self.catalog.missing);
            let is_listed = there.contains_key(*name) || waits.contains(*name);
            stored.is_agent() && stored.retired.is_none() && !is_listed
        };
        changes
            .extend(self.before.iter().filter(retired).map(|(name, _)| CatalogChange::Retired(name.clone())));
        changes
    }

    /// Stores the records that changed, except those of agents that `shown` publishes in another state than
    /// this scan found. Writes only when something changed.
    ///
    /// # Errors
    /// The store's.
    pub fn remember(&self, memory: &Memory, shown: &Catalog) -> Result<()> {
        let is_shown = |name: &String| match self.catalog.agents.get(name) {
            Some(entry) => shown.agents.get(name).is_some_and(|shown| shown.is_same(entry)),
            None => true,
        };
        let changed = self.after.iter().filter(|(name, stored)| self.before.get(*name) != Some(*stored));
        stored_agent::write(memory, &changed.filter(|(name, _)| is_shown(name)).collect::<Vec<_>>())
    }
}

impl Catalog {
    /// Scans and stores the result at once; for processes that scan only once, and for the first scan.
    ///
    /// # Errors
    /// Only the store's: the diagnostics of files are in the catalog.
    pub fn load(memory: &Memory) -> Result<Catalog> {
        let scan = CatalogScan::new(memory, false)?;
        scan.remember(memory, &scan.catalog)?;
        Ok(scan.catalog)
    }

    /// Like [`Catalog::load`], but stores nothing.
    ///
    /// # Errors
    /// Only the store's.
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

    /// The agent with this name, or all agents, in order of their names.
    ///
    /// # Errors
    /// `not_found` when there is no such agent.
    pub fn named(&self, name: Option<&str>) -> Result<impl Iterator<Item = (&String, &CatalogEntry)>> {
        name.map(|name| self.entry(name)).transpose()?;
        Ok(self.agents.iter().filter(move |(agent, _)| name.is_none_or(|name| name == *agent)))
    }

    /// The names of the agents, and of housekeeping.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let housekeeping = self.housekeeping.as_ref().map(|_| housekeeping::NAME);
        self.agents.keys().map(String::as_str).chain(housekeeping)
    }

    /// The entry of the agent with this name.
    ///
    /// # Errors
    /// `not_found` when there is no such agent.
    pub fn entry(&self, name: &str) -> Result<&CatalogEntry> {
        self.agents.get(name).ok_or_else(|| {
            if name == housekeeping::NAME {
                return Error::not_found(format!("`{name}` is housekeeping and not an agent"))
                    .hint("`poc-memory consolidate` runs it now, `[consolidate] schedule` sets when it runs")
                    .field("agent");
            }
            let error = Error::not_found(format!("there is no agent `{name}`")).field("agent");
            match poc_graph::similar::closest(name, self.agents.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("`poc-memory agent list` shows the agents"),
            }
        })
    }
}

/// The text of a file named by a test of an agent, relative to the `agents` folder.
pub(super) fn test_file(memory: &Memory, name: &str) -> Result<String> {
    super::template::checked_name(name).map_err(|_| {
        Error::config(format!("the file `{name}` is outside the `agents` folder"))
            .hint("name a file in that folder, such as `tests/notes.jsonl`")
    })?;
    folder::test_file(&memory.paths.agents(), name)
}

/// A scan in progress.
struct FolderScan<'a> {
    memory: &'a Memory,
    names: Arc<Names>,
    prompts: PathBuf,
    /// The catalog of an earlier scan.
    shown: &'a Catalog,
    stored: StoredAgents,
    sure: bool,
}

impl FolderScan<'_> {
    fn catalog(&mut self) -> Catalog {
        let mut catalog = self.in_folder();
        catalog.housekeeping = self.housekeeping();
        catalog.problems.extend(self.names.problems().iter().map(Error::line));
        catalog
    }

    /// Housekeeping by the settings, whose schedule was checked when they were loaded.
    fn housekeeping(&mut self) -> Option<Housekeeping> {
        let config = &self.memory.config.consolidate;
        let schedule = config.schedule().ok()?;
        let before = self.stored.remove(housekeeping::NAME);
        let stored = StoredAgent::of_housekeeping(before, &config.schedule, self.memory.now());
        let since = stored.since;
        self.stored.insert(housekeeping::NAME.to_owned(), stored);
        Some(Housekeeping::new(schedule, since))
    }

    fn in_folder(&mut self) -> Catalog {
        let folder = self.memory.paths.agents();
        match folder::read(&folder) {
            Folder::Read(files) => self.read(files),
            Folder::Missing if !self.stored.values().any(StoredAgent::is_present_file) => {
                let mut catalog = self.read(BTreeMap::new());
                for missing in [&folder, &self.prompts] {
                    catalog.problems.extend(folder::create(missing).err());
                }
                catalog
            }
            Folder::Missing => self.remembered(format!(
                "the folder `{}` is missing; its agents keep running as last read",
                folder.display()
            )),
            Folder::Unreadable(problem) => self.remembered(problem),
        }
    }

    /// The catalog of all files and of the bundled agents without a file.
    fn read(&mut self, files: BTreeMap<String, Result<String, FileDiagnostic>>) -> Catalog {
        let mut catalog = Catalog::default();
        for (name, stored) in self.stored.iter_mut().filter(|(name, _)| !files.contains_key(*name)) {
            stored.mark_missing(self.memory.now(), self.sure);
            catalog.missing.extend(stored.missing.map(|_| name.clone()));
        }
        let bundled: Vec<(String, &str)> = embedded::agents()
            .iter()
            .filter_map(|(file, text)| Some((file.strip_suffix(".toml")?.to_owned(), *text)))
            .filter(|(name, _)| !files.contains_key(name))
            .filter(|(name, _)| {
                self.stored.get(name).is_none_or(|stored| stored.origin == AgentOrigin::Bundled)
            })
            .collect();
        for (name, text) in files {
            let entry = self.load(&name, text, AgentOrigin::File);
            catalog.agents.insert(name, entry);
        }
        for (name, text) in bundled {
            let entry = self.load(&name, Ok(text.to_owned()), AgentOrigin::Bundled);
            catalog.agents.insert(name, entry);
        }
        catalog
    }

    /// The catalog from the stored records, used when the folder cannot be read.
    fn remembered(&mut self, problem: String) -> Catalog {
        // The files are unknown, so a grace period starts over when the folder is readable again.
        let now = self.memory.now();
        self.stored.values_mut().for_each(|stored| stored.missing = stored.missing.map(|_| now));
        let remembered: Vec<(String, LastGoodVersion, AgentOrigin)> = self
            .stored
            .iter()
            .filter(|(_, stored)| stored.is_present())
            .filter_map(|(name, stored)| Some((name.clone(), stored.last_good.clone()?, stored.origin)))
            .collect();
        let mut catalog = Catalog { problems: vec![problem], ..Catalog::default() };
        for (name, good, origin) in remembered {
            let entry = self.load(&name, Ok(good.source), origin);
            catalog.agents.insert(name, entry);
        }
        catalog
    }

    /// One agent: its file if that is valid, else its last valid version.
    fn load(
        &mut self,
        name: &str,
        text: Result<String, FileDiagnostic>,
        origin: AgentOrigin,
    ) -> CatalogEntry {
        let (now, config) = (self.memory.now(), &self.memory.config);
        let parsed = text.map_err(|error| vec![error]).and_then(|text| self.definition(name, &text));
        let stored = self.stored.entry(name.to_owned()).or_insert_with(|| StoredAgent::new(now, origin));
        stored.mark_present(now, origin);
        let errors = match parsed {
            Ok(definition) => {
                let before = stored.last_good.as_ref().filter(|good| good.source != definition.source);
                let before = before.and_then(|good| good.parse(name, config));
                if before.is_some_and(|before| timing(&before) != timing(&definition)) {
                    // Earlier slots of the new schedule do not count as missed.
                    stored.since = now;
                }
                stored.last_good = Some(LastGoodVersion::new(&definition, &self.names));
                let since = stored.since;
                return CatalogEntry {
                    definition: Some(definition),
                    state: EntryState::Ok,
                    errors: Vec::new(),
                    since,
                };
            }
            Err(errors) => errors,
        };
        let last_good = stored.last_good.as_ref().and_then(|good| good.parse(name, config));
        let state = if last_good.is_some() { EntryState::LastGood } else { EntryState::Invalid };
        CatalogEntry { definition: last_good.map(Arc::new), state, errors, since: stored.since }
    }

    /// Parses the text of an agent, or reuses the earlier definition when neither the text nor a template
    /// changed.
    fn definition(&self, name: &str, text: &str) -> Result<Arc<Definition>, Vec<FileDiagnostic>> {
        let template = |file: &str| template(&self.prompts, file);
        let shown = self.shown.agents.get(name).filter(|entry| entry.state == EntryState::Ok);
        let shown = shown.and_then(|entry| entry.definition.as_ref());
        if let Some(shown) = shown.filter(|shown| shown.source == text && shown.saved().next().is_none()) {
            let own = shown.prompt.template.iter().map(|file| (file, &shown.prompt.text));
            let mut templates = own.chain(&shown.prompt.includes);
            if templates.all(|(file, text)| template(file).is_ok_and(|there| there == *text)) {
                return Ok(shown.clone());
            }
        }
        let context = Context { config: &self.memory.config, names: &self.names, template: &template };
        Definition::parse(name, &format!("agents/{name}.toml"), text, &context).map(Arc::new)
    }
}

/// What makes the slots of an agent.
fn timing(definition: &Definition) -> (bool, &Schedule, Option<chrono_tz::Tz>) {
    (definition.enabled, &definition.execution.schedule, definition.schedule.timezone)
}
