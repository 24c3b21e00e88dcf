//! Syntax errors of a file, each with its position and a hint.

use super::position_cursor::PositionCursor;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::ErrorLocation;

/// Prefixes of the parser's messages, each with a hint.
const HINTS: &[(&str, &str)] = &[
    ("invalid basic string", "close the text with `\"`; use `\"\"\"` for several lines"),
    ("invalid literal string", "close the text with `'`; use `'''` for several lines"),
    ("invalid multi-line basic string", "close the text with `\"\"\"`"),
    ("invalid multi-line literal string", "close the text with `'''`"),
    ("string values must be quoted", "write the text in quotes: `\"…\"`"),
    ("missing escaped value", "write a backslash as `\\\\`, or put the text in single quotes"),
    ("too few unicode value digits", "write four digits after `\\u`, eight after `\\U`"),
    ("key with no value", "write `key = value`"),
    ("invalid unquoted key", "a key has letters, digits, `-` and `_`, followed by `=`"),
    ("unquoted keys cannot be empty", "write a name: `key = value` or `[table]`"),
    ("unclosed table", "close the name with `]`"),
    ("missing comma between array elements", "separate the items by `,` and close the list with `]`"),
    ("missing comma between key-value pairs", "separate the pairs by `,` and close the table with `}`"),
    ("missing key for inline table", "separate the pairs by `,` and close the table with `}`"),
    ("unexpected key or value", "write one `key = value` per line; only a comment with `#` may follow"),
    ("invalid boolean", "write `true` or `false`, in lower case"),
    ("unexpected leading zero", "write the number without leading zeros, or text in quotes"),
];

/// The syntax errors ordered by position, without follow-up errors.
pub(super) fn diagnostics(file: &str, text: &str, mut errors: Vec<toml::de::Error>) -> Vec<FileDiagnostic> {
    errors.sort_by_key(start);
    let mut positions = PositionCursor::new(text);
    let mut found: Vec<FileDiagnostic> = Vec::new();
    for error in &errors {
        let at = positions.location(start(error));
        // One mistake can cause more errors on the same line, and an unclosed bracket errors on every following
        // line. Only the first is kept.
        if found.last().is_none_or(|last| last.line != at.line) {
            found.push(diagnostic(file, text, error, at));
        }
    }
    let mut open = false;
    found.retain(|one| {
        let follows = open && one.message.starts_with("missing ");
        open |= one.message.starts_with("missing ");
        !follows
    });
    found
}

/// The syntax error that comes first in the text.
pub(super) fn first(file: &str, text: &str, errors: &[toml::de::Error]) -> Option<FileDiagnostic> {
    let error = errors.iter().min_by_key(|error| start(error))?;
    Some(diagnostic(file, text, error, ErrorLocation::offset(text, start(error))))
}

/// The byte offset at which an error begins.
fn start(error: &toml::de::Error) -> usize {
    error.span().map_or(0, |span| span.start)
}

fn diagnostic(file: &str, text: &str, error: &toml::de::Error, at: ErrorLocation) -> FileDiagnostic {
    let at = ErrorLocation { file: Some(file.to_owned()), ..at };
    let message = error.message();
    let excerpt = error.span().and_then(|span| text.get(span)).map(str::trim);
    let excerpt = excerpt.filter(|excerpt| !excerpt.is_empty() && excerpt.len() <= 60);
    if let (true, Some(key)) = (message == "duplicate key", excerpt) {
        let duplicate = FileDiagnostic::new(format!("`{key}` is defined twice"));
        return duplicate.hint("keep one of the two; write all keys of a table under one `[…]` line").at(at);
    }
    let diagnostic = FileDiagnostic::new(message).at(at);
    match HINTS.iter().find(|(begins, _)| message.starts_with(begins)) {
        Some((_, hint)) => diagnostic.hint(*hint),
        None => diagnostic,
    }
}
