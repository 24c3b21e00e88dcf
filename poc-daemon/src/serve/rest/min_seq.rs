//! The header that makes a request wait until the memory includes a change. It is mapped to the field `min_seq`, which
//! every op takes.

use axum::http::{HeaderMap, HeaderName};
use poc_graph::error::{Error, Result};
use poc_memory::ops::min_seq::FIELD;
use serde_json::{Map, Value};

/// The name of the header.
pub(super) const HEADER: HeaderName = HeaderName::from_static("poc-memory-min-seq");

/// Adds the number in the header to a request, as text. The op refuses text that is not a number.
///
/// # Errors
/// `invalid_argument` when the number is given twice.
pub(super) fn add(headers: &HeaderMap, request: &mut Map<String, Value>) -> Result<()> {
    for value in headers.get_all(HEADER) {
        let text = value.to_str().unwrap_or_default().trim();
        if request.insert(FIELD.to_owned(), text.into()).is_some() {
            return Err(Error::invalid("is given twice, at least once in a header")
                .hint("give it once")
                .field(FIELD));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use serde_json::json;

    #[test]
    fn the_header_becomes_a_field_that_is_given_once() {
        let check = |sent: &[&'static str], given: Value, expected: Option<Value>| {
            let mut headers = HeaderMap::new();
            for value in sent {
                headers.append(HEADER, HeaderValue::from_static(value));
            }
            let Value::Object(mut request) = given else { panic!("not a request") };
            let added = add(&headers, &mut request).ok().map(|()| Value::Object(request));
            assert_eq!(added, expected, "{sent:?}");
        };
        check(&[], json!({"text": "x"}), Some(json!({"text": "x"})));
        check(&[], json!({"min_seq": 3}), Some(json!({"min_seq": 3})));
        check(&["7"], json!({"text": "x"}), Some(json!({"text": "x", "min_seq": "7"})));
        check(&["soon"], json!({}), Some(json!({"min_seq": "soon"})));
        check(&["7", "7"], json!({}), None);
        check(&["7"], json!({"min_seq": 7}), None);
    }
}
