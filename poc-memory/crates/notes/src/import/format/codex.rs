//! Rollouts of Codex: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-TIME-THREAD.jsonl`.
//!
//! Each line is `{timestamp, type, payload}`. The payloads of `response_item` lines form the conversation;
//! `event_msg` lines repeat them. All prompts with the same `turn_id` belong to one turn.

use super::claude_code::text_bytes;
use crate::import::conversation::{Conversation, Speaker, Turn, TurnMessage};
use crate::import::skipped::SkippedCounts;
use crate::import::transcript::{self, Content, LinePosition, TranscriptLines, TurnAtPosition};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// Beginnings of texts of role `user` that no person typed.
const MACHINE_TEXTS: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions instructions>",
    "<skill>",
    "<subagent_notification>",
    "<user_shell_command>",
    "# AGENTS.md instructions for ",
];

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", default)]
    kind: &'a str,
    #[serde(default)]
    timestamp: Option<&'a str>,
    #[serde(default)]
    payload: Value,
}

/// The state after some lines.
pub(in crate::import) struct CodexParser {
    conversation: Conversation,
    turns: Vec<TurnAtPosition>,
    abandoned: Vec<String>,
    skipped: SkippedCounts,
    continues: bool,
    needs_all: bool,
}

impl CodexParser {
    /// `conversation` has what is known about the session so far. `continues` means that the lines are not
    /// the first ones of the transcript.
    pub(in crate::import) fn new(conversation: Conversation, continues: bool) -> CodexParser {
        CodexParser {
            continues,
            conversation,
            turns: Vec::new(),
            abandoned: Vec::new(),
            skipped: SkippedCounts::default(),
            needs_all: false,
        }
    }

    fn session(&mut self, payload: &Value) {
        let conversation = &mut self.conversation;
        // A forked session begins with the lines of the session that it came from.
        if !conversation.id.is_empty() {
            return;
        }
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        conversation.id = text(payload.get("id")).unwrap_or_default();
        conversation.folder = text(payload.get("cwd"));
        conversation.branch = text(payload.get("git").and_then(|git| git.get("branch")));
        let source = payload.get("source").and_then(|source| source.get("subagent"));
        let is_subagent = text(payload.get("thread_source")).is_some_and(|source| source == "subagent");
        if source.is_some() || is_subagent {
            conversation.asker = "Codex".into();
            conversation.answerer = "Subagent".into();
        }
    }

    fn item(&mut self, place: LinePosition, at: Option<Timestamp>, payload: &Value) {
        let field = |name: &str| payload.get(name).and_then(Value::as_str);
        let kind = field("type").unwrap_or_default();
        match (kind, field("role")) {
            ("message", Some("user")) => self.user(place, at, payload),
            ("message", Some("assistant")) => {
                let text = self.texts(payload);
                if text.trim().is_empty() {
                    return;
                }
                if self.turns.is_empty() {
                    self.begin(place, turn_id(payload, at, &text));
                }
                self.add_message(Speaker::Assistant, at, &text);
            }
            ("message", _) => self.skipped.add("messages of the program", text_bytes(payload.get("content"))),
            ("reasoning", _) => self.skipped.add("thoughts", text_bytes(payload.get("summary"))),
            (kind, _) if kind.ends_with("_output") => {
                self.skipped.add("tool results", text_bytes(payload.get("output")));
            }
            (kind, _) if kind.ends_with("_call") => {
                let arguments = payload.get("arguments").or_else(|| payload.get("input"));
                self.skipped.add("tool calls", text_bytes(arguments.or_else(|| payload.get("action"))));
            }
            _ => self.skipped.add("other items", 0),
        }
    }

    fn user(&mut self, place: LinePosition, at: Option<Timestamp>, payload: &Value) {
        let text = self.texts(payload);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let kinds = payload.get(PASSTHROUGH).and_then(|more| more.get("content_item_kinds"));
        let kinds: Vec<&str> =
            kinds.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let by_person = kinds.iter().any(|kind| kind.starts_with("user."));
        let by_program = kinds.iter().any(|kind| kind.contains('.')) && !by_person;
        if by_program || is_machine_text(text) {
            self.skipped.add("messages of the program", text.len());
            return;
        }
        let id = turn_id(payload, at, text);
        if self.turns.last().is_none_or(|last| last.turn.id != id) {
            self.begin(place, id);
        }
        self.add_message(Speaker::Person, at, text);
    }

    /// The texts of a message; everything else is counted.
    fn texts(&mut self, payload: &Value) -> String {
        let mut texts: Vec<&str> = Vec::new();
        for block in payload.get("content").and_then(Value::as_array).into_iter().flatten() {
            match block.get("text").and_then(Value::as_str) {
                Some(text) => texts.push(text),
                None => self.skipped.add("pictures", 0),
            }
        }
        texts.join("\n\n")
    }

    fn begin(&mut self, place: LinePosition, id: String) {
        self.turns.push(TurnAtPosition { place, turn: Turn { id, messages: Vec::new() } });
    }

    fn add_message(&mut self, speaker: Speaker, at: Option<Timestamp>, text: &str) {
        let message = TurnMessage::new(speaker, at, text, &mut self.skipped);
        if let Some(last) = self.turns.last_mut() {
            last.turn.messages.push(message);
        }
    }

    /// Drops the last `count` turns, which the person abandoned by going back.
    fn roll_back(&mut self, count: u64) {
        // A damaged line may name more turns than there are.
        let kept = self.turns.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
        for placed in self.turns.drain(kept..).rev() {
            self.skipped.add("turns of abandoned branches", 0);
            self.abandoned.push(placed.turn.id);
        }
        // The position of a transcript is the start of its last turn, so that turn must be known.
        self.needs_all |= self.continues && self.turns.is_empty() && count > 0;
    }
}

impl TranscriptLines for CodexParser {
    fn line(&mut self, place: LinePosition, line: &[u8]) -> Result<()> {
        let line: Line<'_> = transcript::parse(line)?;
        let at = transcript::time(line.timestamp);
        let kind = line.payload.get("type").and_then(Value::as_str);
        match (line.kind, kind) {
            ("session_meta", _) => self.session(&line.payload),
            ("response_item", _) => self.item(place, at, &line.payload),
            ("compacted", _) => {
                self.skipped.add("summaries of compactions", text_bytes(line.payload.get("message")));
            }
            ("event_msg", Some("thread_rolled_back")) => {
                self.roll_back(line.payload.get("num_turns").and_then(Value::as_u64).unwrap_or(1));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Option<Content> {
        let CodexParser { conversation, turns, abandoned, skipped, needs_all, .. } = *self;
        (!needs_all).then_some(Content { conversation, turns, abandoned, skipped })
    }
}

/// Whether Codex wrote a text in place of a prompt.
pub(super) fn is_machine_text(text: &str) -> bool {
    MACHINE_TEXTS.iter().any(|machine| text.starts_with(machine))
}

const PASSTHROUGH: &str = "internal_chat_message_metadata_passthrough";

/// The id of the turn of a message: its `turn_id`, else the id of the message, else a hash of time and text.
fn turn_id(payload: &Value, at: Option<Timestamp>, text: &str) -> String {
    let id = payload.get(PASSTHROUGH).and_then(|more| more.get("turn_id")).or_else(|| payload.get("id"));
    id.and_then(Value::as_str).map_or_else(
        || {
            let at = at.map(|at| at.to_string()).unwrap_or_default();
            let hash = blake3::hash(format!("{at}\0{text}").as_bytes());
            hash.to_hex().get(..12).unwrap_or_default().to_owned()
        },
        str::to_owned,
    )
}
