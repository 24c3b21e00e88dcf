//! Notes as resources: `memory://nodes/KEY` is the note as Markdown.

use super::Caller;
use crate::error::{Error, Result};
use crate::ops;
use rmcp::model::{ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

/// What stands in front of the key or id of a note.
const NODES: &str = "memory://nodes/";

/// How such a resource is written.
pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{NODES}{{node}}"), "note")
        .with_title("A note")
        .with_description(
            "A note as Markdown: front matter, then its text. `node` is its key or id, percent-encoded",
        )
        .with_mime_type("text/markdown")
}

/// The note a resource names.
///
/// # Errors
/// `not_found` for another kind of URI, and as the op `get`.
pub(super) fn read(caller: &dyn Caller, uri: &str) -> Result<ResourceContents> {
    let node =
        uri.strip_prefix(NODES).and_then(decoded).filter(|node| !node.is_empty()).ok_or_else(|| {
            Error::not_found(format!("there is no resource `{uri}`")).hint(format!("`{NODES}KEY` is a note"))
        })?;
    let op = ops::find("get").ok_or_else(|| Error::internal("there is no op `get`"))?;
    let note = caller.call(op, json!({ "node": node, "markdown": true }))?;
    let text = note.get("markdown").and_then(Value::as_str).unwrap_or_default();
    Ok(ResourceContents::text(text, uri).with_mime_type("text/markdown"))
}

/// A part of a URI with `%20` and the like read; `None` when that is no text.
fn decoded(part: &str) -> Option<String> {
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
