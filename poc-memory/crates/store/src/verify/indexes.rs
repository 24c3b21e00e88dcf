//! Compares the indexes with the records.

use super::{DamagedPart, MAX_LISTED, MISSING, StorePart, Verifier, WRONG_CHECKSUM, listed};
use crate::derived_index::{DerivedIndex, NoteDigests};
use crate::keys;
use crate::record_encoding::Record as _;
use crate::records::{Records as _, TenantRecords};
use crate::table::Table;
use crate::vector_encoding;
use poc_graph::error::Result;
use poc_graph::{Delta, Node, NodeId, Tenant};
use std::sync::Arc;

/// Number of notes that are indexed together.
const BATCH: usize = 200;
/// Maximum number of notes that are checked again.
const MAX_SUSPECTS: usize = 1000;

impl Verifier<'_> {
    /// Compares each index's data about every note with that derived from the records, and checks the index's
    /// files.
    pub(super) fn indexes(&self) -> Result<Vec<DamagedPart>> {
        let shared = &self.store.shared;
        let lagging = self.store.lagging_indexes();
        let mut findings = Vec::new();
        let tenants = shared.commits.tenants();
        for index in shared.index_workers.indexes() {
            let name = index.name();
            let damaged = index.damaged_files();
            findings.extend(damaged.into_iter().map(|path| {
                let message = match path.exists() {
                    true => WRONG_CHECKSUM,
                    false => MISSING,
                };
                DamagedPart { part: StorePart::Index, path, message: message.into(), is_rebuilt: false }
            }));
            // An index that is still being built is not checked; every answer already reports it.
            if lagging.iter().any(|(lagging, _)| *lagging == name) {
                continue;
            }
            for &tenant in &tenants {
                let differing = self.differing(index.as_ref(), tenant)?;
                shared.make_room();
                if !differing.is_empty() {
                    let notes: Vec<String> =
                        differing.iter().take(MAX_LISTED).map(|id| self.note_name(tenant, *id)).collect();
                    let message =
                        format!("the index differs from the records: {}", listed(&notes, differing.len()));
                    findings.push(self.finding(StorePart::Index, name, message));
                }
            }
        }
        Ok(findings)
    }

    fn note_name(&self, tenant: Tenant, id: NodeId) -> String {
        let view = self.store.shared.view(tenant);
        view.find(id).map_or_else(|| format!("note {id}"), |ix| format!("`{}`", view.key(ix)))
    }

    /// The notes of a tenant for which an index's data differs from the records.
    fn differing(&self, index: &dyn DerivedIndex, tenant: Tenant) -> Result<Vec<NodeId>> {
        let Some(mut found) = index.digests(tenant) else { return Ok(Vec::new()) };
        let records = TenantRecords { engine: self.store.shared.engine.as_ref(), tenant };
        let ids = records.raw_keys(Table::Nodes, &[])?;
        let ids = ids.iter().map(|key| keys::read_id(key)).collect::<Result<Vec<NodeId>>>()?;
        let mut suspects = Vec::new();
        for (number, batch) in ids.chunks(BATCH).enumerate() {
            (self.callbacks.progress)(index.name(), (number * BATCH) as u64, Some(ids.len() as u64));
            (self.callbacks.check_cancelled)()?;
            let mut expected = self.expected(index, tenant, batch)?;
            for id in batch {
                if expected.remove(id) != found.remove(id) && suspects.len() < MAX_SUSPECTS {
                    suspects.push(*id);
                }
            }
        }
        suspects.extend(found.into_keys().take(MAX_SUSPECTS));
        if suspects.is_empty() {
            return Ok(suspects);
        }
        self.at_rest(|_| {
            let found = index.digests(tenant).unwrap_or_default();
            let expected = self.expected(index, tenant, &suspects)?;
            suspects.retain(|id| expected.get(id) != found.get(id));
            suspects.sort_unstable();
            Ok(suspects)
        })
    }

    /// The data about some notes that an index should have according to the records.
    fn expected(&self, index: &dyn DerivedIndex, tenant: Tenant, ids: &[NodeId]) -> Result<NoteDigests> {
        let shared = &self.store.shared;
        let records = TenantRecords { engine: shared.engine.as_ref(), tenant };
        let mut deltas = Vec::new();
        for id in ids {
            let Some(bytes) = records.raw(Table::Nodes, id.as_bytes())? else { continue };
            deltas.push(Delta::Node(Arc::new(Node::decode(&bytes)?)));
            for (key, bytes) in records.raw_range(Table::Vectors, id.as_bytes())? {
                let (id, passage, embedder) = keys::read_vector(&key)?;
                if embedder == shared.embedder.as_bytes() {
                    deltas.push(Delta::Vector(id, passage, vector_encoding::decode(&bytes)?));
                }
            }
        }
        index.digests_of(&deltas)
    }
}
