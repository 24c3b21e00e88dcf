//! Rewrites serde's messages, which mention Rust types, for users of a configuration file.

use super::bounds;
use super::toml_document::unknown_name_hint;
use poc_graph::error::Error;
use poc_graph::similar;

/// Converts a message of serde about a key to a message and a hint.
pub(super) fn rewrite(message: &str, key: &str) -> (String, Option<String>) {
    let message = message.trim();
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let names = quoted(rest);
        return unknown("unknown key", &names, "known here");
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let names = quoted(rest);
        return unknown("unknown value", &names, "write one of");
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        let name = name.trim_matches('`');
        return (format!("`{name}` is missing here"), Some(format!("add a line `{name} = …`")));
    }
    if message == "invalid socket address syntax" {
        let hint = "write an IP address and a port, such as `127.0.0.1:9977`";
        return ("the value is not an address".to_owned(), Some(hint.to_owned()));
    }
    let wrong = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    if let Some((found, expected)) = wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
        return (format!("cannot be {}", kind(found)), Some(format!("give {}", wanted(expected, key))));
    }
    let (message, hint) = Error::split_line(message);
    (message.to_owned(), hint.map(str::to_owned))
}

/// The known name that is most similar to the unknown key of a message of serde; `None` if none is similar, or for
/// another message.
pub(super) fn suggested_name(message: &str) -> Option<String> {
    let names = quoted(message.trim().strip_prefix("unknown field ")?);
    let (name, known) = names.split_first()?;
    similar::closest(name, known.iter().map(String::as_str)).map(str::to_owned)
}

/// The texts in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The message and the hint for an unknown name.
fn unknown(what: &str, names: &[String], others: &str) -> (String, Option<String>) {
    let Some((name, known)) = names.split_first() else { return (what.to_owned(), None) };
    let hint = unknown_name_hint(name, known.iter().map(String::as_str), others);
    (format!("{what} `{name}`"), Some(hint))
}

/// Describes the value found: serde's `string "x"` becomes the text "x".
fn kind(found: &str) -> String {
    let names = [
        ("string ", "the text "),
        ("integer ", "the number "),
        ("floating point ", "the number "),
        ("boolean ", ""),
        ("sequence", "a list"),
        ("map", "a table"),
    ];
    let named = names.iter().find_map(|(rust, name)| Some(format!("{name}{}", found.strip_prefix(rust)?)));
    named.unwrap_or_else(|| found.to_owned())
}

/// Describes the expected value of a key.
fn wanted(expected: &str, key: &str) -> String {
    let kind = match expected {
        "f32" | "f64" => "a number",
        "usize" | "u8" | "u16" | "u32" | "u64" => return bounds::whole_numbers(key),
        "a string" | "string" => "text in quotes",
        "a sequence" => "a list, such as [\"…\"]",
        "a boolean" => "`true` or `false`",
        map if map.starts_with("struct ") || map.starts_with("a map") => {
            "a table: a line `[…]` and keys below it"
        }
        other => other,
    };
    kind.to_owned()
}
