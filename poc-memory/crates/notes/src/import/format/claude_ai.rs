//! The export of Claude.ai: `conversations.json`, a list of conversations with their messages. `projects.json` of the
//! same export holds documents and is read, too.

use super::claude_code::text_bytes;
use super::{FolderRole, Format, json};
use crate::import::ParsedNote;
use crate::import::conversation::{Conversation, IdentifiedMessage, Speaker, TurnMessage, short, turns};
use crate::import::foreign::ForeignNote;
use crate::import::run::Import;
use crate::import::skipped::SkippedCounts;
use crate::import::source_file::{Sample, SourceFile};
use crate::speakers::USER;
use poc_graph::error::{Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};

/// Claude.ai.
pub(super) struct ClaudeAi;

impl Format for ClaudeAi {
    fn name(&self) -> &'static str {
        "claude-ai"
    }

    fn about(&self) -> &'static str {
        "`conversations.json` and `projects.json` of Claude.ai's export"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Records
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        json::sample_names(sample).is_some_and(|names| {
            json::has(names, 1, &["uuid", "chat_messages"])
                || json::has(names, 1, &["uuid", "docs", "prompt_template"])
        })
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        json::each_value(file, "conversation", import, &mut |import, place, value| {
            let Some(id) = json::text(&value, "uuid") else {
                let error = Error::invalid("the conversation has no `uuid`")
                    .hint("a conversation of Claude.ai's export has `uuid`, `name` and `chat_messages`");
                return import.add_note(place, 0, Err(error));
            };
            if let Some(documents) = value.get("docs").and_then(Value::as_array) {
                let instructions = text_bytes(value.get("prompt_template"));
                if instructions > 0 {
                    import.report.skipped.add("instructions of projects", instructions);
                }
                return documents.iter().try_for_each(|document| {
                    let note = project_document(&value, document, import);
                    import.add_note(place.clone(), text_bytes(Some(document)), note)
                });
            }
            let Some(messages) = value.get("chat_messages").and_then(Value::as_array) else {
                let error = Error::invalid("the conversation has no `chat_messages`")
                    .hint("a conversation of Claude.ai's export has `uuid`, `name` and `chat_messages`");
                return import.add_note(place, 0, Err(error));
            };
            let conversation = Conversation {
                format: "claude-ai".into(),
                id: id.to_owned(),
                title: json::text(&value, "name").map(str::to_owned),
                asker: USER.into(),
                answerer: "Claude".into(),
                ..Conversation::default()
            };
            let skipped = &mut import.report.skipped;
            let messages: Vec<IdentifiedMessage> = current(messages, skipped)
                .into_iter()
                .filter_map(|message| parse_message(message, skipped))
                .collect();
            turns(messages).iter().try_for_each(|turn| import.add_turn(place.clone(), &conversation, turn))
        })
    }
}

/// The messages on the way from the last one to the root. Without `parent_message_uuid`, these are all.
fn current<'v>(messages: &'v [Value], skipped: &mut SkippedCounts) -> Vec<&'v Value> {
    if !messages.iter().any(|message| json::text(message, "parent_message_uuid").is_some()) {
        return messages.iter().collect();
    }
    let by_id: FxHashMap<&str, &Value> =
        messages.iter().filter_map(|message| Some((json::text(message, "uuid")?, message))).collect();
    let mut path = Vec::new();
    let mut seen = FxHashSet::default();
    let mut next = messages.iter().rev().find_map(|message| json::text(message, "uuid"));
    while let Some(id) = next.filter(|id| seen.insert(*id)) {
        let Some(message) = by_id.get(id) else { break };
        path.push(*message);
        next = json::text(message, "parent_message_uuid");
    }
    path.reverse();
    let is_human = |message: &&Value| json::text(message, "sender") == Some("human");
    let is_off = |message: &&Value| json::text(message, "uuid").is_none_or(|id| !seen.contains(id));
    messages
        .iter()
        .filter(is_human)
        .filter(is_off)
        .for_each(|_| skipped.add("turns of abandoned branches", 0));
    path
}

fn parse_message(message: &Value, skipped: &mut SkippedCounts) -> Option<IdentifiedMessage> {
    let speaker = match json::text(message, "sender") {
        Some("assistant") => Speaker::Assistant,
        _ => Speaker::Person,
    };
    let mut texts: Vec<&str> = Vec::new();
    for block in message.get("content").and_then(Value::as_array).into_iter().flatten() {
        match json::text(block, "type") {
            Some("text") => texts.extend(json::text(block, "text")),
            Some("thinking") => skipped.add("thoughts", text_bytes(block.get("thinking"))),
            Some("tool_use") => skipped.add("tool calls", text_bytes(block.get("input"))),
            Some("tool_result") => skipped.add("tool results", text_bytes(block.get("content"))),
            _ => skipped.add("other blocks", 0),
        }
    }
    if texts.is_empty() {
        texts.extend(json::text(message, "text"));
    }
    for attachment in message.get("attachments").and_then(Value::as_array).into_iter().flatten() {
        skipped.add("attachments", text_bytes(attachment.get("extracted_content")));
    }
    for _ in message.get("files").and_then(Value::as_array).into_iter().flatten() {
        skipped.add("attachments", 0);
    }
    let at = json::time(message, "created_at");
    let id = json::text(message, "uuid")?.to_owned();
    let message = TurnMessage::new(speaker, at, &texts.join("\n\n"), skipped);
    (!message.text.is_empty()).then_some(IdentifiedMessage { id, message })
}

/// A document of a project.
fn project_document(project: &Value, document: &Value, import: &mut Import<'_>) -> Result<ParsedNote> {
    let text = |value: &Value, field: &str| json::text(value, field).unwrap_or_default().to_owned();
    let key = format!("claude-ai/{}/{}", short(&text(project, "uuid")), short(&text(document, "uuid")));
    let mut fields = Map::new();
    fields.insert("title".into(), text(document, "filename").into());
    fields
        .insert("source".into(), format!("project: {}; assistant: claude-ai", text(project, "name")).into());
    if let Some(at) = document.get("created_at").or_else(|| project.get("created_at")) {
        fields.insert("date".into(), at.clone());
    }
    let body = json::text(document, "content").ok_or_else(|| {
        Error::invalid("the document has no text")
            .hint("a document of a project has `filename` and `content`")
    })?;
    let body = import.scrubbed(body);
    let note = ForeignNote::read(fields, Some(&body), Some(key), import.options, import.provenance())?;
    Ok(ParsedNote::Foreign(Box::new(note)))
}
