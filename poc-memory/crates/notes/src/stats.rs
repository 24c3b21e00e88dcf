//! Counts and sizes of a memory.

use super::Memory;
use super::samples::{self, SampleKind};
use poc_graph::error::{Error, Result};
use poc_graph::{View, cancellation};
use poc_rank::decay::weight_at;
use poc_rank::histogram::Histogram;
use poc_store::{LoadedTenants, StoreSizes};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// Precedes the id of a tenant whose name is lost, in place of the name. No name begins like this.
pub const UNKNOWN_NAME: &str = "unknown name, id ";

/// Counts and sizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Nodes in any state.
    pub nodes: u64,
    /// Nodes that searches return.
    pub live: u64,
    /// Edges of every kind.
    pub edges: u64,
    /// Distinct keywords of live nodes.
    pub keywords: u64,
    /// Nodes by type.
    pub by_type: BTreeMap<String, u64>,
    /// Nodes by state.
    pub by_state: BTreeMap<String, u64>,
    /// Edges by kind.
    pub by_edge_kind: BTreeMap<String, u64>,
    /// Nodes of each tenant that has ever written, by name, or by [`UNKNOWN_NAME`] and its id if the name is lost. Only
    /// reported to the default tenant.
    pub by_tenant: Option<BTreeMap<String, u64>>,
    /// The tenants in memory. Only reported to the default tenant.
    pub loaded_tenants: Option<LoadedTenants>,
    /// Average weight of live nodes, decayed to now.
    pub average_weight: f64,
    /// Disk usage of all tenants together. Only reported to the default tenant.
    pub sizes: Option<DiskUsage>,
    /// How many transactions each index is behind, by its name.
    pub lags: BTreeMap<String, u64>,
    /// The cosines between new notes and their nearest notes.
    pub insert_cosines: Histogram,
    /// The cosines between queries and their hits.
    pub query_cosines: Histogram,
}

/// Disk usage in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUsage {
    /// Size of the log in bytes.
    pub log: u64,
    /// Size of the records in bytes.
    pub records: u64,
    /// Size of the saved indexes in bytes.
    pub indexes: u64,
}

/// Collects the statistics. All counts are maintained by the view; only the average weight needs a scan over
/// all nodes, because every weight decays at its own rate.
pub fn count(memory: &Memory, view: &View) -> Result<Stats> {
    let now = memory.now();
    let by_type = view.nodes_by_type().into_iter();
    let by_state = view.nodes_by_state().into_iter();
    let by_edge_kind = view.edges_by_kind().into_iter();
    let live = (0..view.slots()).filter(|&ix| view.is_live(ix)).take_while(|_| !cancellation::is_requested());
    let weights: f64 = live.map(|ix| weight_at(view, ix, &memory.config.weight, now)).sum();
    cancellation::check()?;
    let mut stats = Stats {
        nodes: view.node_count() as u64,
        live: view.live_count() as u64,
        edges: view.edges_by_kind().values().sum(),
        keywords: view.keyword_count() as u64,
        by_type: by_type.map(|(name, count)| (name.to_owned(), count)).collect(),
        by_state: by_state.map(|(state, count)| (state.name().to_owned(), count)).collect(),
        by_edge_kind: by_edge_kind.map(|(kind, count)| (kind.name().to_owned(), count)).collect(),
        average_weight: if view.live_count() > 0 { weights / view.live_count() as f64 } else { 0.0 },
        ..Stats::default()
    };
    // A tenant must not learn anything about others.
    if memory.store.tenant().is_default() {
        let tenants = memory.store.tenants()?.into_iter();
        let counted = tenants.map(|named| (named.tuple.to_string(), named.counts.nodes));
        let unnamed = memory.store.unnamed_tenants()?.into_iter();
        let unnamed = unnamed
            .map(|own| (format!("{UNKNOWN_NAME}{}", own.tenant()), own.counts().nodes))
            .filter(|(_, nodes)| *nodes > 0);
        stats.by_tenant = Some(counted.chain(unnamed).collect());
        stats.loaded_tenants = Some(memory.store.loaded_tenants());
        stats.sizes = Some(sizes(memory)?);
    }
    let lags = memory.store.lags(view.seq).into_iter();
    stats.lags = lags.map(|(name, lag)| (name.to_owned(), lag)).collect();
    stats.insert_cosines = samples::all(memory, SampleKind::Insert)?;
    stats.query_cosines = samples::all(memory, SampleKind::Query)?;
    Ok(stats)
}

fn sizes(memory: &Memory) -> Result<DiskUsage> {
    let StoreSizes { log, records } = memory.store.sizes()?;
    let store = memory.paths.store();
    let folders = crate::INDEX_FOLDERS.map(|name| store.join(name)).into_iter();
    let sizes = folders.chain([memory.paths.structure()]).map(|folder| size(&folder));
    let indexes = sizes.sum::<Result<u64>>()?;
    Ok(DiskUsage { log, records, indexes })
}

/// Bytes of the files below a folder; 0 if it does not exist or is not a folder.
fn size(folder: &Path) -> Result<u64> {
    let wrong =
        |error| Error::unavailable(format!("cannot be measured: {error}")).file(folder.display().to_string());
    let mut bytes = 0;
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(0);
        }
        Err(error) => return Err(wrong(error)),
    };
    for entry in entries {
        let entry = entry.map_err(wrong)?;
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes += size(&entry.path())?,
            Ok(metadata) => bytes += metadata.len(),
            // A newer file has replaced it since it was listed.
            Err(_) => {}
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_path_that_is_not_a_folder_has_size_0() {
        let folder = poc_graph::testing::folder();
        let file = folder.path().join("index");
        assert_eq!(size(&file).unwrap(), 0);
        fs::write(&file, "not an index").unwrap();
        assert_eq!(size(&file).unwrap(), 0);
        fs::create_dir(folder.path().join("more")).unwrap();
        fs::write(folder.path().join("more/snapshot"), "1234").unwrap();
        assert_eq!(size(folder.path()).unwrap(), 16);
    }
}
