//! The header that makes a request wait until the memory includes a change. Over REST, it is mapped to the field
//! `min_seq`, which every op takes, and over MCP to a field of `_meta`.

use super::message_meta;
use axum::http::{HeaderMap, HeaderName};
use poc_graph::error::{Error, Result};
use poc_memory::mcp::SEQ_KEY;
use poc_memory::ops::min_seq::FIELD;
use serde_json::{Map, Value};

/// The name of the header.
pub(super) const HEADER: HeaderName = HeaderName::from_static("poc-memory-min-seq");

/// Adds the number in the header to a request, as text. The op refuses text that is not a number.
///
/// # Errors
/// `invalid_argument` when the number is given twice.
pub(super) fn add(headers: &HeaderMap, request: &mut Map<String, Value>) -> Result<()> {
    insert(headers, request, FIELD)
}

/// Adds the number in the header to the `_meta` of a JSON-RPC request. The server refuses text that is not a number.
///
/// # Errors
/// `invalid_argument` when the number is given twice.
pub(super) fn add_to_message(headers: &HeaderMap, message: Vec<u8>) -> Result<Vec<u8>> {
    if !headers.contains_key(HEADER) {
        return Ok(message);
    }
    message_meta::change(message, |meta| insert(headers, meta, SEQ_KEY))
}

/// Inserts the number in the header as the field `name`.
fn insert(headers: &HeaderMap, fields: &mut Map<String, Value>, name: &str) -> Result<()> {
    for value in headers.get_all(HEADER) {
        let text = value.to_str().unwrap_or_default().trim();
        if fields.insert(name.to_owned(), text.into()).is_some() {
            return Err(Error::invalid("the number is given twice, at least once in a header")
                .hint("give it once")
                .field(name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use serde_json::json;

    fn headers(sent: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(HEADER, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn the_header_becomes_a_field_that_is_given_once() {
        let check = |sent: &[&'static str], given: Value, expected: Option<Value>| {
            let headers = headers(sent);
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

    #[test]
    fn the_header_becomes_metadata_of_a_message() {
        let check = |sent: &[&'static str], given: Value, expected: Option<Value>| {
            let added = add_to_message(&headers(sent), given.to_string().into_bytes()).ok();
            let added = added.map(|message| serde_json::from_slice::<Value>(&message).unwrap());
            assert_eq!(added, expected, "{sent:?} {given}");
        };
        let request =
            |params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let (plain, with) = (request(json!({"name": "x"})), |seq: Value| {
            request(json!({"name": "x", "_meta": {"progressToken": 1, "poc-memory/seq": seq}}))
        });
        check(&[], plain.clone(), Some(plain.clone()));
        check(&["7"], plain, Some(request(json!({"name": "x", "_meta": {"poc-memory/seq": "7"}}))));
        check(&["7"], request(json!({"name": "x", "_meta": {"progressToken": 1}})), Some(with(json!("7"))));
        check(&["7"], with(json!(7)), None);
        check(&["7", "7"], request(json!({})), None);
        let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let expected = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {"poc-memory/seq": "7"}}});
        check(&["7"], bare, Some(expected));
        // The server says what is wrong with the others.
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        for other in [notification, request(json!([1])), request(json!({"_meta": 7})), json!([1])] {
            check(&["7"], other.clone(), Some(other));
        }
    }
}
