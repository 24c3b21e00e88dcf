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

fn json_term(expected: &str) -> &str {
    match expected {
        "usize" | "u8" | "u16" | "u32" | "u64" => "a whole number from 0 up",
        "isize" | "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "`true` or `false`",
        "a sequence" => "a list",
        "a map" => "an object",
        "struct" | "unit" | "unit struct" | "option" => "a value of another kind",
        record if record.starts_with("struct ") || record.starts_with("tuple ") => {
            "an object with the fields of the schema"
        }
        choice if choice.starts_with("enum ") => "one of the values of the schema",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::in_json_terms;

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
