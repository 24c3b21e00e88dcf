//! Merges the records of several tables without copying them.

use crate::engine::EngineError;
use crate::engine::sorted_table::TableCursor;

/// The records of several tables, sorted by key. If tables have the same key, the table that comes first wins.
pub(super) struct MergeCursor {
    tables: Vec<TableCursor>,
    /// The table with the current record; the number of tables after the last record.
    current: usize,
}

impl MergeCursor {
    /// A cursor at the first record. The tables are given by cursors that have not started, newest first.
    pub(super) fn new(tables: impl Iterator<Item = TableCursor>) -> Result<MergeCursor, EngineError> {
        let mut cursor = MergeCursor { tables: tables.collect(), current: 0 };
        for table in &mut cursor.tables {
            table.advance()?;
        }
        cursor.find_smallest();
        Ok(cursor)
    }

    /// The key and the stored value of the current record; `None` after the last.
    pub(super) fn record(&self) -> Option<(&[u8], &[u8])> {
        self.tables.get(self.current)?.record()
    }

    /// Advances to the next record.
    pub(super) fn advance(&mut self) -> Result<(), EngineError> {
        let Some((newer, older)) = self.tables.split_at_mut_checked(self.current + 1) else { return Ok(()) };
        let Some(current) = newer.last_mut() else { return Ok(()) };
        let key = current.record().map(|(key, _)| key);
        for table in older {
            if table.record().map(|(key, _)| key) == key {
                table.advance()?;
            }
        }
        current.advance()?;
        self.find_smallest();
        Ok(())
    }

    /// The table whose current block starts with the current record, if no other table has a record between the first
    /// and the last one of the block.
    pub(super) fn undivided_block(&self) -> Option<&TableCursor> {
        let current = self.tables.get(self.current)?;
        let end = current.end_of_new_block()?;
        let others = self.tables.iter().enumerate().filter(|(at, _)| *at != self.current);
        let mut keys = others.filter_map(|(_, other)| Some(other.record()?.0));
        keys.all(|key| end <= key).then_some(current)
    }

    /// Advances to the next record after the current block of the table with the current record.
    pub(super) fn skip_block(&mut self) -> Result<(), EngineError> {
        if let Some(current) = self.tables.get_mut(self.current) {
            current.skip_block()?;
        }
        self.find_smallest();
        Ok(())
    }

    /// Finds the table with the smallest key; of equal keys, that of the first table.
    fn find_smallest(&mut self) {
        let tables = self.tables.iter().enumerate();
        let keys = tables.filter_map(|(at, table)| Some((at, table.record()?.0)));
        let smallest = keys.min_by(|(_, a), (_, b)| a.cmp(b));
        self.current = smallest.map_or(self.tables.len(), |(at, _)| at);
    }
}
