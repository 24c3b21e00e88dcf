//! Transcripts of assistants: files of JSON Lines that grow while a session continues.
//!
//! Each read starts at the position that the last one saved: the beginning of the last turn. An answer may
//! still grow, so the next read sees the whole last turn again, and its note becomes a new version.

use super::conversation::{Conversation, Turn};
use super::skipped::SkippedCounts;
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};

/// Maximum length of a line in bytes. Longer lines contain images and are skipped.
pub(super) const LINE_BYTES: u64 = 64 << 20;

/// The assistant that wrote a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TranscriptSource {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

impl TranscriptSource {
    /// The name of its format.
    pub fn name(self) -> &'static str {
        match self {
            TranscriptSource::ClaudeCode => "claude-code",
            TranscriptSource::Codex => "codex",
        }
    }
}

/// Where the reading of a transcript continues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Position {
    pub assistant: TranscriptSource,
    /// Total number of bytes of the complete lines read so far.
    pub read: u64,
    /// The position at which the last turn begins.
    pub turn: LinePosition,
    /// The properties of the session known so far.
    pub conversation: Conversation,
    /// The id of the turn before the last one.
    pub previous: Option<String>,
    /// The note of each captured turn, by the id of the turn. A turn whose note was deleted is not stored again, although
    /// the last turn is read again, and the whole transcript if the person went back.
    #[serde(default)]
    pub notes: BTreeMap<String, NodeId>,
}

/// The place of a line: the bytes before it, and its number from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LinePosition {
    pub offset: u64,
    pub line: u64,
}

/// A turn and where it begins.
#[derive(Debug)]
pub(super) struct TurnAtPosition {
    pub place: LinePosition,
    pub turn: Turn,
}

/// The content of a transcript that one read returned.
#[derive(Debug)]
pub(super) struct Transcript {
    pub conversation: Conversation,
    /// The turns that led to the last one, in order.
    pub turns: Vec<TurnAtPosition>,
    /// The ids of turns on abandoned branches: the person went back and asked something else.
    pub abandoned: Vec<String>,
    pub skipped: SkippedCounts,
    /// Lines that cannot be read, by number.
    pub failed: Vec<(u64, Error)>,
    /// The position for the next read, without notes; `None` if there is no turn yet.
    pub position: Option<Position>,
}

/// A parser for the lines of a transcript, which it receives in order.
pub(super) trait TranscriptLines {
    /// Parses one line.
    fn line(&mut self, place: LinePosition, line: &[u8]) -> Result<()>;

    /// The content of all lines; `None` if a line refers to one before the first, so that the whole transcript is
    /// needed.
    fn finish(self: Box<Self>) -> Option<Content>;
}

/// The content of the parsed lines.
#[derive(Default)]
pub(super) struct Content {
    pub conversation: Conversation,
    pub turns: Vec<TurnAtPosition>,
    pub abandoned: Vec<String>,
    pub skipped: SkippedCounts,
}

/// Reads a transcript from `position`, at which `input` begins. `lines` is a parser with the state of the
/// earlier lines. A last line without a line end is left for the next read. Returns `None` if the whole
/// transcript must be read instead: a line refers to an earlier one, or no turn begins at `position` because another
/// file has replaced the transcript.
pub(super) fn read_from(
    assistant: TranscriptSource,
    mut lines: Box<dyn TranscriptLines>,
    from: Option<&Position>,
    mut input: impl BufRead,
) -> Result<Option<Transcript>> {
    let mut place = from.map_or(LinePosition { offset: 0, line: 1 }, |position| position.turn);
    let mut failed = Vec::new();
    let mut skipped = SkippedCounts::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let unreadable = |error| Error::invalid(format!("it cannot be read: {error}"));
        let mut bytes =
            input.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line).map_err(unreadable)? as u64;
        if bytes == 0 {
            break;
        }
        if line.last() != Some(&b'\n') {
            if bytes < LINE_BYTES {
                skipped.add("unfinished last line", line.len());
                break;
            }
            bytes += skip_line(&mut input).map_err(unreadable)?;
            skipped.add("lines that are too long", bytes as usize);
        } else if !line.trim_ascii().is_empty()
            && let Err(error) = lines.line(place, line.trim_ascii())
        {
            failed.push((place.line, error));
        }
        place = LinePosition { offset: place.offset + bytes, line: place.line + 1 };
    }
    let Some(content) = lines.finish() else { return Ok(None) };
    let begins_at = |place| content.turns.first().is_some_and(|first| first.place == place);
    if from.is_some_and(|position| !begins_at(position.turn)) {
        return Ok(None);
    }
    skipped.merge(&content.skipped);
    let Content { conversation, mut turns, abandoned, .. } = content;
    let last = turns.last().map(|last| last.place);
    let position = last.map(|turn| Position {
        assistant,
        read: place.offset,
        turn,
        conversation: conversation.clone(),
        previous: match turns.len().checked_sub(2).and_then(|before| turns.get(before)) {
            Some(before) => Some(before.turn.id.clone()),
            None => from.and_then(|position| position.previous.clone()),
        },
        notes: BTreeMap::new(),
    });
    turns.retain(|placed| !placed.turn.is_empty());
    Ok(Some(Transcript { conversation, turns, abandoned, skipped, failed, position }))
}

/// Skips the rest of a line; returns its bytes.
fn skip_line(input: &mut impl BufRead) -> std::io::Result<u64> {
    let mut skipped = 0;
    loop {
        let (bytes, ends) = {
            let buffer = input.fill_buf()?;
            match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            }
        };
        input.consume(bytes);
        skipped += bytes as u64;
        if ends {
            return Ok(skipped);
        }
    }
}

/// Parses a line as JSON of a type; the error describes the expected form.
pub(super) fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T> {
    serde_json::from_slice(line).map_err(|error| {
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
        let message = without_found_text(message);
        let what = if error.is_data() { "it is not a line of a transcript" } else { "it is not JSON" };
        Error::invalid(format!("{what}: {message} at column {}", error.column()))
    })
}

/// A message of serde without the text that it found in place of a value of another type. The text may be long and may
/// contain a secret, and the daemon shows the message among its problems.
fn without_found_text(message: &str) -> String {
    match (message.split_once(" string \""), message.rsplit_once(", expected ")) {
        (Some((kind, _)), Some((_, expected))) => format!("{kind} string, expected {expected}"),
        _ => message.to_owned(),
    }
}

/// A time as transcripts write it.
pub(super) fn time(text: Option<&str>) -> Option<Timestamp> {
    text.and_then(|text| Timestamp::parse(text).ok())
}

#[cfg(test)]
mod tests;
