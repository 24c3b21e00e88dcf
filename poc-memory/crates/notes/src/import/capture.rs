//! Imports a transcript while its session continues. Each call continues where the last one ended.
//!
//! The position of a transcript is a small file below the data directory. It is written after the notes are
//! stored: a process that is killed in between repeats some turns, which are recognised by their ids. If the
//! position is deleted or damaged, the whole transcript is read again, which stores nothing twice, but stores turns
//! again whose notes were deleted.

use super::format::transcripts;
use super::location::SourceLocation;
use super::options::ImportOptions;
use super::run::{CAPTURE_OP, Import, PROVENANCE};
use super::skipped::SkippedCounts;
use super::source_file::SourceFile;
use super::transcript::{Position, Transcript, TranscriptSource};
use super::turns::note_of_turn;
use crate::Memory;
use crate::secrets::SecretCounts;
use parking_lot::Mutex;
use poc_config::files;
use poc_config::paths::create_private;
use poc_graph::NodeId;
use poc_graph::error::{Code, Error, Result};
use std::collections::BTreeMap;
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Options of a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct CaptureOptions {
    /// Whether secrets are stored; otherwise each is replaced by its kind.
    pub allow_secrets: bool,
}

/// The result of a capture.
#[derive(Clone, Debug, Default)]
pub struct CaptureReport {
    /// Whether the transcript was read; false if there was nothing new.
    pub is_read: bool,
    /// The number of the line at which reading began, from 1. Failures of earlier lines are only in earlier reports.
    pub first_line: u64,
    /// New notes.
    pub inserted: u64,
    /// Number of notes that got a new version because their turn has grown.
    pub updated: u64,
    /// Content that was left out on purpose.
    pub skipped: SkippedCounts,
    /// The secrets that were replaced.
    pub secrets: SecretCounts,
    /// Lines and turns that could not be stored.
    pub failed: Vec<(SourceLocation, Error)>,
}

/// The name under which captured notes are stored.
const NAME: &str = "transcripts";

/// The provenance of captured notes, and the actor of captures in the log.
fn provenance() -> String {
    format!("{PROVENANCE}{NAME}")
}

/// Held while a capture runs. Two captures of one transcript at the same time would store the same turns twice.
static RUNNING: Mutex<()> = Mutex::new(());

/// The assistant that wrote a transcript; `None` if it is not a transcript or not readable.
pub fn assistant_of(transcript: &Path) -> Option<TranscriptSource> {
    let file = SourceFile::at(transcript, transcript.display().to_string()).ok()?;
    transcripts::assistant_of_file(&file, &file.sample().ok()?).ok()?
}

/// The beginning of the keys of all notes of a session.
pub fn session_key(assistant: TranscriptSource, session: &str) -> String {
    format!("{}/{}/", assistant.name(), super::conversation::short(session))
}

/// Stores the turns of a transcript since the last call. A turn whose note was deleted since stays deleted, also if it
/// has grown. If there is nothing new, it only reads the position and the size of the file.
///
/// # Errors
/// `not_found` if the file does not exist, `unavailable` if it cannot be read, `invalid_argument` if it is not a
/// regular file or not a transcript. Turns that cannot be stored are in the report; if another writer changed one in
/// between, the next call tries again.
pub fn capture(memory: &Memory, transcript: &Path, options: &CaptureOptions) -> Result<CaptureReport> {
    let _running = RUNNING.lock();
    let file = SourceFile::at(transcript, transcript.display().to_string())?;
    let position_file = position_file(memory, transcript);
    let saved = read_position(&position_file);
    let mut notes = saved.as_ref().map(|position| position.notes.clone()).unwrap_or_default();
    let size = file.size()?;
    // A file that became shorter was replaced by another one.
    let position = saved.as_ref().filter(|position| position.read <= size);
    if position.is_some_and(|position| position.read == size) {
        return Ok(CaptureReport::default());
    }
    let assistant = match position {
        Some(position) => position.assistant,
        None => transcripts::assistant_of_file(&file, &file.sample()?)?.ok_or_else(|| {
            Error::invalid("it is not a transcript of Claude Code or Codex")
                .hint("`poc-memory import` reads other formats")
                .file(transcript.display().to_string())
        })?,
    };
    let read_from = |from: Option<&Position>| {
        let mut input = file.open_seekable()?;
        let start = from.map_or(0, |position| position.turn.offset);
        input.seek(SeekFrom::Start(start)).map_err(|error| file.unreadable(&error))?;
        transcripts::read_from(assistant, from, input)
    };
    let whole = || {
        read_from(None)?.ok_or_else(|| Error::internal("a whole transcript refers to lines before its first"))
    };
    let (mut read, position) = match position {
        Some(from) => match read_from(Some(from))? {
            Some(read) => (read, Some(from)),
            None => (whole()?, None),
        },
        None => (whole()?, None),
    };

    let import_options = ImportOptions { allow_secrets: options.allow_secrets, ..ImportOptions::default() };
    let mut import = Import::new(memory, &provenance(), &import_options, &|_, _| {});
    import.cause = memory.cause(&provenance(), CAPTURE_OP);
    let next = read.position.clone();
    remove_deleted(memory, &notes, &mut read)?;
    let conversation = read.conversation.clone();
    let turns: Vec<String> = read.turns.iter().map(|placed| placed.turn.id.clone()).collect();
    if let Some(previous) = position.and_then(|position| position.previous.as_deref()) {
        import.continue_session(&read.conversation, previous)?;
    }
    import.add_transcript(&file, read)?;
    let report = import.finish()?;
    // After a conflict, the turns since the last position are read again, but those that were stored and are deleted
    // until then stay deleted.
    let has_conflict = report.failed.iter().any(|(_, error)| error.code == Code::Conflict);
    let next = if has_conflict { saved.clone() } else { next };
    if let Some(next) = next {
        for turn in turns {
            if let Some(note) = note_of_turn(memory, &conversation, &turn)? {
                notes.insert(turn, note);
            }
        }
        let next = Position { notes, ..next };
        // The file may have grown by an unfinished line only.
        if saved.as_ref() != Some(&next) {
            write_position(&position_file, &next)?;
        }
    }
    Ok(CaptureReport {
        is_read: true,
        first_line: position.map_or(1, |position| position.turn.line),
        inserted: report.inserted,
        updated: report.updated,
        skipped: report.skipped,
        secrets: report.secrets,
        failed: report.failed,
    })
}

/// Removes the turns whose notes were deleted after an earlier capture. A turn that was imported again since has another
/// note, and stays.
fn remove_deleted(memory: &Memory, notes: &BTreeMap<String, NodeId>, read: &mut Transcript) -> Result<()> {
    for placed in std::mem::take(&mut read.turns) {
        let turn = &placed.turn.id;
        let is_deleted = match notes.get(turn) {
            Some(&note) => {
                memory.store.node(note)?.is_none()
                    && note_of_turn(memory, &read.conversation, turn)?.is_none()
            }
            None => false,
        };
        if !is_deleted {
            read.turns.push(placed);
        }
    }
    Ok(())
}

/// The file with the position of a transcript in the memory of a tenant.
fn position_file(memory: &Memory, transcript: &Path) -> PathBuf {
    let path = transcript.canonicalize().unwrap_or_else(|_| transcript.to_owned());
    let mut hasher = blake3::Hasher::new();
    hasher.update(memory.store.tuple().to_string().as_bytes()).update(b"\0");
    hasher.update(path.as_os_str().as_encoded_bytes());
    let name = hasher.finalize().to_hex();
    memory.paths.transcripts().join(format!("{}.json", name.get(..32).unwrap_or(&name)))
}

fn read_position(file: &Path) -> Option<Position> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

fn write_position(file: &Path, position: &Position) -> Result<()> {
    create_private(file.parent().unwrap_or(Path::new(".")))?;
    let text = serde_json::to_string(position)
        .map_err(|error| Error::internal(format!("a position cannot be written: {error}")))?;
    files::write(file, &text)
}
