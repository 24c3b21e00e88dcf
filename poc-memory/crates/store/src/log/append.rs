//! The writing side of the log.

use super::segment::{HEADER, Header};
use super::{Log, RecordPosition, modified_at, segment_path};
use crate::disk::{AppendFile, Disk};
use std::io;
use std::sync::Arc;

/// Limits that tests make small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes after which a new segment begins.
    pub(crate) segment: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { segment: 64 << 20 }
    }
}

/// Appends records. A log has one appender. After its first error it must not be used again, because the
/// state on disk is then unknown.
pub(crate) struct Appender {
    log: Arc<Log>,
    disk: Arc<dyn Disk>,
    limits: Limits,
    open: Option<Open>,
}

struct Open {
    file: Box<dyn AppendFile>,
    first: u64,
    length: u64,
}

impl Appender {
    /// Continues after the last record of the log.
    pub(crate) fn new(log: Arc<Log>, disk: Arc<dyn Disk>, limits: Limits) -> io::Result<Self> {
        let last = log.index.read().segments.last().map(|segment| segment.first);
        let open = match last {
            Some(first) => {
                let path = segment_path(&log.directory, first);
                let length = std::fs::metadata(&path)?.len();
                // Readers will see records that a killed process wrote and never synced.
                let mut file = disk.append(&path)?;
                file.sync()?;
                disk.sync_directory(&log.directory)?;
                Some(Open { file, first, length })
            }
            None => None,
        };
        Ok(Appender { log, disk, limits, open })
    }

    /// Appends records, in order and without gaps, and makes them durable with one sync.
    pub(crate) fn append(&mut self, records: &[(u64, &[u8])]) -> io::Result<()> {
        let Some(&(first, _)) = records.first() else { return Ok(()) };
        let full = self.open.as_ref().is_none_or(|open| open.length >= self.limits.segment);
        if full {
            self.open = Some(self.start_segment(first)?);
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        let bytes = records.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>().concat();
        open.file.write_all(&bytes)?;
        open.file.sync()?;
        let mut index = self.log.index.write();
        for (seq, bytes) in records {
            let position = RecordPosition { seq: *seq, segment: open.first, offset: open.length };
            index.add_record(position, bytes.len() as u64);
            open.length += bytes.len() as u64;
        }
        Ok(())
    }

    fn start_segment(&self, first: u64) -> io::Result<Open> {
        let path = segment_path(&self.log.directory, first);
        let mut file = self.disk.create(&path)?;
        file.write_all(&Header::new(first).encode())?;
        file.sync()?;
        self.disk.sync_directory(&self.log.directory)?;
        let before =
            self.open.as_ref().and_then(|open| modified_at(&segment_path(&self.log.directory, open.first)));
        let mut index = self.log.index.write();
        index.complete_segment(before);
        index.start_segment(first);
        Ok(Open { file, first, length: HEADER as u64 })
    }
}
