//! JSON Lines: one note per line, written by export or by any other tool.

use super::claude_code::text_bytes;
use super::{FolderRole, Format, json};
use crate::import::ParsedNote;
use crate::import::foreign::{ForeignNote, field_of, take_listed_text};
use crate::import::options::ImportOptions;
use crate::import::rows::RowCallback;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile, not_utf8};
use crate::interchange::SCHEMA_VERSION;
use poc_graph::error::{Error, Result};
use poc_graph::json::parse_line;
use serde_json::{Map, Value};
use std::io::{BufRead as _, Read as _};

/// JSON Lines.
pub(super) struct JsonLines;

impl Format for JsonLines {
    fn name(&self) -> &'static str {
        "json-lines"
    }

    fn about(&self) -> &'static str {
        "one JSON object with a note per line, as `poc-memory export` writes it"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Document
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        match sample.extension.as_str() {
            "jsonl" | "ndjson" => true,
            // Many programs write `.json` files; those with notes are JSON Lines or an array of objects.
            "json" => match sample.first() {
                Some('[') => sample.text().is_some_and(has_notes),
                Some('{') => sample.text().is_some_and(|text| {
                    let line = text.trim_start().lines().next().unwrap_or_default();
                    (line.trim_end().ends_with('}') || !sample.is_whole) && has_notes(text)
                }),
                first => first.is_none(),
            },
            "" => sample.first() == Some('{'),
            _ => false,
        }
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        import.add_rows(file, false, &|import, each| each_note(file, import, each))
    }
}

/// Calls `each` with the notes of a file.
fn each_note<'i>(
    file: &SourceFile<'_>,
    import: &mut Import<'i>,
    each: &mut RowCallback<'_, 'i>,
) -> Result<()> {
    if file.sample()?.first() == Some('[') {
        return json::each_value(file, "note", import, &mut |import, place, value| {
            let bytes = text_bytes(Some(&value));
            let note = read_value(value, import.options, import.provenance());
            each(import, place, bytes, note)
        });
    }
    let (mut input, max_bytes) = (file.open_text()?, import.max_note_bytes());
    let mut number = 0;
    loop {
        number += 1;
        let mut line = Vec::new();
        // A read error ends the import of the file, because it would recur at every line.
        let unreadable = |error| file.unreadable(&error);
        if input.by_ref().take(max_bytes).read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            return Ok(());
        }
        let place = file.line(number);
        let bytes = line.len();
        if bytes as u64 == max_bytes && line.last() != Some(&b'\n') {
            input.skip_until(b'\n').map_err(unreadable)?;
            let error = Error::invalid(format!("the line has more than {max_bytes} bytes"))
                .hint("split the note into several, one idea each");
            each(import, place, 0, Err(error))?;
            continue;
        }
        let note = match String::from_utf8(line) {
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => read_line(&text, import.options, import.provenance()),
            Err(error) => Err(not_utf8(error.utf8_error())),
        };
        each(import, place, bytes, note)?;
    }
}

/// Whether one of the outermost objects has a title or a text.
fn has_notes(text: &str) -> bool {
    let is_text = |name: &str| matches!(field_of(name), Some("title" | "body"));
    json::names(text).iter().any(|(depth, name)| *depth == 1 && is_text(name))
}

/// The note of a line.
pub(in crate::import) fn read_line(
    line: &str,
    options: &ImportOptions,
    provenance: &str,
) -> Result<ParsedNote> {
    read_value(parse_line(line.trim())?, options, provenance)
}

fn read_value(value: Value, options: &ImportOptions, provenance: &str) -> Result<ParsedNote> {
    let Value::Object(mut fields) = value else {
        return Err(Error::invalid("it is JSON but not an object")
            .hint("write one note per line: {\"title\": …, \"body\": …}"));
    };
    if is_exported(&fields)? {
        return serde_path_to_error::deserialize(Value::Object(fields))
            .map(|note| ParsedNote::Exported(Box::new(note)))
            .map_err(|error| {
                let field = error.path().to_string();
                let wrong = Error::invalid(error.into_inner().to_string());
                if field == "." { wrong } else { wrong.field(field) }
            });
    }
    let listed = take_listed_text(&mut fields);
    let note = ForeignNote::read(fields, listed.as_deref(), None, options, provenance)?;
    Ok(ParsedNote::Foreign(Box::new(note)))
}

/// Whether export wrote these fields; an error if this release cannot read their format.
pub(super) fn is_exported(fields: &Map<String, Value>) -> Result<bool> {
    match fields.get("schema_version") {
        None => Ok(false),
        Some(version) if version.as_u64() == Some(u64::from(SCHEMA_VERSION)) => Ok(true),
        Some(version) => Err(Error::invalid(format!(
            "the note has schema version {version}; this release reads {SCHEMA_VERSION}"
        ))
        .hint("import it with the release that wrote it, or a newer one")
        .field("schema_version")),
    }
}
