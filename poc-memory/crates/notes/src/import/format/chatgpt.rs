//! The export of ChatGPT: `conversations.json`, a list of conversations, each a tree of messages. The conversation is
//! the way from `current_node` to the root; other branches were abandoned.

use super::claude_code::text_bytes;
use super::{FolderRole, Format, json};
use crate::import::conversation::{Conversation, IdentifiedMessage, Speaker, TurnMessage, turns};
use crate::import::run::Import;
use crate::import::skipped::SkippedCounts;
use crate::import::source_file::{Sample, SourceFile};
use crate::speakers::USER;
use poc_graph::error::{Error, Result};
use rustc_hash::FxHashSet;
use serde_json::Value;

/// ChatGPT.
pub(super) struct ChatGpt;

impl Format for ChatGpt {
    fn name(&self) -> &'static str {
        "chatgpt"
    }

    fn about(&self) -> &'static str {
        "`conversations.json` of ChatGPT's export"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Records
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        json::sample_names(sample).is_some_and(|names| {
            json::has(names, 1, &["mapping"])
                && (names.iter().any(|(depth, name)| *depth > 1 && name == "message"))
        })
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        json::each_value(file, "conversation", import, &mut |import, place, value| match read(
            &value,
            &mut import.report.skipped,
        ) {
            Ok((conversation, messages)) => turns(messages)
                .iter()
                .try_for_each(|turn| import.add_turn(place.clone(), &conversation, turn)),
            Err(error) => import.add_note(place, 0, Err(error)),
        })
    }
}

fn read(value: &Value, skipped: &mut SkippedCounts) -> Result<(Conversation, Vec<IdentifiedMessage>)> {
    let Some(mapping) = value.get("mapping").and_then(Value::as_object) else {
        return Err(Error::invalid("the conversation has no `mapping`")
            .hint("a conversation of ChatGPT's export has `title`, `mapping` and `current_node`"));
    };
    let id = json::text(value, "conversation_id").or_else(|| json::text(value, "id"));
    let Some(id) = id.or_else(|| json::text(value, "current_node")) else {
        return Err(Error::invalid("the conversation has no `conversation_id`")
            .hint("a conversation of ChatGPT's export has `conversation_id` or `id`"));
    };
    let conversation = Conversation {
        format: "chatgpt".into(),
        id: id.to_owned(),
        title: json::text(value, "title").map(str::to_owned),
        asker: USER.into(),
        answerer: "ChatGPT".into(),
        ..Conversation::default()
    };
    // Without `current_node`, the conversation ends at the last node.
    let last = || mapping.keys().next_back().map(String::as_str);
    let mut path: Vec<&Value> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut next = json::text(value, "current_node").filter(|id| mapping.contains_key(*id)).or_else(last);
    while let Some(id) = next.filter(|id| seen.insert(*id)) {
        let Some(node) = mapping.get(id) else { break };
        path.push(node);
        next = json::text(node, "parent");
    }
    path.reverse();
    let is_user = |node: &Value| node.pointer("/message/author/role").and_then(Value::as_str) == Some("user");
    let abandoned = mapping.iter().filter(|(id, node)| is_user(node) && !seen.contains(id.as_str()));
    abandoned.for_each(|_| skipped.add("turns of abandoned branches", 0));
    Ok((conversation, path.into_iter().filter_map(|node| parse_message(node, skipped)).collect()))
}

/// The message of a node of the tree; `None` if it has no text for the person.
fn parse_message(node: &Value, skipped: &mut SkippedCounts) -> Option<IdentifiedMessage> {
    let message = node.get("message").filter(|message| !message.is_null())?;
    let content = message.get("content")?;
    let bytes = text_bytes(content.get("parts").or_else(|| content.get("text")));
    let speaker = match message.pointer("/author/role").and_then(Value::as_str) {
        Some("user") => Speaker::Person,
        Some("assistant") => Speaker::Assistant,
        Some("tool") => {
            skipped.add("tool results", bytes);
            return None;
        }
        _ => {
            if bytes > 0 {
                skipped.add("messages of the program", bytes);
            }
            return None;
        }
    };
    let is_hidden = message.pointer("/metadata/is_visually_hidden_from_conversation");
    if is_hidden.and_then(Value::as_bool) == Some(true) {
        skipped.add("messages of the program", bytes);
        return None;
    }
    if json::text(message, "recipient").is_some_and(|recipient| recipient != "all") {
        skipped.add("tool calls", bytes);
        return None;
    }
    // Pictures are parts of the message, too.
    let is_picture = |file: &&Value| {
        let kind = json::text(file, "mime_type").or_else(|| json::text(file, "mimeType"));
        kind.is_some_and(|kind| kind.starts_with("image/"))
    };
    let attached = message.pointer("/metadata/attachments").and_then(Value::as_array);
    for _ in attached.into_iter().flatten().filter(|file| !is_picture(file)) {
        skipped.add("attachments", 0);
    }
    let mut texts: Vec<&str> = Vec::new();
    match json::text(content, "content_type").unwrap_or("text") {
        "text" | "multimodal_text" => {
            for part in content.get("parts").and_then(Value::as_array).into_iter().flatten() {
                match part {
                    Value::String(text) => texts.push(text),
                    part if json::text(part, "text").is_some() => texts.extend(json::text(part, "text")),
                    _ => skipped.add("pictures", 0),
                }
            }
        }
        "code" => texts.extend(json::text(content, "text")),
        "thoughts" | "reasoning_recap" => skipped.add("thoughts", text_bytes(Some(content))),
        "execution_output" => skipped.add("tool results", text_bytes(Some(content))),
        _ => skipped.add("messages of the program", text_bytes(Some(content))),
    }
    let text = texts.join("\n\n");
    let id = json::text(message, "id").or_else(|| json::text(node, "id"))?.to_owned();
    let at = json::time(message, "create_time");
    let message = TurnMessage::new(speaker, at, &text, skipped);
    (!message.text.is_empty()).then_some(IdentifiedMessage { id, message })
}
