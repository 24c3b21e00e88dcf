//! The headers that make a request depend on the version of a note (RFC 9110, section 13.1): `If-Match` with
//! the `ETag` of an earlier answer, and `If-None-Match: *` for a note that must not exist yet. Both are
//! mapped to the field `if_version`.

use axum::http::HeaderMap;
use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
use poc_graph::error::{Error, Result};
use serde_json::{Map, Value};

/// The field of a request that the headers set.
pub(super) const FIELD: &str = "if_version";

/// Adds the version that the headers require to a request. Returns whether there is one.
///
/// # Errors
/// `invalid_argument` when the headers have any other value, or when the op takes no version.
pub(super) fn add(
    headers: &HeaderMap,
    takes_version: bool,
    request: &mut Map<String, Value>,
) -> Result<bool> {
    let Some(version) = version(headers)? else { return Ok(false) };
    if !takes_version {
        return Err(Error::invalid("this path takes no `If-Match` and no `If-None-Match`")
            .hint("leave the header out"));
    }
    if request.insert(FIELD.to_owned(), version.into()).is_some() {
        return Err(Error::invalid("the version is given twice, in a header and in the body")
            .hint("give it once")
            .field(FIELD));
    }
    Ok(true)
}

fn version(headers: &HeaderMap) -> Result<Option<u32>> {
    let mut values = [IF_MATCH, IF_NONE_MATCH].into_iter().flat_map(|name| {
        headers.get_all(&name).iter().map(move |value| (name == IF_MATCH, value.to_str().unwrap_or_default()))
    });
    let (first, second) = (values.next(), values.next());
    let wrong = || {
        Err(Error::invalid("the condition in the header is not understood")
            .hint("send `If-Match: \"3\"` with one `ETag`, or `If-None-Match: *`"))
    };
    match (first, second) {
        (None, _) => Ok(None),
        (Some((true, tag)), None) => {
            let number = tag.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            number.and_then(|number| number.parse().ok()).map_or_else(wrong, |version| Ok(Some(version)))
        }
        (Some((false, tag)), None) if tag.trim() == "*" => Ok(Some(0)),
        _ => wrong(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    #[test]
    fn headers_become_the_version_that_a_request_expects() {
        let check = |sent: &[(HeaderName, &'static str)], expected: Result<Option<u32>, ()>| {
            let mut headers = HeaderMap::new();
            for (name, value) in sent {
                headers.append(name, HeaderValue::from_static(value));
            }
            assert_eq!(version(&headers).map_err(drop), expected, "{sent:?}");
        };
        check(&[], Ok(None));
        check(&[(IF_MATCH, "\"7\"")], Ok(Some(7)));
        check(&[(IF_NONE_MATCH, "*")], Ok(Some(0)));
        for wrong in ["7", "*", "W/\"7\"", "\"7\", \"8\"", "\"x\"", "\"-1\"", ""] {
            check(&[(IF_MATCH, wrong)], Err(()));
        }
        check(&[(IF_NONE_MATCH, "\"7\"")], Err(()));
        check(&[(IF_MATCH, "\"7\""), (IF_NONE_MATCH, "*")], Err(()));
        check(&[(IF_MATCH, "\"7\""), (IF_MATCH, "\"8\"")], Err(()));
    }
}
