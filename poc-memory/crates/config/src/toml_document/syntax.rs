//! Syntax errors of a file, each with its position and a hint.

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
    let excerpt = text.get(span).map(str::trim).filter(|excerpt| !excerpt.is_empty() && excerpt.len() <= 60);
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
