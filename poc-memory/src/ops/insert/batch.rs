//! The batch form of `insert`: many notes in one request.

use super::InsertRequest;
use crate::ops::text::plural;
use crate::ops::{Ctx, argument, request};
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_graph::json;
use poc_notes::insert;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Maximum number of notes listed one by one in the text for a person.
const SHOWN_NOTES: usize = 10;

pub(super) const HELP: &str = "\
Many notes instead of one: a JSON Lines file, or `-` for standard input. Each line is one note \
with the fields of these options:

  {\"title\": \"B-tree splits\", \"body\": \"A split writes two pages.\", \"keywords\": [\"storage\"]}

The notes are stored in order, a few hundred per transaction. An invalid note is reported with its \
position; the others are stored. If a line cannot be parsed, nothing is stored";

/// The notes of a batch, as given in `notes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct BatchNotes(Vec<InsertRequest>);

/// The result for one note of a batch: its id and key if it was stored, otherwise the error.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct InsertedNote {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Whether an identical note was already stored; that note was left unchanged.
    duplicate: bool,
    /// Whether it is a new version of an existing note.
    updated: bool,
    /// Version of the note, from 1, which `if_version` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// Number of new edges to notes that share a keyword.
    keyword_edges: usize,
    /// Number of new edges to similar notes.
    semantic_edges: usize,
    /// Secrets that were found in the text, by kind. What a model writes has placeholders in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    /// Why the note was not stored; absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Error>,
}

/// Parses notes from JSON Lines: from standard input for `-`, otherwise from the file of that path.
///
/// # Errors
/// Errors of clap about other arguments have texts. This one is an [`Error`], because it is about a line of a file, and
/// the command line shows it without the name of the file before it.
pub(super) fn lines(word: &str) -> Result<BatchNotes> {
    let text = match word {
        "-" => argument::text(word).map_err(Error::invalid)?,
        path => poc_config::files::read_text(path)
            .map_err(|error| Error::invalid(format!("`{path}` cannot be read: {error}")))?,
    };
    let full = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    full.map(|(number, line)| {
        note(line)
            .map_err(|error| Error::invalid(format!("line {number}: {}; nothing was stored", error.line())))
    })
    .collect::<Result<_>>()
    .map(BatchNotes)
}

/// Parses the note of a line.
fn note(line: &str) -> Result<InsertRequest> {
    let note = json::parse_line(line)?;
    if !note.is_object() {
        return Err(Error::invalid("it is JSON but not an object")
            .hint("write one note per line: {\"title\": …, \"body\": …}"));
    }
    request::decode(&note)
}

impl BatchNotes {
    /// Returns the notes. Fails if the request also has fields of a single note, if a note contains a list of
    /// notes, or if there are more than `[insert] max-notes`.
    pub(super) fn of(self, rest: &InsertRequest, ctx: &Ctx<'_>) -> Result<Vec<InsertRequest>> {
        if *rest != InsertRequest::default() {
            return Err(Error::invalid("the request has both `notes` and fields of a single note")
                .hint("move these fields into each item of `notes`")
                .field("notes"));
        }
        if let Some(place) = self.0.iter().position(|note| note.notes.is_some()) {
            return Err(Error::invalid("a note in `notes` has the field `notes` itself")
                .hint("give all notes in one list")
                .field(format!("notes[{place}].notes")));
        }
        let max = ctx.memory.config.insert.max_notes;
        if self.0.len() > max {
            return Err(Error::invalid(format!("{} notes are too many for one call", self.0.len()))
                .hint(format!("give at most {max}, or import a file"))
                .field("notes"));
        }
        Ok(self.0)
    }
}

impl InsertedNote {
    /// Whether a new note was created.
    pub(super) fn is_new(&self) -> bool {
        self.error.is_none() && !self.duplicate && !self.updated
    }

    pub(super) fn of(
        place: usize,
        stored: Result<insert::InsertReport>,
        warning: Option<String>,
    ) -> InsertedNote {
        match stored {
            Ok(done) => InsertedNote {
                id: Some(done.id),
                key: Some(done.key),
                duplicate: done.duplicate,
                updated: done.updated,
                version: Some(done.version),
                keyword_edges: done.keyword_edges,
                semantic_edges: done.semantic_edges,
                warning,
                error: None,
            },
            Err(error) => {
                let field = error.at.as_ref().and_then(|at| at.field.clone());
                let field = field.map_or_else(String::new, |field| format!(".{field}"));
                InsertedNote {
                    id: None,
                    key: None,
                    duplicate: false,
                    updated: false,
                    version: None,
                    keyword_edges: 0,
                    semantic_edges: 0,
                    warning: None,
                    error: Some(error.field(format!("notes[{place}]{field}"))),
                }
            }
        }
    }
}

/// The results as text for a person.
pub(super) fn summary(notes: &[InsertedNote]) -> String {
    let count = |is: &dyn Fn(&InsertedNote) -> bool| notes.iter().filter(|note| is(note)).count() as u64;
    let failed: Vec<(usize, &Error)> =
        (1..).zip(notes).filter_map(|(number, note)| Some((number, note.error.as_ref()?))).collect();
    let new = count(&InsertedNote::is_new);
    let edges: usize = notes.iter().map(|note| note.keyword_edges + note.semantic_edges).sum();
    let mut text = format!(
        "{new} inserted, {} updated, {}, {} failed, {}\n",
        count(&|note| note.updated),
        plural(count(&|note| note.duplicate), "duplicate"),
        failed.len(),
        plural(edges as u64, "edge"),
    );
    for (number, error) in failed.iter().take(SHOWN_NOTES) {
        let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "failed note {number}: {}{hint}", error.message);
    }
    let warnings: Vec<(usize, &String)> =
        (1..).zip(notes).filter_map(|(number, note)| Some((number, note.warning.as_ref()?))).collect();
    for (number, warning) in warnings.iter().take(SHOWN_NOTES) {
        let _ = writeln!(text, "warning: note {number}: {warning}");
    }
    for hidden in [failed.len(), warnings.len()].map(|count| count.saturating_sub(SHOWN_NOTES)) {
        if hidden > 0 {
            let _ = writeln!(text, "… and {hidden} more: `--json` shows them all");
        }
    }
    text
}

impl JsonSchema for BatchNotes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Notes".into()
    }
    fn inline_schema() -> bool {
        true
    }
    /// The items are the request itself, which is not known here: [`describe`] fills them in.
    fn json_schema(_: &mut schemars::SchemaGenerator) -> Schema {
        schemars::json_schema!({"type": "array", "items": {"type": "object"}})
    }
}

/// Says in the schema of the request that each of many notes has the fields of one.
pub(super) fn describe(schema: &mut Schema) {
    let Some(Value::Object(fields)) = schema.get("properties").cloned() else { return };
    let fields: Map<String, Value> = fields.into_iter().filter(|(name, _)| name != "notes").collect();
    let note = json!({"type": "object", "properties": fields, "additionalProperties": false});
    if let Some(items) = schema.pointer_mut("/properties/notes").and_then(items) {
        *items = note;
    }
}

/// The `items` of an array's schema; an optional array has it in a branch of `anyOf`.
fn items(array: &mut Value) -> Option<&mut Value> {
    if array.get("items").is_some() {
        return array.get_mut("items");
    }
    array.get_mut("anyOf")?.as_array_mut()?.iter_mut().find_map(|choice| choice.get_mut("items"))
}
