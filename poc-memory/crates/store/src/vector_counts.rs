//! Counts the vectors of a store by embedder.

use super::records::TenantRecords;
use super::table::Table;
use super::{Store, keys, vector_encoding};
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// The name of the embedder in a vector's key is not UTF-8.
#[derive(Debug, thiserror::Error)]
#[error("the name of an embedder is not text")]
struct NotUtf8;

impl From<NotUtf8> for Error {
    fn from(error: NotUtf8) -> Error {
        Error::damaged(error.to_string())
    }
}

/// The vectors of an embedder in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedderCount {
    /// The name of the embedder.
    pub name: String,
    /// The number of its vectors, of all tenants.
    pub vectors: usize,
    /// The number of dimensions of its vectors.
    pub dimensions: usize,
}

impl Store {
    /// The nodes of this tenant that have a vector from an embedder.
    pub fn nodes_with_vectors(&self, embedder: &str) -> Result<FxHashSet<NodeId>> {
        let mut found = FxHashSet::default();
        self.records().scan(Table::Vectors, &[], &mut |key, _| {
            let (id, _, of) = keys::read_vector(key)?;
            if of == embedder.as_bytes() {
                found.insert(id);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The embedders of all tenants' vectors, those with most vectors first. Scans every vector.
    pub fn embedders(&self) -> Result<Vec<EmbedderCount>> {
        let mut counts: BTreeMap<Vec<u8>, (usize, usize)> = BTreeMap::new();
        for tenant in self.shared.commits.tenants() {
            let own = TenantRecords { engine: self.shared.engine.as_ref(), tenant };
            own.scan(Table::Vectors, &[], &mut |key, bytes| {
                let (_, _, of) = keys::read_vector(key)?;
                match counts.get_mut(of) {
                    Some((count, _)) => *count += 1,
                    None => drop(counts.insert(of.to_vec(), (1, vector_encoding::decode(bytes)?.len()))),
                }
                Ok(())
            })?;
        }
        let mut found: Vec<(Vec<u8>, (usize, usize))> = counts.into_iter().collect();
        found.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let count = |(name, (vectors, dimensions)): (Vec<u8>, (usize, usize))| -> Result<EmbedderCount> {
            let name = String::from_utf8(name).map_err(|_| NotUtf8)?;
            Ok(EmbedderCount { name, vectors, dimensions })
        };
        found.into_iter().map(count).collect()
    }
}
