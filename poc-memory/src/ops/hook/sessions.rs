//! The state of a session between its hooks: which notes it was given, and which excerpts of others. It is a small file
//! per session, because a session may outlive the daemon.

use poc_config::atomic_write::{Durability, write_private};
use poc_config::files;
use poc_config::paths::{Paths, create_private};
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use poc_notes::import::{TranscriptSource, session_key};
use poc_notes::session_context::ContextNote;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Files of sessions that have not called a hook for this long are deleted.
const RETENTION: Span = Span(30 * Span::DAY.0);

/// Maximum number of characters of a session's id in a file name.
const MAX_ID_CHARS: usize = 100;

/// The notes that one session was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct HookSession {
    /// The version of each note that was shown in full.
    notes: BTreeMap<NodeId, u32>,
    /// What was shown of other notes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    excerpts: BTreeMap<NodeId, ShownExcerpts>,
    /// Path of the transcript of the session.
    #[serde(default)]
    pub(super) transcript: Option<PathBuf>,
}

/// The excerpts of one note that a session was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ShownExcerpts {
    /// The version of the note.
    version: u32,
    /// The hash of each text. The text itself would stay in the file after an erasure.
    hashes: BTreeSet<String>,
}

impl HookSession {
    /// Loads the state of a session; an empty one if the session is new or its file cannot be read.
    pub(super) fn load(memory: &Memory, id: &str) -> HookSession {
        let text = file(memory, id).and_then(|file| std::fs::read(file).ok());
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Whether the session was given this version of a note in full, or the same text of it.
    pub(super) fn has(&self, note: &ContextNote) -> bool {
        let (id, version) = (&note.node.id, note.node.version);
        // A whole note may be among the excerpts: it was cut because it does not fit, and would be cut again.
        let is_shown =
            |shown: &ShownExcerpts| shown.version == version && shown.hashes.contains(&hash(&note.text));
        self.notes.get(id) == Some(&version) || self.excerpts.get(id).is_some_and(is_shown)
    }

    /// Records that the session is given a note, or an excerpt of it.
    pub(super) fn add(&mut self, note: &ContextNote) {
        let (id, version) = (note.node.id, note.node.version);
        if note.is_whole {
            self.notes.insert(id, version);
            self.excerpts.remove(&id);
            return;
        }
        let shown = self.excerpts.entry(id).or_default();
        if shown.version != version {
            *shown = ShownExcerpts { version, hashes: BTreeSet::new() };
        }
        shown.hashes.insert(hash(&note.text));
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

/// The hash of an excerpt.
fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// The file of a session; `None` without an id.
fn file(memory: &Memory, id: &str) -> Option<PathBuf> {
    let name: String =
        id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(MAX_ID_CHARS).collect();
    (!name.is_empty()).then(|| memory.paths.hook_sessions().join(format!("{name}.json")))
}

/// Records the transcript of a session, so that the next daemon follows it, too.
pub(super) fn set_transcript(memory: &Memory, id: &str, transcript: &Path) -> Result<()> {
    let mut session = HookSession::load(memory, id);
    if session.transcript.as_deref() == Some(transcript) {
        return Ok(());
    }
    session.transcript = Some(transcript.to_owned());
    session.save(memory, id)
}

/// The transcripts of the sessions that have called a hook.
pub fn followed_transcripts(paths: &Paths) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(paths.hook_sessions()) else { return Vec::new() };
    let read =
        |path: PathBuf| serde_json::from_slice::<HookSession>(&std::fs::read(path).ok()?).ok()?.transcript;
    entries.filter_map(|entry| read(entry.ok()?.path())).collect()
}

/// Forgets the sessions that have called a hook, so that a daemon that starts follows none of them. Returns whether there
/// were any.
///
/// # Errors
/// `unavailable` if a file cannot be removed.
pub(crate) fn forget_sessions(paths: &Paths) -> Result<bool> {
    let Ok(entries) = std::fs::read_dir(paths.hook_sessions()) else { return Ok(false) };
    let mut had_sessions = false;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        files::remove(&path)?;
        had_sessions = true;
    }
    Ok(had_sessions)
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

#[cfg(test)]
mod tests {
    use super::super::render;
    use super::*;
    use poc_graph::rng::SeededRng;
    use poc_graph::{Node, testing};

    fn note(version: u32, text: &str, is_whole: bool) -> ContextNote {
        ContextNote { node: Node { version, ..testing::node(1) }, text: text.into(), is_whole }
    }

    #[test]
    fn an_excerpt_does_not_count_as_the_note() {
        let mut session = HookSession::default();
        session.add(&note(1, "TODO call Bob", false));
        assert!(session.has(&note(1, "TODO call Bob", false)));
        for other in
            [note(1, "M8", false), note(1, "M8 TODO call Bob", true), note(2, "TODO call Bob", false)]
        {
            assert!(!session.has(&other), "{other:?}");
        }
        session.add(&note(1, "M8 TODO call Bob", true));
        assert!(session.has(&note(1, "M8", false)) && session.has(&note(1, "M8 TODO call Bob", true)));
        // Excerpts of an earlier version do not count.
        session.add(&note(2, "M9", false));
        session.add(&note(3, "M8", false));
        assert!(!session.has(&note(3, "M9", false)) && !session.has(&note(2, "M9", false)));
    }

    #[test]
    fn a_note_that_does_not_fit_is_given_once() {
        let mut session = HookSession::default();
        let (text, rng) = ("It listens on 7443. ".repeat(60), SeededRng::new(1));
        let mut found = [note(1, &text, true)];
        let (_, shown) = render::notes(&mut found, 1000, &rng);
        shown.into_iter().for_each(|note| session.add(note));
        assert!(session.has(&note(1, &text, true)));
        assert!(!session.has(&note(1, "It listens.", false)));
    }

    #[test]
    fn a_file_of_an_earlier_version_is_read() {
        let whole = note(1, "M8", true);
        let text = format!("{{\"notes\":{{\"{}\":1}},\"transcript\":null}}", whole.node.id);
        let session: HookSession = serde_json::from_str(&text).unwrap();
        assert!(session.has(&whole));
        assert_eq!(serde_json::to_string(&session).unwrap(), text);
    }
}
