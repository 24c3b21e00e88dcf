//! What a person writes for a node: its id or its key.

use poc_graph::error::{Code, Error, Result};
use poc_graph::{Node, NodeId, View, Visibility, key_like, normal_key};
use poc_store::{Records, Tx};

/// The node, in any state, that an id or a key names among `records`. `view` is asked for a name
/// like it when there is none.
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

/// The node that the value of a request's field names, as [`find`] does in a transaction.
///
/// # Errors
/// `not_found` with the field.
pub fn named(tx: &Tx<'_>, name: &str, field: &str) -> Result<Node> {
    find(tx, tx.view(), name).map_err(|error| error.field(field))
}

/// The node, when it is seen.
pub fn seen(node: Node, visibility: Visibility) -> Result<Node> {
    if visibility.admits(node.trust) {
        return Ok(node);
    }
    Err(quarantined().hint("a person may look at it; set `quarantined` to see it all the same"))
}

/// The error for a node that is not seen.
pub fn quarantined() -> Error {
    Error::new(Code::Rejected, "the note is quarantined: nobody has vouched for what it says")
}

/// The node with an id, or that there is none.
pub fn expect(tx: &Tx<'_>, id: NodeId) -> Result<Node> {
    tx.node(id)?.ok_or_else(|| Error::not_found(format!("there is no node `{id}`")))
}

/// The error for a name that is no node's, with the key it resembles most.
pub fn unknown(name: &str, view: &View) -> Error {
    let hint = match key_like(view, name) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("`poc-memory search {}` looks for it", quoted(name)),
    };
    Error::not_found(format!("there is no node `{name}`")).hint(hint)
}

/// A text as one word of a shell's command line.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '=');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
