//! What a person writes for a node: its id or its key.

use super::Memory;
use crate::error::{Error, Result};
use crate::graph::{Node, NodeId, Tenant, View, key_like};
use crate::store::Tx;

/// The node, in any state, that an id or a key names.
pub fn find(memory: &Memory, name: &str) -> Result<Node> {
    let by_id = match name.parse::<NodeId>() {
        Ok(id) => memory.store.node(id)?,
        Err(_) => None,
    };
    if let Some(node) = by_id {
        return Ok(node);
    }
    match memory.store.find_key(Tenant::default(), name)? {
        Some(id) => memory.store.node(id)?.ok_or_else(|| unknown(name, &memory.store.view())),
        None => Err(unknown(name, &memory.store.view())),
    }
}

/// As [`find`], within a transaction and with its own writes.
pub fn find_in(tx: &Tx<'_>, name: &str) -> Result<Node> {
    let by_id = match name.parse::<NodeId>() {
        Ok(id) => tx.node(id)?,
        Err(_) => None,
    };
    if let Some(node) = by_id {
        return Ok(node);
    }
    match tx.find_key(Tenant::default(), name)? {
        Some(id) => tx.node(id)?.ok_or_else(|| unknown(name, tx.view())),
        None => Err(unknown(name, tx.view())),
    }
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
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
