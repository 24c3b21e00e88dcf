//! Copies notes from one store to the other in bounded transactions.

use super::plan::{CopyTarget, NoteCopy};
use crate::Memory;
use crate::automatic_edges::{self, AutomaticEdge, BatchNote};
use crate::batch::Chunk;
use crate::insert_plan;
use crate::key;
use crate::message;
use crate::rename;
use crate::weight;
use poc_graph::error::Result;
use poc_graph::{Activity, Message, Node, NodeId, Origin};
use poc_rank::decay::lambda;
use poc_store::{Cause, Commit, Records, Store, Transaction};

/// Number of changed records after which a transaction ends that copies no texts.
pub(super) const RECORDS_PER_TXN: usize = 100;

/// A note that is ready to be written to the other store.
pub(super) struct SyncPayload {
    copy: NoteCopy,
    node: Node,
    activity: Activity,
    vectors: Vec<Vec<f32>>,
    edges: Vec<AutomaticEdge>,
    /// The message that it is a chunk of.
    message: Option<Message>,
}

/// The result of copying a note.
#[derive(Clone, Debug)]
pub(super) struct CopyResult {
    /// The copied note.
    pub(super) copy: NoteCopy,
    /// Its id in the target store; `None` if that store was changed in the meantime, so that the next sync has
    /// to decide again.
    pub(super) id: Option<NodeId>,
    /// The key that was taken and the key it got instead. If the copy displaced a text, these are the key of its note and
    /// the key that the text got; `None` if no note was made of the text, because another one has it.
    pub(super) renamed: Option<(String, String)>,
}

/// A direction of copying.
pub(super) struct CopyJob<'a> {
    pub(super) from: &'a Memory,
    pub(super) to: &'a Memory,
    /// Adapts a note to the target store.
    pub(super) adapt: &'a dyn Fn(Node) -> Node,
    /// The cause of the sync in the log of `to`.
    pub(super) cause: &'a Cause,
}

impl CopyJob<'_> {
    /// Copies notes in order, in transactions as large as those of an import. `with` adds writes to the transaction
    /// that writes a note to `to`; `after` is called with the result of every transaction once it is durable.
    pub(super) fn copy(
        &self,
        copies: &[NoteCopy],
        with: &dyn Fn(&mut Transaction<'_>, &CopyResult) -> Result<()>,
        after: &mut dyn FnMut(Commit<Vec<CopyResult>>) -> Result<()>,
    ) -> Result<()> {
        let mut chunk = Chunk::of(self.to.config.import.chunk);
        for &copy in copies {
            let Some(payload) = self.read(copy)? else { continue };
            let displaced = match copy.target {
                CopyTarget::Displace { id, hash, displaced } => {
                    let Some(displaced) = self.read_displaced(id, hash, displaced)? else { continue };
                    Some(displaced)
                }
                CopyTarget::New(_) | CopyTarget::NextVersion(..) => None,
            };
            // A displaced text follows the note that displaces it, in the same transaction.
            for payload in std::iter::once(payload).chain(displaced) {
                // Each note has a copy of the whole message that it is a part of.
                let message = payload.message.as_ref().map_or(0, |message| message.text.len());
                chunk.add_bytes(payload.node.title.len() + payload.node.body.len() + message);
                chunk.push(payload);
            }
            if chunk.is_full() {
                after(self.write(chunk.take(), with)?)?;
            }
        }
        let rest = chunk.take();
        if rest.is_empty() {
            return Ok(());
        }
        after(self.write(rest, with)?)
    }

    /// Writes notes in one transaction.
    fn write(
        &self,
        mut payloads: Vec<SyncPayload>,
        with: &dyn Fn(&mut Transaction<'_>, &CopyResult) -> Result<()>,
    ) -> Result<Commit<Vec<CopyResult>>> {
        self.embed(&mut payloads)?;
        self.find_edges(&mut payloads)?;
        let embedder = self.to.embedder.name();
        self.to.store.transact(self.cause.part(self.to.now()), |tx| {
            let mut copied = Vec::with_capacity(payloads.len());
            let mut payloads = payloads.iter();
            while let Some(payload) = payloads.next() {
                let one = match payload.copy.target {
                    CopyTarget::Displace { .. } => put_displacing(tx, embedder, payload, payloads.next())?,
                    CopyTarget::New(_) | CopyTarget::NextVersion(..) => put(tx, embedder, payload)?,
                };
                with(tx, &one)?;
                copied.push(one);
            }
            Ok(copied)
        })
    }

    /// Reads a note, without its vectors if they cannot be copied. A note that was deleted or changed since the plan
    /// was made is left for the next sync.
    fn read(&self, copy: NoteCopy) -> Result<Option<SyncPayload>> {
        let Some(node) = self.from.store.node(copy.id)?.filter(|node| node.content_hash == copy.hash) else {
            return Ok(None);
        };
        let vectors = self.vectors(copy.id)?;
        let activity = self.initial_activity(&node)?;
        let message = message::of(&self.from.store, copy.id, node.source.as_deref())?;
        Ok(Some(SyncPayload {
            copy,
            node: (self.adapt)(node),
            activity,
            vectors,
            edges: Vec::new(),
            message: message.map(|(_, message)| message),
        }))
    }

    /// Reads the text of a note in the target store that is about to be displaced, as a new note with the id `displaced`.
    /// The note keeps its names, and the text is as old as its last change.
    fn read_displaced(&self, id: NodeId, hash: [u8; 32], displaced: NodeId) -> Result<Option<SyncPayload>> {
        let adapt = |node: Node| Node {
            aliases: Vec::new(),
            other_names: Vec::new(),
            created: node.modified,
            origin: Origin::Local,
            version: 1,
            ..node
        };
        let job = CopyJob { from: self.to, to: self.to, adapt: &adapt, cause: self.cause };
        job.read(NoteCopy { id, hash, target: CopyTarget::New(displaced) })
    }

    /// Embeds the notes without vectors.
    fn embed(&self, payloads: &mut [SyncPayload]) -> Result<()> {
        let mut unembedded: Vec<&mut SyncPayload> =
            payloads.iter_mut().filter(|payload| payload.vectors.is_empty()).collect();
        let nodes: Vec<&Node> = unembedded.iter().map(|payload| &payload.node).collect();
        let embedded = insert_plan::embed(self.to, &nodes)?;
        for (payload, vectors) in unembedded.iter_mut().zip(embedded) {
            payload.vectors = vectors;
        }
        Ok(())
    }

    /// Finds the automatic edges of the notes.
    fn find_edges(&self, payloads: &mut [SyncPayload]) -> Result<()> {
        let view = self.to.store.view();
        let mut live: Vec<&mut SyncPayload> =
            payloads.iter_mut().filter(|payload| payload.node.state.is_live()).collect();
        let batch = live.iter().map(|payload| {
            let id = match payload.copy.target {
                CopyTarget::New(id) | CopyTarget::NextVersion(id, _) | CopyTarget::Displace { id, .. } => id,
            };
            let (text, keywords, vectors) =
                (payload.node.text(), payload.node.keywords.clone(), payload.vectors.clone());
            BatchNote { id, text, keywords, vectors, is_quotation: payload.node.is_quotation() }
        });
        let batch: Vec<BatchNote> = batch.collect();
        for (payload, (edges, _)) in live.iter_mut().zip(automatic_edges::find(self.to, &view, &batch)?) {
            payload.edges = edges;
        }
        Ok(())
    }

    /// The vectors of a note, if both stores have the same embedder; otherwise none.
    fn vectors(&self, id: NodeId) -> Result<Vec<Vec<f32>>> {
        let embedder = &self.to.embedder;
        if self.from.embedder.name() != embedder.name() {
            return Ok(Vec::new());
        }
        let vectors = self.from.store.vectors(id, embedder.name())?;
        let fit = vectors.iter().all(|vector| vector.len() == embedder.dimensions());
        Ok(if fit { vectors } else { Vec::new() })
    }

    /// The initial activity of a note in the target store: its current weight, without uses.
    fn initial_activity(&self, node: &Node) -> Result<Activity> {
        let config = &self.from.config.weight;
        let now = self.from.now();
        let born = || Activity::initial(node.created);
        let activity = self.from.store.activity(node.id)?.unwrap_or_else(born);
        Ok(Activity::new(now, weight::current(&activity, lambda(config, node.category), config, now)))
    }
}

fn put(tx: &mut Transaction<'_>, embedder: &str, payload: &SyncPayload) -> Result<CopyResult> {
    let SyncPayload { copy, node: source, .. } = payload;
    let conflict = CopyResult { copy: *copy, id: None, renamed: None };
    let mut renamed = None;
    let node = match copy.target {
        CopyTarget::New(id) => {
            // Another writer may have stored the same text or the id in the meantime.
            let written = source.state.is_live() && tx.find_hash(&source.content_hash)?.is_some();
            if written || tx.node(id)?.is_some() {
                return Ok(conflict);
            }
            let key = key::unique(&source.key, |key| Ok(tx.find_key(key)?.is_some()))?;
            if key != source.key {
                renamed = Some((source.key.clone(), key.clone()));
            }
            let mut node = Node { id, key, ..source.clone() };
            rename::drop_taken_aliases(tx, &mut node)?;
            node
        }
        CopyTarget::NextVersion(id, hash) | CopyTarget::Displace { id, hash, .. } => {
            let Some(stored) = tx.node(id)?.filter(|stored| stored.content_hash == hash) else {
                return Ok(conflict);
            };
            next(&stored, source)
        }
    };
    tx.put_node(&node)?;
    if let CopyTarget::New(_) = copy.target {
        tx.put_activity(node.id, &payload.activity)?;
    }
    tx.put_vectors(node.id, embedder, &payload.vectors)?;
    if let Some(message) = &payload.message {
        put_message(tx, message, copy.id, node.id)?;
    }
    automatic_edges::delete(tx, node.id)?;
    if node.state.is_live() {
        automatic_edges::create(tx, node.id, &payload.edges, &node.provenance, node.modified)?;
    }
    Ok(CopyResult { copy: *copy, id: Some(node.id), renamed })
}

/// Writes the next version of a note, and its former text as the note `displaced`.
fn put_displacing(
    tx: &mut Transaction<'_>,
    embedder: &str,
    payload: &SyncPayload,
    displaced: Option<&SyncPayload>,
) -> Result<CopyResult> {
    let conflict = CopyResult { copy: payload.copy, id: None, renamed: None };
    let CopyTarget::Displace { displaced: new, .. } = payload.copy.target else { return Ok(conflict) };
    let Some(displaced) = displaced else { return Ok(conflict) };
    // The text would be lost if its id were taken.
    if tx.node(new)?.is_some() {
        return Ok(conflict);
    }
    let written = put(tx, embedder, payload)?;
    let Some(id) = written.id else { return Ok(conflict) };
    let renamed = put(tx, embedder, displaced)?.renamed;
    if let Some(message) = &payload.message {
        // The displaced text took the place of the note among the chunks of their message.
        put_message(tx, message, payload.copy.id, id)?;
    }
    Ok(CopyResult { renamed, ..written })
}

/// Copies the message of a chunk. If the message already exists, adds the chunk to it under its new `id`.
fn put_message(tx: &mut Transaction<'_>, message: &Message, from: NodeId, id: NodeId) -> Result<()> {
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

/// Deletes a local message that the remote has deleted, once its last chunk has been deleted.
pub(super) fn forget_emptied(tx: &mut Transaction<'_>, message: &Message, remote: &Store) -> Result<()> {
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

/// The next version of a note with the text of its copy in the other store. It keeps its own id, names, creation
/// time, and a retired state.
fn next(stored: &Node, given: &Node) -> Node {
    Node {
        id: stored.id,
        key: stored.key.clone(),
        aliases: stored.aliases.clone(),
        other_names: stored.other_names.clone(),
        created: stored.created,
        modified: given.modified.max(stored.modified),
        state: if stored.state.is_live() { given.state } else { stored.state },
        version: stored.version.saturating_add(1),
        ..given.clone()
    }
}
