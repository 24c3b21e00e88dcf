//! Notes of other tools: fields by the names people use for them.

use super::{Options, Read, wikilinks};
use crate::error::{Error, Result};
use crate::graph::{Category, Trust};
use crate::memory::Draft;
use crate::time::Timestamp;
use serde_json::{Map, Value};

/// A note that export did not write.
pub(super) struct Foreign {
    /// What it becomes.
    pub draft: Draft,
    /// Other names that links may use for it.
    pub names: Vec<String>,
    /// What it links to, as written.
    pub links: Vec<String>,
    /// Fields no meaning is known for.
    pub ignored: Vec<String>,
}

impl Foreign {
    /// Reads the fields of a JSON object or of front matter. `body` and `key` are what the file
    /// gives by itself; fields come first.
    pub(super) fn read(
        fields: Map<String, Value>,
        body: Option<&str>,
        key: Option<String>,
        options: &Options,
        provenance: &str,
    ) -> Result<Read> {
        let mut draft = Draft::new(provenance, Trust::External);
        draft.body = body.map(str::to_owned);
        let mut note = Foreign { draft, names: Vec::new(), links: Vec::new(), ignored: Vec::new() };
        let mut id = None;
        for (name, value) in fields {
            if value.is_null() {
                continue;
            }
            note.field(&name, value, &mut id).map_err(|error| error.field(name.as_str()))?;
        }
        let Foreign { draft, names, links, .. } = &mut note;
        names.extend(id.clone());
        draft.key = draft.key.take().or(id).or(key);
        // Given again with the same key, a note that has changed becomes a new version.
        draft.update = draft.key.is_some();
        draft.keywords.get_or_insert_default().extend(options.keywords.iter().cloned());
        if draft.node_type.is_none() {
            draft.node_type.clone_from(&options.node_type);
        }
        let body = draft.body.get_or_insert_default();
        links.extend(wikilinks::targets(body));
        if draft.title.is_none() {
            let by_key = || draft.key.as_deref().and_then(|key| key.rsplit('/').next()).map(str::to_owned);
            // Also an update takes its title from the text that is now.
            draft.title = crate::memory::draft::title_of(body).or_else(by_key);
        }
        Ok(Read::Foreign(Box::new(note)))
    }

    fn field(&mut self, name: &str, value: Value, id: &mut Option<String>) -> Result<()> {
        let draft = &mut self.draft;
        match name {
            "id" => *id = Some(text(value)?),
            "key" => draft.key = Some(text(value)?),
            "title" => draft.title = Some(text(value)?).filter(|title| !title.trim().is_empty()),
            "text" | "body" | "content" => draft.body = Some(text(value)?),
            "type" => draft.node_type = Some(text(value)?),
            "category" => {
                let name = text(value)?;
                let known = || Category::ALL.iter().map(|category| category.name());
                draft.category = Some(Category::parse(&name).ok_or_else(|| {
                    Error::invalid(format!("unknown category `{name}`"))
                        .hint(format!("the categories are {}", known().collect::<Vec<_>>().join(", ")))
                })?);
            }
            "keywords" | "tags" | "tag" => {
                let words = list(value)?;
                let words = words.iter().map(|word| word.trim().trim_start_matches('#').to_owned());
                draft.keywords.get_or_insert_default().extend(words);
            }
            "created" => draft.created = Some(time(value)?),
            "modified" | "updated" => draft.modified = Some(time(value)?),
            "expires" => draft.expires = Some(time(value)?),
            "author" => draft.author = Some(text(value)?),
            "source" | "url" => draft.source = Some(text(value)?),
            "emotion" => draft.emotion = Some(number(value)? as f32),
            "weight" => draft.weight = Some(number(value)?),
            "links" => self.links.extend(list(value)?.iter().map(|link| wikilinks::target(link))),
            "aliases" => self.names.extend(list(value)?),
            "meta" => self.meta(value)?,
            _ => self.ignored.push(name.to_owned()),
        }
        Ok(())
    }

    /// What is known about a note beside its text: who said it becomes the author, a date the time
    /// of its creation, and the rest is kept as its source.
    fn meta(&mut self, value: Value) -> Result<()> {
        let Value::Object(fields) = value else { return Err(not("an object", &value)) };
        let mut rest = Vec::new();
        for (name, value) in fields {
            match (name.as_str(), &value) {
                (_, Value::Null) => {}
                ("speaker" | "author", Value::String(author)) => self.draft.author = Some(author.clone()),
                ("date" | "created", _) if time(value.clone()).is_ok() => {
                    self.draft.created = Some(time(value)?);
                }
                (_, Value::String(text)) => rest.push(format!("{name}: {text}")),
                (_, other) => rest.push(format!("{name}: {other}")),
            }
        }
        if self.draft.source.is_none() && !rest.is_empty() {
            self.draft.source = Some(rest.join("; "));
        }
        Ok(())
    }
}

fn text(value: Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(truth) => Ok(truth.to_string()),
        other => Err(not("a text", &other)),
    }
}

fn number(value: Value) -> Result<f64> {
    value.as_f64().ok_or_else(|| not("a number", &value))
}

/// A list of texts, or one text with commas.
fn list(value: Value) -> Result<Vec<String>> {
    match value {
        Value::Array(items) => items.into_iter().map(text).collect(),
        Value::String(items) => {
            Ok(items.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect())
        }
        other => Err(not("a list", &other)),
    }
}

/// RFC 3339, a date, a date and a time in UTC with a space between them, or seconds since 1970.
fn time(value: Value) -> Result<Timestamp> {
    if let Some(seconds) = value.as_i64() {
        let at = Timestamp(seconds.saturating_mul(1000));
        // Beyond the year 9999 it could be written out but not read again.
        return Timestamp::parse(&at.to_string()).map_err(|_| {
            Error::invalid(format!("{seconds} seconds since 1970 are beyond the calendar"))
                .hint("give seconds, not milliseconds")
        });
    }
    let text = text(value)?;
    let text = text.trim();
    let spaced = text.replacen(' ', "T", 1);
    Timestamp::parse(text)
        .or_else(|error| Timestamp::parse(&spaced).map_err(|_| error))
        .or_else(|error| Timestamp::parse(&format!("{spaced}Z")).map_err(|_| error))
        .or_else(|error| Timestamp::parse(&format!("{spaced}:00Z")).map_err(|_| error))
}

fn not(wanted: &str, value: &Value) -> Error {
    let found = match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    Error::invalid(format!("it is {found}")).hint(format!("give {wanted}"))
}
