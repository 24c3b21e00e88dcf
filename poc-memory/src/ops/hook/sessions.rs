//! The state of a session between its hooks: which notes it was given. It is a small file per session,
//! because a session may outlive the daemon.

use poc_config::atomic_write::{Durability, write_private};
use poc_config::files;
use poc_config::paths::{Paths, create_private};
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use poc_notes::import::{TranscriptSource, session_key};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Files of sessions that have not called a hook for this long are deleted.
const RETENTION: Span = Span(30 * Span::DAY.0);

/// Maximum number of characters of a session's id in a file name.
const MAX_ID_CHARS: usize = 100;

/// The notes that one session was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct HookSession {
    /// The version of each note.
    notes: BTreeMap<NodeId, u32>,
    /// Path of the transcript of the session.
    #[serde(default)]
    pub(super) transcript: Option<PathBuf>,
}

impl HookSession {
    /// Loads the state of a session; an empty one if the session is new or its file cannot be read.
    pub(super) fn load(memory: &Memory, id: &str) -> HookSession {
        let text = file(memory, id).and_then(|file| std::fs::read(file).ok());
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Whether the session was given this version of a note.
    pub(super) fn has(&self, id: NodeId, version: u32) -> bool {
        self.notes.get(&id) == Some(&version)
    }

    pub(super) fn add(&mut self, id: NodeId, version: u32) {
        self.notes.insert(id, version);
    }

    /// Writes the file atomically. A session without an id has no file.
    pub(super) fn save(&self, memory: &Memory, id: &str) -> Result<()> {
        let Some(path) = file(memory, id) else { return Ok(()) };
        create_private(&memory.paths.hook_sessions())?;
        let text = serde_json::to_vec(self)
            .map_err(|error| Error::internal(format!("the state of a session cannot be encoded: {error}")))?;
        write_private(&path, &text, Durability::Unsynced)
            .map_err(|error| Error::unavailable(format!("`{}` cannot be written: {error}", path.display())))
    }
}

/// The file of a session; `None` without an id.
fn file(memory: &Memory, id: &str) -> Option<PathBuf> {
    let name: String =
        id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(MAX_ID_CHARS).collect();
    (!name.is_empty()).then(|| memory.paths.hook_sessions().join(format!("{name}.json")))
}

/// The transcripts of the sessions that have called a hook.
pub fn followed_transcripts(paths: &Paths) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(paths.hook_sessions()) else { return Vec::new() };
    let read =
        |path: PathBuf| serde_json::from_slice::<HookSession>(&std::fs::read(path).ok()?).ok()?.transcript;
    entries.filter_map(|entry| read(entry.ok()?.path())).collect()
}

/// The key prefixes of the notes of a session, one for each assistant.
pub(super) fn keys(id: &str) -> Vec<String> {
    if id.is_empty() {
        return Vec::new();
    }
    [TranscriptSource::ClaudeCode, TranscriptSource::Codex].map(|assistant| session_key(assistant, id)).into()
}

/// Deletes the files of old sessions.
pub(super) fn forget_old(memory: &Memory) -> Result<()> {
    let oldest = memory.now().minus(RETENTION);
    let Ok(entries) = std::fs::read_dir(memory.paths.hook_sessions()) else { return Ok(()) };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if changed(&path).is_some_and(|at| at < oldest) {
            // Another session that starts now may have deleted it already.
            files::remove(&path)?;
        }
    }
    Ok(())
}

/// When a file last changed.
fn changed(path: &Path) -> Option<Timestamp> {
    let at = std::fs::metadata(path).ok()?.modified().ok()?;
    let millis = at.duration_since(UNIX_EPOCH).ok()?.as_millis();
    i64::try_from(millis).ok().map(Timestamp)
}
