//! The agents of a profile as last read from their folder.

mod folder;
mod stored_agent;

use super::ledger::AgentState;
use super::pause::Paused;
use super::schedule::Schedule;
use super::{Context, Definition};
use crate::embedded;
use folder::Folder;
pub(super) use folder::template;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use poc_search::query::Names;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
pub use stored_agent::GRACE;
use stored_agent::{AgentOrigin, LastGoodVersion, StoredAgent, StoredAgents};

/// How an agent's file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// The file is good.
    Ok,
    /// The file is broken; its last good version goes on.
    LastGood,
    /// The file is broken and was never good.
    Invalid,
}

/// One agent file.
#[derive(Clone, Debug)]
pub struct CatalogEntry {
    /// What runs: the file's definition or its last good version.
    pub definition: Option<Arc<Definition>>,
    /// How the file stands.
    pub state: EntryState,
    /// What is wrong with the file.
    pub errors: Vec<Error>,
    /// When the agent was first seen with the schedule it has; no slot before it counts. An agent
    /// that comes back after its file was deleted is seen anew.
    pub since: Timestamp,
}

impl CatalogEntry {
    /// Whether nothing tells it from another.
    fn is_same(&self, other: &CatalogEntry) -> bool {
        let definition = |entry: &CatalogEntry| entry.definition.as_ref().map(|it| it.fingerprint.clone());
        self.state == other.state
            && self.errors == other.errors
            && self.since == other.since
            && definition(self) == definition(other)
    }

    /// What its file says, if nothing is wrong with it.
    pub fn valid_definition(&self) -> Option<&Definition> {
        self.definition.as_deref().filter(|_| self.errors.is_empty())
    }

    /// Whether the agent rests at an instant, and why.
    pub fn paused(&self, state: &AgentState, now: Timestamp) -> Option<Paused> {
        let after = self.definition.as_ref().map_or(0, |definition| definition.failure.pause_after);
        Paused::of(after, state, now)
    }

    /// How the agent stands, in a word: `ok`, `on-demand`, `disabled`, `paused`, `last-good` or
    /// `invalid`.
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

/// How an agent differs from before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogChange {
    /// It was not there.
    Added(String),
    /// Its definition is another.
    Changed(String),
    /// Its file was broken, and is as it was before.
    Mended(String),
    /// It is no longer there.
    Retired(String),
}

/// Every agent file of the profile.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// By name.
    pub agents: BTreeMap<String, CatalogEntry>,
    /// Agents whose file is missing and may be in the middle of being replaced: their [`GRACE`] is not over.
    pub missing: BTreeSet<String>,
    /// What is wrong with the folder as a whole, and with saved pipelines.
    pub problems: Vec<String>,
}

/// One scan of the files: what is there, and what is to be remembered of it once it is settled that it
/// is as it looks. A scan in the middle of a save changes nothing by itself.
#[derive(Debug)]
pub struct CatalogScan {
    /// The agents.
    pub catalog: Catalog,
    before: StoredAgents,
    after: StoredAgents,
}

impl CatalogScan {
    /// Reads the folder; agents whose file is broken have their last good version from the store. A
    /// bundled agent counts as long as no file of its name was ever there. When `sure`, a file that
    /// is not there is deleted at once, not only after [`GRACE`].
    ///
    /// # Errors
    /// Only the store's: whatever is wrong with files is told in the catalog.
    pub fn new(memory: &Memory, sure: bool) -> Result<CatalogScan> {
        CatalogScan::rescan(memory, sure, &Catalog::default())
    }

    /// As [`CatalogScan::new`], for whoever has scanned before: what has not changed since is not read again.
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

    /// How the agents differ from what was remembered of them.
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
        let gone = |(name, stored): &(&String, &StoredAgent)| {
            let (there, waits) = (&self.catalog.agents, &self.catalog.missing);
            stored.retired.is_none() && !there.contains_key(*name) && !waits.contains(*name)
        };
        changes.extend(self.before.iter().filter(gone).map(|(name, _)| CatalogChange::Retired(name.clone())));
        changes
    }

    /// Remembers what changed, but for agents that are shown otherwise than they looked. The store is
    /// written to only when something changed.
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
    /// A scan that is remembered at once, for a process that scans only once, and for the first scan.
    ///
    /// # Errors
    /// Only the store's: whatever is wrong with files is told in the catalog.
    pub fn load(memory: &Memory) -> Result<Catalog> {
        let look = CatalogScan::new(memory, false)?;
        look.remember(memory, &look.catalog)?;
        Ok(look.catalog)
    }

    /// As [`Catalog::load`], but nothing is remembered.
    ///
    /// # Errors
    /// Only the store's.
    pub fn read(memory: &Memory) -> Result<Catalog> {
        Ok(CatalogScan::new(memory, false)?.catalog)
    }

    /// The agent with a name, ready to run.
    pub fn get(&self, name: &str) -> Result<&Arc<Definition>> {
        let entry = self.entry(name)?;
        entry.definition.as_ref().ok_or_else(|| {
            let first = entry.errors.first().map_or_else(String::new, |error| format!(": {error}"));
            Error::config(format!("the agent `{name}` is invalid{first}"))
                .hint(format!("`poc-memory agent check {name}` lists everything that is wrong"))
        })
    }

    /// The agent with a name, or all, by name.
    ///
    /// # Errors
    /// `not_found` when there is none of the name.
    pub fn named(&self, name: Option<&str>) -> Result<impl Iterator<Item = (&String, &CatalogEntry)>> {
        name.map(|name| self.entry(name)).transpose()?;
        Ok(self.agents.iter().filter(move |(agent, _)| name.is_none_or(|name| name == *agent)))
    }

    /// The entry with a name.
    pub fn entry(&self, name: &str) -> Result<&CatalogEntry> {
        self.agents.get(name).ok_or_else(|| {
            let error = Error::not_found(format!("there is no agent `{name}`")).field("agent");
            match poc_graph::similar::closest(name, self.agents.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("`poc-memory agent list` shows the agents"),
            }
        })
    }
}

/// The text of a file that a test of an agent names, by its place beside the agent files.
pub(super) fn test_file(memory: &Memory, name: &str) -> Result<String> {
    super::template::checked_name(name).map_err(|_| {
        Error::config(format!("the file `{name}` lies outside the folder of agents"))
            .hint("name a file of that folder, such as `tests/notes.jsonl`")
    })?;
    folder::test_file(&memory.paths.agents(), name)
}

/// The files of agents and prompts, looked at.
struct FolderScan<'a> {
    memory: &'a Memory,
    names: Arc<Names>,
    prompts: PathBuf,
    /// What an earlier look has shown.
    shown: &'a Catalog,
    stored: StoredAgents,
    sure: bool,
}

impl FolderScan<'_> {
    fn catalog(&mut self) -> Catalog {
        let mut catalog = self.in_folder();
        catalog.problems.extend(self.names.problems().iter().map(Error::line));
        catalog
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
                "the folder `{}` is gone; its agents go on as last read",
                folder.display()
            )),
            Folder::Unreadable(problem) => self.remembered(problem),
        }
    }

    /// The catalog of the files that are there, and of bundled agents that have none.
    fn read(&mut self, files: BTreeMap<String, Result<String, Error>>) -> Catalog {
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

    /// The catalog of what is remembered, when the folder cannot be read.
    fn remembered(&mut self, problem: String) -> Catalog {
        // Nothing is known of any file: a grace begins when the folder is back.
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

    /// One agent: its text if that is good, else its last good version.
    fn load(&mut self, name: &str, text: Result<String, Error>, origin: AgentOrigin) -> CatalogEntry {
        let (now, config) = (self.memory.now(), &self.memory.config);
        let parsed = text.map_err(|error| vec![error]).and_then(|text| self.definition(name, &text));
        let stored = self.stored.entry(name.to_owned()).or_insert_with(|| StoredAgent::new(now, origin));
        stored.mark_present(now, origin);
        let errors = match parsed {
            Ok(definition) => {
                let before = stored.last_good.as_ref().filter(|good| good.source != definition.source);
                let before = before.and_then(|good| good.parse(name, config));
                if before.is_some_and(|before| timing(&before) != timing(&definition)) {
                    // Slots the new schedule would have had are not missed ones.
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

    /// What the text of an agent says: what was shown, when neither it nor a template has changed since.
    fn definition(&self, name: &str, text: &str) -> Result<Arc<Definition>, Vec<Error>> {
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
