//! Transcripts of assistants as formats of import.

use super::{FolderRole, Format, claude_code, codex};
use crate::import::conversation::Conversation;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use crate::import::transcript::{self, Position, Transcript, TranscriptLines, TranscriptSource};
use crate::speakers::USER;
use poc_graph::error::{Error, Result};
use std::io::BufRead;

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

/// The assistant that wrote a file: Claude Code writes `sessionId` on each line of the conversation, Codex begins with
/// `session_meta`.
pub(in crate::import) fn assistant_of(sample: &Sample) -> Option<TranscriptSource> {
    if sample.first() != Some('{') {
        return None;
    }
    sample.objects().iter().find_map(|line| {
        let kind = line.get("type")?.as_str()?;
        if kind == "session_meta" && line.get("payload").is_some_and(|payload| payload.get("id").is_some()) {
            return Some(TranscriptSource::Codex);
        }
        let is_line =
            matches!(kind, "user" | "assistant" | "attachment" | "system") && line.get("uuid").is_some();
        (line.get("sessionId").is_some() && (is_line || kind == "queue-operation"))
            .then_some(TranscriptSource::ClaudeCode)
    })
}
