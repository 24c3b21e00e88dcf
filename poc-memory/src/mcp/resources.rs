//! Notes as resources: `memory://nodes/KEY` is a note as Markdown, `memory://nodes/KEY?user=ann` a note of
//! the tenant `user=ann`.

use super::OpExecutor;
use crate::ops::{self, tenancy};
use poc_config::TenantSchema;
use poc_graph::error::{Error, Result};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

/// The prefix before the key or id of a note.
const NODES: &str = "memory://nodes/";

/// The URI template of notes. It has the tenant only if requests may name one.
pub(super) fn template(names_tenant: bool) -> ResourceTemplate {
    let (query, of_tenant) = match names_tenant {
        true => {
            ("{?tenant*}", "; `tenant` has the keys and values of its tenant, none for the default tenant")
        }
        false => ("", ""),
    };
    let description = format!(
        "A note as Markdown: front matter, then its text. `node` is its key or id, percent-encoded{of_tenant}"
    );
    ResourceTemplate::new(format!("{NODES}{{node}}{query}"), "note")
        .with_title("A note")
        .with_description(description)
        .with_mime_type("text/markdown")
}

/// Number of notes per page.
const PAGE: usize = 100;

/// A page of the list of notes, the latest changes first, and the cursor of the next page. The list has the
/// notes of the default tenant, or of the tenant that the server or the session is bound to.
///
/// # Errors
/// `invalid_argument` for an unknown cursor, and the errors of the op `search`.
pub(super) fn page(caller: &dyn OpExecutor, cursor: Option<&str>) -> Result<(Vec<Resource>, Option<String>)> {
    let start: usize = cursor.map_or(Ok(0), str::parse).map_err(|_| {
        Error::invalid("the cursor is not one of this server").hint("begin without a cursor").field("cursor")
    })?;
    let op = ops::find("search").ok_or_else(|| Error::internal("there is no op `search`"))?;
    let pipeline = format!("all | sort:timestamp | offset:{start} | limit:{}", PAGE + 1);
    let found = match caller.call(op, json!({ "pipeline": [pipeline] })) {
        // Listing requests name no tenant, so the list is empty where a tenant is required.
        Err(error)
            if error.code.is_invalid() && caller.tenants().is_some_and(TenantSchema::requires_tenant) =>
        {
            return Ok((Vec::new(), None));
        }
        found => found?,
    };
    let hits = found.get("results").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let notes = hits.iter().take(PAGE).filter_map(|hit| {
        let text = |field: &str| hit.get(field).and_then(Value::as_str);
        let (key, title) = (text("key")?, text("title")?);
        let note = Resource::new(format!("{NODES}{}", percent_encoded(key)), key);
        Some(note.with_title(title).with_mime_type("text/markdown"))
    });
    Ok((notes.collect(), (hits.len() > PAGE).then(|| (start + PAGE).to_string())))
}

/// Percent-encodes a key of a note, or another part of a URI.
pub(crate) fn percent_encoded(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    key.bytes().map(one).collect()
}

/// The note that a URI names.
///
/// # Errors
/// `not_found` for another kind of URI, and the errors of the op `get`.
pub(super) fn read(caller: &dyn OpExecutor, uri: &str) -> Result<ResourceContents> {
    let unknown =
        || Error::not_found(format!("there is no resource `{uri}`")).hint(format!("`{NODES}KEY` is a note"));
    let named = uri.strip_prefix(NODES).ok_or_else(unknown)?;
    let (node, query) = named.split_once('?').unwrap_or((named, ""));
    let node = percent_decoded(node).filter(|node| !node.is_empty()).ok_or_else(unknown)?;
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(percent_decoded);
    let pairs = pairs.collect::<Option<Vec<String>>>().ok_or_else(unknown)?;
    let mut request = json!({ "node": node, "markdown": true });
    if let Value::Object(fields) = &mut request
        && !pairs.is_empty()
    {
        fields.insert(tenancy::FIELD.into(), tenancy::parse_pairs(&pairs)?);
    }
    let op = ops::find("get").ok_or_else(|| Error::internal("there is no op `get`"))?;
    let note = caller.call(op, request)?;
    let text = note.get("markdown").and_then(Value::as_str).unwrap_or_default();
    Ok(ResourceContents::text(text, uri).with_mime_type("text/markdown"))
}

/// Percent-decodes a part of a URI; `None` when the result is not UTF-8.
fn percent_decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}
