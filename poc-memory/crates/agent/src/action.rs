//! The actions of a reply: their types, their JSON Schema and their description in the prompt.

use super::definition::{ActionKind, Limits};
use poc_graph::json::{self, DecodeError};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// A link to add.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkAdd {
    /// Why, in a sentence.
    pub reason: String,
    /// Handle of the node it starts at.
    pub from: String,
    /// Handle of the node it ends at.
    pub to: String,
    /// Strength of the link, above 0 and at most 1.
    pub strength: f64,
}

/// A weight change.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// Why, in a sentence.
    pub reason: String,
    /// Handle of the node.
    pub node: String,
    /// Amount to add to the weight; may be negative.
    pub delta: f64,
}

/// A new node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Insert {
    /// Why, in a sentence.
    pub reason: String,
    /// Key; derived from the title when empty.
    pub key: String,
    /// Title, one line.
    pub title: String,
    /// Body, in Markdown.
    pub body: String,
    /// Keywords; spelling is normalised.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Handles of the nodes it is derived from. Replies of release 0.1 call them `links`.
    #[serde(default, alias = "links")]
    pub sources: Vec<String>,
}

/// A node to replace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Supersede {
    /// Why, in a sentence.
    pub reason: String,
    /// Handle of the node to replace.
    pub node: String,
    /// Handle of the replacement; empty when the replacement is a new node.
    pub by: String,
    /// Key of the new node.
    pub key: String,
    /// Title of the new node.
    pub title: String,
    /// Body of the new node.
    pub body: String,
    /// Handles of the nodes that the new node is derived from, if the replaced one was derived from others; empty to
    /// keep its sources.
    #[serde(default)]
    pub sources: Vec<String>,
}

impl Supersede {
    /// Whether the action only changes the key.
    pub fn renames(&self) -> bool {
        let is_blank = |text: &str| text.trim().is_empty();
        is_blank(&self.by) && is_blank(&self.title) && is_blank(&self.body) && !is_blank(&self.key)
    }
}

/// One action of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// `link-add`
    LinkAdd(LinkAdd),
    /// `weight`
    Weight(Weight),
    /// `insert`
    Insert(Insert),
    /// `supersede`
    Supersede(Supersede),
}

impl Action {
    /// Its kind.
    pub fn kind(&self) -> ActionKind {
        match self {
            Action::LinkAdd(_) => ActionKind::LinkAdd,
            Action::Weight(_) => ActionKind::Weight,
            Action::Insert(_) => ActionKind::Insert,
            Action::Supersede(_) => ActionKind::Supersede,
        }
    }

    /// Reads one entry of a reply's list.
    pub fn decode(kind: ActionKind, entry: &Value) -> Result<Action, DecodeError> {
        Ok(match kind {
            ActionKind::LinkAdd => Action::LinkAdd(json::decode(entry)?),
            ActionKind::Weight => Action::Weight(json::decode(entry)?),
            ActionKind::Insert => Action::Insert(json::decode(entry)?),
            ActionKind::Supersede => Action::Supersede(json::decode(entry)?),
        })
    }

    /// An empty action, for an entry that cannot be read.
    pub fn blank(kind: ActionKind) -> Action {
        match kind {
            ActionKind::LinkAdd => Action::LinkAdd(LinkAdd::default()),
            ActionKind::Weight => Action::Weight(Weight::default()),
            ActionKind::Insert => Action::Insert(Insert::default()),
            ActionKind::Supersede => Action::Supersede(Supersede::default()),
        }
    }

    /// The reason that the model gives.
    pub fn reason(&self) -> &str {
        match self {
            Action::LinkAdd(action) => &action.reason,
            Action::Weight(action) => &action.reason,
            Action::Insert(action) => &action.reason,
            Action::Supersede(action) => &action.reason,
        }
    }

    /// The texts of the model that are stored if the action is applied, without handles.
    pub(super) fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            Action::LinkAdd(action) => vec![&mut action.reason],
            Action::Weight(action) => vec![&mut action.reason],
            Action::Insert(Insert { reason, key, title, body, keywords, sources: _ }) => {
                [reason, key, title, body].into_iter().chain(keywords).collect()
            }
            Action::Supersede(Supersede { reason, node: _, by: _, key, title, body, sources: _ }) => {
                vec![reason, key, title, body]
            }
        }
    }

    pub(super) fn reason_mut(&mut self) -> &mut String {
        match self {
            Action::LinkAdd(action) => &mut action.reason,
            Action::Weight(action) => &mut action.reason,
            Action::Insert(action) => &mut action.reason,
            Action::Supersede(action) => &mut action.reason,
        }
    }
}

/// Maximum characters of a one-line field, for models with constrained output.
const MAX_LINE_CHARS: usize = 300;
/// Maximum actions of a kind, and items of a list, for the same models.
const MAX_ACTIONS: usize = 20;
const MAX_LIST_ITEMS: usize = 10;

/// The type of a field.
#[derive(Clone, Copy)]
enum FieldType {
    Line,
    Text,
    /// A number from this minimum to 1.
    Number(f64),
    Lines,
    /// A handle of the prompt.
    Handle,
    /// A handle or an empty string.
    HandleOrNone,
    Handles,
}

/// The field for the notes that a note is derived from.
const SOURCES: &str = "sources";

/// The fields of an action with type and description, in the order a model writes them. The reason comes
/// first so that the model reasons before it names anything.
fn fields(kind: ActionKind) -> &'static [(&'static str, FieldType, &'static str)] {
    use FieldType::{Handle, HandleOrNone, Handles, Line, Lines, Number, Text};
    match kind {
        ActionKind::LinkAdd => &[
            ("reason", Line, "why, in one sentence"),
            ("from", Handle, "handle of a note"),
            ("to", Handle, "handle of another note"),
            ("strength", Number(0.01), "above 0, at most 1"),
        ],
        ActionKind::Weight => &[
            ("reason", Line, "why, in one sentence"),
            ("node", Handle, "handle of a note"),
            ("delta", Number(-1.0), "by how much its weight moves, up or down"),
        ],
        ActionKind::Insert => &[
            ("reason", Line, "why, in one sentence"),
            ("key", Line, "short name in kebab case, or empty"),
            ("title", Line, "one line"),
            ("body", Text, "Markdown"),
            ("keywords", Lines, "words"),
            (SOURCES, Handles, "handles of the notes it is derived from"),
        ],
        ActionKind::Supersede => &[
            ("reason", Line, "why, in one sentence"),
            ("node", Handle, "handle of the note to replace"),
            ("by", HandleOrNone, "handle of the note that takes its place, or empty to bring a new one"),
            ("key", Line, "of the new note, else empty"),
            ("title", Line, "of the new note, else empty"),
            ("body", Text, "of the new note, else empty"),
            (SOURCES, Handles, "handles of the notes that a new fact comes from, else empty"),
        ],
    }
}

/// The fields of an action in the replies of an agent that may use `actions`. Only an agent that may insert notes can
/// give sources.
fn fields_for(
    actions: &[ActionKind],
    kind: ActionKind,
) -> impl Iterator<Item = &'static (&'static str, FieldType, &'static str)> {
    let has_sources = actions.contains(&ActionKind::Insert);
    fields(kind).iter().filter(move |(name, ..)| has_sources || *name != SOURCES)
}

/// What an action does, for the prompt and the schema.
fn purpose(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::LinkAdd => "links two notes",
        ActionKind::Weight => "makes a note count for more or less",
        ActionKind::Insert => "adds a note",
        ActionKind::Supersede => "replaces a note by another; the old one stays in history",
    }
}

/// The JSON Schema of a reply. It stays within the strict modes of every provider: no unions, enums, patterns
/// or limits, and every field is required.
pub fn schema(actions: &[ActionKind]) -> Value {
    let field = |field_type| match field_type {
        FieldType::Line | FieldType::Text | FieldType::Handle | FieldType::HandleOrNone => {
            json!({"type": "string"})
        }
        FieldType::Number(_) => json!({"type": "number"}),
        FieldType::Lines | FieldType::Handles => json!({"type": "array", "items": {"type": "string"}}),
    };
    reply_schema(actions, field, |entry| json!({"type": "array", "items": entry}))
}

/// A narrower schema for models with constrained output: handles must be one of `handles`, texts have at most
/// `max_chars` characters, and lists are bounded. Every reply that matches it also matches [`schema`].
pub fn bounded_schema(actions: &[ActionKind], handles: &[&str], max_chars: usize) -> Value {
    let line = json!({"type": "string", "maxLength": MAX_LINE_CHARS});
    let list = |item: Value, max: usize| json!({"type": "array", "items": item, "maxItems": max});
    let max = if handles.is_empty() { 0 } else { MAX_LIST_ITEMS };
    let field = |field_type| match field_type {
        FieldType::Line => line.clone(),
        FieldType::Text => json!({"type": "string", "maxLength": max_chars}),
        FieldType::Number(min) => json!({"type": "number", "minimum": min, "maximum": 1, "multipleOf": 0.01}),
        FieldType::Lines => list(line.clone(), MAX_LIST_ITEMS),
        FieldType::Handle => json!({"enum": handles}),
        FieldType::HandleOrNone => json!({"enum": ([&[""], handles].concat())}),
        // The list must be empty, so the type of its items does not matter.
        FieldType::Handles if handles.is_empty() => list(line.clone(), max),
        FieldType::Handles => list(json!({"enum": handles}), max),
    };
    let none = |field: &Value| field.get("enum").and_then(Value::as_array).is_some_and(Vec::is_empty);
    reply_schema(actions, field, |entry| match entry.get("properties").and_then(Value::as_object) {
        // Without handles, actions that need one must be empty lists.
        Some(fields) if fields.values().any(none) => list(line.clone(), 0),
        _ => list(entry, MAX_ACTIONS),
    })
}

/// Builds the schema of a reply from functions that give the schema of a field and that of a list of entries.
fn reply_schema(
    actions: &[ActionKind],
    field: impl Fn(FieldType) -> Value,
    list: impl Fn(Value) -> Value,
) -> Value {
    let object = |properties: Map<String, Value>| {
        let required: Vec<&String> = properties.keys().collect();
        json!({
            "type": "object",
            "required": required,
            "properties": properties,
            "additionalProperties": false,
        })
    };
    let described = |mut schema: Value, says: &str| {
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), says.into());
        }
        schema
    };
    let notes = described(field(FieldType::Line), "what was done and why, in a sentence or two");
    let mut properties = Map::from_iter([("notes".to_owned(), notes)]);
    for &kind in actions {
        let fields = fields_for(actions, kind);
        let entry = object(
            fields
                .map(|(name, field_type, says)| ((*name).to_owned(), described(field(*field_type), says)))
                .collect(),
        );
        properties.insert(kind.name().to_owned(), described(list(entry), purpose(kind)));
    }
    object(properties)
}

/// The reply format as text for the prompt, with the agent's limits.
pub fn describe(actions: &[ActionKind], limits: &Limits) -> String {
    let mut text = String::from("- `notes`: text; what was done and why, in a sentence or two\n");
    for &kind in actions {
        let max = limits.max(kind).min(limits.max_actions);
        let _ = write!(text, "- `{}`: list of at most {max}; each {}: {{", kind.name(), purpose(kind));
        for (index, (name, field_type, says)) in fields_for(actions, kind).enumerate() {
            let field_type = match field_type {
                FieldType::Line | FieldType::Text | FieldType::Handle | FieldType::HandleOrNone => "text",
                FieldType::Number(_) => "number",
                FieldType::Lines | FieldType::Handles => "list of texts",
            };
            let comma = if index == 0 { "" } else { ", " };
            let _ = write!(text, "{comma}\"{name}\": {field_type} ({says})");
        }
        text.push('}');
        let _ = match kind {
            ActionKind::Weight => write!(text, "; a delta of at most {} either way", limits.weight_max_delta),
            ActionKind::Insert => {
                let (min, max) = (limits.insert_min_sources, limits.insert_max_sources);
                let sources = match min {
                    0 => format!("at most {max}"),
                    min => format!("{min} to {max}"),
                };
                let quotation = match limits.insert_only_quotations {
                    true => "; the body is text of a source between “ and ”, with … for what is left out",
                    false => "",
                };
                let chars = limits.insert_max_chars;
                write!(text, "; a body of at most {chars} characters, {sources} sources{quotation}")
            }
            _ => Ok(()),
        };
        text.push('\n');
    }
    text
}
