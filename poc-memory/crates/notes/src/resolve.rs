//! Finds nodes by their id or key.

use poc_graph::error::{Code, Error, Result};
use poc_graph::{Node, NodeId, View, Visibility, closest_key, normal_key};
use poc_store::{Records, Tx};

/// The node with an id or a key in `records`, in any state. If there is none, the error suggests a similar key
/// from `view`.
pub fn find<R: Records + ?Sized>(records: &R, view: &View, name: &str) -> Result<Node> {
    let by_id = match name.parse::<NodeId>() {
        Ok(id) => records.node(id)?,
        Err(_) => None,
    };
    let found = match by_id {
        Some(node) => Some(node),
        None => match records.find_key(&normal_key(name))? {
            Some(id) => records.node(id)?,
            None => None,
        },
    };
    found.ok_or_else(|| unknown(name, view))
}

/// As [`find`] in a transaction, for the value of a request's field.
///
/// # Errors
/// `not_found` with the field.
pub fn named(tx: &Tx<'_>, name: &str, field: &str) -> Result<Node> {
    find(tx, tx.view(), name).map_err(|error| error.field(field))
}

/// The node if it is visible, else an error.
pub fn seen(node: Node, visibility: Visibility) -> Result<Node> {
    if visibility.admits(node.trust) {
        return Ok(node);
    }
    Err(quarantined().hint("a person may look at it; set `quarantined` to see it all the same"))
}

/// The error for a node that is not visible.
pub fn quarantined() -> Error {
    Error::new(Code::Rejected, "the note is quarantined: no person has approved it")
}

/// The node with an id, or `not_found`.
pub fn expect(tx: &Tx<'_>, id: NodeId) -> Result<Node> {
    tx.node(id)?.ok_or_else(|| Error::not_found(format!("there is no node `{id}`")))
}

/// The error for an unknown name, with the most similar key as a hint.
pub fn unknown(name: &str, view: &View) -> Error {
    let hint = match closest_key(view, name) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("`poc-memory search {}` looks for it", quoted(name)),
    };
    Error::not_found(format!("there is no node `{name}`")).hint(hint)
}

/// A text quoted as one word of a shell command line.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '=');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
