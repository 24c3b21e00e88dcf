//! Another embedder for a store: the vectors of every note are made anew, while the old ones serve.
//!
//! Vectors are kept by embedder, so the new ones lie beside the old ones in transactions of a few notes
//! each; a migration that was stopped goes on where it was. When no note lacks them, the store is told
//! which embedder it has, and opens with it the next time. Vectors of the old embedder stay, as long as
//! the text stays: going back costs no more than what was changed since.

use super::{Memory, embedder, plan};
use embedder::EmbedderRecord;
use poc_embed::Embedder;
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_store::MIGRATION_OP;

/// Notes whose vectors are made and stored together, and bytes of their texts.
const CHUNK: usize = 32;
const CHUNK_BYTES: usize = 256 << 10;

/// Notes whose vectors a store that is opened waits for.
const AT_ONCE: usize = 256;

/// What a migration did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationReport {
    /// The embedder the store had.
    pub from: String,
    /// The embedder it has from its next opening on.
    pub to: String,
    /// Notes whose vectors were made now.
    pub notes: u64,
    /// Notes that had theirs from a migration before.
    pub already_embedded: u64,
}

/// How far it is, and whether it may go on.
pub struct MigrationCallbacks<'a> {
    /// Told notes done, and all of them.
    pub progress: &'a dyn Fn(u64, u64),
    /// An error ends the migration; the next one goes on from there.
    pub go_on: &'a dyn Fn() -> Result<()>,
}

/// Makes the vectors of all tenants with the embedder of the settings; `None` when the store has it, with
/// every vector.
pub fn migrate(
    memory: &Memory,
    actor: &str,
    callbacks: &MigrationCallbacks<'_>,
) -> Result<Option<MigrationReport>> {
    let (next, settings) = match &memory.wanted_embedder {
        Some(settings) => (poc_embed::open(settings)?, settings.as_ref()),
        None if memory.missing_vectors.lock().is_some() => (memory.embedder.clone(), &memory.config.embedder),
        None => return Ok(None),
    };
    let mut migrated = MigrationReport {
        from: memory.embedder.name().to_owned(),
        to: next.name().to_owned(),
        notes: 0,
        already_embedded: 0,
    };
    let mut first = true;
    // What was written meanwhile has vectors of the old embedder alone.
    loop {
        let without_vectors = without_vectors(memory, next.name())?;
        if first {
            let all: u64 = memory.store.tenants()?.iter().map(|(_, view)| view.node_count() as u64).sum();
            migrated.already_embedded = all.saturating_sub(count(&without_vectors));
        }
        let before = migrated.already_embedded + migrated.notes;
        let made = fill(memory, next.as_ref(), &without_vectors, before, (actor, callbacks))?;
        migrated.notes += made;
        if made == 0 {
            break;
        }
        first = false;
    }
    record(memory, next.as_ref(), settings, memory.wanted_embedder.is_some())?;
    *memory.missing_vectors.lock() = None;
    Ok(Some(migrated))
}

/// Makes the vectors of notes that were written while a migration ended, when they are few. Why it did not,
/// if so: meanwhile these notes are not found by meaning.
pub(super) fn complete(memory: &Memory) -> Option<String> {
    let callbacks = MigrationCallbacks { progress: &|_, _| {}, go_on: &|| Ok(()) };
    let embedder = memory.embedder.as_ref();
    let done = without_vectors(memory, embedder.name()).and_then(|without_vectors| {
        let count = count(&without_vectors);
        if count > AT_ONCE as u64 {
            return Err(Error::unavailable(format!("they are {count}")));
        }
        fill(memory, embedder, &without_vectors, 0, ("manual", &callbacks))?;
        record(memory, embedder, &memory.config.embedder, false)
    });
    let warning = |error: Error| {
        let name = embedder.name();
        format!(
            "vectors: notes have none of `{name}` yet ({}); `poc-memory embed migrate` makes them",
            error.message
        )
    };
    done.err().map(warning).inspect(|problem| tracing::warn!("{problem}"))
}

fn record(
    memory: &Memory,
    embedder: &dyn Embedder,
    settings: &poc_config::EmbedderConfig,
    incomplete: bool,
) -> Result<()> {
    let (name, dimensions) = (embedder.name().to_owned(), embedder.dimensions());
    let record = EmbedderRecord { name, dimensions, settings: settings.clone(), incomplete };
    embedder::write(&memory.paths.store(), &record)
}

/// The nodes of each tenant without vectors of an embedder.
fn without_vectors(memory: &Memory, embedder: &str) -> Result<Vec<(Memory, Vec<NodeId>)>> {
    let mut found = Vec::new();
    for (tenant, view) in memory.store.tenants()? {
        let own = memory.of(&tenant);
        let embedded = own.store.nodes_with_vectors(embedder)?;
        let ids =
            (0..view.slots()).filter_map(|ix| view.id(ix)).filter(|id| !embedded.contains(id)).collect();
        found.push((own, ids));
    }
    Ok(found)
}

fn count(without_vectors: &[(Memory, Vec<NodeId>)]) -> u64 {
    without_vectors.iter().map(|(_, ids)| ids.len() as u64).sum()
}

/// Makes and stores vectors; how many notes got them. One that says something else by the time its
/// vectors are stored is left for the next round. `before` were done in earlier ones.
fn fill(
    memory: &Memory,
    embedder: &dyn Embedder,
    without_vectors: &[(Memory, Vec<NodeId>)],
    before: u64,
    (actor, callbacks): (&str, &MigrationCallbacks<'_>),
) -> Result<u64> {
    let all = before + count(without_vectors);
    let (mut done, mut made) = (before, 0);
    for (own, ids) in without_vectors {
        let mut ids = ids.iter().peekable();
        while ids.peek().is_some() {
            (callbacks.go_on)()?;
            let (mut nodes, mut bytes) = (Vec::new(), 0);
            while nodes.len() < CHUNK
                && bytes < CHUNK_BYTES
                && let Some(&id) = ids.next()
            {
                done += 1;
                // One that went meanwhile lacks nothing.
                if let Some(node) = own.store.node(id)? {
                    bytes += node.body.len();
                    nodes.push(node);
                }
            }
            let parts = plan::vectors(&memory.config.vectors, embedder, &nodes.iter().collect::<Vec<_>>())?;
            let cause = memory.cause(actor, MIGRATION_OP);
            let stored = own.store.transact(cause, |tx| {
                let mut stored = 0;
                for (node, parts) in nodes.iter().zip(&parts) {
                    if tx.node(node.id)?.is_some_and(|now| now.content_hash == node.content_hash) {
                        tx.add_vectors(node.id, embedder.name(), parts)?;
                        stored += 1;
                    }
                }
                Ok(stored)
            })?;
            made += stored.value;
            (callbacks.progress)(done, all);
        }
    }
    Ok(made)
}

#[cfg(test)]
mod tests;
