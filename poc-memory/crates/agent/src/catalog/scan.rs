//! Scans of the agent files: what is in the folder, and what changed since the stored records.

use super::folder::{self, Folder, template};
use super::stored_agent::{self, AgentOrigin, LastGoodVersion, StoredAgent, StoredAgents};
use super::{Catalog, CatalogChange, CatalogEntry, EntryState};
use crate::consolidation::{self, ScheduledConsolidation};
use crate::schedule::Schedule;
use crate::{Definition, DefinitionContext, embedded};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
use poc_search::query::Names;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// One scan of the agent files: the catalog, and the records to store once the scan is confirmed. The scan
/// itself stores nothing, because it may have read a file in the middle of a save.
#[derive(Debug)]
pub struct CatalogScan {
    /// The agents.
    pub catalog: Catalog,
    before: StoredAgents,
    after: StoredAgents,
}

impl CatalogScan {
    /// Reads the folder. Agents with an invalid file use their last valid version from the store. A bundled
    /// agent is active as long as no file of its name was ever seen or written by `init`. With `is_confirmed`, a
    /// missing file counts as deleted at once instead of after [`GRACE`](super::GRACE).
    ///
    /// # Errors
    /// Only those of the store: the diagnostics of files are in the catalog.
    pub fn new(memory: &Memory, is_confirmed: bool) -> Result<CatalogScan> {
        CatalogScan::rescan(memory, is_confirmed, &Catalog::default())
    }

    /// Like [`CatalogScan::new`], but reuses the definitions of an earlier catalog (`shown`) whose files have
    /// not changed.
    ///
    /// # Errors
    /// Only those of the store.
    pub fn rescan(memory: &Memory, is_confirmed: bool, shown: &Catalog) -> Result<CatalogScan> {
        let before = stored_agent::all(memory)?;
        let (names, prompts) = (memory.names.load_full(), memory.paths.prompts());
        let stored = before.clone();
        let mut builder = CatalogBuilder { memory, names, prompts, shown, stored, is_confirmed };
        let catalog = builder.build();
        Ok(CatalogScan { catalog, before, after: builder.stored })
    }

    /// The changes since the records in the store.
    pub fn changes(&self) -> Vec<CatalogChange> {
        let mut changes = Vec::new();
        let valid = self.catalog.agents.iter().filter(|(_, entry)| entry.state == EntryState::Ok);
        for (name, _) in valid {
            let last_good =
                |records: &StoredAgents| records.get(name).and_then(|stored| stored.last_good.clone());
            match self.before.get(name) {
                Some(before) if before.retired.is_none() => {
                    let changed = last_good(&self.before) != last_good(&self.after);
                    changes.extend(changed.then(|| CatalogChange::Changed(name.clone())));
                }
                _ => changes.push(CatalogChange::Added(name.clone())),
            }
        }
        let retired = |(name, stored): &(&String, &StoredAgent)| {
            let Catalog { agents, missing, .. } = &self.catalog;
            let is_listed = agents.contains_key(*name) || missing.contains(*name);
            stored.is_agent() && stored.retired.is_none() && !is_listed
        };
        changes
            .extend(self.before.iter().filter(retired).map(|(name, _)| CatalogChange::Retired(name.clone())));
        changes
    }

    /// Stores the records that changed, except those of agents whose state in `shown` differs from the state that this
    /// scan found. Writes only when something changed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn save(&self, memory: &Memory, shown: &Catalog) -> Result<()> {
        let is_shown = |name: &String| match self.catalog.agents.get(name) {
            Some(entry) => shown.agents.get(name).is_some_and(|shown| shown.is_same(entry)),
            None => true,
        };
        let changed = self.after.iter().filter(|(name, stored)| self.before.get(*name) != Some(*stored));
        stored_agent::write(memory, &changed.filter(|(name, _)| is_shown(name)).collect::<Vec<_>>())
    }
}

/// A scan in progress.
struct CatalogBuilder<'a> {
    memory: &'a Memory,
    names: Arc<Names>,
    prompts: PathBuf,
    /// The catalog of an earlier scan.
    shown: &'a Catalog,
    /// The records, as they are after the scan.
    stored: StoredAgents,
    is_confirmed: bool,
}

impl CatalogBuilder<'_> {
    fn build(&mut self) -> Catalog {
        let mut catalog = self.read_folder();
        catalog.consolidation = self.consolidation();
        catalog.problems.extend(self.names.problems().iter().map(Error::line));
        catalog
    }

    /// Consolidation by the settings, whose schedule was checked when they were loaded.
    fn consolidation(&mut self) -> Option<ScheduledConsolidation> {
        let config = &self.memory.config.consolidate;
        let schedule = config.schedule().ok()?;
        let before = self.stored.remove(consolidation::NAME);
        let stored = StoredAgent::of_consolidation(before, &config.schedule, self.memory.now());
        let since = stored.since;
        self.stored.insert(consolidation::NAME.to_owned(), stored);
        Some(ScheduledConsolidation::new(schedule, since))
    }

    fn read_folder(&mut self) -> Catalog {
        let folder = self.memory.paths.agents();
        match folder::read(&folder) {
            Folder::Read(files) => self.catalog_of_files(files),
            Folder::Missing if !self.stored.values().any(StoredAgent::is_present_file) => {
                let mut catalog = self.catalog_of_files(BTreeMap::new());
                for missing in [&folder, &self.prompts] {
                    catalog.problems.extend(folder::create(missing).err());
                }
                catalog
            }
            Folder::Missing => self.catalog_of_records(format!(
                "the folder `{}` is missing; its agents continue with the definitions last read",
                folder.display()
            )),
            Folder::Unreadable(problem) => self.catalog_of_records(problem),
        }
    }

    /// The catalog of all files and of the bundled agents without a file.
    fn catalog_of_files(&mut self, files: BTreeMap<String, Result<String, FileDiagnostic>>) -> Catalog {
        let mut catalog = Catalog::default();
        for (name, stored) in self.stored.iter_mut().filter(|(name, _)| !files.contains_key(*name)) {
            stored.mark_missing(self.memory.now(), self.is_confirmed);
            catalog.missing.extend(stored.missing.map(|_| name.clone()));
        }
        let written = folder::written_agents(&self.memory.paths.agents());
        let bundled: Vec<(String, &str)> = embedded::agents()
            .iter()
            .filter(|file| !written.contains(file.name))
            .filter_map(|file| Some((file.name.strip_suffix(".toml")?.to_owned(), file.text)))
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
    fn catalog_of_records(&mut self, problem: String) -> Catalog {
        // Nothing is known about the files, so grace periods start over when the folder is readable again.
        let now = self.memory.now();
        self.stored.values_mut().for_each(|stored| stored.missing = stored.missing.map(|_| now));
        let present = self.stored.iter().filter(|(_, stored)| stored.is_present());
        let versions: Vec<(String, LastGoodVersion, AgentOrigin)> = present
            .filter_map(|(name, stored)| Some((name.clone(), stored.last_good.clone()?, stored.origin)))
            .collect();
        let mut catalog = Catalog { problems: vec![problem], ..Catalog::default() };
        for (name, good, origin) in versions {
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
                    // Slots of the new schedule before now do not count as missed.
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
            if templates.all(|(file, text)| template(file).is_ok_and(|current| current == *text)) {
                return Ok(shown.clone());
            }
        }
        let context =
            DefinitionContext { config: &self.memory.config, names: &self.names, template: &template };
        Definition::parse(name, &format!("agents/{name}.toml"), text, &context).map(Arc::new)
    }
}

/// The settings that determine the slots of an agent.
fn timing(definition: &Definition) -> (bool, &Schedule, Option<chrono_tz::Tz>) {
    (definition.enabled, &definition.execution.schedule, definition.schedule.timezone)
}
