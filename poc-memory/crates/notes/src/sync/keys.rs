//! Gives each key to the same note in both stores.
//!
//! A copied note gets another key if its own is taken in the target store. Both stores then have both notes, but the key
//! names another text in each. One of the two notes gets the key in both stores, and the other note gets the key that it
//! has in one of them, or a free one. A note that was given another name in one store does not get the key, and neither
//! does a retired one; apart from that, the older note gets it. This depends only on the notes, so each store would decide
//! alike.

use super::Sync;
use super::links::Pairs;
use super::report::KeyRename;
use crate::key;
use crate::rename;
use poc_graph::error::Result;
use poc_graph::{MAX_ALIASES, Node, NodeId};
use poc_store::{Store, Transaction};
use std::collections::BTreeSet;

/// A copied note that did not keep its key.
#[derive(Clone, Debug)]
pub(super) struct CopyRename {
    /// Whether it was pulled; otherwise it was pushed.
    pub(super) pulled: bool,
    /// Its id in the source store.
    pub(super) source: NodeId,
    /// Its id in the target store.
    pub(super) target: NodeId,
    /// The key that it got there.
    pub(super) renamed: String,
}

/// Gives each key that names another note in each store to one of them. Returns the notes that lost their keys.
pub(super) fn settle_conflicts(sync: &Sync<'_>, pairs: &Pairs) -> Result<Vec<KeyRename>> {
    let mut renames = Vec::new();
    for key in conflicting_keys(sync, pairs) {
        if let Some(conflict) = KeyConflict::find(sync, pairs, &key)? {
            renames.push(conflict.settle(sync)?);
        }
    }
    Ok(renames)
}

/// Gives copied notes their keys back that are free by now. Returns those that still have another key.
pub(super) fn give_back(sync: &Sync<'_>, copied: Vec<CopyRename>) -> Result<Vec<KeyRename>> {
    let mut renames = Vec::new();
    for CopyRename { pulled, source, target, renamed } in copied {
        let (from, to) = if pulled { (sync.remote, sync.local) } else { (sync.local, sync.remote) };
        let (Some(source), Some(copy)) = (from.store.node(source)?, to.store.node(target)?) else { continue };
        if source.key == copy.key {
            continue;
        }
        let is_free = to.store.find_key(&source.key)?.is_none_or(|owner| owner == target);
        if !is_free || copy.key != renamed {
            let edited_in_both = false;
            renames.push(KeyRename { pulled, key: source.key, renamed: copy.key, edited_in_both });
            continue;
        }
        write(sync, !pulled, |tx| set_key(tx, target, &source.key))?;
    }
    Ok(renames)
}

/// The keys that name another note in each store, if both stores have both notes.
pub(super) fn conflicting_keys(sync: &Sync<'_>, pairs: &Pairs) -> BTreeSet<String> {
    let (local, remote) = (sync.local.store.view(), sync.remote.store.view());
    let mut keys = BTreeSet::new();
    for (own, copy) in &pairs.to_remote {
        let Some(ix) = local.find(*own) else { continue };
        let key = local.key(ix);
        let named = remote.find_key(key).filter(|&ix| remote.key(ix) == key);
        let owner = named.and_then(|ix| remote.id(ix)).filter(|owner| owner != copy);
        if owner.is_some_and(|owner| pairs.to_local.contains_key(&owner)) {
            keys.insert(key.to_owned());
        }
    }
    keys
}

/// A key that names another note in each store.
struct KeyConflict {
    key: String,
    /// Whether the note that loses the key has it in the remote; otherwise it has it in the local store.
    in_remote: bool,
    /// The note that gets the key, in the store in which it does not have it.
    winner: Node,
    /// The note that loses the key, in the same store.
    loser: Node,
    /// Both notes in the other store.
    winner_copy: Node,
    loser_copy: Node,
}

impl KeyConflict {
    /// The conflict about a key; `None` if both stores agree by now.
    fn find(sync: &Sync<'_>, pairs: &Pairs, key: &str) -> Result<Option<KeyConflict>> {
        let (local, remote) = (&sync.local.store, &sync.remote.store);
        let (Some(own), Some(other)) = (owner(local, key)?, owner(remote, key)?) else { return Ok(None) };
        let (Some(own_copy), Some(other_copy)) =
            (pairs.to_remote.get(&own.id), pairs.to_local.get(&other.id))
        else {
            return Ok(None);
        };
        if *own_copy == other.id {
            return Ok(None);
        }
        let (Some(own_copy), Some(other_copy)) = (remote.node(*own_copy)?, local.node(*other_copy)?) else {
            return Ok(None);
        };
        // The smaller rank wins. A copy that did not get the key has it with a number, unless it was renamed.
        let rank = |note: &Node, copy: &Node| {
            let is_renamed = !key::is_numbered(&copy.key, key);
            let is_retired = !note.state.is_live() || !copy.state.is_live();
            (is_renamed, is_retired, note.created.min(copy.created), note.content_hash)
        };
        let in_remote = rank(&own, &own_copy) <= rank(&other, &other_copy);
        let key = key.to_owned();
        Ok(Some(match in_remote {
            true => KeyConflict {
                key,
                in_remote,
                winner: own_copy,
                loser: other,
                winner_copy: own,
                loser_copy: other_copy,
            },
            false => KeyConflict {
                key,
                in_remote,
                winner: other_copy,
                loser: own,
                winner_copy: other,
                loser_copy: own_copy,
            },
        }))
    }

    fn settle(self, sync: &Sync<'_>) -> Result<KeyRename> {
        let KeyConflict { key, in_remote, winner, loser, winner_copy, loser_copy } = self;
        let (here, there) = match in_remote {
            true => (&sync.remote.store, &sync.local.store),
            false => (&sync.local.store, &sync.remote.store),
        };
        let owner = here.find_key(&loser_copy.key)?;
        let renamed = if owner.is_none_or(|owner| owner == winner.id || owner == loser.id) {
            loser_copy.key
        } else {
            let free = key::unique(&key, |name| {
                Ok(here.find_key(name)?.is_some() || there.find_key(name)?.is_some())
            })?;
            write(sync, !in_remote, |tx| set_key(tx, loser_copy.id, &free))?;
            free
        };
        // The winner keeps its present key as a former key, unless a copy made it or another note has it in the other store.
        let is_kept = !key::is_numbered(&winner.key, &key)
            && there.find_key(&winner.key)?.is_none_or(|owner| owner == winner_copy.id);
        let former = Some(winner.key).filter(|former| is_kept && *former != renamed);
        write(sync, in_remote, |tx| exchange(tx, &key, winner.id, loser.id, &renamed, former.as_deref()))?;
        Ok(KeyRename { pulled: in_remote, key, renamed, edited_in_both: false })
    }
}

/// The note with this key, which is not a former key.
fn owner(store: &Store, key: &str) -> Result<Option<Node>> {
    let node = store.find_key(key)?.map(|id| store.node(id)).transpose()?.flatten();
    Ok(node.filter(|node| node.key == key))
}

/// Runs one transaction in the remote or in the local store.
fn write(sync: &Sync<'_>, in_remote: bool, act: impl Fn(&mut Transaction<'_>) -> Result<()>) -> Result<()> {
    match in_remote {
        true => sync.write_remote(&[()], |tx, ()| act(tx)),
        false => sync.write_local(&[()], |tx, ()| act(tx)).map(drop),
    }
}

/// Gives a note a key, unless another note has got it in the meantime.
fn set_key(tx: &mut Transaction<'_>, id: NodeId, key: &str) -> Result<()> {
    let Some(mut node) = tx.node(id)?.filter(|node| node.key != key) else { return Ok(()) };
    if rename::other_owner(tx, key, id)?.is_some() {
        return Ok(());
    }
    node.aliases.retain(|alias| alias != key);
    key.clone_into(&mut node.key);
    tx.put_node(&node)
}

/// Gives `key` to the note `winner`, and the key `renamed` to the note `loser`, unless the loser does not have the key any
/// more. The winner gets `former` as a former key if it has room for it.
fn exchange(
    tx: &mut Transaction<'_>,
    key: &str,
    winner: NodeId,
    loser: NodeId,
    renamed: &str,
    former: Option<&str>,
) -> Result<()> {
    let (Some(mut winner), Some(mut loser)) = (tx.node(winner)?, tx.node(loser)?) else { return Ok(()) };
    let owner = tx.find_key(renamed)?;
    if loser.key != key || owner.is_some_and(|owner| owner != winner.id && owner != loser.id) {
        return Ok(());
    }
    // Until the winner has given up its key, the loser may need another one.
    loser.aliases.retain(|alias| alias != renamed);
    loser.key = key::unique(renamed, |name| Ok(tx.find_key(name)?.is_some_and(|owner| owner != loser.id)))?;
    tx.put_node(&loser)?;
    winner.aliases.retain(|alias| alias != key && alias != renamed);
    if let Some(former) = former.filter(|former| *former == winner.key && winner.aliases.len() < MAX_ALIASES)
    {
        winner.aliases.push(former.to_owned());
    }
    key.clone_into(&mut winner.key);
    tx.put_node(&winner)?;
    if loser.key == renamed {
        return Ok(());
    }
    renamed.clone_into(&mut loser.key);
    tx.put_node(&loser)
}
