//! Merges tables into longer ones.

use super::merge_cursor::MergeCursor;
use super::table_files::GenerationRange;
use super::{LsmState, Run, Version};
use crate::engine::CHECK_RECORDS;
use crate::engine::sorted_table::TableWriter;
use poc_graph::error::Result;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Version {
    /// The number of newest tables that are due to be merged: each further table is included if it is at most 1.5 times
    /// as long as all newer ones together. A record is therefore rewritten a logarithmic number of times.
    pub(super) fn due_to_merge(&self) -> Option<usize> {
        let (mut sum, mut count) = (self.tables.first()?.table.length(), 1);
        while let Some(next) = self.tables.get(count)
            && next.table.length() <= sum + sum / 2
        {
            sum += next.table.length();
            count += 1;
        }
        (count > 1).then_some(count)
    }
}

impl LsmState {
    /// Merges tables until no merge is due, the engine is closing or all tables are about to be merged.
    pub(super) fn merge_while_due(&self) -> Result<()> {
        while !self.must_stop() {
            let current = self.current();
            let Some(count) = current.due_to_merge() else { return Ok(()) };
            self.merge(&current, count, &|| Ok(()))?;
        }
        Ok(())
    }

    /// Whether a merge in progress must end without a result.
    fn must_stop(&self) -> bool {
        self.is_closing.load(Ordering::SeqCst) || self.is_rewriting.load(Ordering::SeqCst)
    }

    /// Merges the newest `count` tables into one, unless the engine closes first. Calls `check_cancelled` often; its
    /// error leaves the tables as they are.
    pub(super) fn merge(
        &self,
        current: &Version,
        count: usize,
        check_cancelled: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let (merged, older) = current.tables.split_at(count);
        let (Some(newest), Some(oldest)) = (merged.first(), merged.last()) else { return Ok(()) };
        self.check_space(merged.iter().map(|run| run.table.length()).sum())?;
        let generations = GenerationRange { first: oldest.generations.first, last: newest.generations.last };
        let max_records = merged.iter().map(|run| run.table.records()).sum();
        let mut writer = TableWriter::create(&self.directory.join(generations.file_name()), max_records)?;
        let tables = merged.iter().map(|run| run.table.cursor_from(&[]));
        let mut records = self.check_damage(MergeCursor::new(tables))?;
        let mut read = 0u64;
        while let Some((key, value)) = records.record() {
            if self.must_stop() {
                return Ok(());
            }
            read += 1;
            if read.is_multiple_of(CHECK_RECORDS) {
                check_cancelled()?;
            }
            // Tombstones are kept unless the oldest table is included: without them, an older value would reappear.
            if !value.is_empty() || !older.is_empty() {
                writer.push(key, value)?;
            }
            self.check_damage(records.advance())?;
        }
        if self.must_stop() {
            return Ok(());
        }
        let table = Arc::new(writer.finish(newest.table.watermark())?);
        let obsolete: Vec<PathBuf> = merged.iter().map(|run| run.table.path().to_owned()).collect();
        self.update(|current| {
            // Newer tables may have been added in the meantime.
            let at = current.tables.iter().position(|run| run.generations == newest.generations);
            let Some(at) = at else { return };
            current.tables.splice(at..at + count, [Run { generations, table }]);
        });
        // The next open deletes leftovers. An abandoned engine deletes nothing by name, because the directory may
        // already belong to its successor.
        for path in obsolete.iter().filter(|_| !self.is_closing.load(Ordering::SeqCst)) {
            // Current readers have the file open and are not affected.
            let _ = fs::remove_file(path);
        }
        Ok(())
    }
}
