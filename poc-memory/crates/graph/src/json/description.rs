//! The descriptions in a JSON Schema.

use schemars::Schema;
use serde_json::Value;

/// Joins the lines of each paragraph of a description, because their breaks come from the width of the source code. For
/// [`schemars::transform::RecursiveTransform`].
pub fn join_description_lines(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get("description") {
        let paragraphs = description.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
        let joined = paragraphs.collect::<Vec<_>>().join("\n\n");
        schema.insert("description".into(), joined.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two lines
    /// of one paragraph.
    ///
    /// Another paragraph.
    #[derive(schemars::JsonSchema)]
    struct Described {}

    #[test]
    fn lines_of_a_paragraph_are_joined() {
        let mut schema = schemars::schema_for!(Described);
        join_description_lines(&mut schema);
        assert_eq!(
            schema.get("description").and_then(Value::as_str),
            Some("Two lines of one paragraph.\n\nAnother paragraph.")
        );
    }
}
