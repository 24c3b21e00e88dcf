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
use std::sync::atomic::{AtomicBool, Ordering};

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
        // Tombstones are kept unless the oldest table is included: without them, an older value would reappear.
        let keep_tombstones = !older.is_empty();
        let mut unchecked = 0u64;
        while let Some((key, value)) = records.record() {
            if self.must_stop() {
                return Ok(());
            }
            if unchecked >= CHECK_RECORDS {
                unchecked = 0;
                check_cancelled()?;
            }
            // The ids of new notes ascend, so most blocks of their records are not divided by records of other tables.
            if let Some(block) = records.undivided_block() {
                let copied = self.check_damage(writer.push_block(block, keep_tombstones))?;
                if copied > 0 {
                    unchecked += copied;
                    self.check_damage(records.skip_block())?;
                    continue;
                }
            }
            unchecked += 1;
            if !value.is_empty() || keep_tombstones {
                writer.push(key, value)?;
            }
            self.check_damage(records.advance())?;
        }
        if self.must_stop() {
            return Ok(());
        }
        let table = Arc::new(writer.finish(newest.table.watermark())?);
        let obsolete: Vec<PathBuf> = merged.iter().rev().map(|run| run.table.path().to_owned()).collect();
        self.update(|current| {
            // Newer tables may have been added in the meantime.
            let at = current.tables.iter().position(|run| run.generations == newest.generations);
            let Some(at) = at else { return };
            current.tables.splice(at..at + count, [Run { generations, table }]);
        });
        delete_obsolete(&obsolete, &self.is_closing);
        Ok(())
    }
}

/// Deletes merged tables, oldest first: a salvage that finds some of them must find the tombstones of all that they
/// have. Stops at the first that cannot be deleted; the next open deletes leftovers. Current readers have the files open
/// and are not affected.
fn delete_obsolete(oldest_first: &[PathBuf], is_closing: &AtomicBool) {
    for path in oldest_first {
        // An abandoned engine deletes nothing by name, because the directory may already belong to its successor.
        if is_closing.load(Ordering::SeqCst) || fs::remove_file(path).is_err() {
            return;
        }
    }
}
