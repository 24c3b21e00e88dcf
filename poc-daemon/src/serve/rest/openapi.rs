//! Builds the OpenAPI document (version 3.1.0 of the specification) from the op table.

mod operation;
mod schemas;

use super::service_resources::SERVICE_RESOURCES;
use operation::{operation, resource_operation, with};
use poc_config::TenantSchema;
use poc_graph::error::Error;
use poc_memory::ops::{self, Method, OpDef, Route};
use schemas::Schemas;
use serde_json::{Map, Value, json};

/// The status codes of errors, with their meanings.
const ERRORS: &[(u16, &str)] = &[
    (400, "The request is malformed: a missing, unknown, wrong-typed or out-of-range field"),
    (401, "The token is missing or wrong"),
    (403, "The token or session does not permit this, or `Host` or `Origin` is not accepted"),
    (404, "The requested thing does not exist"),
    (408, "The body did not arrive in time"),
    (409, "The request contradicts what is stored"),
    (412, "The note does not have the version in the header"),
    (413, "The body is too long"),
    (415, "The body is not declared as JSON"),
    (500, "A defect, a failing disk, damaged data or an invalid settings file"),
    (503, "Something that the request needs is not reachable, or the request takes too long"),
];

const ABOUT: &str = "A memory for AI agents: stores, searches and maintains notes. Every field and every answer \
is the same as on the command line with `--json`. The header `POC-Memory-Min-Seq: NUMBER` makes a request wait until \
the memory includes the change with this number.";

/// The OpenAPI document of the served ops.
pub(super) fn document(served: &[(&OpDef, Route)], tenants: &TenantSchema) -> Value {
    let mut schemas = Schemas::default();
    schemas.add("Error", error_schema());
    let mut paths = Map::new();
    for (op, route) in served {
        let operation = operation(op, route, tenants, &mut schemas);
        insert(&mut paths, route.path, verb(route.method), operation);
    }
    for resource in SERVICE_RESOURCES {
        insert(&mut paths, resource.path, "get", resource_operation(resource));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "poc-memory",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The contents of the file `token` (programs of a person), `token-model` (programs of models) or `token-read` (read-only programs) beside config.toml",
                },
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "poc-memory-9977",
                    "description": "The session of a browser that `poc-memory page` signed in; the name ends with the port. Requests \
                        that write also carry the header `X-CSRF-Token`",
                },
            },
            "responses": errors(),
            "schemas": schemas.all(),
        },
    })
}

fn error_schema() -> Value {
    ops::schema::<Error>().to_value()
}

fn insert(paths: &mut Map<String, Value>, path: &str, verb: &str, operation: Value) {
    let methods = paths.entry(path).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(methods) = methods {
        methods.insert(verb.to_owned(), operation);
    }
}

fn verb(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Post => "post",
        Method::Delete => "delete",
    }
}

fn errors() -> Value {
    let error = |(status, description): &(u16, &str)| {
        let schema = json!({"$ref": "#/components/schemas/Error"});
        let response =
            json!({"description": description, "content": {"application/json": {"schema": schema}}});
        let challenge = json!({"WWW-Authenticate": {"schema": {"type": "string"}}});
        let response = if *status == 401 { with(response, "headers", challenge) } else { response };
        (status.to_string(), response)
    };
    Value::Object(ERRORS.iter().map(error).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::rest::router;
    use poc_config::Config;
    use poc_memory::ops::OPS;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn all() -> Value {
        let mut config = Config::defaults().unwrap().rest;
        config.delete = true;
        document(&router::enabled_ops(&config).unwrap(), &Config::defaults().unwrap().tenant_schema)
    }

    /// Visits every value of a document with its path.
    fn walk<'a>(value: &'a Value, place: &str, see: &mut impl FnMut(&str, &'a Value)) {
        see(place, value);
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| walk(value, &format!("{place}/{name}"), see));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, place, see)),
            _ => {}
        }
    }

    /// `schema/openapi.json` is the document with every op switched on. `just bless` writes it.
    #[test]
    fn the_document_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/openapi.json");
        let wanted = serde_json::to_string_pretty(&all()).unwrap() + "\n";
        if std::env::var_os("POC_MEMORY_BLESS").is_some() {
            std::fs::write(&path, wanted).unwrap();
            return;
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == wanted, "schema/openapi.json is out of date; `just bless` writes it");
    }

    #[test]
    fn every_route_is_described() {
        let document = all();
        for route in OPS.iter().filter_map(|op| op.route) {
            let operation = &document["paths"][route.path][verb(route.method)];
            assert!(operation["responses"][route.status.to_string()].is_object(), "{}", route.path);
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{}", route.path);
        }
    }

    #[test]
    fn every_reference_has_a_target() {
        let document = all();
        let mut count = 0;
        walk(&document, "", &mut |place, value| {
            if let Some(target) = value.get("$ref").and_then(Value::as_str) {
                count += 1;
                assert!(document.pointer(&target[1..]).is_some(), "{place}: {target}");
            }
            assert!(value.get("$defs").is_none() && value.get("$schema").is_none(), "{place}");
        });
        assert!(count > 100);
    }

    #[test]
    fn every_operation_has_a_unique_name_and_the_fields_of_its_path() {
        let document = all();
        let mut names = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for operation in methods.as_object().unwrap().values() {
                assert!(names.insert(operation["operationId"].as_str().unwrap()), "{path}");
                let empty = Vec::new();
                let parameters = operation["parameters"].as_array().unwrap_or(&empty);
                let mut in_path: Vec<&str> = parameters
                    .iter()
                    .filter(|parameter| parameter["in"] == "path" && parameter["required"] == true)
                    .map(|parameter| parameter["name"].as_str().unwrap())
                    .collect();
                let mut expected: Vec<&str> =
                    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
                in_path.sort_unstable();
                expected.sort_unstable();
                assert_eq!(in_path, expected, "{path}");
            }
        }
    }

    #[test]
    fn the_headers_with_versions_are_described() {
        let document = all();
        let headers = |path: &str, method: &str| -> Vec<String> {
            let parameters = document["paths"][path][method]["parameters"].as_array().unwrap();
            let headers = parameters.iter().filter(|parameter| parameter["in"] == "header");
            headers.map(|header| header["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(headers("/v1/insert", "post"), ["If-Match", "If-None-Match"]);
        assert_eq!(headers("/v1/nodes/{node}", "delete"), ["If-Match"]);
        assert!(headers("/v1/nodes/{node}", "get").is_empty());
        for op in OPS {
            let Some(route) = op.route else { continue };
            let operation = &document["paths"][route.path][verb(route.method)];
            let success = &operation["responses"][route.status.to_string()];
            assert_eq!(success["headers"]["ETag"].is_object(), op.versioned, "{}", op.name);
        }
    }

    #[test]
    fn every_answer_is_an_object_with_a_version() {
        let document = all();
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            if name.ends_with("Answer") {
                assert_eq!(schema["type"], "object", "{name}");
                assert_eq!(schema["properties"]["schema_version"]["type"], "integer", "{name}");
            }
        }
    }

    #[test]
    fn every_code_has_a_described_status() {
        for code in poc_graph::error::Code::ALL {
            assert!(ERRORS.iter().any(|(status, _)| *status == code.status()), "{code:?}");
        }
    }

    #[test]
    fn two_operations_in_full() {
        let document = all();
        let run = &document["paths"]["/v1/agents/{agent}/run"]["post"];
        insta::assert_snapshot!(
            format!("{}\n{}\n{}", run["summary"], run["parameters"], run["requestBody"]["content"]),
            @r#"
        "Run an agent now, regardless of its schedule, on the notes of one tenant"
        [{"name":"agent","in":"path","required":true,"schema":{"type":"string"},"description":"Name of the agent"}]
        {"application/json":{"schema":{"type":"object","additionalProperties":false,"properties":{"dry_run":{"type":"boolean","description":"Write nothing; report what would be applied","default":false},"propose":{"type":"boolean","description":"Propose all actions instead of applying them: see `agent review`","default":false},"force":{"type":"boolean","description":"Also process notes that were visited and have not changed since","default":false},"target":{"type":["string","null"],"description":"Key or id of a note; process only this one","default":null},"record":{"type":"boolean","description":"Print the run as a `[[tests]]` entry for the end of the agent's file","default":false},"set":{"type":"object","additionalProperties":{"type":"string"},"description":"Values of pipeline parameters, overriding those in its file"},"tenant":{"type":"object","description":"The tenant: `{\"key\": \"value\"}`. A request sees only the notes of its tenant; if omitted, those of the default tenant","additionalProperties":{"type":"string"}}}}}}
        "#
        );
        let explore = &document["paths"]["/v1/explore"]["get"];
        let parameters: Vec<String> =
            explore["parameters"].as_array().unwrap().iter().map(Value::to_string).collect();
        insta::assert_snapshot!(parameters.join("\n"), @r#"
        {"name":"text","in":"query","required":true,"schema":{"type":"string","pattern":"\\S"},"description":"Where to start: words or a sentence"}
        {"name":"keywords","in":"query","required":false,"schema":{"type":"array","items":{"type":"string"},"default":[]},"description":"Start only from notes with one of these keywords"}
        {"name":"depth","in":"query","required":false,"schema":{"type":"integer","format":"uint","minimum":1,"default":3,"maximum":8},"description":"Number of hops, 1 to 8"}
        {"name":"beam","in":"query","required":false,"schema":{"type":"integer","format":"uint","minimum":1,"default":4,"maximum":32},"description":"Beam width: paths kept after each hop, 1 to 32"}
        {"name":"target_count","in":"query","required":false,"schema":{"type":"integer","format":"uint","minimum":1,"default":12,"maximum":256},"description":"How many notes, at most 256"}
        {"name":"quarantined","in":"query","required":false,"schema":{"type":"boolean","default":false},"description":"Include quarantined notes, which no person has approved. Only models need this: a person always sees them"}
        {"name":"tenant","in":"query","required":false,"schema":{"type":"object","additionalProperties":{"type":"string"}},"style":"deepObject","explode":true,"description":"The tenant: `{\"key\": \"value\"}`. A request sees only the notes of its tenant; if omitted, those of the default tenant"}
        "#);
    }
}
