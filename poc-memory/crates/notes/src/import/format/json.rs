//! Reads files of JSON value by value: an array, JSON Lines, or one value.

use crate::import::location::SourceLocation;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use serde::de::{DeserializeSeed, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use std::io::BufRead as _;

/// The callback for a value and its location.
type ValueCallback<'f, 'i> = dyn FnMut(&mut Import<'i>, SourceLocation, Value) -> Result<()> + 'f;

/// Calls `each` with the elements of an array, the lines of JSON Lines, or the only value. `kind` names the
/// kind of value in locations. Only one value at a time is in memory.
///
/// # Errors
/// `invalid_argument` if it is not JSON, or if another value follows the array or the only value.
pub(super) fn each_value<'i>(
    file: &SourceFile<'_>,
    kind: &'static str,
    import: &mut Import<'i>,
    each: &mut ValueCallback<'_, 'i>,
) -> Result<()> {
    let sample = file.sample()?;
    if sample.first() == Some('[') {
        let mut elements = Elements { file, kind, import, each, number: 0, failed: None };
        let mut from = serde_json::Deserializer::from_reader(file.open_text()?);
        let read = (&mut elements).deserialize(&mut from).and_then(|()| from.end());
        return match (elements.failed.take(), read) {
            (Some(error), _) => Err(error),
            (None, read) => read.map_err(|error| not_json(&error)),
        };
    }
    if sample.objects().is_empty() || is_object_of_lines(file, &sample)? {
        let value = serde_json::from_reader(file.open_text()?).map_err(|error| malformed_value(&error))?;
        return each(import, file.location(), value);
    }
    for (number, line) in (1..).zip(file.open_text()?.lines()) {
        let line = line.map_err(|error| file.unreadable(&error))?;
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(&line) {
            Ok(value) => each(import, file.line(number), value)?,
            Err(error) => {
                let error = Error::invalid(format!(
                    "it is not JSON: {} at column {}",
                    reason(&error),
                    error.column()
                ))
                .hint("write one JSON object per line");
                import.add_note(file.line(number), 0, Err(error))?;
            }
        }
    }
    Ok(())
}

/// Whether a file is one object on several lines, of which some may be objects, too, as in JSON Lines.
fn is_object_of_lines(file: &SourceFile<'_>, sample: &Sample) -> Result<bool> {
    let first = sample.text().unwrap_or_default().trim_start().lines().next().unwrap_or_default();
    if serde_json::from_str::<IgnoredAny>(first).is_ok() {
        return Ok(false);
    }
    Ok(serde_json::from_reader::<_, IgnoredAny>(file.open_text()?).is_ok())
}

/// The elements of an array.
struct Elements<'a, 'f, 'i> {
    file: &'a SourceFile<'a>,
    kind: &'static str,
    import: &'a mut Import<'i>,
    each: &'a mut ValueCallback<'f, 'i>,
    number: u64,
    /// The error that ended the import.
    failed: Option<Error>,
}

impl<'de> DeserializeSeed<'de> for &mut Elements<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> std::result::Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for &mut Elements<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        while let Some(value) = seq.next_element::<Value>()? {
            self.number += 1;
            let place = self.file.item(self.kind, self.number);
            if let Err(error) = (self.each)(self.import, place, value) {
                self.failed = Some(error);
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

/// The error for a file named as JSON that is neither JSON nor JSON Lines; `None` for all others.
pub(in crate::import) fn malformed(sample: &Sample) -> Option<Error> {
    let is_json = sample.is_whole && sample.extension == "json" && sample.objects().is_empty();
    let text = sample.text().filter(|text| is_json && !text.trim().is_empty())?;
    serde_json::from_str::<IgnoredAny>(text).err().map(|error| malformed_value(&error))
}

/// The error for a file that is one value, of which nothing was imported.
fn malformed_value(error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    Error::invalid(format!("it is not JSON: {} at line {line}, column {column}", reason(error)))
        .hint("export the file again")
}

/// The error for a list, whose elements before the error were imported.
fn not_json(error: &serde_json::Error) -> Error {
    Error::invalid(format!("it is not JSON from line {} on: {}", error.line(), reason(error)))
        .hint("everything before the error was imported; export the file again for the rest")
}

fn reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split(" at line ").next().unwrap_or_default().to_owned()
}

/// A text in an object.
pub(super) fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// A time in an object: RFC 3339, also with a space and without a time zone, or seconds since 1970 with a fraction.
pub(super) fn time(value: &Value, field: &str) -> Option<Timestamp> {
    match value.get(field)? {
        Value::String(text) => {
            let text = text.trim().replacen(' ', "T", 1);
            Timestamp::parse(&text).or_else(|_| Timestamp::parse(&format!("{text}Z"))).ok()
        }
        Value::Number(seconds) => {
            let at = Timestamp((seconds.as_f64()? * 1000.0) as i64);
            // Times after the year 9999 cannot be parsed again.
            Timestamp::parse(&at.to_string()).ok()
        }
        _ => None,
    }
}

/// The names at the beginning of a file of JSON, each with its depth: 1 in the outermost object, and in objects of the
/// outermost array. Names of the same object come in order. The file may be cut off.
pub(super) fn names(text: &str) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    let mut depth = 0usize;
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '"' => {
                let mut escaped = false;
                let end = chars.find(|&(_, c)| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                let Some((end, _)) = end else { break };
                while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
                if chars.peek().is_some_and(|(_, c)| *c == ':') {
                    names.push((depth, text.get(start + 1..end).unwrap_or_default().to_owned()));
                }
            }
            _ => {}
        }
    }
    names
}

/// The [`names`] of a sample; `None` if it does not begin as an array or an object of JSON.
pub(super) fn sample_names(sample: &Sample) -> Option<&[(usize, String)]> {
    let text = || sample.text().filter(|_| matches!(sample.first(), Some('[' | '{')));
    sample.names.get_or_init(|| text().map(names)).as_deref()
}

/// Whether a list of names has all of these at a depth.
pub(super) fn has(names: &[(usize, String)], depth: usize, wanted: &[&str]) -> bool {
    wanted.iter().all(|wanted| names.iter().any(|(at, name)| *at == depth && name == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_a_file_that_is_cut_off() {
        let text = r#" [{"title": "a \"b\": c", "mapping": {"x": {"id": "mapping"}}, "cut": "of"#;
        let found: Vec<String> = names(text).iter().map(|(depth, name)| format!("{depth} {name}")).collect();
        assert_eq!(found, ["1 title", "1 mapping", "2 x", "3 id", "1 cut"]);
    }

    #[test]
    fn times_have_two_forms() {
        let value = serde_json::json!({"a": 1_700_000_000.25, "b": "2026-11-20T10:00:00Z", "c": "2026-11-20T10:00:00.5", "d": 1e300, "f": "2026-11-20 10:00:00"});
        let time = |field| time(&value, field).map(|at| at.to_string());
        assert_eq!(time("a").unwrap(), "2023-11-14T22:13:20.250Z");
        assert_eq!(time("b").unwrap(), "2026-11-20T10:00:00.000Z");
        assert_eq!(time("c").unwrap(), "2026-11-20T10:00:00.500Z");
        assert_eq!(time("f").unwrap(), "2026-11-20T10:00:00.000Z");
        assert_eq!((time("d"), time("e")), (None, None));
    }
}
