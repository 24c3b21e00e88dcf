//! Notes of other tools: reads fields by their common names.

use super::note_link::NoteLink;
use super::options::ImportOptions;
use super::{references, wikilinks};
use crate::Draft;
use crate::markdown_frame::MarkdownFrame;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Category, NodeType, Trust, former_title_of, title_of};
use serde_json::{Map, Value};

/// A field of a note of another tool.
pub(super) struct ForeignField {
    /// Its names; the first one is our own.
    pub(super) names: &'static [&'static str],
    /// Its description for users.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the table in docs/notes-and-vaults.md is checked against it")
    )]
    about: &'static str,
}

/// Every field that is read, in front matter as in JSON Lines. docs/notes-and-vaults.md lists them in a table.
pub(super) const FIELDS: &[ForeignField] = &[
    ForeignField {
        names: &["key"],
        about: "The key of the note; without it, `id`, the path of the file, or a key made from the title",
    },
    ForeignField {
        names: &["id"],
        about: "The key if there is no `key`; links may use it even if there is a `key`",
    },
    ForeignField {
        names: &["title"],
        about: "One line; without it, the first heading or sentence of the text. Searches find the note by the name \
                of its file, too, if the name is several words or one capitalised word, as in `people/Freya Lund.md`",
    },
    ForeignField {
        names: &["body", "text", "content"],
        about: "The text; in a Markdown file, it replaces the text below the front matter",
    },
    ForeignField {
        names: &["type"],
        about: "`semantic`, `episodic`, `daily`, `weekly`, `monthly`, or one of `[nodes] types`; without it, `episodic` if the note has a session, else `semantic`",
    },
    ForeignField {
        names: &["category"],
        about: "How fast the weight decays: `core`, `general`, `technical`, `observation` or `task`",
    },
    ForeignField { names: &["keywords", "tags", "tag"], about: "A list, or one text with commas" },
    ForeignField { names: &["links"], about: "Notes that it links to, in addition to `[[key]]` in the text" },
    ForeignField { names: &["aliases"], about: "Other names of the note, which links and questions may use" },
    ForeignField {
        names: &["created", "created_at", "date", "timestamp"],
        about: "When it was written: a date, a date and time (also `1:10 pm on 27 March, 2023`), or seconds since 1970",
    },
    ForeignField { names: &["modified", "updated", "updated_at"], about: "When it was last changed" },
    ForeignField { names: &["expires"], about: "When it expires: after that, no search finds it" },
    ForeignField { names: &["author", "speaker"], about: "Who said it" },
    ForeignField {
        names: &["session"],
        about: "The session: each of its notes is linked to the next, in the order of lines, or for files in the order of `created`",
    },
    ForeignField {
        names: &["session-position"],
        about: "Its number in the session; if all files of a session have one, it is their order",
    },
    ForeignField { names: &["source", "url"], about: "Where it comes from" },
    ForeignField { names: &["emotion"], about: "0 to 10" },
    ForeignField { names: &["weight"], about: "How much it matters; 1 by default" },
    ForeignField {
        names: &["meta"],
        about: "An object: `speaker` sets the author, `date` the creation time, `session` (with `group`) the session; all fields except the first two are written into the source",
    },
];

/// A note that was not written by export.
pub(super) struct ForeignNote {
    /// The draft it becomes.
    pub draft: Draft,
    /// Its own names that links may use besides its key: its id and the path of its file.
    pub names: Vec<String>,
    /// Its other names, which other notes may have, too.
    pub aliases: Vec<String>,
    /// Its links.
    pub links: Vec<NoteLink>,
    /// The session that it belongs to.
    pub session: Option<String>,
    /// Its number in the session.
    pub session_position: Option<f64>,
    /// Whether a field has given its title.
    pub has_title: bool,
    /// Unknown fields.
    pub ignored: Vec<String>,
    /// Fields with a value that was left out, with the reason.
    pub warnings: Vec<Error>,
    /// The frame: everything in its file around its text.
    pub frame: Option<MarkdownFrame>,
}

/// Our own name of a field with any of its names.
pub(super) fn field_of(name: &str) -> Option<&'static str> {
    FIELDS.iter().find(|field| field.names.contains(&name)).and_then(|field| field.names.first()).copied()
}

/// If an object has a title and no text, but fields that are unknown: a text that lists all its fields, one a line. The
/// unknown ones are removed, except links.
pub(super) fn take_listed_text(fields: &mut Map<String, Value>) -> Option<String> {
    let is_given =
        |field: Option<&str>| fields.iter().any(|(name, value)| field_of(name) == field && !value.is_null());
    if !is_given(Some("title")) || is_given(Some("body")) || !is_given(None) {
        return None;
    }
    let line = |(name, value): (&String, &Value)| {
        let value = listed_value(value);
        (!value.trim().is_empty()).then(|| format!("{name}: {}", value.trim()))
    };
    let lines: Vec<String> = fields.iter().filter_map(line).collect();
    fields.retain(|name, value| field_of(name).is_some() || is_link(name, value));
    Some(lines.join("\n"))
}

/// Whether a property is a link or a list of links.
pub(super) fn is_link(name: &str, value: &Value) -> bool {
    !references::in_property(name, value).is_empty()
}

/// The value of a field as text.
fn listed_value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.iter().any(|item| item.is_array() || item.is_object()) => {
            items.iter().map(listed_value).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

impl ForeignNote {
    /// Reads the fields of a JSON object or of front matter. `body` and `key` come from the file; fields take
    /// precedence.
    pub(super) fn read(
        fields: Map<String, Value>,
        body: Option<&str>,
        key: Option<String>,
        options: &ImportOptions,
        provenance: &str,
    ) -> Result<ForeignNote> {
        let mut draft = Draft::new(provenance, Trust::External);
        draft.body = body.map(str::to_owned);
        let mut note = ForeignNote {
            draft,
            names: Vec::new(),
            aliases: Vec::new(),
            links: Vec::new(),
            session: None,
            session_position: None,
            has_title: false,
            ignored: Vec::new(),
            warnings: Vec::new(),
            frame: None,
        };
        let mut id = None;
        for (name, value) in fields {
            if value.is_null() {
                continue;
            }
            if let Err(error) = note.field(&name, value, &mut id) {
                let error = error.field(name.as_str());
                // A note without its text is an error; any other field with a wrong value is left out.
                if field_of(&name) == Some("body") {
                    return Err(error);
                }
                note.warnings.push(error);
            }
        }
        note.has_title = note.draft.title.is_some();
        if !note.has_title && title_of(note.draft.body.as_deref().unwrap_or_default()).is_none() {
            return Err(Error::invalid("the note has no text").hint("give it a title, a body or both"));
        }
        let ForeignNote { draft, names, aliases, links, session, .. } = &mut note;
        names.extend(id.clone());
        // The id is a name of the note, also if it is not its key.
        draft.other_names = Some(aliases.iter().chain(&id).cloned().collect());
        draft.key = draft.key.take().or(id).or(key);
        // A changed note that is imported again with the same key becomes a new version.
        draft.update = draft.key.is_some();
        draft.keywords.get_or_insert_default().extend(options.keywords.iter().cloned());
        if draft.node_type.is_none() {
            // A note of a session is episodic, because it records an event.
            let by_session = || session.as_ref().map(|_| NodeType::EPISODIC.to_owned());
            draft.node_type = options.node_type.clone().or_else(by_session);
        }
        if draft.source.is_none() {
            draft.source = session.as_ref().map(|session| format!("session: {session}"));
        }
        let body = draft.body.get_or_insert_default();
        let targets = wikilinks::targets(body).into_iter();
        links.extend(targets.filter(|target| !references::is_attachment(target)).map(NoteLink::from));
        if draft.title.is_none() {
            let by_key = || draft.key.as_deref().and_then(|key| key.rsplit('/').next()).map(str::to_owned);
            // An update takes its title from the new text, too.
            draft.title = title_of(body).or_else(by_key);
            draft.former_title = former_title_of(body);
        }
        Ok(note)
    }

    fn field(&mut self, name: &str, value: Value, id: &mut Option<String>) -> Result<()> {
        let draft = &mut self.draft;
        let Some(own) = field_of(name) else {
            let links = references::in_property(name, &value);
            if links.is_empty() {
                self.ignored.push(name.to_owned());
            }
            self.links.extend(links);
            return Ok(());
        };
        match own {
            "id" => *id = Some(text(value)?),
            "key" => draft.key = Some(text(value)?),
            "title" => draft.title = Some(text(value)?).filter(|title| !title.trim().is_empty()),
            "body" => draft.body = Some(text(value)?),
            "type" => draft.node_type = Some(text(value)?),
            "category" => {
                let name = text(value)?;
                let known = || Category::ALL.iter().map(|category| category.name());
                draft.category = Some(Category::parse(&name).ok_or_else(|| {
                    Error::invalid(format!("unknown category `{name}`"))
                        .hint(format!("the categories are {}", known().collect::<Vec<_>>().join(", ")))
                })?);
            }
            "keywords" => {
                let words = list(value)?;
                let words = words.iter().map(|word| word.trim().trim_start_matches('#').to_owned());
                draft.keywords.get_or_insert_default().extend(words);
            }
            // `date` and `timestamp` may be the time of something else, so `created` takes precedence.
            "created" if matches!(name, "date" | "timestamp") => {
                let at = time(value)?;
                draft.created.get_or_insert(at);
            }
            "created" => draft.created = Some(time(value)?),
            "modified" => draft.modified = Some(time(value)?),
            "expires" => draft.expires = Some(time(value)?),
            "author" => draft.author = Some(text(value)?),
            "session" => self.session = Some(text(value)?).filter(|name| !name.trim().is_empty()),
            "session-position" => self.session_position = Some(number(value)?),
            "source" => draft.source = Some(text(value)?),
            "emotion" => draft.emotion = Some(number(value)? as f32),
            "weight" => draft.weight = Some(number(value)?),
            "links" => {
                // The name in a link may contain a comma, and YAML reads a link without quotes as a list.
                let found = references::in_property(name, &value);
                if !found.is_empty() {
                    let without_reason = |link: NoteLink| NoteLink { reason: String::new(), ..link };
                    self.links.extend(found.into_iter().map(without_reason));
                    return Ok(());
                }
                // A key may begin with `#`, but in brackets, that is a heading of the note itself.
                let is_of_note = |link: &&String| {
                    !link.trim().starts_with("[[") || !wikilinks::is_within_note(&wikilinks::target(link))
                };
                let links = list(value)?;
                let links = links.iter().filter(is_of_note);
                self.links.extend(links.map(|link| NoteLink::from(wikilinks::target(link))));
            }
            "aliases" => self.aliases.extend(list(value)?),
            "meta" => self.meta(value)?,
            _ => self.ignored.push(name.to_owned()),
        }
        Ok(())
    }

    /// Reads metadata: the speaker becomes the author, the date the creation time, and the rest is kept as the
    /// source.
    fn meta(&mut self, value: Value) -> Result<()> {
        let Value::Object(fields) = value else { return Err(not("an object", &value)) };
        if self.session.is_none()
            && let Some(session) = fields.get("session").filter(|session| !session.is_null())
        {
            // Session names are only unique within a group.
            let group = fields.get("group").filter(|group| !group.is_null());
            self.session =
                Some(format!("{}{session}", group.map(|group| format!("{group} ")).unwrap_or_default()));
        }
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
        // YAML reads `20230327` and `2023` as numbers. As seconds, both would be in 1970.
        if let Some(day) = Timestamp::of_day_number(seconds) {
            return Ok(day);
        }
        if (1900..=2999).contains(&seconds) {
            return Err(Error::invalid(format!("`{seconds}` is a year"))
                .hint(format!("write a date, such as `{seconds}-01-01`")));
        }
        let at = Timestamp(seconds.saturating_mul(1000));
        // Timestamps after the year 9999 cannot be parsed again.
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
        .or_else(|error| Timestamp::parse_written(text).ok_or(error))
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(fields: Value) -> ForeignNote {
        let Value::Object(fields) = fields else { panic!("no object") };
        ForeignNote::read(fields, Some("body"), None, &ImportOptions::default(), "import:x").unwrap()
    }

    #[test]
    fn the_guide_lists_every_field() {
        let guide = include_str!("../../../../../docs/notes-and-vaults.md");
        for ForeignField { names, about } in FIELDS {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let row = format!("| {} | {about} |", names.join(", "));
            assert!(guide.lines().any(|line| line == row), "docs/notes-and-vaults.md lacks the line\n{row}");
        }
    }

    #[test]
    fn every_field_name_is_read() {
        for name in FIELDS.iter().flat_map(|field| field.names) {
            let value = match *name {
                "emotion" | "weight" | "session-position" => json!(1),
                "meta" => json!({"speaker": "Ann"}),
                "category" => json!("core"),
                "created" | "created_at" | "date" | "timestamp" => json!("2026-11-21"),
                "modified" | "updated" | "updated_at" | "expires" => json!("2026-11-21"),
                _ => json!("a"),
            };
            let bare = read(json!({}));
            let one = read(json!({ *name: value }));
            assert!(one.ignored.is_empty(), "`{name}` is ignored");
            let same = one.draft == bare.draft
                && one.aliases == bare.aliases
                && one.names == bare.names
                && one.session_position == bare.session_position
                && one.links == bare.links;
            assert!(!same, "`{name}` does nothing");
        }
        assert_eq!(read(json!({"colour": 1})).ignored, ["colour"]);
    }

    #[test]
    fn a_link_may_have_a_comma_and_no_quotes() {
        let targets = |links: Value| -> Vec<String> {
            read(json!({ "links": links })).links.into_iter().map(|link| link.target).collect()
        };
        assert_eq!(targets(json!("[[Doe, Ann]]")), ["Doe, Ann"]);
        assert_eq!(targets(json!([["a"]])), ["a"], "`links: [[a]]`");
        assert_eq!(targets(json!([["a"], "[[b, c]]"])), ["a", "b, c"]);
        assert_eq!(targets(json!("[[a]], [[b]]")), ["a", "b"]);
        assert_eq!(targets(json!("a, b")), ["a", "b"]);
    }

    #[test]
    fn created_takes_precedence_over_date() {
        let created = |fields: Value| read(fields).draft.created.map(|at| at.to_string());
        let day = |day: &str| Some(format!("{day}T00:00:00.000Z"));
        assert_eq!(created(json!({"date": "2023-05-08"})), day("2023-05-08"));
        for both in [
            "{\"created\": \"2022-01-01\", \"date\": \"2023-05-08\"}",
            "{\"date\": \"2023-05-08\", \"created\": \"2022-01-01\"}",
        ] {
            assert_eq!(created(serde_json::from_str(both).unwrap()), day("2022-01-01"));
        }
        assert_eq!(created(json!({"date": 20_230_508})), day("2023-05-08"));
        assert_eq!(created(json!({"date": 1_683_504_000})), day("2023-05-08"));
        for (name, value) in [
            ("created", json!("some Friday")),
            ("date", json!("some Friday")),
            ("timestamp", json!("23-05-08")),
            ("date", json!(2023)),
        ] {
            let note = read(json!({ name: value }));
            let fields = note.warnings.into_iter().map(|warning| warning.at.unwrap().field);
            assert_eq!(fields.collect::<Vec<_>>(), [Some(name.to_owned())]);
            assert!(note.ignored.is_empty() && note.draft.created.is_none());
        }
    }
}
