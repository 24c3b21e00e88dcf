//! Memories of mem0: the answer of `get_all` (`{"results": […]}`), a list, or JSON Lines.

use super::claude_code::text_bytes;
use super::{FolderRole, Format, json};
use crate::import::ParsedNote;
use crate::import::foreign::ForeignNote;
use crate::import::location::SourceLocation;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use poc_graph::error::{Error, Result};
use serde_json::{Map, Value};

/// mem0.
pub(super) struct Mem0;

impl Format for Mem0 {
    fn name(&self) -> &'static str {
        "mem0"
    }

    fn about(&self) -> &'static str {
        "memories of mem0, as JSON or JSON Lines"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Records
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        json::sample_names(sample).is_some_and(|names| {
            let is_memory = |depth| {
                json::has(names, depth, &["memory"])
                    && ["hash", "user_id", "agent_id", "run_id", "created_at", "categories", "score"]
                        .iter()
                        .any(|name| json::has(names, depth, &[name]))
            };
            is_memory(1) || json::has(names, 1, &["results"]) && is_memory(2)
        })
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        json::each_value(file, "memory", import, &mut |import, place, value| {
            let Some(results) = value.get("results").and_then(Value::as_array) else {
                return add_memory(import, place, &value);
            };
            for relation in value.get("relations").and_then(Value::as_array).into_iter().flatten() {
                import.report.skipped.add("relations", text_bytes(Some(relation)));
            }
            (1..)
                .zip(results)
                .try_for_each(|(number, memory)| add_memory(import, file.item("memory", number), memory))
        })
    }
}

fn add_memory(import: &mut Import<'_>, place: SourceLocation, memory: &Value) -> Result<()> {
    let note = read(memory, import);
    import.add_note(place, text_bytes(Some(memory)), note)
}

fn read(memory: &Value, import: &mut Import<'_>) -> Result<ParsedNote> {
    let text = json::text(memory, "memory").or_else(|| json::text(memory, "text")).ok_or_else(|| {
        Error::invalid("the memory has no text").hint("a memory of mem0 has `id` and `memory`")
    })?;
    let text = import.scrubbed(text);
    let mut fields = Map::new();
    let categories = memory.get("categories").or_else(|| memory.pointer("/metadata/categories"));
    if let Some(Value::Array(words)) = categories {
        let words = words.iter().filter_map(Value::as_str).map(|word| word.replace(',', " ").into());
        fields.insert("keywords".into(), Value::Array(words.collect()));
    }
    for (name, field) in [("created", "created_at"), ("modified", "updated_at")] {
        if let Some(at) = json::time(memory, field) {
            fields.insert(name.into(), at.to_string().into());
        }
    }
    let speaker = ["actor_id", "user_id", "agent_id"].iter().find_map(|field| json::text(memory, field));
    if let Some(speaker) = speaker {
        fields.insert("author".into(), speaker.into());
    }
    let mut source = vec!["mem0".to_owned()];
    for field in ["user_id", "agent_id", "app_id", "run_id"] {
        source.extend(
            json::text(memory, field).map(|value| format!("{}: {value}", field.trim_end_matches("_id"))),
        );
    }
    for (name, value) in memory.get("metadata").and_then(Value::as_object).into_iter().flatten() {
        match value {
            Value::String(value) => source.push(format!("{name}: {value}")),
            Value::Null => {}
            Value::Array(_) if name == "categories" => {}
            other => import.report.skipped.add("metadata", text_bytes(Some(other))),
        }
    }
    let source = import.scrubbed(&source.join("; "));
    fields.insert("source".into(), source.into());
    let key = json::text(memory, "id").map(|id| format!("mem0/{id}"));
    let note = ForeignNote::read(fields, Some(&text), key, import.options, import.provenance())?;
    Ok(ParsedNote::Foreign(Box::new(note)))
}
