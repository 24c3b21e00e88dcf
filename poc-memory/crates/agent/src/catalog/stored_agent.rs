//! The stored record of each agent and of consolidation: when it was first seen, and its last valid version.

use crate::DefinitionContext;

use crate::Definition;
use poc_config::{Config, SavedPipeline};
use poc_graph::error::{Error, Result};
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use poc_search::query::Names;
use poc_store::{Record, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Origin of an agent.
// Variants are stored by index: add new ones at the end and never remove any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum AgentOrigin {
    /// From a file in the folder.
    File,
    /// Bundled in the binary.
    Bundled,
    /// Consolidation, which is not an agent. The source of its last valid version is its schedule.
    Consolidation,
}

/// The stored record of one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredAgent {
    /// When it was first seen.
    pub(super) since: Timestamp,
    /// Its latest origin.
    pub(super) origin: AgentOrigin,
    /// When its file was found to be deleted.
    pub(super) retired: Option<Timestamp>,
    /// Its last valid version, if there ever was one.
    pub(super) last_good: Option<LastGoodVersion>,
    /// When its file was first found missing. An editor may be replacing it.
    pub(super) missing: Option<Timestamp>,
}

/// Version 1 of [`StoredAgent`].
#[derive(Deserialize)]
struct StoredAgentV1 {
    since: Timestamp,
    origin: AgentOrigin,
    retired: Option<Timestamp>,
    last_good: Option<LastGoodVersion>,
}

impl From<StoredAgentV1> for StoredAgent {
    fn from(StoredAgentV1 { since, origin, retired, last_good }: StoredAgentV1) -> StoredAgent {
        StoredAgent { since, origin, retired, last_good, missing: None }
    }
}

/// A valid version of an agent with everything it refers to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LastGoodVersion {
    /// The agent file.
    pub(super) source: String,
    /// Its templates, by file name, and saved pipelines, by [`SAVED_PREFIX`] and their name.
    texts: BTreeMap<String, String>,
}

/// A file that is missing for this long counts as deleted rather than as being replaced.
pub const GRACE: Span = Span(2 * Span::SECOND.0);

/// Prefix of the names of saved pipelines. No template has such a name: template names are relative paths.
const SAVED_PREFIX: &str = "/@";

impl Record for StoredAgent {
    const TABLE: Table = Table::Agents;
    const VERSION: u8 = 3;

    /// Version 2 had no consolidation records; its encoding is the same.
    fn earlier(version: u8, body: &[u8]) -> Option<postcard::Result<StoredAgent>> {
        match version {
            1 => Some(postcard::from_bytes(body).map(StoredAgentV1::into)),
            2 => Some(postcard::from_bytes(body)),
            _ => None,
        }
    }
}

impl StoredAgent {
    /// The record of an agent seen for the first time.
    pub(super) fn new(now: Timestamp, origin: AgentOrigin) -> StoredAgent {
        StoredAgent { since: now, origin, retired: None, last_good: None, missing: None }
    }

    /// Whether it came from a file that existed at the last scan.
    pub(super) fn is_present_file(&self) -> bool {
        self.origin == AgentOrigin::File && self.is_present()
    }

    /// Whether it is an agent that existed at the last scan.
    pub(super) fn is_present(&self) -> bool {
        self.is_agent() && self.retired.is_none() && self.missing.is_none()
    }

    /// Whether it is an agent.
    pub(super) fn is_agent(&self) -> bool {
        self.origin != AgentOrigin::Consolidation
    }

    /// The record of consolidation with a schedule. If the schedule has changed, consolidation counts as new.
    pub(super) fn of_consolidation(
        before: Option<StoredAgent>,
        schedule: &str,
        now: Timestamp,
    ) -> StoredAgent {
        let is_same = |before: &StoredAgent| {
            !before.is_agent() && before.last_good.as_ref().is_some_and(|good| good.source == schedule)
        };
        before.filter(is_same).unwrap_or_else(|| {
            let last_good = Some(LastGoodVersion { source: schedule.to_owned(), texts: BTreeMap::new() });
            StoredAgent { last_good, ..StoredAgent::new(now, AgentOrigin::Consolidation) }
        })
    }

    /// Records that its file is missing. The agent is retired when the file has been missing for [`GRACE`],
    /// or at once when `is_confirmed`.
    pub(super) fn mark_missing(&mut self, now: Timestamp, is_confirmed: bool) {
        if self.origin != AgentOrigin::File || self.retired.is_some() {
            return;
        }
        // If the clock went back, the grace period starts over instead of lasting longer.
        let since = self.missing.map_or(now, |since| since.min(now));
        self.missing = Some(since);
        if is_confirmed || now >= since.plus(GRACE) {
            (self.retired, self.missing) = (Some(now), None);
        }
    }

    /// Records that the agent exists. A retired agent counts as new, but keeps its last valid version.
    pub(super) fn mark_present(&mut self, now: Timestamp, origin: AgentOrigin) {
        if self.retired.is_some() {
            *self = StoredAgent { last_good: self.last_good.take(), ..StoredAgent::new(now, origin) };
        }
        (self.origin, self.missing) = (origin, None);
    }
}

impl LastGoodVersion {
    pub(super) fn new(definition: &Definition, names: &Names) -> LastGoodVersion {
        let prompt = &definition.prompt;
        let mut texts = prompt.includes.clone();
        if let Some(name) = &prompt.template {
            texts.insert(name.clone(), prompt.text.clone());
        }
        let saved = definition.saved().filter_map(|name| Some((name, names.all_saved().get(name)?)));
        texts.extend(saved.map(|(name, saved)| (format!("{SAVED_PREFIX}{name}"), saved.text.clone())));
        LastGoodVersion { source: definition.source.clone(), texts }
    }

    /// Parses this version again; `None` when it is no longer valid with the current settings.
    pub(super) fn parse(&self, name: &str, config: &Config) -> Option<Definition> {
        let template = |file: &str| {
            let text = self.texts.get(file).cloned();
            text.ok_or_else(|| Error::internal(format!("the template `{file}` was not remembered")))
        };
        let saved = self.texts.iter().filter_map(|(name, text)| {
            Some((name.strip_prefix(SAVED_PREFIX)?.to_owned(), SavedPipeline::from(text.clone())))
        });
        let names = Names::of(config).with_saved(saved.collect());
        let context = DefinitionContext { config, names: &names, template: &template };
        Definition::parse(name, name, &self.source, &context).ok()
    }
}

/// Records by agent name.
pub(super) type StoredAgents = BTreeMap<String, StoredAgent>;

/// All records.
pub(super) fn all(memory: &Memory) -> Result<StoredAgents> {
    let rows = memory.store.scan::<StoredAgent>(&[])?;
    Ok(rows.into_iter().map(|(key, stored)| (String::from_utf8_lossy(&key).into_owned(), stored)).collect())
}

/// Stores records. In a read-only store nothing is stored, and the agents are those of their files.
pub(super) fn write(memory: &Memory, agents: &[(&String, &StoredAgent)]) -> Result<()> {
    if agents.is_empty() || memory.store.read_only().is_some() {
        return Ok(());
    }
    let committed = memory.store.transact(memory.cause("daemon", "agent reload"), |tx| {
        agents.iter().try_for_each(|(name, stored)| tx.put(name.as_bytes(), *stored))
    });
    committed.map(|_| ())
}
