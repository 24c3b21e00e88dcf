//! Converts an HTTP request to the request of an op.

use super::query::Fields;
use poc_graph::error::{Error, ErrorLocation, Result};
use poc_graph::json::{self, UniqueFields};
use poc_memory::ops::tenancy;
use serde_json::{Map, Value};

/// Builds the request of an op from the fields of a path and a query.
pub(super) fn from_query<'a>(
    fields: &Fields,
    path: impl IntoIterator<Item = (&'a str, &'a str)>,
    query: &str,
) -> Result<Value> {
    let mut request = from_path(fields, path)?;
    fields.put_query(&mut request, query)?;
    Ok(Value::Object(request))
}

/// Builds the request of an op from the fields of a path and a JSON body.
pub(super) fn from_body<'a>(
    fields: &Fields,
    path: impl IntoIterator<Item = (&'a str, &'a str)>,
    query: &str,
    body: &[u8],
) -> Result<Value> {
    let mut request = only_tenant(fields, query, "put the fields into the JSON body")?;
    request.extend(from_path(fields, path)?);
    for (name, value) in object(body)? {
        if request.contains_key(&name) {
            let place = if name == tenancy::FIELD { "query" } else { "path" };
            return Err(Error::invalid(format!("the field is already given in the {place}"))
                .hint("leave it out")
                .field(name));
        }
        request.insert(name, value);
    }
    Ok(Value::Object(request))
}

/// The tenant in a query string that may contain nothing else. `hint` is that of the error.
pub(super) fn only_tenant(fields: &Fields, query: &str, hint: &str) -> Result<Map<String, Value>> {
    let mut request = Map::new();
    fields.put_query(&mut request, query)?;
    if let Some(name) = request.keys().find(|name| *name != tenancy::FIELD) {
        return Err(Error::invalid("the query string may contain only `tenant`").hint(hint).field(name));
    }
    Ok(request)
}

fn from_path<'a>(
    fields: &Fields,
    path: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Map<String, Value>> {
    let mut request = Map::new();
    for (name, text) in path {
        fields.put(&mut request, name, text)?;
    }
    Ok(request)
}

/// Parses a body as an object. A missing body counts as an empty object, because all fields may be
/// optional.
fn object(body: &[u8]) -> Result<Map<String, Value>> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(UniqueFields(Value::Object(fields))) => Ok(fields),
        Ok(_) => Err(Error::invalid("the body is not a JSON object").hint("send `{\"field\": value}`")),
        Err(error) => {
            let place = |number: usize| u32::try_from(number).ok().filter(|number| *number > 0);
            let at = ErrorLocation {
                line: place(error.line()),
                column: place(error.column()),
                ..ErrorLocation::default()
            };
            if let Some(name) = json::repeated_field(&error) {
                let at = ErrorLocation { field: Some(name), ..at };
                return Err(Error::invalid("the field is given twice").hint("give each field once").at(at));
            }
            let text = error.to_string();
            let problem = text.split(" at line ").next().unwrap_or(&text);
            Err(Error::invalid(format!("the body is not JSON: {problem}"))
                .hint("send `{\"field\": value}`")
                .at(at))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn fields() -> Fields {
        Fields::of(&json!({"properties": {"node": {"type": "string"}, "count": {"type": "integer"}}}))
    }

    fn read(body: &str) -> String {
        match from_body(&fields(), [("node", "a")], "", body.as_bytes()) {
            Ok(request) => request.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_body_is_an_object_without_the_fields_of_the_path() {
        let bodies = [
            "",
            "{}",
            "{\"count\": 1}",
            "{\"node\": \"b\"}",
            "[]",
            "null",
            "{\"count\": }",
            "\u{feff}{}",
            "{\"count\": 1, \"count\": 2}",
            "{\"count\": {\"a\": 1, \"a\": 1}}",
        ];
        let all: Vec<String> = bodies.iter().map(|body| read(body)).collect();
        insta::assert_snapshot!(all.join("\n"), @r#"
        {"node":"a"}
        {"node":"a"}
        {"node":"a","count":1}
        `node`: the field is already given in the path
        the body is not a JSON object
        the body is not a JSON object
        1:11: the body is not JSON: expected value
        1:1: the body is not JSON: expected value
        1:20: `count`: the field is given twice
        1:22: `a`: the field is given twice
        "#);
    }

    #[test]
    fn a_body_that_nests_deeply_is_an_error() {
        let body = format!("{{\"count\": {}", "[".repeat(100_000));
        assert!(read(&body).starts_with("1:"), "{}", &read(&body)[..80]);
    }

    #[test]
    fn a_query_with_a_body_is_refused() {
        let error = from_body(&fields(), [], "count=1", b"{}").unwrap_err();
        assert_eq!(error.message, "the query string may contain only `tenant`");
    }

    poc_laws::laws! {
        #[test]
        fn no_body_panics(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = from_body(&fields(), [], "", &body);
        }
    }
}
