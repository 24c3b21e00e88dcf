//! Agent files of Letta (`.af`), and lists of memory blocks. Blocks and passages become notes, and the messages of an
//! agent become turns.

use super::claude_code::text_bytes;
use super::{FolderRole, Format, json};
use crate::import::ParsedNote;
use crate::import::conversation::{Conversation, IdentifiedMessage, Speaker, TurnMessage, turns};
use crate::import::foreign::ForeignNote;
use crate::import::location::SourceLocation;
use crate::import::run::Import;
use crate::import::skipped::SkippedCounts;
use crate::import::source_file::{Sample, SourceFile};
use crate::speakers::USER;
use poc_graph::error::{Error, Result};
use serde_json::{Map, Value};

/// Letta.
pub(super) struct Letta;

impl Format for Letta {
    fn name(&self) -> &'static str {
        "letta"
    }

    fn about(&self) -> &'static str {
        "agent files and memory blocks of Letta"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Records
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        json::sample_names(sample).is_some_and(|names| {
            let is_block = ["limit", "description", "read_only", "is_template"];
            json::has(names, 1, &["label", "value"])
                && is_block.iter().any(|name| json::has(names, 1, &[name]))
                || json::has(names, 1, &["agents", "blocks"])
                || json::has(names, 1, &["agents"]) && json::has(names, 2, &["block_ids"])
                || json::has(names, 1, &["core_memory"])
        })
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        json::each_value(file, "block", import, &mut |import, place, value| {
            if value.get("label").is_some() {
                return block(import, place, &value, None);
            }
            let list = |value: &Value, field: &str| -> Vec<Value> {
                value.get(field).and_then(Value::as_array).cloned().unwrap_or_default()
            };
            // Earlier agent files have one agent with its blocks, later ones lists of both.
            let name = json::text(&value, "name").map(str::to_owned);
            let blocks = list(&value, "blocks").into_iter().chain(list(&value, "core_memory"));
            for (number, value) in (1..).zip(blocks) {
                block(import, file.item("block", number), &value, name.as_deref())?;
            }
            for kind in ["files", "sources", "tools"] {
                for item in list(&value, kind) {
                    import.report.skipped.add(kind, text_bytes(Some(&item)));
                }
            }
            let agents = list(&value, "agents");
            let agents = if agents.is_empty() { vec![value] } else { agents };
            for (number, value) in (1..).zip(agents) {
                agent(import, &file.item("agent", number), &value)?;
            }
            Ok(())
        })
    }
}

/// A memory block: its label is the title.
fn block(import: &mut Import<'_>, place: SourceLocation, block: &Value, agent: Option<&str>) -> Result<()> {
    let note = read_block(import, block, agent);
    import.add_note(place, text_bytes(Some(block)), note)
}

fn read_block(import: &mut Import<'_>, block: &Value, agent: Option<&str>) -> Result<ParsedNote> {
    let Some((label, value)) = json::text(block, "label").zip(json::text(block, "value")) else {
        return Err(Error::invalid("the block has no text").hint("a block of Letta has `label` and `value`"));
    };
    let value = import.scrubbed(value);
    let id = json::text(block, "id").map(str::to_owned);
    let id = id.unwrap_or_else(|| agent.map_or_else(|| label.to_owned(), |agent| format!("{agent}/{label}")));
    let mut fields = date_of(block);
    fields.insert("title".into(), label.into());
    let description = json::text(block, "description");
    let description = description.map(|text| format!("; {}", import.scrubbed(text))).unwrap_or_default();
    fields.insert("source".into(), format!("letta block{description}").into());
    let key = Some(format!("letta/{id}"));
    let note = ForeignNote::read(fields, Some(&value), key, import.options, import.provenance())?;
    Ok(ParsedNote::Foreign(Box::new(note)))
}

/// The field with the date of a block or passage, if it has one.
fn date_of(value: &Value) -> Map<String, Value> {
    let created = json::time(value, "created_at");
    created.map(|at| ("created".to_owned(), at.to_string().into())).into_iter().collect()
}

/// The passages and messages of an agent.
fn agent(import: &mut Import<'_>, place: &SourceLocation, agent: &Value) -> Result<()> {
    let items = |field: &str| agent.get(field).and_then(Value::as_array).into_iter().flatten();
    for passage in items("passages").chain(items("archival_memory")) {
        let text = json::text(passage, "text").map(|text| import.scrubbed(text));
        let note = text.ok_or_else(|| Error::invalid("the passage has no `text`")).and_then(|text| {
            let key = json::text(passage, "id").map(|id| format!("letta/{id}"));
            let fields = date_of(passage);
            let note = ForeignNote::read(fields, Some(&text), key, import.options, import.provenance())?;
            Ok(ParsedNote::Foreign(Box::new(note)))
        });
        import.add_note(place.clone(), text_bytes(Some(passage)), note)?;
    }
    let name = json::text(agent, "name").unwrap_or("Letta").to_owned();
    let conversation = Conversation {
        format: "letta".into(),
        id: json::text(agent, "id").unwrap_or(&name).to_owned(),
        title: Some(name.clone()),
        asker: USER.into(),
        answerer: name,
        ..Conversation::default()
    };
    let skipped = &mut import.report.skipped;
    let instructions = text_bytes(agent.get("system"));
    if instructions > 0 {
        skipped.add("instructions of agents", instructions);
    }
    let messages: Vec<IdentifiedMessage> = (1..)
        .zip(items("messages"))
        .filter_map(|(number, message)| parse_message(number, message, skipped))
        .collect();
    turns(messages).iter().try_for_each(|turn| import.add_turn(place.clone(), &conversation, turn))
}

fn parse_message(number: u64, message: &Value, skipped: &mut SkippedCounts) -> Option<IdentifiedMessage> {
    let speaker = match json::text(message, "role") {
        Some("user") => Speaker::Person,
        Some("assistant") => Speaker::Assistant,
        Some("tool") => {
            skipped.add("tool results", text_bytes(message.get("content")));
            return None;
        }
        _ => {
            skipped.add("messages of the program", text_bytes(message.get("content")));
            return None;
        }
    };
    let content = message.get("content");
    let mut texts: Vec<&str> = Vec::new();
    for block in content.and_then(Value::as_array).into_iter().flatten() {
        match (json::text(block, "type"), json::text(block, "text")) {
            (_, Some(text)) => texts.push(text),
            (Some("reasoning" | "redacted_reasoning" | "omitted_reasoning"), _) => {
                skipped.add("thoughts", text_bytes(block.get("reasoning")));
            }
            (Some("image"), _) => skipped.add("pictures", 0),
            _ => skipped.add("other blocks", 0),
        }
    }
    texts.extend(content.and_then(Value::as_str));
    for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        skipped.add("tool calls", text_bytes(Some(call)));
    }
    let text = texts.join("\n\n");
    // Letta reports events to its agents as JSON messages, which no person typed.
    let is_event = text.starts_with('{') && text.contains("\"type\"") && !text.contains("\"user_message\"");
    if speaker == Speaker::Person && is_event {
        skipped.add("messages of the program", text.len());
        return None;
    }
    let id = json::text(message, "id").map_or_else(|| format!("message-{number}"), str::to_owned);
    let message = TurnMessage::new(speaker, json::time(message, "created_at"), &text, skipped);
    (!message.text.is_empty()).then_some(IdentifiedMessage { id, message })
}
