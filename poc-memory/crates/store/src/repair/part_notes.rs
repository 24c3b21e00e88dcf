//! The notes in the readable parts of a damaged store, with which the choices of a repair are compared.

use super::part_files::part_files;
use crate::engine::{Watermark, lsm};
use crate::keys;
use crate::log::Log;
use crate::table::Table;
use crate::view_file::SavedViews;
use crate::views::Views;
use crate::watchdog::HEARTBEAT_TIMEOUT;
use poc_graph::error::Result;
use poc_graph::{NodeId, Tenant};
use rustc_hash::FxHashMap;
use std::path::Path;

/// The folder of the records.
pub(super) const RECORDS: &str = "records";

/// The notes of a part, each with the last transaction that its state in the part may reflect.
pub(super) struct PartNotes {
    /// The path of the part in the folder of the store.
    pub(super) name: &'static str,
    /// The last transaction that the part reflects.
    pub(super) last_seq: u64,
    notes: FxHashMap<(Tenant, NodeId), u64>,
}

impl PartNotes {
    /// The notes of the saved view, which is that of the default tenant.
    pub(super) fn of_view(saved: SavedViews) -> PartNotes {
        let (views, seq) = saved.into_parts();
        let view = &views.main;
        let ids = (0..view.slots()).filter(|&ix| view.state(ix).is_some()).filter_map(|ix| view.id(ix));
        let notes = ids.map(|id| ((Tenant::default(), id), seq)).collect();
        PartNotes { name: "view", last_seq: seq, notes }
    }

    /// The notes in the intact blocks of the records in a folder, even if the records as a whole cannot be used.
    ///
    /// # Errors
    /// `unavailable` if the temporary folder cannot be used.
    pub(super) fn of_records(folder: &Path) -> Result<PartNotes> {
        let mut newest: FxHashMap<(Tenant, NodeId), (u64, bool)> = FxHashMap::default();
        let mut last_seq = 0;
        // Folders that cannot be read are left out.
        for file in part_files(folder).into_iter().flatten() {
            lsm::each_intact_record(&file, HEARTBEAT_TIMEOUT, &mut |Watermark { seq, .. }, full, value| {
                last_seq = last_seq.max(seq);
                let Some((tenant, Table::Nodes, key)) = Table::split_engine_key(full) else { return };
                let Ok(id) = keys::read_id(key) else { return };
                let known = newest.entry((tenant, id)).or_insert((seq, value.is_some()));
                if known.0 <= seq {
                    *known = (seq, value.is_some());
                }
            })?;
        }
        let existing = newest.into_iter().filter(|(_, (_, exists))| *exists);
        let notes = existing.map(|(note, (seq, _))| (note, seq)).collect();
        Ok(PartNotes { name: RECORDS, last_seq, notes })
    }

    /// Removes the notes that the intact records of the log delete later.
    pub(super) fn remove_deleted(&mut self, log: &Log) -> Result<()> {
        let Some(first) = self.notes.values().min().copied() else { return Ok(()) };
        log.replay(first + 1, log.last(), &mut |txn, _| {
            for write in
                txn.writes.iter().filter(|write| write.table == Table::Nodes && write.after.is_none())
            {
                let note = (txn.tenant, keys::read_id(&write.key)?);
                if self.notes.get(&note).is_some_and(|seq| *seq < txn.seq) {
                    self.notes.remove(&note);
                }
            }
            Ok(())
        })
    }

    /// The number of notes.
    pub(super) fn count(&self) -> u64 {
        self.notes.len() as u64
    }

    /// The number of notes that are not in the views.
    pub(super) fn missing_in(&self, views: &Views) -> u64 {
        let is_missing =
            |(tenant, id): &&(Tenant, NodeId)| views.get(tenant).is_none_or(|view| view.find(*id).is_none());
        self.notes.keys().filter(is_missing).count() as u64
    }
}
