//! Gives a node another key.
//!
//! Id, text, edges, activity, visits and version of the node do not change. Its former key becomes an alias,
//! which finds the node wherever a key does. A name belongs to only one node, so an alias never hides the key
//! of another node.

#[cfg(test)]
mod tests;

use super::{key, resolve};
use poc_graph::error::{Error, Result};
use poc_graph::{MAX_ALIASES, Node, NodeId, normal_key};
use poc_store::{Records, Transaction};

/// The result of a renaming.
#[derive(Clone, Debug, PartialEq)]
pub struct RenameReport {
    /// The node after the renaming.
    pub node: Node,
    /// The former key, if the key has changed.
    pub former: Option<String>,
}

/// Gives a node the key `key`, if there is one, and removes the names in `forget` from its aliases. The
/// current key becomes an alias unless it is in `forget`. If nothing changes, nothing is written.
///
/// # Errors
/// `conflict` if the key is a key or alias of another node, or if the node would have more than
/// [`MAX_ALIASES`] aliases; `invalid_argument` if the key is invalid; `not_found` if a name in `forget` is
/// not an alias of the node.
pub fn apply(
    tx: &mut Transaction<'_>,
    id: NodeId,
    key: Option<&str>,
    forget: &[String],
) -> Result<RenameReport> {
    let before = resolve::expect(tx, id)?;
    let mut node = before.clone();
    if let Some(key) = key.map(key::checked).transpose()?.filter(|key| *key != before.key) {
        if let Some(owner) = other_owner(tx, &key, id)? {
            return Err(key_conflict(&key, &owner).field("key"));
        }
        node.aliases.retain(|alias| *alias != key);
        node.aliases.push(std::mem::replace(&mut node.key, key));
    }
    for name in forget {
        let name = normal_key(name);
        let is_alias = |alias: &String| *alias == name;
        if !node.aliases.iter().any(is_alias) {
            return Err(not_an_alias(&name, &node).field("forget"));
        }
        node.aliases.retain(|alias| !is_alias(alias));
    }
    if node.aliases.len() > MAX_ALIASES {
        return Err(Error::conflict(format!("`{}` has {MAX_ALIASES} former keys already", before.key))
            .hint("`forget` one of them")
            .field("forget"));
    }
    if node != before {
        tx.put_node(&node)?;
    }
    let former = (node.key != before.key).then_some(before.key);
    Ok(RenameReport { node, former })
}

/// The node with a key or alias, if it is another one than `id`.
pub(super) fn other_owner<R: Records + ?Sized>(records: &R, name: &str, id: NodeId) -> Result<Option<Node>> {
    match records.find_key(name)?.filter(|owner| *owner != id) {
        Some(owner) => records.node(owner),
        None => Ok(None),
    }
}

/// The error for a key that another node has.
pub(super) fn key_conflict(key: &str, owner: &Node) -> Error {
    if owner.key == key {
        Error::conflict(format!("the key `{key}` is taken")).hint("choose another key")
    } else {
        let error = Error::conflict(format!("`{key}` is a former key of `{}`", owner.key));
        error.hint(format!("choose another key, or release this one: `{}`", forget_command(key, owner)))
    }
}

/// The command that frees an alias.
pub(super) fn forget_command(alias: &str, owner: &Node) -> String {
    format!("poc-memory rename {} --forget {}", resolve::quoted(&owner.key), resolve::quoted(alias))
}

/// Removes the aliases that are a key or alias of another node, because an alias must not take a name from
/// another node.
pub(super) fn drop_taken_aliases<R: Records + ?Sized>(records: &R, node: &mut Node) -> Result<()> {
    let mut free = Vec::new();
    for alias in std::mem::take(&mut node.aliases) {
        if alias != node.key && other_owner(records, &alias, node.id)?.is_none() {
            free.push(alias);
        }
    }
    node.aliases = free;
    Ok(())
}

fn not_an_alias(name: &str, node: &Node) -> Error {
    let error = Error::not_found(format!("`{name}` is not a former key of `{}`", node.key));
    match node.aliases.as_slice() {
        [] => error.hint("the note has no former keys"),
        aliases => error.hint(format!("its former keys: {}", aliases.join(", "))),
    }
}
