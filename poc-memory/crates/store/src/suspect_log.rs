//! Recognises a damaged log.

use crate::engine::lsm;
use crate::log::PrefixEnd;
use crate::view_file;
use poc_graph::error::Result;
use std::path::Path;
use std::time::Duration;

/// A log that may be damaged, and whose valid prefix ends with transaction `last`.
pub(crate) struct SuspectLog<'a> {
    pub(crate) directory: &'a Path,
    /// Where the prefix ends, if further bytes follow it.
    pub(crate) prefix_end: Option<&'a PrefixEnd>,
    pub(crate) last: u64,
    /// Maximum time between two heartbeats of the record engine.
    pub(crate) heartbeat_timeout: Duration,
}

impl SuspectLog<'_> {
    /// Whether any intact part of the store is newer than the prefix. Otherwise the bytes after the prefix are the end
    /// of an interrupted write.
    pub(crate) fn is_damaged(&self) -> Result<bool> {
        if view_file::claimed_seq(self.directory) > self.last {
            let saved = view_file::read(self.directory);
            if saved.is_some_and(|saved| saved.seq() > self.last) {
                return Ok(true);
            }
        }
        let newest = lsm::newest_seq(&self.directory.join("records"), self.heartbeat_timeout)?;
        Ok(newest > self.last
            || self.prefix_end.is_some_and(|end| end.precedes_intact_records().unwrap_or(true)))
    }
}
