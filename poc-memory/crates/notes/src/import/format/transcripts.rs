//! Transcripts of assistants as formats of import.

use super::{FolderRole, Format, claude_code, codex};
use crate::import::conversation::Conversation;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use crate::import::transcript::{self, Position, Transcript, TranscriptLines, TranscriptSource};
use crate::speakers::USER;
use poc_graph::error::{Error, Result};
use serde_json::Value;
use std::io::{BufRead, Read as _};

/// Number of lines at the beginning of a file of which one must be a line of a transcript.
const FIRST_LINES: usize = 24;

/// The transcripts of an assistant.
pub(super) struct Transcripts {
    assistant: TranscriptSource,
    about: &'static str,
}

/// Claude Code.
pub(super) const CLAUDE_CODE: Transcripts =
    Transcripts { assistant: TranscriptSource::ClaudeCode, about: "sessions of Claude Code" };

/// Codex.
pub(super) const CODEX: Transcripts =
    Transcripts { assistant: TranscriptSource::Codex, about: "rollouts of Codex" };

impl Format for Transcripts {
    fn name(&self) -> &'static str {
        self.assistant.name()
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Records
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        assistant_of(sample) == Some(self.assistant)
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        let read = read_from(self.assistant, None, file.open()?)?;
        let read = read.ok_or_else(|| Error::internal("a transcript refers to lines before its first"))?;
        import.add_transcript(file, read)
    }
}

/// Reads a transcript from a position on, where `input` begins; see [`transcript::read_from`].
pub(in crate::import) fn read_from(
    assistant: TranscriptSource,
    from: Option<&Position>,
    input: impl BufRead,
) -> Result<Option<Transcript>> {
    let continues = from.is_some();
    let conversation = from.map_or_else(|| unread(assistant), |position| position.conversation.clone());
    let lines: Box<dyn TranscriptLines> = match assistant {
        TranscriptSource::ClaudeCode => Box::new(claude_code::ClaudeCodeParser::new(conversation, continues)),
        TranscriptSource::Codex => Box::new(codex::CodexParser::new(conversation, continues)),
    };
    transcript::read_from(assistant, lines, from, input)
}

/// A conversation with an assistant of which no line has been read yet.
fn unread(assistant: TranscriptSource) -> Conversation {
    let answerer = match assistant {
        TranscriptSource::ClaudeCode => "Claude",
        TranscriptSource::Codex => "Codex",
    };
    Conversation {
        format: assistant.name().into(),
        asker: USER.into(),
        answerer: answerer.into(),
        ..Conversation::default()
    }
}

/// Whether Claude Code or Codex wrote a text in place of a prompt.
pub fn is_machine_text(text: &str) -> bool {
    claude_code::is_machine_text(text) || codex::is_machine_text(text)
}

/// The assistant that wrote a transcript with this sample; `None` if it is none. Its first prompt may have a picture, so
/// that its line is longer than the sample.
///
/// # Errors
/// When the file cannot be read.
pub(in crate::import) fn assistant_of_file(
    file: &SourceFile<'_>,
    sample: &Sample,
) -> Result<Option<TranscriptSource>> {
    let assistant = assistant_of(sample);
    if assistant.is_some() || sample.is_whole || sample.first() != Some('{') {
        return Ok(assistant);
    }
    let mut input = file.open_text()?;
    for _ in 0..FIRST_LINES {
        let mut line = Vec::new();
        let read = input.by_ref().take(transcript::LINE_BYTES).read_until(b'\n', &mut line);
        if read.map_err(|error| file.unreadable(&error))? == 0 {
            break;
        }
        let line: Option<Value> = serde_json::from_slice(&line).ok();
        if let Some(assistant) = line.as_ref().and_then(assistant_of_line) {
            return Ok(Some(assistant));
        }
    }
    Ok(None)
}

/// The assistant that wrote a file, by the lines of its sample.
fn assistant_of(sample: &Sample) -> Option<TranscriptSource> {
    if sample.first() != Some('{') {
        return None;
    }
    sample.objects().iter().find_map(assistant_of_line)
}

/// The assistant that wrote a line: Claude Code writes `sessionId` on each line of the conversation, Codex begins with
/// `session_meta`.
fn assistant_of_line(line: &Value) -> Option<TranscriptSource> {
    let kind = line.get("type")?.as_str()?;
    if kind == "session_meta" && line.get("payload").is_some_and(|payload| payload.get("id").is_some()) {
        return Some(TranscriptSource::Codex);
    }
    let is_line =
        matches!(kind, "user" | "assistant" | "attachment" | "system") && line.get("uuid").is_some();
    (line.get("sessionId").is_some() && (is_line || kind == "queue-operation"))
        .then_some(TranscriptSource::ClaudeCode)
}
