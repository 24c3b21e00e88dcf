//! Transcripts of assistants as formats of import.

use super::{Class, Format, claude_code, codex};
use crate::import::conversation::Conversation;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use crate::import::transcript::{self, Assistant, Position, Transcript, TranscriptLines};
use poc_graph::error::{Error, Result};
use std::io::BufRead;

/// The transcripts of an assistant.
pub(super) struct Transcripts {
    assistant: Assistant,
    about: &'static str,
}

/// Claude Code.
pub(super) const CLAUDE_CODE: Transcripts =
    Transcripts { assistant: Assistant::ClaudeCode, about: "sessions of Claude Code" };

/// Codex.
pub(super) const CODEX: Transcripts = Transcripts { assistant: Assistant::Codex, about: "rollouts of Codex" };

impl Format for Transcripts {
    fn name(&self) -> &'static str {
        self.assistant.name()
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn class(&self) -> Class {
        Class::Records
    }

    fn recognises(&self, sample: &Sample) -> bool {
        assistant_of(sample) == Some(self.assistant)
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        let read = read_from(self.assistant, None, file.open()?)?;
        let read = read.ok_or_else(|| Error::internal("a transcript refers to lines before its first"))?;
        import.take_transcript(file, read)
    }
}

/// Reads a transcript from a position on, where `input` begins; see [`transcript::read_from`].
pub(in crate::import) fn read_from(
    assistant: Assistant,
    from: Option<&Position>,
    input: impl BufRead,
) -> Result<Option<Transcript>> {
    let continues = from.is_some();
    let conversation = from.map_or_else(|| unread(assistant), |position| position.conversation.clone());
    let lines: Box<dyn TranscriptLines> = match assistant {
        Assistant::ClaudeCode => Box::new(claude_code::Lines::new(conversation, continues)),
        Assistant::Codex => Box::new(codex::Lines::new(conversation, continues)),
    };
    transcript::read_from(assistant, lines, from, input)
}

/// A conversation with an assistant of which no line has been read yet.
fn unread(assistant: Assistant) -> Conversation {
    let answerer = match assistant {
        Assistant::ClaudeCode => "Claude",
        Assistant::Codex => "Codex",
    };
    Conversation {
        format: assistant.name().into(),
        asker: "User".into(),
        answerer: answerer.into(),
        ..Conversation::default()
    }
}

/// The assistant that wrote a file: Claude Code writes `sessionId` on each line of the conversation, Codex begins with
/// `session_meta`.
pub(in crate::import) fn assistant_of(sample: &Sample) -> Option<Assistant> {
    if sample.first() != Some('{') {
        return None;
    }
    sample.objects().iter().find_map(|line| {
        let kind = line.get("type")?.as_str()?;
        if kind == "session_meta" && line.get("payload").is_some_and(|payload| payload.get("id").is_some()) {
            return Some(Assistant::Codex);
        }
        let is_line =
            matches!(kind, "user" | "assistant" | "attachment" | "system") && line.get("uuid").is_some();
        (line.get("sessionId").is_some() && (is_line || kind == "queue-operation"))
            .then_some(Assistant::ClaudeCode)
    })
}
