//! Copying notes from one store into the other, a bounded transaction at a time.

use super::KEYS;
use super::plan::{Becomes, Parcel};
use crate::Memory;
use crate::key;
use crate::message;
use crate::plan;
use crate::ties::{self, Mate, Tie};
use crate::weigh;
use poc_graph::error::Result;
use poc_graph::{Activity, Message, Node, NodeId};
use poc_rank::decay::lambda;
use poc_store::{Committed, Records, Store, Tx};

/// Notes that are embedded in one call.
const BATCH: usize = 32;

/// A note that is ready to be written into the other store.
pub(super) struct Cargo {
    parcel: Parcel,
    node: Node,
    activity: Activity,
    parts: Vec<Vec<f32>>,
    ties: Vec<Tie>,
    /// What it is a chunk of.
    message: Option<Message>,
}

/// What became of a parcel.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    /// Where it came from.
    pub(super) parcel: Parcel,
    /// The node it is now; `None` when the other store was changed meanwhile and the next sync has
    /// to decide anew.
    pub(super) id: Option<NodeId>,
    /// The key it could not keep and the one it has.
    pub(super) renamed: Option<(String, String)>,
}

/// The direction of a parcel.
pub(super) struct Way<'a> {
    pub(super) from: &'a Memory,
    pub(super) to: &'a Memory,
    /// What is done to a note on the way.
    pub(super) adapt: &'a dyn Fn(Node) -> Node,
    /// In the log of `to`.
    pub(super) actor: &'a str,
}

impl Way<'_> {
    /// Copies notes in their order. `with` adds to the transaction that writes a note into `to`;
    /// `after` is told of every transaction when it is durable.
    pub(super) fn carry(
        &self,
        parcels: &[Parcel],
        with: &dyn Fn(&mut Tx<'_>, &Placed) -> Result<()>,
        after: &mut dyn FnMut(Committed<Vec<Placed>>) -> Result<()>,
    ) -> Result<()> {
        for batch in parcels.chunks(BATCH) {
            let cargo = self.prepare(batch)?;
            let mut rest = cargo.as_slice();
            while !rest.is_empty() {
                let cause = self.to.cause(self.actor, super::OP);
                let embedder = self.to.embedder.name();
                let done = self.to.store.transact(cause, |tx| {
                    let mut placed = Vec::new();
                    for cargo in rest {
                        let one = put(tx, embedder, cargo)?;
                        with(tx, &one)?;
                        placed.push(one);
                        if tx.written() >= KEYS {
                            break;
                        }
                    }
                    Ok(placed)
                })?;
                rest = rest.get(done.value.len()..).unwrap_or_default();
                after(done)?;
            }
        }
        Ok(())
    }

    /// Reads notes, and embeds those of which no vectors can be taken over. One that is gone or
    /// says something else by now is left out: the next sync sees it as it is then.
    fn prepare(&self, parcels: &[Parcel]) -> Result<Vec<Cargo>> {
        let mut cargo = Vec::with_capacity(parcels.len());
        for &parcel in parcels {
            let Some(node) = self.from.store.node(parcel.id)?.filter(|node| node.content_hash == parcel.hash)
            else {
                continue;
            };
            let parts = self.vectors(parcel.id)?;
            let activity = self.born(&node)?;
            let message = message::of(&self.from.store, parcel.id, node.source.as_deref())?;
            cargo.push(Cargo {
                parcel,
                node: (self.adapt)(node),
                activity,
                parts,
                ties: Vec::new(),
                message: message.map(|(_, message)| message),
            });
        }
        let mut bare: Vec<&mut Cargo> = cargo.iter_mut().filter(|cargo| cargo.parts.is_empty()).collect();
        let nodes: Vec<&Node> = bare.iter().map(|cargo| &cargo.node).collect();
        let embedded = plan::embed(self.to, &nodes)?;
        for (cargo, parts) in bare.iter_mut().zip(embedded) {
            cargo.parts = parts;
        }
        let view = self.to.store.view();
        let mut mates: Vec<Mate> = Vec::with_capacity(cargo.len());
        for cargo in cargo.iter_mut().filter(|cargo| cargo.node.state.is_live()) {
            let id = match cargo.parcel.becomes {
                Becomes::New(id) | Becomes::Next(id, _) => id,
            };
            let (text, keywords, parts) =
                (cargo.node.text(), cargo.node.keywords.clone(), cargo.parts.clone());
            let mate = Mate { id, text, keywords, parts };
            (cargo.ties, _) = ties::find(self.to, &view, &mate, &mates)?;
            mates.push(mate);
        }
        Ok(cargo)
    }

    /// The vectors of a note, when both stores have the same embedder.
    fn vectors(&self, id: NodeId) -> Result<Vec<Vec<f32>>> {
        let embedder = &self.to.embedder;
        if self.from.embedder.name() != embedder.name() {
            return Ok(Vec::new());
        }
        let parts = self.from.store.vectors(id, embedder.name())?;
        let fit = parts.iter().all(|part| part.len() == embedder.dimensions());
        Ok(if fit { parts } else { Vec::new() })
    }

    /// How a note begins its life in the other store: with the weight it has now, and unused.
    fn born(&self, node: &Node) -> Result<Activity> {
        let config = &self.from.config.weight;
        let now = self.from.now();
        let born = || Activity::born(node.created, 1.0);
        let activity = self.from.store.activity(node.id)?.unwrap_or_else(born);
        Ok(Activity::born(now, weigh::current(&activity, lambda(config, node.category), config, now)))
    }
}

fn put(tx: &mut Tx<'_>, embedder: &str, cargo: &Cargo) -> Result<Placed> {
    let Cargo { parcel, node: given, .. } = cargo;
    let missed = Placed { parcel: *parcel, id: None, renamed: None };
    let mut renamed = None;
    let node = match parcel.becomes {
        Becomes::New(id) => {
            // Somebody wrote the same text meanwhile, or took the place.
            let written = given.state.is_live() && tx.find_hash(&given.content_hash)?.is_some();
            if written || tx.node(id)?.is_some() {
                return Ok(missed);
            }
            let key = key::unique(&given.key, |key| Ok(tx.find_key(key)?.is_some()))?;
            if key != given.key {
                renamed = Some((given.key.clone(), key.clone()));
            }
            Node { id, key, ..given.clone() }
        }
        Becomes::Next(id, hash) => {
            let Some(stored) = tx.node(id)?.filter(|stored| stored.content_hash == hash) else {
                return Ok(missed);
            };
            next(&stored, given)
        }
    };
    tx.put_node(&node)?;
    if let Becomes::New(_) = parcel.becomes {
        tx.put_activity(node.id, &cargo.activity)?;
    }
    tx.put_vectors(node.id, embedder, &cargo.parts)?;
    if let Some(message) = &cargo.message {
        bring(tx, message, parcel.id, node.id)?;
    }
    ties::unmake(tx, node.id)?;
    if node.state.is_live() {
        ties::make(tx, node.id, &cargo.ties, &node.provenance, node.modified)?;
    }
    Ok(Placed { parcel: *parcel, id: Some(node.id), renamed })
}

/// Brings the message of a chunk along with it, where it is called `id`: once, with the first of them.
fn bring(tx: &mut Tx<'_>, message: &Message, from: NodeId, id: NodeId) -> Result<()> {
    let stored = tx.message(message.id)?;
    if stored.as_ref().is_some_and(|stored| stored.chunks.contains(&id)) {
        return Ok(());
    }
    let mut message = stored.unwrap_or_else(|| message.clone());
    match message.chunks.iter_mut().find(|chunk| **chunk == from) {
        Some(chunk) => *chunk = id,
        None => message.chunks.push(id),
    }
    tx.put_message(&message)
}

/// Forgets a message here that the remote has forgotten, when the last of its chunks is gone.
pub(super) fn forget_emptied(tx: &mut Tx<'_>, message: &Message, remote: &Store) -> Result<()> {
    if remote.message(message.id)?.is_some() {
        return Ok(());
    }
    for &chunk in &message.chunks {
        let source = tx.node(chunk)?.and_then(|node| node.source);
        if message::of(tx, chunk, source.as_deref())?.is_some_and(|(of, _)| of.message == message.id) {
            return Ok(());
        }
    }
    tx.delete_message(message.id)
}

/// What a note becomes by a text that its twin in the other store was given: its name, its age and
/// whether it is retired are its own.
fn next(stored: &Node, given: &Node) -> Node {
    Node {
        id: stored.id,
        key: stored.key.clone(),
        created: stored.created,
        modified: given.modified.max(stored.modified),
        state: if stored.state.is_live() { given.state } else { stored.state },
        version: stored.version.saturating_add(1),
        ..given.clone()
    }
}
