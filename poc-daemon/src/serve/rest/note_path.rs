//! Keys of notes may contain slashes. In a path they are one segment for the router, so slashes of a key are encoded
//! before a request is routed: `/v1/nodes/infra/gateway` is the note `infra/gateway`.

use axum::http::{Request, Uri};
use poc_memory::ops::OPS;

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
