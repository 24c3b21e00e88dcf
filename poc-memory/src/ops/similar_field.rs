//! The field that a caller means by a name that a request does not have.

use poc_graph::similar;

/// Names that callers try for a field with another name. The first field that the request has is meant.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("content", "body"),
    ("id", "node"),
    ("k", "top_k"),
    ("key", "node"),
    ("limit", "top_k"),
    ("note", "node"),
    ("q", "text"),
    ("query", "text"),
    ("question", "text"),
    ("tags", "keywords"),
    ("text", "body"),
    ("top_k", "limit"),
];

/// The field of a request that is meant by an unknown name; `None` if none is similar.
pub(crate) fn similar_field<'a>(
    unknown: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let mut others = OTHER_NAMES.iter().filter(|(other, _)| *other == unknown);
    let meant = others.find_map(|(_, name)| known.clone().find(|field| field == name));
    meant.or_else(|| similar::closest(unknown, known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::OPS;
    use serde_json::Value;

    #[test]
    fn a_field_is_found_by_its_common_names_and_by_a_misspelt_one() {
        let insert = ["title", "body", "keywords"];
        let check = |unknown: &str, field: Option<&str>| {
            assert_eq!(similar_field(unknown, insert.into_iter()), field, "{unknown}");
        };
        check("text", Some("body"));
        check("tags", Some("keywords"));
        check("titel", Some("title"));
        check("colour", None);
        // A name is no hint where the request lacks the field.
        check("note", None);
        assert_eq!(similar_field("limit", ["text", "top_k"].into_iter()), Some("top_k"));
    }

    #[test]
    fn other_names_lead_to_fields_of_requests() {
        let schemas: Vec<Value> = OPS.iter().map(|op| (op.request_schema)().to_value()).collect();
        for (other, name) in OTHER_NAMES {
            let is_field = |schema: &Value| schema["properties"].get(*name).is_some();
            assert!(schemas.iter().any(is_field), "{other}: {name}");
        }
    }
}
