//! Another embedder for a store: the vectors of every note are made anew, while the old ones serve.
//!
//! Vectors are kept by embedder, so the new ones lie beside the old ones in transactions of a few notes
//! each; a migration that was stopped goes on where it was. When no note lacks them, the store is told
//! which embedder it has, and opens with it the next time. Vectors of the old embedder stay, as long as
//! the text stays: going back costs no more than what was changed since.

use super::{Memory, embedder, plan};
use crate::config;
use crate::embed::{self, Embedder};
use crate::error::Result;
use crate::graph::{Node, NodeId};
use embedder::Record;

/// Notes whose vectors are made and stored together.
const CHUNK: usize = 32;

/// What a migration did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The embedder the store had.
    pub from: String,
    /// The embedder it has from its next opening on.
    pub to: String,
    /// Notes whose vectors were made now.
    pub notes: u64,
    /// Notes that had theirs from a migration before.
    pub had: u64,
}

/// How far it is, and whether it may go on.
pub struct Watch<'a> {
    /// Told notes done, and all of them.
    pub progress: &'a dyn Fn(u64, u64),
    /// An error ends the migration; the next one goes on from there.
    pub go_on: &'a dyn Fn() -> Result<()>,
}

/// Makes the vectors of all tenants with the embedder of the settings; `None` when the store has it.
pub fn migrate(memory: &Memory, actor: &str, watch: &Watch<'_>) -> Result<Option<Migrated>> {
    let Some(settings) = &memory.wanted_embedder else { return Ok(None) };
    let next = embed::open(settings)?;
    let mut migrated =
        Migrated { from: memory.embedder.name().to_owned(), to: next.name().to_owned(), notes: 0, had: 0 };
    let mut first = true;
    // What was written meanwhile has vectors of the old embedder alone.
    loop {
        let lacking = lacking(memory, next.name())?;
        if first {
            let all: u64 = memory.store.tenants()?.iter().map(|(_, view)| view.node_count() as u64).sum();
            migrated.had = all.saturating_sub(lacking.iter().map(|(_, ids)| ids.len() as u64).sum());
        }
        let made = fill(memory, next.as_ref(), &lacking, actor, watch)?;
        migrated.notes += made;
        if made == 0 {
            break;
        }
        first = false;
    }
    record(memory, next.as_ref(), settings, true)?;
    Ok(Some(migrated))
}

/// Makes the vectors of notes that were written while a migration ended.
pub(super) fn complete(memory: &Memory) -> Result<()> {
    let watch = Watch { progress: &|_, _| {}, go_on: &|| Ok(()) };
    let embedder = memory.embedder.as_ref();
    fill(memory, embedder, &lacking(memory, embedder.name())?, "manual", &watch)?;
    record(memory, embedder, &memory.config.embedder, false)
}

fn record(
    memory: &Memory,
    embedder: &dyn Embedder,
    settings: &config::Embedder,
    incomplete: bool,
) -> Result<()> {
    let (name, dimensions) = (embedder.name().to_owned(), embedder.dimensions());
    let record = Record { name, dimensions, settings: settings.clone(), incomplete };
    embedder::write(&memory.paths.store(), &record)
}

/// The nodes of each tenant without vectors of an embedder.
fn lacking(memory: &Memory, embedder: &str) -> Result<Vec<(Memory, Vec<NodeId>)>> {
    let mut found = Vec::new();
    for (tenant, view) in memory.store.tenants()? {
        let own = memory.of(&tenant);
        let mut ids = Vec::new();
        for id in (0..view.slots()).filter_map(|ix| view.id(ix)) {
            if own.store.vectors(id, embedder)?.is_empty() {
                ids.push(id);
            }
        }
        found.push((own, ids));
    }
    Ok(found)
}

/// Makes and stores vectors; how many notes got them. One that says something else by the time its
/// vectors are stored is left for the next round.
fn fill(
    memory: &Memory,
    embedder: &dyn Embedder,
    lacking: &[(Memory, Vec<NodeId>)],
    actor: &str,
    watch: &Watch<'_>,
) -> Result<u64> {
    let all: u64 = lacking.iter().map(|(_, ids)| ids.len() as u64).sum();
    let (mut done, mut made) = (0, 0);
    for (own, ids) in lacking {
        for chunk in ids.chunks(CHUNK) {
            (watch.go_on)()?;
            let nodes: Result<Vec<Option<Node>>> = chunk.iter().map(|&id| own.store.node(id)).collect();
            let nodes: Vec<Node> = nodes?.into_iter().flatten().collect();
            let parts = plan::vectors(&memory.config.vectors, embedder, &nodes.iter().collect::<Vec<_>>())?;
            let cause = memory.cause(actor, "embed_migrate");
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
            done += chunk.len() as u64;
            (watch.progress)(done, all);
        }
    }
    Ok(made)
}

#[cfg(test)]
mod tests;
