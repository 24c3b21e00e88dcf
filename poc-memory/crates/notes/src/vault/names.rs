//! The names that notes get from their files.
//!
//! In a vault, the name of a file takes precedence over the former key of another note: `[[a]]` means the
//! file `a.md` if there is one. Notes outside the vault keep their names; if one of them has the name of a
//! file, the note of the file gets the name with the vault as a prefix.

use super::plan::{Digests, FileGroup};
use super::report::FileError;
use crate::{key, rename};
use poc_graph::error::{Error, Result};
use poc_graph::{MAX_ALIASES, Node, NodeId};
use poc_store::Transaction;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Prefix of temporary keys while notes exchange names.
const MOVING: &str = "vault-moving/";

/// The name that each note should get from its file, by path: the key in the front matter, the path, or the
/// path with the extension. Each name belongs to one text; the first file with it counts. A file that loses its path to
/// the key of another file gets a warning.
pub(super) fn desired_names(
    files: &Digests,
    groups: &[FileGroup],
    warnings: &mut Vec<FileError>,
) -> BTreeMap<String, String> {
    let group_of: HashMap<&str, usize> = groups
        .iter()
        .enumerate()
        .flat_map(|(at, group)| group.paths.iter().map(move |path| (path.as_str(), at)))
        .collect();
    let mut owners: HashMap<String, (usize, &str)> = HashMap::new();
    let mut names = BTreeMap::new();
    for (path, digest) in files {
        let group = group_of.get(path.as_str()).copied().unwrap_or(usize::MAX);
        let candidates = [digest.own_key.as_ref(), Some(&digest.path_key), Some(path)];
        let (mut chosen, mut taken) = (None, None);
        for name in candidates.into_iter().flatten() {
            match owners.get(name) {
                Some((owner, first)) if *owner != group => {
                    if Some(name) == digest.own_key.as_ref() {
                        let error = Error::conflict(format!("the key `{name}` already belongs to `{first}`"));
                        let error = error.hint("give each file a key of its own").field("key");
                        warnings.push(FileError { file: path.clone(), error });
                    } else if files.get(*first).is_some_and(|file| file.own_key.as_ref() == Some(name)) {
                        taken = Some((name, *first));
                    }
                }
                _ => {
                    chosen = Some(name.clone());
                    break;
                }
            }
        }
        let mut name = chosen.unwrap_or_else(|| path.clone());
        while owners.get(&name).is_some_and(|(owner, _)| *owner != group) {
            name.push('-');
        }
        if let Some((key, first)) = taken {
            let error = Error::conflict(format!(
                "the front matter of `{first}` has the key `{key}`, so the note of this file has the key `{name}`"
            ));
            let error = error.hint(format!("give `{first}` another key")).field("key");
            warnings.push(FileError { file: path.clone(), error });
        }
        owners.insert(name.clone(), (group, path));
        names.insert(path.clone(), name);
    }
    names
}

/// The names that a note loses and gets.
#[derive(Debug, Default)]
pub(super) struct NameChange {
    /// The note.
    pub(super) node: Option<NodeId>,
    /// Whether the note was created from the files.
    pub(super) is_own: bool,
    /// Whether the note was retired and this sync revives it.
    pub(super) is_revived: bool,
    /// Names of files that the note had and loses.
    pub(super) lost: Vec<String>,
    /// Names of files that the note keeps.
    pub(super) kept: Vec<String>,
    /// Paths of files, each with the name that the note gets from it.
    pub(super) gained: Vec<(String, String)>,
    /// The first of its files, which determines its properties.
    pub(super) first: String,
    /// The first file with its name, if it keeps its name and another file determined the properties before.
    pub(super) new_source: Option<(String, String)>,
    /// Notes that it replaces.
    pub(super) merged: Vec<NodeId>,
}

/// A note between [`release`] and [`assign`].
pub(super) struct MovingNote {
    /// Whether the note needs a new key, because its file was removed or moved.
    takes_key: bool,
    /// The key that it had, which becomes an alias if no other note gets it.
    former: Option<String>,
}

/// Whether a key is a temporary one, between [`release`] and [`assign`].
pub(super) fn is_moving(key: &str) -> bool {
    key.starts_with(MOVING)
}

/// The owners of names, for conflicts.
pub(super) struct NameOwners<'a> {
    /// The name of the vault.
    pub(super) vault: &'a str,
    /// The provenance of its notes.
    pub(super) provenance: &'a str,
    /// Notes of the vault, also retired ones.
    pub(super) own: &'a HashSet<NodeId>,
    /// Notes that will be replaced.
    pub(super) merged: &'a HashSet<NodeId>,
    /// The names that the files define.
    pub(super) desired_names: &'a HashSet<&'a str>,
}

/// Removes the lost names from the note, so that other notes can have them.
pub(super) fn release(tx: &mut Transaction<'_>, change: &NameChange) -> Result<Option<MovingNote>> {
    let Some(id) = change.node else { return Ok(Some(MovingNote { takes_key: false, former: None })) };
    let Some(mut node) = tx.node(id)? else { return Ok(None) };
    let before = node.clone();
    let is_move = !change.gained.is_empty();
    let is_moving = is_moving(&node.key);
    let takes_key = change.is_own
        && (is_moving || change.lost.contains(&node.key))
        && (is_move || !change.kept.is_empty());
    let mut former = None;
    if takes_key {
        let key = std::mem::replace(&mut node.key, format!("{MOVING}{id}"));
        // Without a move, the file with the key was deleted, and a copy of it keeps the note.
        former = (!is_moving).then_some(key);
    }
    // A note keeps the former name of a moved file, but not the other names of deleted copies.
    node.aliases.retain(|alias| !change.lost.contains(alias) || is_move);
    if node != before {
        tx.put_node(&node)?;
    }
    Ok(Some(MovingNote { takes_key, former }))
}

/// Gives the note its names after [`release`]. Returns them by path.
pub(super) fn assign(
    tx: &mut Transaction<'_>,
    change: &NameChange,
    moving: &MovingNote,
    owners: &NameOwners<'_>,
    warnings: &mut Vec<FileError>,
) -> Result<Vec<(String, String)>> {
    let mut given = Vec::new();
    for (path, name) in &change.gained {
        let free = claim(tx, name, change.node, owners)?;
        if free != *name {
            let error = Error::conflict(format!(
                "the key `{name}` belongs to another note, so the note of this file has the key `{free}`"
            ));
            warnings.push(FileError { file: path.clone(), error: error.hint("rename one of them") });
        }
        given.push((path.clone(), free));
    }
    let Some(id) = change.node else { return Ok(given) };
    let Some(mut node) = tx.node(id)? else { return Ok(given) };
    let before = node.clone();
    let names: Vec<&String> = given.iter().map(|(_, name)| name).chain(&change.kept).collect();
    let file_names: HashSet<&String> = names.iter().copied().collect();
    if moving.takes_key
        && let Some(&key) = names.first()
    {
        // A name that it keeps may be the key of a note that it replaced.
        node.key = claim(tx, key, Some(id), owners)?;
    }
    let mut aliases = node.aliases.clone();
    aliases.extend(names.iter().copied().cloned());
    if let Some(former) =
        moving.former.clone().filter(|former| !owners.desired_names.contains(former.as_str()))
        && rename::other_owner(tx, &former, id)?.is_none()
    {
        aliases.push(former);
    }
    let mut seen: HashSet<String> = HashSet::new();
    aliases.retain(|alias| *alias != node.key && seen.insert(alias.clone()));
    // Too many: those that are no names of files any more are dropped first, and the oldest of them first.
    let mut surplus = aliases.len().saturating_sub(MAX_ALIASES);
    aliases.retain(|alias| {
        let is_dropped = surplus > 0 && !file_names.contains(alias);
        surplus -= usize::from(is_dropped);
        !is_dropped
    });
    aliases.drain(..surplus);
    node.aliases = aliases;
    rename::drop_taken_aliases(tx, &mut node)?;
    if node != before {
        tx.put_node(&node)?;
    }
    Ok(given)
}

/// Takes a name from a retired, replaced or renamed note of the vault, so that `node` can have it. Returns that name,
/// or another free one if the name belongs to any other note.
fn claim(
    tx: &mut Transaction<'_>,
    name: &str,
    node: Option<NodeId>,
    owners: &NameOwners<'_>,
) -> Result<String> {
    let Some(owner) = tx.find_key(name)?.filter(|owner| Some(*owner) != node) else {
        return Ok(name.to_owned());
    };
    let Some(mut other) = tx.node(owner)? else { return Ok(name.to_owned()) };
    let is_own =
        owners.own.contains(&owner) || !other.state.is_live() && other.provenance == owners.provenance;
    if is_own && other.key != name {
        other.aliases.retain(|alias| alias != name);
        tx.put_node(&other)?;
        return Ok(name.to_owned());
    }
    if is_own && (!other.state.is_live() || owners.merged.contains(&owner)) {
        free_key(tx, other)?;
        return Ok(name.to_owned());
    }
    key::unique(&format!("{}/{name}", owners.vault), |key| {
        Ok(tx.find_key(key)?.is_some_and(|owner| Some(owner) != node))
    })
}

/// Gives a retired note another key, so that its own is free.
pub(super) fn free_key(tx: &mut Transaction<'_>, mut node: Node) -> Result<()> {
    node.key = key::of_retired(tx, &node.key)?;
    tx.put_node(&node)
}
