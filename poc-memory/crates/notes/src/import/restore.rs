//! Restores notes that export wrote, with ids, times, versions, weights, states and visits.

use super::stored::{StoreOutcome, StoredNote};
use crate::Memory;
use crate::automatic_edges::EdgeCounts;
use crate::insert_plan;
use crate::interchange::Note;
use crate::rename;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{MAX_ALIASES, Node};
use poc_store::Transaction;

/// A note that is validated and, if its text is new, embedded.
pub(super) struct Restore {
    note: Note,
    node: Node,
    embedder: String,
    vectors: Option<Vec<Vec<f32>>>,
}

/// Validates notes. Embeds those whose text is not stored yet, all in one call.
pub(super) fn prepare_all(memory: &Memory, notes: Vec<Note>) -> Result<Vec<Result<Restore>>> {
    let mut restores: Vec<Result<Restore>> = Vec::with_capacity(notes.len());
    let mut fresh = Vec::with_capacity(notes.len());
    let weight = &memory.config.weight;
    for mut note in notes {
        let checked = note.check(&memory.config);
        // The exporting store may have had other bounds.
        note.weight = note.weight.clamp(weight.floor, weight.cap);
        let node = note.node(memory.store.tenant());
        let stored = memory.store.node(note.id)?;
        fresh.push(checked.is_ok() && stored.is_none_or(|stored| stored.content_hash != node.content_hash));
        let embedder = memory.embedder.name().to_owned();
        restores.push(checked.map(|()| Restore { note, node, embedder, vectors: None }));
    }
    let mut restored: Vec<&mut Restore> = restores
        .iter_mut()
        .zip(fresh)
        .filter_map(|(restore, fresh)| restore.as_mut().ok().filter(|_| fresh))
        .collect();
    let nodes: Vec<&Node> = restored.iter().map(|restore| &restore.node).collect();
    let vectors = insert_plan::embed(memory, &nodes)?;
    for (restore, vectors) in restored.iter_mut().zip(vectors) {
        restore.vectors = Some(vectors);
    }
    Ok(restores)
}

/// Stores a note. A note whose text exists under another id is a duplicate. A note that was edited since its
/// export becomes a new version. If the stored node was changed since the export, the note is refused.
pub(super) fn apply(tx: &mut Transaction<'_>, restore: &Restore, now: Timestamp) -> Result<StoredNote> {
    let Restore { note, node, .. } = restore;
    let outcome = match tx.node(node.id)? {
        None => {
            if node.state.is_live()
                && let Some(id) = tx.find_hash(&node.content_hash)?
            {
                let key = tx.node(id)?.map_or_else(|| note.key.clone(), |same| same.key);
                return Ok(StoredNote {
                    id,
                    key,
                    outcome: StoreOutcome::Duplicate,
                    edge_counts: EdgeCounts::default(),
                });
            }
            check_key(tx, node)?;
            put(tx, restore, node)?;
            tx.put_activity(node.id, &note.activity())?;
            StoreOutcome::Inserted
        }
        Some(stored) if equals_except_version(&stored, &keep_names(node, &stored)) => StoreOutcome::Duplicate,
        Some(stored) if node.version > stored.version => {
            let node = keep_names(node, &stored);
            check_key(tx, &node)?;
            put(tx, restore, &node)?;
            tx.put_activity(node.id, &note.activity())?;
            StoreOutcome::Updated
        }
        Some(stored) if node.version == stored.version => {
            let version = stored.version.saturating_add(1);
            let node = Node { version, modified: now, ..keep_names(node, &stored) };
            check_key(tx, &node)?;
            put(tx, restore, &node)?;
            StoreOutcome::Updated
        }
        Some(stored) => {
            return Err(Error::conflict(format!(
                "`{}` has version {} here and version {} in the import, and they differ",
                stored.key, stored.version, node.version
            ))
            .hint("it was changed since it was exported; export it again"));
        }
    };
    if let Some(message) = &note.message
        && tx.message(message.id)?.is_none()
    {
        tx.put_message(&message.message())?;
    }
    for frame in &note.frames {
        frame.put(tx, node.id)?;
    }
    for (agent, visit) in note.visits() {
        let known = tx.visit(agent, node.id)?;
        if known.is_none_or(|known| known.at < visit.at) {
            tx.put_visit(agent, node.id, &visit)?;
        }
    }
    Ok(StoredNote { id: node.id, key: node.key.clone(), outcome, edge_counts: EdgeCounts::default() })
}

/// Whether the notes differ at most in their version and in their origin, which a sync marks in the stored note.
fn equals_except_version(stored: &Node, node: &Node) -> bool {
    let Node { version, modified, origin, .. } = *stored;
    Node { version, modified, origin, ..node.clone() } == *stored
}

/// The imported node with all names of the stored node. Exports of earlier releases lack other names. A note that was
/// renamed since its export keeps its new key. A key that was edited in the export replaces the stored key.
fn keep_names(node: &Node, stored: &Node) -> Node {
    let mut node = node.clone();
    if node.other_names.is_empty() {
        node.other_names.clone_from(&stored.other_names);
    }
    if stored.aliases.contains(&node.key) {
        node.aliases.push(std::mem::replace(&mut node.key, stored.key.clone()));
    }
    let mut aliases = stored.aliases.clone();
    for name in node.aliases.iter().chain([&stored.key]) {
        if !aliases.contains(name) {
            aliases.push(name.clone());
        }
    }
    aliases.retain(|alias| *alias != node.key);
    // The latest aliases are kept.
    aliases.drain(..aliases.len().saturating_sub(MAX_ALIASES));
    Node { aliases, ..node }
}

fn put(tx: &mut Transaction<'_>, restore: &Restore, node: &Node) -> Result<()> {
    let mut node = node.clone();
    rename::drop_taken_aliases(tx, &mut node)?;
    tx.put_node(&node)?;
    match &restore.vectors {
        Some(vectors) => tx.put_vectors(node.id, &restore.embedder, vectors),
        None => Ok(()),
    }
}

fn check_key(tx: &Transaction<'_>, node: &Node) -> Result<()> {
    match rename::other_owner(tx, &node.key, node.id)? {
        Some(owner) if owner.key == node.key => {
            Err(Error::conflict(format!("the key `{}` belongs to another note, `{}`", node.key, owner.id))
                .hint("change the key here or in the import")
                .field("key"))
        }
        Some(owner) => Err(rename::key_conflict(&node.key, &owner).field("key")),
        None => Ok(()),
    }
}
