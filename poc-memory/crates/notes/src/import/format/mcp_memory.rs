//! `memory.jsonl` of the MCP reference server `memory`: entities with observations, and relations between them.

use super::claude_code::text_bytes;
use super::{FolderRole, Format, json};
use crate::import::ParsedNote;
use crate::import::foreign::ForeignNote;
use crate::import::location::SourceLocation;
use crate::import::note_link::NoteLink;
use crate::import::run::{Import, UnresolvedImportLink};
use crate::import::source_file::{Sample, SourceFile};
use poc_graph::error::{Error, Result};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

/// The MCP reference server `memory`.
pub(super) struct McpMemory;

impl Format for McpMemory {
    fn name(&self) -> &'static str {
        "mcp-memory"
    }

    fn about(&self) -> &'static str {
        "`memory.jsonl` of the MCP reference server"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Records
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        let objects = sample.objects();
        let is_line = |line: &Value| match json::text(line, "type") {
            Some("entity") => line.get("name").is_some() && line.get("observations").is_some(),
            Some("relation") => line.get("from").is_some() && line.get("to").is_some(),
            _ => false,
        };
        objects.first().is_some_and(is_line)
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        // Relations may precede their entities.
        let mut entities: Vec<(SourceLocation, Value)> = Vec::new();
        let mut links: FxHashMap<String, Vec<NoteLink>> = FxHashMap::default();
        json::each_value(file, "line", import, &mut |import, place, value| {
            let ends = json::text(&value, "from").zip(json::text(&value, "to"));
            match (json::text(&value, "type"), ends) {
                (Some("entity"), _) => entities.push((place, value)),
                (Some("relation"), Some((from, to))) => {
                    let reason = json::text(&value, "relationType").unwrap_or_default().to_owned();
                    links
                        .entry(from.to_owned())
                        .or_default()
                        .push(NoteLink { reason, ..NoteLink::from(to.to_owned()) });
                }
                (kind, _) => {
                    let error = Error::invalid(match kind {
                        Some("relation") => "the relation lacks `from` or `to`".to_owned(),
                        Some(kind) => format!("`{kind}` is neither an entity nor a relation"),
                        None => "the line has no `type`".to_owned(),
                    });
                    let error = error.hint(
                        "write {\"type\": \"entity\", \"name\": …, \"entityType\": …, \"observations\": […]} or \
                         {\"type\": \"relation\", \"from\": …, \"to\": …, \"relationType\": …}",
                    );
                    return import.add_note(place, 0, Err(error));
                }
            }
            Ok(())
        })?;
        for (place, entity) in entities {
            let note = read(&entity, import).map(|mut note| {
                let name = json::text(&entity, "name").unwrap_or_default();
                note.links.extend(links.remove(name).unwrap_or_default());
                ParsedNote::Foreign(Box::new(note))
            });
            import.add_note(place, text_bytes(Some(&entity)), note)?;
        }
        for (from, relations) in links {
            let place = file.location();
            let missing = relations.iter().map(|_| UnresolvedImportLink::new(place.clone(), from.clone()));
            import.report.unresolved.extend(missing);
        }
        Ok(())
    }
}

fn read(entity: &Value, import: &mut Import<'_>) -> Result<ForeignNote> {
    let name = json::text(entity, "name").ok_or_else(|| {
        Error::invalid("the entity has no `name`").hint("give it a name; relations refer to entities by name")
    })?;
    let observations = entity.get("observations").and_then(Value::as_array);
    let observations = observations.into_iter().flatten();
    for other in observations.clone().filter(|observation| !observation.is_string()) {
        import.report.skipped.add("observations that are not texts", text_bytes(Some(other)));
    }
    let observations = observations.filter_map(Value::as_str);
    // A line end would end the item of the list.
    let items: Vec<String> =
        observations.map(|text| format!("- {}", text.trim().replace('\n', "\n  "))).collect();
    let mut fields = Map::new();
    fields.insert("title".into(), name.into());
    fields.insert("key".into(), name.into());
    if let Some(kind) = json::text(entity, "entityType") {
        fields.insert("keywords".into(), Value::Array(vec![kind.replace(',', " ").into()]));
    }
    let body = import.scrubbed(&items.join("\n"));
    ForeignNote::read(fields, Some(&body), None, import.options, import.provenance())
}
