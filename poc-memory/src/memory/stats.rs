//! How much there is of everything.

use super::Memory;
use crate::error::{Error, Result};
use crate::graph::{Edge, View};
use crate::rank::decay::weight_at;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Counts and sizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Nodes in any state.
    pub nodes: u64,
    /// Nodes that searches see.
    pub live: u64,
    /// Edges of every kind.
    pub edges: u64,
    /// Different keywords of live nodes.
    pub keywords: u64,
    /// Nodes by type.
    pub by_type: BTreeMap<String, u64>,
    /// Nodes by state.
    pub by_state: BTreeMap<String, u64>,
    /// Edges by kind.
    pub by_edge_kind: BTreeMap<String, u64>,
    /// Average weight of live nodes, as decayed to now.
    pub average_weight: f64,
    /// Size of the log on disk, in bytes.
    pub log_bytes: u64,
    /// Size of the records on disk, in bytes.
    pub record_bytes: u64,
    /// Size of the saved indexes on disk, in bytes.
    pub index_bytes: u64,
}

/// Counts everything in a view, and the edges of every kind that are stored now.
pub fn count(memory: &Memory, view: &View) -> Result<Stats> {
    let now = memory.now();
    let mut stats = Stats::default();
    let mut keywords: BTreeSet<u32> = BTreeSet::new();
    let mut weights = 0.0;
    for ix in 0..view.slots() {
        let Some(state) = view.state(ix) else { continue };
        stats.nodes += 1;
        *stats.by_type.entry(view.type_name(ix).to_owned()).or_default() += 1;
        *stats.by_state.entry(state.name().to_owned()).or_default() += 1;
        if state.is_live() {
            stats.live += 1;
            keywords.extend(view.keywords(ix));
            weights += weight_at(view, ix, &memory.config.weight, now);
        }
    }
    stats.keywords = keywords.len() as u64;
    if stats.live > 0 {
        stats.average_weight = weights / stats.live as f64;
    }
    for (_, edge) in memory.store.scan::<Edge>(&[])? {
        stats.edges += 1;
        *stats.by_edge_kind.entry(edge.kind.name().to_owned()).or_default() += 1;
    }
    (stats.log_bytes, stats.record_bytes) = memory.store.sizes()?;
    let store = memory.paths.store();
    stats.index_bytes =
        size(&store.join("text"))? + size(&store.join("vectors"))? + size(&memory.paths.structure())?;
    Ok(stats)
}

/// Bytes of the files below a folder; 0 when it is not there.
fn size(folder: &Path) -> Result<u64> {
    let wrong =
        |error| Error::internal(format!("cannot be measured: {error}")).file(folder.display().to_string());
    let mut bytes = 0;
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(wrong(error)),
    };
    for entry in entries {
        let entry = entry.map_err(wrong)?;
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes += size(&entry.path())?,
            Ok(metadata) => bytes += metadata.len(),
            // Replaced by a newer file in between.
            Err(_) => {}
        }
    }
    Ok(bytes)
}
