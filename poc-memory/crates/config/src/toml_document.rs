//! TOML files with the position of every key, for settings and agent files.
//!
//! Settings are merged with their defaults before they are decoded, and agent files are checked key by key against a
//! table of keys. Both are parsed here, and both report errors with the positions found here.

mod position_cursor;
mod string_offset;
mod syntax;

use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::ErrorLocation;
use poc_graph::similar;
use position_cursor::PositionCursor;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A parsed TOML file with its name and its text.
#[derive(Clone, Debug)]
pub struct TomlDocument<'a> {
    name: &'a str,
    text: &'a str,
    root: DeTable<'a>,
}

impl<'a> TomlDocument<'a> {
    /// Parses a text. `name` names the file in errors.
    ///
    /// # Errors
    /// All syntax errors, ordered by position, with file, line and column, and a hint if one is known. Errors that
    /// follow from an earlier one are omitted.
    pub fn parse(name: &'a str, text: &'a str) -> Result<TomlDocument<'a>, Vec<FileDiagnostic>> {
        let (root, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() {
            return Ok(TomlDocument { name, text, root: root.into_inner() });
        }
        Err(syntax::diagnostics(name, text, errors))
    }

    /// Like [`TomlDocument::parse`], for a file of which only one error is reported.
    ///
    /// # Errors
    /// The first syntax error.
    pub fn parse_or_first_error(name: &'a str, text: &'a str) -> Result<TomlDocument<'a>, FileDiagnostic> {
        let (root, errors) = DeTable::parse_recoverable(text);
        match syntax::first(name, text, &errors) {
            Some(error) => Err(error),
            None => Ok(TomlDocument { name, text, root: root.into_inner() }),
        }
    }

    /// The name of the file, as errors give it.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The text of the file.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Converts to a value that can be merged and decoded, without positions.
    ///
    /// # Errors
    /// A number that TOML allows but no 64-bit type can represent, with its position.
    pub fn into_table(self) -> Result<toml::Table, FileDiagnostic> {
        let end = self.text.len();
        let deserializer = toml::de::Deserializer::from(Spanned::new(0..end, self.root));
        toml::Table::deserialize(deserializer).map_err(|error| {
            let at = ErrorLocation::offset(self.text, error.span().map_or(0, |span| span.start));
            FileDiagnostic::new(error.message()).at(at).file(self.name)
        })
    }

    /// The root table. Its keys and values have their byte ranges.
    pub fn root(&self) -> &DeTable<'a> {
        &self.root
    }

    /// File, line and column of a byte offset.
    pub fn location(&self, offset: usize) -> ErrorLocation {
        ErrorLocation { file: Some(self.name.to_owned()), ..ErrorLocation::offset(self.text, offset) }
    }

    /// File, line and column of a character of a string. `offset` is the byte offset of the opening quote, and
    /// `character` is the index in the decoded string, in which escapes and line continuations are resolved.
    pub fn location_in_string(&self, offset: usize, character: usize) -> ErrorLocation {
        self.location(string_offset::byte_offset(self.text, offset, character))
    }

    /// File, line and column of the key with a path: the names of its tables and its own name. If the file has a plain
    /// value in place of one of these tables, this is the location of that value's key. If the key does not occur, the
    /// location has only the file.
    pub fn key_location<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> ErrorLocation {
        match self.key_offset(path) {
            Some(offset) => self.location(offset),
            None => ErrorLocation { file: Some(self.name.to_owned()), ..ErrorLocation::default() },
        }
    }

    /// The locations of all keys of a table at the top of the file, as [`TomlDocument::key_location`] returns them.
    /// They are found in one pass over the text. Empty if there is no such table.
    pub fn key_locations(&self, table: &str) -> BTreeMap<String, ErrorLocation> {
        let mut keys: Vec<(usize, &str)> = Vec::new();
        if let Some(table) = self.root.get(table).and_then(|value| value.get_ref().as_table()) {
            for (name, _) in table.iter() {
                keys.push((name.span().start, name.get_ref().as_ref()));
            }
        }
        keys.sort_unstable();
        let mut positions = PositionCursor::new(self.text);
        let mut locations = BTreeMap::new();
        for (offset, name) in keys {
            let file = Some(self.name.to_owned());
            locations.insert(name.to_owned(), ErrorLocation { file, ..positions.location(offset) });
        }
        locations
    }

    fn key_offset<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Option<usize> {
        let mut table = &self.root;
        let mut offset = None;
        for part in path {
            let (key, value) = table.get_key_value(part)?;
            offset = Some(key.span().start);
            match value.get_ref() {
                DeValue::Table(inner) => table = inner,
                _ => break,
            }
        }
        offset
    }

    /// The value of the key with a dotted path, with its byte range; `None` if the file does not set it.
    pub fn value(&self, path: &str) -> Option<&Spanned<DeValue<'a>>> {
        let mut table = &self.root;
        let mut names = path.split('.').peekable();
        loop {
            let value = table.get(names.next()?)?;
            match names.peek() {
                None => return Some(value),
                Some(_) => table = value.get_ref().as_table()?,
            }
        }
    }

    /// The byte range of the value of the key with a dotted path.
    pub fn value_span(&self, path: &str) -> Option<Range<usize>> {
        self.value(path).map(Spanned::span)
    }
}

/// The hint for an unknown name: the most similar known name, or else all of them after `otherwise`.
pub fn unknown_name_hint<'n>(
    unknown: &str,
    known: impl Iterator<Item = &'n str> + Clone,
    otherwise: &str,
) -> String {
    match similar::closest(unknown, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
            format!("{otherwise}: {}", known.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n[text]\nk1 = \"ä\\n\\u00e9b\"\n[models.x]\nid = \"y\"\n";

    fn document() -> TomlDocument<'static> {
        TomlDocument::parse("file.toml", TEXT).unwrap()
    }

    #[test]
    fn keys_have_their_line_and_column() {
        let document = document();
        let location = |path: &[&str]| document.key_location(path.iter().copied()).to_string();
        assert_eq!(location(&["text", "k1"]), "file.toml:3:1");
        assert_eq!(location(&["models", "x", "id"]), "file.toml:5:1");
        assert_eq!(location(&["a", "below"]), "file.toml:1:1");
        assert_eq!(location(&["text", "b"]), "file.toml");
    }

    #[test]
    fn the_keys_of_a_table_have_the_locations_of_each() {
        for text in [
            "[a]\nb = 1\n\"é ü\" = \"\"\"x\ny\"\"\"\n  c.d = 2 # ö\nc.e = 3\n[f]\ng = 1\n",
            "\"é\" = 1\na = { b = 'ä', c = { d = 1 }, e = 2 }",
            "a.x = 1\r\nb = 2\r\na.y = 3\r\n",
            "a = 1",
            "",
        ] {
            let document = TomlDocument::parse("file.toml", text).unwrap();
            let found = document.key_locations("a");
            let table = document.root().get("a").and_then(|value| value.get_ref().as_table());
            assert_eq!(found.len(), table.map_or(0, |table| table.len()), "{text}");
            for (name, at) in found {
                assert_eq!(at, document.key_location(["a", name.as_str()]), "{text}");
                assert!(at.line.is_some(), "{text}");
            }
        }
    }

    #[test]
    fn values_have_their_byte_range() {
        let document = document();
        assert_eq!(&TEXT[document.value_span("models.x.id").unwrap()], "\"y\"");
        assert_eq!(document.value_span("a.below"), None);
        let string = document.value_span("text.k1").unwrap().start;
        assert_eq!(document.location_in_string(string, 3).to_string(), "file.toml:3:16");
    }

    #[test]
    fn syntax_errors_are_reported_together_with_hints() {
        let errors = TomlDocument::parse("file.toml", "a = x\nb = True\na.b = 1\n").unwrap_err();
        let lines: Vec<String> = errors.iter().map(FileDiagnostic::line).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        file.toml:1:5: string values must be quoted, expected literal string; write the text in quotes: `"…"`
        file.toml:2:5: invalid boolean, expected `true`; write `true` or `false`, in lower case
        file.toml:3:1: cannot extend value of type string with a dotted key
        "#);
    }

    #[test]
    fn an_unknown_name_gets_the_most_similar_one_or_all() {
        let known = || ["language", "k1"].into_iter();
        assert_eq!(unknown_name_hint("langauge", known(), "known here"), "did you mean `language`?");
        assert_eq!(unknown_name_hint("zzz", known(), "known here"), "known here: `language`, `k1`");
    }
}
