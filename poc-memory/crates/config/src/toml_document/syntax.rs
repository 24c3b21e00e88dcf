//! Syntax errors of a file, each with its position and a hint.

use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::ErrorLocation;

/// Prefixes of the parser's messages, each with a hint.
const HINTS: &[(&str, &str)] = &[
    ("invalid basic string", "close the text with `\"`; one over several lines stands in `\"\"\"`"),
    ("invalid literal string", "close the text with `'`; one over several lines stands in `'''`"),
    ("invalid multi-line basic string", "close the text with `\"\"\"`"),
    ("invalid multi-line literal string", "close the text with `'''`"),
    ("string values must be quoted", "write a text in quotes: `\"…\"`"),
    ("missing escaped value", "write a backslash as `\\\\`, or the text in single quotes, where it is none"),
    ("too few unicode value digits", "four digits stand behind `\\u`, eight behind `\\U`"),
    ("key with no value", "write `key = value`"),
    ("invalid unquoted key", "a key has letters, digits, `-` and `_`, and `=` behind it"),
    ("unquoted keys cannot be empty", "write a name: `key = value` or `[table]`"),
    ("unclosed table", "close the name with `]`"),
    ("missing comma between array elements", "separate the items by `,` and close the list with `]`"),
    ("missing comma between key-value pairs", "separate the pairs by `,` and close the table with `}`"),
    ("missing key for inline table", "separate the pairs by `,` and close the table with `}`"),
    ("unexpected key or value", "one `key = value` stands in a line; behind it only a comment, with `#`"),
    ("invalid boolean", "write `true` or `false`, in lower case"),
    ("unexpected leading zero", "write the number without zeros in front, or a text in quotes"),
];

/// The syntax errors ordered by position, without follow-up errors.
pub(super) fn diagnostics(file: &str, text: &str, errors: Vec<toml::de::Error>) -> Vec<FileDiagnostic> {
    let mut found: Vec<FileDiagnostic> = errors.iter().map(|error| diagnostic(text, error)).collect();
    found.sort_by_key(|one| (one.line, one.column));
    // One mistake can cause more errors on the same line, and an unclosed bracket errors on every following
    // line. Only the first is kept.
    found.dedup_by_key(|one| one.line);
    let mut open = false;
    found.retain(|one| {
        let follows = open && one.message.starts_with("missing ");
        open |= one.message.starts_with("missing ");
        !follows
    });
    found.into_iter().map(|one| one.file(file)).collect()
}

fn diagnostic(text: &str, error: &toml::de::Error) -> FileDiagnostic {
    let span = error.span().unwrap_or(0..0);
    let at = ErrorLocation::offset(text, span.start);
    let message = error.message();
    let said = text.get(span).map(str::trim).filter(|said| !said.is_empty() && said.len() <= 60);
    if let (true, Some(key)) = (message == "duplicate key", said) {
        let twice = FileDiagnostic::new(format!("`{key}` is there twice"));
        return twice.hint("keep one of the two; a table has one `[…]` line for all of its keys").at(at);
    }
    let diagnostic = FileDiagnostic::new(message).at(at);
    match HINTS.iter().find(|(begins, _)| message.starts_with(begins)) {
        Some((_, hint)) => diagnostic.hint(*hint),
        None => diagnostic,
    }
}
