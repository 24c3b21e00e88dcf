//! The front matter of a Markdown file: YAML between two lines `---` at its beginning.

use poc_graph::error::{Error, ErrorLocation, Result};
use poc_graph::json::{UniqueFields, repeated_field};
use serde_json::Value;
use std::ops::Range;

/// A Markdown file in its two parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarkdownParts<'a> {
    /// The YAML between the lines `---`; empty if there is none.
    pub front: &'a str,
    /// Everything after it, without the line end before and the one after it that [`crate::markdown::write`] adds.
    pub body: &'a str,
}

/// Splits a file into front matter and body. A file whose front matter is not closed is all body.
pub fn split(text: &str) -> MarkdownParts<'_> {
    let Some(range) = front_range(text) else {
        return MarkdownParts { front: "", body: trimmed(text.strip_prefix(BOM).unwrap_or(text)) };
    };
    let behind = text.get(range.end..).and_then(|rest| rest.split_inclusive('\n').next()).map_or(0, str::len);
    let behind = text.get(range.end + behind..).unwrap_or_default();
    let body = trimmed(line_end(behind).unwrap_or(behind));
    MarkdownParts { front: text.get(range).unwrap_or_default(), body }
}

/// The byte range of the YAML between the lines `---` of a file; `None` if it has no front matter, or it is not closed.
pub(crate) fn front_range(text: &str) -> Option<Range<usize>> {
    let bom = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let rest = text.get(bom..)?.strip_prefix("---").and_then(line_end)?;
    let start = text.len() - rest.len();
    let mut at = start;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") && !line.starts_with(char::is_whitespace) {
            return Some(start..at);
        }
        at += line.len();
    }
    None
}

/// A warning if a file begins like front matter, that is, with a line `---` and a property, but nothing closes it.
pub(crate) fn unclosed_warning(text: &str) -> Option<Error> {
    if front_range(text).is_some() {
        return None;
    }
    let rest = text.strip_prefix(BOM).unwrap_or(text).strip_prefix("---").and_then(line_end)?;
    let (name, value) = rest.lines().next()?.split_once(':')?;
    let is_name = |name: &str| {
        name.starts_with(char::is_alphabetic)
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
    };
    let is_property = is_name(name) && (value.is_empty() || value.starts_with(' '));
    let at = ErrorLocation { line: Some(1), ..ErrorLocation::default() };
    is_property.then(|| {
        Error::invalid("the front matter is not closed, so it was read as text")
            .hint("end it with a line `---`")
            .at(at)
    })
}

/// The byte order mark that some editors write at the beginning of a file.
pub(crate) const BOM: &str = "\u{FEFF}";
/// Maximum nesting of brackets in front matter. The time to parse nested brackets grows with the square of
/// the depth.
const MAX_DEPTH: usize = 64;

/// Refuses front matter whose brackets nest too deeply.
fn check_depth(front: &str) -> Result<()> {
    let mut depth = 0_usize;
    for (at, char) in front.char_indices() {
        match char {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            // Brackets inside a text need not be closed, so the depth is reset where a line break ends most
            // texts; only a few lists continue on the next line.
            '\n' if !front
                .get(at + 1..)
                .is_some_and(|rest| rest.starts_with([' ', '\t', '[', ']', '{', '}'])) =>
            {
                depth = 0;
            }
            _ => {}
        }
        if depth > MAX_DEPTH {
            let ErrorLocation { line, column, .. } = ErrorLocation::offset(front, at);
            let at = ErrorLocation { line: line.map(|line| line + 1), column, ..ErrorLocation::default() };
            return Err(Error::invalid(format!("the front matter nests more than {MAX_DEPTH} brackets"))
                .hint("nest fewer lists and maps")
                .at(at));
        }
    }
    Ok(())
}

/// Parses front matter; an error has the line and column within the whole file.
pub fn parse<T: serde::de::DeserializeOwned>(front: &str) -> Result<T> {
    check_depth(front)?;
    serde_path_to_error::deserialize(serde_norway::Deserializer::from_str(front)).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        let at = inner.location().map_or_else(ErrorLocation::default, |place| ErrorLocation {
            line: Some(place.line() as u32 + 1),
            column: Some(place.column() as u32),
            ..ErrorLocation::default()
        });
        let field = (path != "." && path != "?").then_some(path);
        // The position is in `at`, so it is removed from the message.
        let message = inner.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        Error::invalid(format!("the front matter is not valid: {message}")).at(ErrorLocation { field, ..at })
    })
}

/// Parses front matter of any kind. If a property occurs several times, its last value counts, and the second result is
/// a warning.
pub(crate) fn parse_with_warning(front: &str) -> Result<(Option<Value>, Option<Error>)> {
    if front.is_empty() {
        return Ok((None, None));
    }
    let refused = match parse::<Option<UniqueFields>>(front) {
        Ok(value) => return Ok((value.map(|UniqueFields(value)| value), None)),
        Err(error) => error,
    };
    let Some(name) = repeated_field(&refused) else { return Err(refused) };
    // Fails if it is invalid after the repeated property.
    let value = parse(front)?;
    let line = line_of_second(front, &name);
    let warning = Error::invalid("the property occurs several times, and only its last value was read")
        .hint("keep one of them")
        .at(ErrorLocation { line, field: Some(name), ..ErrorLocation::default() });
    Ok((value, Some(warning)))
}

/// The line of the file in which a property of the note, and not of a value, occurs for the second time.
fn line_of_second(front: &str, name: &str) -> Option<u32> {
    let is_named = |line: &str| {
        line.split_once(':').is_some_and(|(before, _)| before.trim_end().trim_matches(['"', '\'']) == name)
    };
    // The first line of the file is `---`.
    (2..).zip(front.lines()).filter(|(_, line)| is_named(line)).nth(1).map(|(number, _)| number)
}

fn line_end(text: &str) -> Option<&str> {
    text.strip_prefix('\n').or_else(|| text.strip_prefix("\r\n"))
}

fn trimmed(text: &str) -> &str {
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, front: &str, body: &str) {
        assert_eq!(split(text), MarkdownParts { front, body });
    }

    #[test]
    fn a_file_is_split_into_front_matter_and_body() {
        check("---\ntitle: A\n---\n\nBody\n", "title: A\n", "Body");
        check("---\r\ntitle: A\r\n---\r\nBody", "title: A\r\n", "Body");
        check("---\n---\n", "", "");
        check("Body\n---\nmore\n", "", "Body\n---\nmore");
        check("---\nnever closed\n", "", "---\nnever closed");
        check("---\na: |\n  ---\n...\nBody\n", "a: |\n  ---\n", "Body");
        check("", "", "");
    }

    #[test]
    fn front_matter_that_is_not_closed_is_a_warning() {
        let check = |text: &str, warns: bool| assert_eq!(unclosed_warning(text).is_some(), warns, "{text}");
        check("---\ntitle: A\n\nText\n", true);
        check("\u{FEFF}---\r\ntags:\r\n  - a\r\n", true);
        check("---\ntitle: A\n---\nText\n", false);
        // A line above a text.
        check("---\n\nText: it goes on\n", false);
        check("---\nThe journal: a log\n", false);
        check("---\nhttps://example.org\n", false);
        check("---", false);
        check("title: A\n", false);
    }

    #[test]
    fn deep_nesting_is_refused_and_brackets_in_texts_are_not() {
        for deep in
            ["[".repeat(100_000), "a: {".repeat(50_000), format!("title: A\nkeys: {}", "[\n  ".repeat(100))]
        {
            let error = parse::<serde_json::Value>(&deep).unwrap_err();
            assert!(error.message.ends_with("more than 64 brackets"), "{error}");
            assert!(error.at.unwrap().line.is_some());
        }
        // Other deep structures have a limit of the parser.
        for deep in ["- ".repeat(100_000), "? ".repeat(100_000)] {
            assert!(parse::<serde_json::Value>(&deep).is_err());
        }
        let flat = format!("title: a [b\nkeywords: [{}]\n", "x, ".repeat(10_000)).repeat(1);
        assert!(parse::<serde_json::Value>(&flat).is_ok());
        let open: String = (0..200).map(|number| format!("key{number}: \"smile :[ {{\"\n")).collect();
        assert!(parse::<serde_json::Value>(&open).is_ok());
    }

    #[test]
    fn a_repeated_property_is_a_warning_with_the_line_of_the_second() {
        let check = |front: &str, value: Value, warning: Option<&str>| {
            let (read, found) = parse_with_warning(front).unwrap();
            assert_eq!(
                (read, found.map(|found| found.to_string()).as_deref()),
                (Some(value), warning),
                "{front}"
            );
        };
        let text = "the property occurs several times, and only its last value was read";
        check("a: 1\nb: 2\n", serde_json::json!({"a": 1, "b": 2}), None);
        check(
            "a: 1\nb: 2\n\"a\": 3\n",
            serde_json::json!({"a": 3, "b": 2}),
            Some(format!("4: `a`: {text}").as_str()),
        );
        check(
            "m:\n  a: 1\n  a: 2\n",
            serde_json::json!({"m": {"a": 2}}),
            Some(format!("`a`: {text}").as_str()),
        );
        assert_eq!(parse_with_warning("").unwrap(), (None, None));
        assert!(parse_with_warning("a: [\na: 1\n").is_err());
        for other in ["a: 18446744073709551616\n", "a: -9223372036854775809\n"] {
            let error = parse_with_warning(other).unwrap_err();
            assert_eq!(error.message, parse::<Value>(other).unwrap_err().message);
            assert!(error.message.contains("number out of range"), "{error}");
        }
    }

    #[test]
    fn errors_have_the_line_in_the_file() {
        let error = parse::<serde_json::Value>("title: A\nkey: [\n").unwrap_err();
        let at = error.at.unwrap();
        assert!(at.line >= Some(3), "{at:?}");
    }
}
