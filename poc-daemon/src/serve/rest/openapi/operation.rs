//! Describes one route as an operation of the document.

use super::ERRORS;
use super::schemas::Schemas;
use crate::serve::rest::precondition;
use crate::serve::rest::service_resources::{JSON, ServiceResource};
use poc_config::TenantSchema;
use poc_graph::json::remove_null_type;
use poc_memory::ops::{self, Access, Method, OpDef, Route, tenancy};
use serde_json::{Map, Value, json};

/// The status of a failed precondition, for ops that take a version.
const CONDITION_STATUS: u16 = 412;

/// The status of a route that may create something.
const CREATED: u16 = 201;

/// Errors that only a request with a body can cause.
const BODY_STATUSES: &[u16] = &[408, 413, 415];

/// An op as an operation.
pub(super) fn operation(op: &OpDef, route: &Route, tenants: &TenantSchema, schemas: &mut Schemas) -> Value {
    let name = pascal(op.name);
    let mut request = schemas.hoist(&name, (op.request_schema)().to_value());
    op.add_tenant(&mut request, tenants);
    let description = request.remove("description").unwrap_or_default();
    let description = description.as_str().unwrap_or_default();
    let takes_version = properties(&request).is_some_and(|fields| fields.contains_key(precondition::FIELD));
    let token = match op.access {
        Access::Read => "The read-only token is enough.",
        Access::Person => "No token is enough: only a person decides, on the page or on the command line.",
        _ => "Needs `token`, or `token-model` if models may call this op.",
    };
    let operation = json!({
        "operationId": op.name.replace([' ', '-'], "_"),
        "summary": summary(description),
        "description": format!("{description}\n\n{token}"),
        "parameters": parameters(route, &mut request),
        "responses": responses(op, route, takes_version, schemas),
    });
    let operation = match op.access {
        Access::Person => with(operation, "security", json!([{"session": []}])),
        _ => operation,
    };
    if route.method != Method::Post {
        return operation;
    }
    // No body is the same as an empty object.
    let is_required = request.contains_key("required");
    let body = json!({"required": is_required, "content": {"application/json": {"schema": request}}});
    with(operation, "requestBody", body)
}

/// An object with an added field.
pub(super) fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
    object
}

/// The first sentence.
fn summary(description: &str) -> &str {
    let ends = [": ", ". ", "? "].into_iter().filter_map(|end| Some((description.find(end)?, end)));
    let first = ends.min().and_then(|(at, end)| description.get(..at + usize::from(end == "? ")));
    first.unwrap_or(description).trim_end_matches('.')
}

/// The parameters of an operation: the fields in the path and, if the request has no body, all other fields in the
/// query. A field that becomes a parameter is removed from the request.
fn parameters(route: &Route, request: &mut Map<String, Value>) -> Vec<Value> {
    let required: Vec<Value> = request.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let in_path = |name: &str| route.path.contains(&format!("{{{name}}}"));
    let mut parameters = Vec::new();
    if properties(request).is_some_and(|fields| fields.contains_key(precondition::FIELD)) {
        parameters.push(json!({
            "name": "If-Match", "in": "header", "required": false,
            "schema": {"type": "string", "pattern": "^(\"[0-9]+\"|\\*)$"},
            "description": "The `ETag` that the note must have, the same as `if_version`; `*` if the note must exist",
        }));
        if route.status == CREATED {
            parameters.push(json!({
                "name": "If-None-Match", "in": "header", "required": false,
                "schema": {"type": "string", "pattern": "^\\*$"},
                "description": "`*` if there must be no such note yet, the same as 0 in `if_version`",
            }));
        }
    }
    if let Some(Value::Object(properties)) = request.get_mut("properties") {
        if route.method == Method::Delete {
            // Without a body, the header is the only place for it.
            properties.shift_remove(precondition::FIELD);
        }
        let is_parameter = |name: &str| in_path(name) || route.method != Method::Post;
        let names: Vec<String> = properties.keys().filter(|name| is_parameter(name)).cloned().collect();
        for name in names {
            let Some(mut schema) = properties.shift_remove(&name) else { continue };
            let description = schema.as_object_mut().and_then(|schema| {
                // Text cannot express `null`.
                remove_null_type(schema);
                schema.remove("description")
            });
            let place = if in_path(&name) { "path" } else { "query" };
            let is_required = place == "path" || required.iter().any(|required| *required == name);
            let mut parameter = json!({"name": name, "in": place, "required": is_required, "schema": schema});
            if name == tenancy::FIELD {
                // `tenant[key]=value`, once for each key.
                parameter = with(with(parameter, "style", "deepObject".into()), "explode", true.into());
            }
            parameters.push(match description {
                Some(description) => with(parameter, "description", description),
                None => parameter,
            });
        }
    }
    if let Some(Value::Array(required)) = request.get_mut("required") {
        required.retain(|name| name.as_str().is_none_or(|name| !in_path(name)));
        if required.is_empty() {
            request.remove("required");
        }
    }
    parameters
}

fn properties(request: &Map<String, Value>) -> Option<&Map<String, Value>> {
    request.get("properties").and_then(Value::as_object)
}

fn responses(op: &OpDef, route: &Route, takes_version: bool, schemas: &mut Schemas) -> Value {
    let mut responses = Map::new();
    let name = format!("{}Answer", pascal(op.name));
    let answer = schemas.hoist(&name, (op.answer_schema)().to_value());
    let description = answer.get("description").cloned().unwrap_or_else(|| "Done".into());
    schemas.add(&name, Value::Object(ops::versioned_schema(answer)));
    let schema = json!({"$ref": format!("#/components/schemas/{name}")});
    let success = json!({"description": description, "content": {"application/json": {"schema": schema}}});
    let success = match op.versioned {
        true => with(success, "headers", version_header()),
        false => success,
    };
    if route.status == CREATED {
        let same = with(success.clone(), "description", "Nothing new was created".into());
        responses.insert("200".into(), same);
    }
    responses.insert(route.status.to_string(), success);
    for (status, _) in ERRORS {
        let is_condition = *status == CONDITION_STATUS;
        if (route.method == Method::Post || !BODY_STATUSES.contains(status))
            && (!is_condition || takes_version)
        {
            let status = status.to_string();
            let error = json!({"$ref": format!("#/components/responses/{status}")});
            responses.insert(status, error);
        }
    }
    Value::Object(responses)
}

/// The header with the version of a note, which an answer about several notes or a past state does not have.
fn version_header() -> Value {
    json!({"ETag": {"description": "The version of the note, which `If-Match` takes", "schema": {"type": "string"}}})
}

/// A resource that is not an op, as an operation.
pub(super) fn resource_operation(resource: &ServiceResource) -> Value {
    let ServiceResource { path, summary, media_types, is_public } = *resource;
    let name = path.rsplit('/').next().unwrap_or_default().split('.').next().unwrap_or_default();
    let kind = |media_type| if media_type == JSON { "object" } else { "string" };
    let content: Map<String, Value> = media_types
        .iter()
        .map(|media_type| ((*media_type).to_owned(), json!({"schema": {"type": kind(*media_type)}})))
        .collect();
    let responses = json!({
        "200": {"description": summary, "content": content},
        "403": {"$ref": "#/components/responses/403"},
    });
    let operation = json!({"operationId": name, "summary": summary});
    if is_public {
        return with(with(operation, "security", json!([])), "responses", responses);
    }
    let unauthorized = json!({"$ref": "#/components/responses/401"});
    with(operation, "responses", with(responses, "401", unauthorized))
}

/// Converts `agent run` to `AgentRun`.
fn pascal(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    name.split([' ', '-', '_']).filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_first_sentence() {
        let check = |description: &str, expected: &str| assert_eq!(summary(description), expected);
        check("Is this known? Answers so.", "Is this known?");
        check("Delete a note. It is gone.", "Delete a note");
        check("Which fit: these.", "Which fit");
        check("The agents.", "The agents");
    }
}
