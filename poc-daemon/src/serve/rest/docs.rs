//! The OpenAPI document as an HTML page: one file without scripts or external resources.

use serde_json::Value;
use std::fmt::Write as _;

const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
section { border-top: 1px solid #8888; margin-top: 2rem; }
h2 code { font-size: 1.1rem; }
table { border-collapse: collapse; display: block; max-width: 100%; overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; }
th { font-weight: 600; }
tr + tr td { border-top: 1px solid #8883; }
";

/// Renders a document as a page.
pub(super) fn page(document: &Value) -> String {
    let info = &document["info"];
    let mut html = String::new();
    let mut put = |text: &str| html.push_str(text);
    put("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    put("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    put(&format!(
        "<title>{0} {1}</title><style>{STYLE}</style></head><body><main>\n<h1>{0} {1}</h1>\n",
        words(&info["title"]),
        words(&info["version"])
    ));
    put(&format!(
        "<p>{}</p>\n<p>As data: <a href=\"/openapi.json\">openapi.json</a></p>\n<nav><ul>\n",
        words(&info["description"])
    ));
    let operations: Vec<Operation<'_>> = operations(document);
    for operation in &operations {
        put(&format!(
            "<li><a href=\"#{}\"><code>{} {}</code></a> {}</li>\n",
            words(&operation.body["operationId"]),
            operation.method,
            escaped(operation.path),
            words(&operation.body["summary"])
        ));
    }
    put(
        "</ul></nav>\n<section><h2>Errors</h2>\n<p>Every error is <code>{code, message, hint, at}</code>.</p>\n<table><tr><th>Status</th><th>Meaning</th></tr>\n",
    );
    for (status, response) in fields(at(document, "/components/responses")) {
        put(&format!("<tr><td>{}</td><td>{}</td></tr>\n", escaped(status), words(&response["description"])));
    }
    put("</table></section>\n");
    for operation in &operations {
        put(&section(document, operation));
    }
    put("<section><h2>Types</h2>\n");
    for (name, schema) in fields(at(document, "/components/schemas")) {
        if !name.ends_with("Answer") {
            put(&type_section(name, schema));
        }
    }
    put("</section>\n</main></body></html>\n");
    html
}

struct Operation<'a> {
    path: &'a str,
    method: String,
    body: &'a Value,
}

fn operations(document: &Value) -> Vec<Operation<'_>> {
    let methods = fields(&document["paths"]).flat_map(|(path, methods)| {
        fields(methods).map(move |(method, body)| Operation { path, method: method.to_uppercase(), body })
    });
    methods.collect()
}

fn section(document: &Value, operation: &Operation<'_>) -> String {
    let Operation { path, method, body } = operation;
    let mut html = format!(
        "<section id=\"{}\"><h2><code>{method} {}</code></h2>\n",
        words(&body["operationId"]),
        escaped(path)
    );
    let text = body["description"].as_str().or(body["summary"].as_str()).unwrap_or_default();
    for paragraph in text.split("\n\n") {
        let _ = writeln!(html, "<p>{}</p>", marked(paragraph));
    }
    let mut rows = Vec::new();
    for parameter in body["parameters"].as_array().into_iter().flatten() {
        let place = parameter["in"].as_str().unwrap_or_default();
        rows.push(row(
            &parameter["name"],
            &parameter["schema"],
            place,
            parameter["required"] == true,
            &parameter["description"],
        ));
    }
    let request = at(body, "/requestBody/content/application~1json/schema");
    rows.extend(properties(request, "body"));
    html.push_str(&table("Request", "Where", &rows));
    for (status, response) in fields(&body["responses"]).filter(|(status, _)| status.starts_with('2')) {
        for (media_type, content) in fields(&response["content"]) {
            let schema = resolved(document, &content["schema"]);
            let _ = writeln!(
                html,
                "<p>Answers {} with <code>{}</code>: {}</p>",
                escaped(status),
                escaped(media_type),
                words(&response["description"])
            );
            html.push_str(&table("Answer", "", &properties(schema, "").collect::<Vec<_>>()));
        }
        if response.get("content").is_none() {
            let _ = writeln!(html, "<p>Answers {} without a body.</p>", escaped(status));
        }
    }
    html + "</section>\n"
}

/// The section of a named type: its fields or its values.
fn type_section(name: &str, schema: &Value) -> String {
    let mut html = format!("<h3 id=\"type-{0}\"><code>{0}</code></h3>\n", escaped(name));
    let rows: Vec<String> = properties(schema, "").collect();
    let kind = if rows.is_empty() { escaped(&kind(schema)) } else { String::new() };
    let _ = writeln!(html, "<p>{} {kind}</p>", words(&schema["description"]));
    html + &table("Field", "", &rows)
}

/// Table rows for the properties of an object.
fn properties<'a>(schema: &'a Value, place: &'a str) -> impl Iterator<Item = String> + 'a {
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    fields(&schema["properties"]).map(move |(name, property)| {
        row(&Value::from(name.as_str()), property, place, required(name), &property["description"])
    })
}

fn row(name: &Value, schema: &Value, place: &str, required: bool, about: &Value) -> String {
    let necessity = if required && !place.is_empty() { ", required" } else { "" };
    let place = if place.is_empty() { String::new() } else { format!("<td>{place}{necessity}</td>") };
    let about = marked(about.as_str().unwrap_or_default());
    format!(
        "<tr><td><code>{}</code></td><td>{}</td>{place}<td>{about}</td></tr>\n",
        words(name),
        escaped(&kind(schema))
    )
}

fn table(caption: &str, place: &str, rows: &[String]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let place = if place.is_empty() { String::new() } else { format!("<th>{place}</th>") };
    format!("<table><tr><th>{caption}</th><th>Type</th>{place}<th></th></tr>\n{}</table>\n", rows.concat())
}

/// A short name of a type.
fn kind(schema: &Value) -> String {
    if let Some(target) = schema["$ref"].as_str() {
        return target.rsplit('/').next().unwrap_or_default().to_owned();
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        if let Some(choices) = schema[word].as_array() {
            let kinds: Vec<String> = choices.iter().map(kind).collect();
            return kinds.join(" or ");
        }
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

/// The target of a reference, or the schema itself.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    target.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema)
}

/// The value at a pointer, or null.
fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn words(value: &Value) -> String {
    marked(value.as_str().unwrap_or_default())
}

/// Text with its backticks converted to code elements.
fn marked(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let code = |(place, part): (usize, &str)| {
        if place % 2 == 1 { format!("<code>{}</code>", escaped(part)) } else { escaped(part) }
    };
    parts.map(code).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::rest::{openapi, router};
    use poc_config::Config;

    #[test]
    fn the_page_has_every_operation_and_no_external_resource() {
        let config = Config::defaults().unwrap();
        let document = openapi::document(&router::enabled_ops(&config.rest).unwrap(), &config.tenant_schema);
        let page = page(&document);
        for operation in operations(&document) {
            let heading = format!("<h2><code>{} {}</code></h2>", operation.method, operation.path);
            assert!(page.contains(&heading), "{heading}");
        }
        for external in ["=\"http", "=\"//", "src=", "<script", "@import", "url("] {
            assert!(!page.contains(external), "{external}");
        }
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(marked("a `<b>` & \"c\""), "a <code>&lt;b&gt;</code> &amp; &quot;c&quot;");
        assert_eq!(
            kind(&serde_json::json!({"type": "array", "items": {"type": ["string", "null"]}})),
            "list of string or null"
        );
    }
}
