//! Keys of notes may contain slashes. In a path they are one segment for the router, so slashes of a key are encoded
//! before a request is routed: `/v1/nodes/infra/gateway` is the note `infra/gateway`.

use axum::http::{Request, Uri};
use poc_graph::error::{Code, Error};
use poc_memory::ops::{Method, OPS, OpDef};
use serde_json::Value;

/// The beginning of the paths of notes, and the field that follows it in the routes.
const NODES: &str = "/v1/nodes/";
const FIELD: &str = "{node}";

/// The request with the slashes of the key in its path encoded. A last segment that belongs to a route, such as
/// `/backlinks`, is not part of the key, unless its slash is encoded already.
pub(super) fn encode_key<B>(mut request: Request<B>) -> Request<B> {
    if let Some(uri) = encoded(request.uri()) {
        *request.uri_mut() = uri;
    }
    request
}

/// The hint for a request of `get` whose key ends with the name of another op for notes, such as `kettle/history`. It
/// names the route of that op.
pub(super) fn route_hint(op: &OpDef, request: &Value) -> Option<String> {
    let key = request.get("node").filter(|_| op.name == "get")?.as_str()?;
    let (key, name) = key.rsplit_once('/').filter(|(key, _)| !key.is_empty())?;
    let other = OPS.iter().find(|other| other.name == name)?;
    let takes_note = (other.request_schema)().to_value().pointer("/properties/node").is_some();
    let route = other.route.filter(|_| takes_note)?;
    let place = match route.method {
        Method::Post => format!("`POST {}` with the body `{{\"node\": \"{key}\"}}`", route.path),
        Method::Get => format!("`GET {}` with the field `node`", route.path),
        Method::Delete => return None,
    };
    Some(format!("{place} runs `{name}` on the note `{key}`"))
}

/// The error of a request with this hint, if it names a note that does not exist.
pub(super) fn with_hint(error: Error, hint: Option<String>) -> Error {
    match hint {
        Some(hint) if error.code == Code::NotFound => error.hint(hint),
        _ => error,
    }
}

/// `None` if nothing is to be encoded.
fn encoded(uri: &Uri) -> Option<Uri> {
    let rest = uri.path().strip_prefix(NODES).filter(|rest| rest.contains('/'))?;
    let routes = OPS.iter().filter_map(|op| op.route?.path.strip_prefix(NODES)?.strip_prefix(FIELD));
    let split = routes.filter(|end| !end.is_empty()).find_map(|end| Some((rest.strip_suffix(end)?, end)));
    let (key, end) = split.filter(|(key, _)| !key.is_empty()).unwrap_or((rest, ""));
    if !key.contains('/') {
        return None;
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = format!("{NODES}{}{end}{query}", key.replace('/', "%2F")).parse().ok();
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_memory::ops::find;
    use serde_json::json;

    #[test]
    fn a_key_that_ends_with_the_name_of_an_op_gets_a_hint() {
        let hint = |op: &str, key: &str| route_hint(find(op).unwrap(), &json!({"node": key}));
        assert_eq!(
            hint("get", "infra/kettle/history").unwrap(),
            "`POST /v1/history` with the body `{\"node\": \"infra/kettle\"}` runs `history` on the note `infra/kettle`"
        );
        for (op, key) in [
            ("get", "kettle"),
            ("get", "/history"),
            ("get", "kettle/stats"),
            ("get", "kettle/nothing"),
            ("backlinks", "kettle/history"),
        ] {
            assert_eq!(hint(op, key), None, "{op} {key}");
        }
        let missing = with_hint(Error::not_found("there is no note"), Some("a hint".into()));
        assert_eq!(missing.hint.as_deref(), Some("a hint"));
        let refused = with_hint(Error::invalid("the key is ambiguous"), Some("a hint".into()));
        assert_eq!(refused.hint, None);
    }

    #[test]
    fn slashes_of_keys_are_encoded_and_nothing_else_changes() {
        let check = |given: &str, expected: &str| {
            let request = encode_key(Request::builder().uri(given).body(()).unwrap());
            assert_eq!(request.uri().to_string(), expected);
        };
        check("/v1/nodes/a/b", "/v1/nodes/a%2Fb");
        check("/v1/nodes/a/b/c?at=7d", "/v1/nodes/a%2Fb%2Fc?at=7d");
        check("/v1/nodes/a/b/backlinks?limit=3", "/v1/nodes/a%2Fb/backlinks?limit=3");
        check("http://localhost:9977/v1/nodes/a/b", "http://localhost:9977/v1/nodes/a%2Fb");
        check("/v1/nodes/a//b/", "/v1/nodes/a%2F%2Fb%2F");
        check("/v1/nodes/%C3%A4/b", "/v1/nodes/%C3%A4%2Fb");
        for same in [
            "/v1/nodes/a",
            "/v1/nodes/a/backlinks",
            "/v1/nodes/a%2Fb/backlinks",
            "/v1/nodes/a%2Fbacklinks",
            "/v1/agents/a/run",
            "/v1/stats?text=/v1/nodes/a/b",
        ] {
            check(same, same);
        }
        // A key cannot be empty, so this one begins with a slash.
        check("/v1/nodes//backlinks", "/v1/nodes/%2Fbacklinks");
    }
}
