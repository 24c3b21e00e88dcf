//! The headers that make a change depend on the version of a note (RFC 9110, section 13.1): `If-Match` with the `ETag`
//! of an earlier answer, or `*` for a note that must exist, and `If-None-Match: *` for a note that must not exist yet.
//! Versions are mapped to the field `if_version`.

use axum::http::HeaderMap;
use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
use poc_graph::error::{Error, Result};
use serde_json::{Map, Value};

/// The field of a request that the headers set.
pub(super) const FIELD: &str = "if_version";

/// The field that `If-Match: *` sets in a request that would otherwise create the note.
const MUST_EXIST: &str = "must_exist";

/// What the headers of a change require.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Condition {
    /// This version; 0 if there must be no note.
    Version(u32),
    /// A note of any version.
    Exists,
}

/// Adds what the headers require to a request. Returns whether they require something.
///
/// # Errors
/// `invalid_argument` when the headers have any other value, or when the op takes no version.
pub(super) fn add(
    headers: &HeaderMap,
    takes_version: bool,
    creates: bool,
    request: &mut Map<String, Value>,
) -> Result<bool> {
    let Some(condition) = condition(headers)? else { return Ok(false) };
    if !takes_version {
        return Err(Error::invalid("this path takes no `If-Match` and no `If-None-Match`")
            .hint("leave the header out"));
    }
    let version = match condition {
        Condition::Version(version) => version,
        Condition::Exists => {
            // Other ops refuse a note that does not exist in any case, with 404.
            if creates {
                request.insert(MUST_EXIST.to_owned(), true.into());
            }
            return Ok(true);
        }
    };
    if request.insert(FIELD.to_owned(), version.into()).is_some() {
        return Err(Error::invalid("the version is given twice, in a header and in the body")
            .hint("give it once")
            .field(FIELD));
    }
    Ok(true)
}

/// The condition in the headers, if there is one.
fn condition(headers: &HeaderMap) -> Result<Option<Condition>> {
    let mut values = [IF_MATCH, IF_NONE_MATCH].into_iter().flat_map(|name| {
        headers.get_all(&name).iter().map(move |value| (name == IF_MATCH, value.to_str().unwrap_or_default()))
    });
    let (first, second) = (values.next(), values.next());
    let wrong = || {
        Err(Error::invalid("the condition in the header is not understood")
            .hint("send `If-Match: \"3\"` with one `ETag`, `If-Match: *`, or `If-None-Match: *`"))
    };
    match (first, second) {
        (None, _) => Ok(None),
        (Some((true, tag)), None) if tag.trim() == "*" => Ok(Some(Condition::Exists)),
        (Some((true, tag)), None) => {
            let number = tag.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            let version = number.and_then(|number| number.parse().ok());
            version.map_or_else(wrong, |version| Ok(Some(Condition::Version(version))))
        }
        (Some((false, tag)), None) if tag.trim() == "*" => Ok(Some(Condition::Version(0))),
        _ => wrong(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn headers(sent: &[(HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn headers_become_the_condition_of_a_change() {
        let check = |sent: &[(HeaderName, &'static str)], expected: Result<Option<Condition>, ()>| {
            assert_eq!(condition(&headers(sent)).map_err(drop), expected, "{sent:?}");
        };
        check(&[], Ok(None));
        check(&[(IF_MATCH, "\"7\"")], Ok(Some(Condition::Version(7))));
        check(&[(IF_MATCH, "*")], Ok(Some(Condition::Exists)));
        check(&[(IF_NONE_MATCH, "*")], Ok(Some(Condition::Version(0))));
        for wrong in ["7", "\"*\"", "*, \"7\"", "W/\"7\"", "\"7\", \"8\"", "\"x\"", "\"-1\"", ""] {
            check(&[(IF_MATCH, wrong)], Err(()));
        }
        check(&[(IF_NONE_MATCH, "\"7\"")], Err(()));
        check(&[(IF_MATCH, "\"7\""), (IF_NONE_MATCH, "*")], Err(()));
        check(&[(IF_MATCH, "\"7\""), (IF_MATCH, "\"8\"")], Err(()));
    }
}
