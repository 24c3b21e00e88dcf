//! Migration of a store to another embedder: computes new vectors for every note while the old ones stay in
//! use.
//!
//! Vectors are stored by embedder, so the new ones are added beside the old ones in small transactions, and
//! an interrupted migration continues where it stopped. When every note has new vectors, the new embedder is
//! recorded and used from the next opening on. Old vectors are kept, so that a migration back only has to
//! embed texts that have changed since.

use super::{Memory, embedder, insert_plan};
use embedder::EmbedderRecord;
use poc_embed::Embedder;
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_store::MIGRATION_OP;

/// Maximum number of notes that are embedded and stored together.
const BATCH_NOTES: usize = 32;

/// Size in bytes of the texts of a batch from which on no further note is added to it.
const BATCH_BYTES: usize = 256 << 10;

/// Maximum number of notes whose missing vectors are computed while a store is opened.
const MAX_NOTES_AT_OPEN: usize = 256;

/// The result of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationReport {
    /// The name of the embedder that the store had.
    pub from: String,
    /// The name of the embedder that it uses once it is opened again.
    pub to: String,
    /// Number of notes that were embedded by this migration.
    pub notes: u64,
    /// Number of notes that already had vectors from an earlier migration.
    pub already_embedded: u64,
}

/// Callbacks of a migration.
pub struct MigrationCallbacks<'a> {
    /// Called with the number of finished notes and the total.
    pub progress: &'a dyn Fn(u64, u64),
    /// Called before each batch. An error ends the migration; the next migration continues from there.
    pub check_cancelled: &'a dyn Fn() -> Result<()>,
}

/// Whether the store has the built-in word vectors of an earlier release, and the settings name the built-in ones. The
/// daemon then migrates without being asked: the person has not chosen another embedder, and a note takes microseconds.
pub fn is_due_after_update(memory: &Memory) -> bool {
    let configured = memory.configured_embedder.as_deref();
    configured.is_some_and(|settings| poc_embed::replaces_bundled_table(settings, memory.embedder.name()))
}

/// Embeds the notes of all tenants with the configured embedder; `None` if the store uses it already and no
/// vector is missing.
///
/// # Errors
/// Those of the embedder and the store, and of [`MigrationCallbacks::check_cancelled`]. Vectors that were stored before
/// the error are kept.
pub fn migrate(
    memory: &Memory,
    actor: &str,
    callbacks: &MigrationCallbacks<'_>,
) -> Result<Option<MigrationReport>> {
    let (next, settings) = match &memory.configured_embedder {
        Some(settings) => (poc_embed::open(settings)?, settings.as_ref()),
        None if memory.missing_vectors.lock().is_some() => (memory.embedder.clone(), &memory.config.embedder),
        None => return Ok(None),
    };
    let mut report = MigrationReport {
        from: memory.embedder.name().to_owned(),
        to: next.name().to_owned(),
        notes: 0,
        already_embedded: 0,
    };
    let mut is_first_round = true;
    // Notes that are written during the migration only have vectors of the old embedder, so the loop repeats until
    // none is left.
    loop {
        let without_vectors = without_vectors(memory, next.name())?;
        if is_first_round {
            let nodes = |(own, _): &(Memory, _)| own.store.view().node_count() as u64;
            let all: u64 = without_vectors.iter().map(nodes).sum();
            report.already_embedded = all.saturating_sub(count(&without_vectors));
        }
        let before = report.already_embedded + report.notes;
        let made = fill(memory, next.as_ref(), &without_vectors, before, actor, callbacks)?;
        report.notes += made;
        if made == 0 {
            break;
        }
        is_first_round = false;
    }
    record(memory, next.as_ref(), settings, memory.configured_embedder.is_some())?;
    // Otherwise the new vectors are used, and questions have vectors, once the store is opened again.
    if memory.embedder.is_available() {
        *memory.missing_vectors.lock() = None;
    }
    Ok(Some(report))
}

/// Embeds the notes that were written while a migration ended, if they are few. Returns a warning if it could
/// not. Notes without vectors are not found by meaning.
pub(super) fn complete(memory: &Memory) -> Option<String> {
    let callbacks = MigrationCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };
    let embedder = memory.embedder.as_ref();
    let done = without_vectors(memory, embedder.name()).and_then(|without_vectors| {
        let count = count(&without_vectors);
        if count > MAX_NOTES_AT_OPEN as u64 {
            return Err(Error::unavailable(format!("{count} notes have no vectors")));
        }
        fill(memory, embedder, &without_vectors, 0, "manual", &callbacks)?;
        record(memory, embedder, &memory.config.embedder, false)
    });
    let warning = |error: Error| {
        let name = embedder.name();
        format!(
            "vectors: notes have no vectors of `{name}` yet ({}); `poc-memory embed migrate` computes them",
            error.message
        )
    };
    done.err().map(warning).inspect(|problem| tracing::warn!("{problem}"))
}

/// Records the embedder of the store. `incomplete` says whether notes that were written during the migration may lack
/// vectors.
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

/// The nodes of each tenant that have no vectors of an embedder.
fn without_vectors(memory: &Memory, embedder: &str) -> Result<Vec<(Memory, Vec<NodeId>)>> {
    let mut found = Vec::new();
    for store in memory.store.all_tenants()? {
        let own = memory.with_store(store);
        let view = own.store.view();
        let embedded = own.store.nodes_with_vectors(embedder)?;
        let nodes = (0..view.slots()).filter(|&ix| view.state(ix).is_some()).filter_map(|ix| view.id(ix));
        let ids = nodes.filter(|id| !embedded.contains(id)).collect();
        found.push((own, ids));
    }
    Ok(found)
}

/// The number of these nodes.
fn count(without_vectors: &[(Memory, Vec<NodeId>)]) -> u64 {
    without_vectors.iter().map(|(_, ids)| ids.len() as u64).sum()
}

/// Computes and stores vectors and returns the number of notes that got them. A note whose text changed while its
/// vectors were computed is left for the next round. `before` is the number of notes that were finished in earlier
/// rounds.
fn fill(
    memory: &Memory,
    embedder: &dyn Embedder,
    without_vectors: &[(Memory, Vec<NodeId>)],
    before: u64,
    actor: &str,
    callbacks: &MigrationCallbacks<'_>,
) -> Result<u64> {
    let all = before + count(without_vectors);
    let (mut done, mut made) = (before, 0);
    for (own, ids) in without_vectors {
        let mut ids = ids.iter().peekable();
        while ids.peek().is_some() {
            (callbacks.check_cancelled)()?;
            let (mut nodes, mut bytes) = (Vec::new(), 0);
            while nodes.len() < BATCH_NOTES
                && bytes < BATCH_BYTES
                && let Some(&id) = ids.next()
            {
                done += 1;
                // Notes that were deleted since then need no vectors.
                if let Some(node) = own.store.node(id)? {
                    bytes += node.body.len();
                    nodes.push(node);
                }
            }
            let vectors =
                insert_plan::vectors(&memory.config.vectors, embedder, &nodes.iter().collect::<Vec<_>>())?;
            let cause = memory.cause(actor, MIGRATION_OP);
            let stored = own.store.transact(cause, |tx| {
                let mut stored = 0;
                for (node, vectors) in nodes.iter().zip(&vectors) {
                    if tx.node(node.id)?.is_some_and(|now| now.content_hash == node.content_hash) {
                        tx.add_vectors(node.id, embedder.name(), vectors)?;
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
