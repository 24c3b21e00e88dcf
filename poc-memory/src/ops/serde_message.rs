//! Rephrases serde's messages, which name Rust types, in terms of JSON.

/// Fields of `insert` and `search` that surfaces give and that are not in the schema, each with the separator behind it
/// in serde's list of the known fields.
const INTERNAL_FIELDS: [&str; 3] = ["`project_if_new`, ", "`must_exist`, ", "`default_limit`, "];

/// The message without the fields that no caller may give.
fn without_internal_fields(message: &str) -> String {
    INTERNAL_FIELDS.iter().fold(message.to_owned(), |message, field| message.replace(field, ""))
}

/// The message with the expected type named in terms of JSON.
pub(super) fn in_json_terms(message: &str) -> String {
    let message = without_internal_fields(message);
    match message.rsplit_once(", expected ") {
        Some((found, expected)) => format!("{found}, expected {}", json_term(expected)),
        None => message,
    }
}

/// What to give instead of a value of a wrong type, from a message of [`in_json_terms`]; `None` if the message is about
/// something else or names no type.
pub(super) fn type_hint(message: &str) -> Option<String> {
    let is_type = ["invalid type: ", "invalid value: "].iter().any(|start| message.starts_with(start));
    let (_, expected) = message.rsplit_once(", expected ").filter(|_| is_type)?;
    if expected == ANY_OTHER {
        return None;
    }
    let example = TYPES.iter().find(|kind| kind.term == expected).and_then(|kind| kind.example);
    let such_as = example.map(|example| format!(", such as `{example}`")).unwrap_or_default();
    Some(format!("give {expected}{such_as}"))
}

/// A type of values.
struct JsonType {
    /// What serde calls it.
    names: &'static [&'static str],
    /// What a caller of an op calls it.
    term: &'static str,
    /// A value, unless the term already shows the values.
    example: Option<&'static str>,
}

const TYPES: [JsonType; 7] = [
    JsonType {
        names: &["usize", "u8", "u16", "u32", "u64"],
        term: "a whole number from 0 up",
        example: Some("5"),
    },
    JsonType { names: &["isize", "i8", "i16", "i32", "i64"], term: "a whole number", example: Some("-5") },
    JsonType { names: &["f32", "f64"], term: "a number", example: Some("0.5") },
    JsonType { names: &["a boolean"], term: "`true` or `false`", example: None },
    JsonType { names: &["a string"], term: "a string", example: Some("\"text\"") },
    JsonType { names: &["a sequence"], term: "a list", example: Some("[\"text\", \"text\"]") },
    JsonType { names: &["a map"], term: "an object", example: Some("{\"name\": \"value\"}") },
];

/// The term for types that have none in JSON.
const ANY_OTHER: &str = "a value of another kind";

fn json_term(expected: &str) -> &str {
    if let Some(kind) = TYPES.iter().find(|kind| kind.names.contains(&expected)) {
        return kind.term;
    }
    match expected {
        "struct" | "unit" | "unit struct" | "option" => ANY_OTHER,
        record if record.starts_with("struct ") || record.starts_with("tuple ") => {
            "an object with the fields of the schema"
        }
        choice if choice.starts_with("enum ") => "one of the values of the schema",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{in_json_terms, type_hint};

    #[test]
    fn a_hint_names_the_type_that_is_expected() {
        let check = |message: &str, expected: Option<&str>| {
            assert_eq!(type_hint(&in_json_terms(message)).as_deref(), expected, "{message}");
        };
        check(
            "invalid type: string \"many\", expected usize",
            Some("give a whole number from 0 up, such as `5`"),
        );
        check(
            "invalid value: integer `-1`, expected u32",
            Some("give a whole number from 0 up, such as `5`"),
        );
        check("invalid type: integer `5`, expected a string", Some("give a string, such as `\"text\"`"));
        check("invalid type: string \"yes\", expected a boolean", Some("give `true` or `false`"));
        check("invalid type: map, expected option", None);
        check("a time has a zone, expected `Z`", None);
        check("missing field `text`", None);
    }

    #[test]
    fn messages_name_no_rust_types() {
        let check = |message: &str, expected: &str| assert_eq!(in_json_terms(message), expected);
        check(
            "invalid type: string \"many\", expected usize",
            "invalid type: string \"many\", expected a whole number from 0 up",
        );
        check("invalid type: null, expected f64", "invalid type: null, expected a number");
        check("invalid type: map, expected a sequence", "invalid type: map, expected a list");
        check(
            "invalid type: sequence, expected struct InsertRequest",
            "invalid type: sequence, expected an object with the fields of the schema",
        );
        check("a time has a zone, expected `Z`", "a time has a zone, expected `Z`");
        check("missing field `query`", "missing field `query`");
        check(
            "unknown field `x`, expected one of `key`, `project_if_new`, `must_exist`, `notes`",
            "unknown field `x`, expected one of `key`, `notes`",
        );
    }
}
