//! Appends records to the current segment of the log and syncs them (`fdatasync`). `group_commit.rs` calls it once per
//! group of transactions. Records of a shared log are synced later, several groups at once.

use super::inspect::PrefixEnd;
use super::segment::{HEADER, Header};
use super::snapshot::{SegmentState, check_segment};
use super::{Log, RecordPosition, changed_length, missing_file, modified_at, segment_path};
use crate::disk::{AppendFile, Disk, FileId};
use crate::log_head::LogHead;
use crate::quarantine::QuarantineFolder;
use parking_lot::Mutex;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

/// Another program has changed the files of the log, so they no longer contain what was written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ChangedLog(String);

impl ChangedLog {
    /// Whether an operation failed for this reason.
    pub(crate) fn is_cause(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<ChangedLog>())
    }
}

fn changed(problem: String) -> io::Error {
    io::Error::other(ChangedLog(problem))
}

/// Sizes of the log that tests can lower.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogLimits {
    /// Size in bytes from which a new segment is started.
    pub(crate) segment: u64,
    /// Size of the disk reserve, in bytes.
    pub(crate) reserve: u64,
    /// Size in bytes of acknowledged records of a shared log from which their copy is synced. After a power failure, an
    /// open reads about as much from the shared log again.
    pub(crate) unsynced: u64,
}

impl Default for LogLimits {
    fn default() -> Self {
        LogLimits { segment: 64 << 20, reserve: crate::disk_reserve::RESERVE_BYTES, unsynced: 1 << 20 }
    }
}

/// Appends records. A log has only one appender.
///
/// After an error, it is unknown what is on disk after the last record. [`Appender::resume`] must then succeed before the
/// next append.
pub(crate) struct Appender {
    log: Arc<Log>,
    disk: Arc<dyn Disk>,
    limits: LogLimits,
    open: Option<OpenSegment>,
    cleanup: PendingCleanup,
    /// Receives the number of the last record after every sync, if the log has such a file.
    head: Option<LogHead>,
}

struct OpenSegment {
    file: Box<dyn AppendFile>,
    first: u64,
    /// The offset of the end of the last record, in bytes.
    length: u64,
    /// The last bytes before that offset, of records that are not synced yet.
    unsynced: Vec<u8>,
}

/// The work to be done before records can be appended.
#[derive(Default)]
struct PendingCleanup {
    /// The log is not yet open for writing.
    is_closed: bool,
    /// The end of an interrupted write, which must first be moved to the quarantine.
    tail: Option<(PrefixEnd, Arc<QuarantineFolder>)>,
    /// There may be bytes after the last record.
    is_torn: bool,
    /// A sync of the open segment has failed.
    is_unsynced: bool,
    /// The operating system may have dropped records that are not synced, so they must be written again.
    must_rewrite: bool,
    /// A segment whose creation failed.
    incomplete_segment: Option<PathBuf>,
}

impl Appender {
    /// Creates an appender that continues after the last record of the log, once [`Appender::resume`] has succeeded.
    /// The end of an interrupted write is moved to the quarantine.
    pub(crate) fn new(
        log: Arc<Log>,
        disk: Arc<dyn Disk>,
        limits: LogLimits,
        tail: Option<(PrefixEnd, Arc<QuarantineFolder>)>,
    ) -> Self {
        let cleanup = PendingCleanup { is_closed: true, tail, ..PendingCleanup::default() };
        Appender { log, disk, limits, open: None, cleanup, head: None }
    }

    /// Lets appends end before their records are durable, because the shared log has them.
    pub(crate) fn defer_syncs(&self) {
        self.log.defer_syncs();
    }

    /// Shares the appender with the threads that need its records to be durable; see [`Log::sync`].
    pub(crate) fn share(self) -> Arc<Mutex<Appender>> {
        let log = self.log.clone();
        let shared = Arc::new(Mutex::new(self));
        log.set_appender(Arc::downgrade(&shared));
        shared
    }

    /// Whether a failed write may have left bytes after the last record.
    pub(crate) fn is_torn(&self) -> bool {
        self.cleanup.is_torn
    }

    /// Adds the file for the number of the last record.
    pub(crate) fn set_head(&mut self, head: LogHead) {
        self.head = Some(head);
    }

    /// Saves the number of the last record that is on disk.
    fn write_head(&mut self) {
        if let Some(head) = &mut self.head {
            head.write(self.log.synced_seq());
        }
    }

    /// Restores the files to a state in which records can be appended. It may be called again after an error. If
    /// something was moved to the quarantine, returns a message about it for people.
    pub(crate) fn resume(&mut self) -> io::Result<Option<String>> {
        let mut moved = None;
        self.or_reopened(self.check_files())?;
        if let Some((end, quarantine)) = &self.cleanup.tail {
            moved = Some(end.move_tail(quarantine, self.disk.as_ref())?);
            self.cleanup.tail = None;
        }
        if self.cleanup.is_closed {
            self.open = self.open_last()?;
            self.cleanup.is_closed = false;
            self.log.set_recovered();
        }
        self.remove_incomplete_segment()?;
        if self.cleanup.is_torn
            && let Some(open) = &mut self.open
        {
            let path = segment_path(&self.log.directory, open.first);
            // This syncs the file, too, and the new file handle would not learn that it has failed.
            self.disk
                .truncate(&path, open.length)
                .inspect_err(|_| self.cleanup.must_rewrite |= !open.unsynced.is_empty())?;
            open.file = self.disk.append(&path)?;
            self.cleanup.is_torn = false;
        }
        if self.cleanup.must_rewrite {
            self.sync()?;
        }
        self.write_head();
        Ok(moved)
    }

    /// Deletes a segment whose creation failed. If the log continued in the previous segment, this one would look like
    /// damage.
    fn remove_incomplete_segment(&mut self) -> io::Result<()> {
        if let Some(path) = &self.cleanup.incomplete_segment {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => self.disk.sync_directory(&self.log.directory)?,
            }
            self.cleanup.incomplete_segment = None;
        }
        Ok(())
    }

    fn open_last(&self) -> io::Result<Option<OpenSegment>> {
        let last = self.log.index.read().segments.last().map(|segment| segment.first);
        let Some(first) = last else { return Ok(None) };
        let path = segment_path(&self.log.directory, first);
        let length = std::fs::metadata(&path)?.len();
        // Readers will see records that a killed process wrote but never synced.
        let mut file = self.disk.append(&path)?;
        file.sync()?;
        self.disk.sync_directory(&self.log.directory)?;
        Ok(Some(OpenSegment { file, first, length, unsynced: Vec::new() }))
    }

    /// Checks by their lengths that the files of the log exist and contain what was written.
    ///
    /// # Errors
    /// [`ChangedLog`] otherwise.
    pub(crate) fn check_files(&self) -> io::Result<()> {
        self.check_open_segment()?;
        self.log.lost_bytes().map_or(Ok(()), |problem| Err(changed(problem)))
    }

    /// Checks that the path of the open segment still names the open file, and that the file ends where it was last
    /// written. Data written to another file would be in no log.
    fn check_open_segment(&self) -> io::Result<()> {
        let Some(open) = &self.open else { return Ok(()) };
        let path = segment_path(&self.log.directory, open.first);
        let found = match std::fs::metadata(&path) {
            Ok(found) => found,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(changed(missing_file(&path)));
            }
            Err(error) => return Err(error),
        };
        if FileId::of(&found) != open.file.id()? {
            return Err(changed(format!("`{}` was replaced by another file", path.display())));
        }
        // A failed write may have left bytes after the end, which will be cut off.
        let is_longer = found.len() > open.length && !self.cleanup.is_torn;
        if found.len() < open.length || is_longer {
            return Err(changed(changed_length(&path, found.len(), open.length)));
        }
        Ok(())
    }

    /// Returns the result of a check, unless the log was changed and a complete copy of the last segment can be opened.
    fn or_reopened(&mut self, checked: io::Result<()>) -> io::Result<()> {
        match checked {
            Err(error) if !(ChangedLog::is_cause(&error) && self.reopen_copy()?) => Err(error),
            _ => Ok(()),
        }
    }

    /// Reopens the last segment if its path names a copy of the written data, such as a restored file. Returns whether
    /// the whole log then exists.
    fn reopen_copy(&mut self) -> io::Result<bool> {
        let Some(open) = &mut self.open else { return Ok(false) };
        let path = segment_path(&self.log.directory, open.first);
        let is_copy = |found: Metadata| {
            found.len() == open.length
                && matches!(
                    check_segment(&path, open.first, u64::MAX),
                    Ok(SegmentState::Intact { last, bytes, .. }) if (last, bytes) == (self.log.last(), open.length)
                )
        };
        if !std::fs::metadata(&path).is_ok_and(is_copy) {
            return Ok(false);
        }
        let mut file = self.disk.append(&path)?;
        file.sync()?;
        open.file = file;
        open.unsynced = Vec::new();
        self.cleanup.is_torn = false;
        self.cleanup.must_rewrite = false;
        self.log.set_synced();
        Ok(self.check_files().is_ok())
    }

    /// Appends records, which must be in order and without gaps, and makes them durable with one sync, unless syncs are
    /// deferred and nobody needs the log on disk now. If that fails, what it has written is cut off again at once if
    /// possible: the process may end before the next [`Appender::resume`], and the next open would find the end of an
    /// interrupted write.
    pub(crate) fn append(&mut self, records: &[(u64, &[u8])]) -> io::Result<()> {
        self.try_append(records).inspect_err(|_| {
            if let Err(error) = self.resume() {
                tracing::debug!("the end of a failed write stays in the log for now: {error}");
            }
        })
    }

    fn try_append(&mut self, records: &[(u64, &[u8])]) -> io::Result<()> {
        let Some(&(first, _)) = records.first() else { return Ok(()) };
        self.or_reopened(self.check_open_segment())?;
        // A compaction may have created this segment.
        self.remove_incomplete_segment()?;
        if self.cleanup.must_rewrite {
            self.sync()?;
        }
        // The operating system may have dropped data that it could not write, so nothing is synced twice: records whose
        // sync failed are cut off, and the next ones go to a new segment.
        let needs_segment = self.open.as_ref().is_none_or(|open| {
            open.length >= self.limits.segment || self.cleanup.is_unsynced && open.first != first
        });
        if needs_segment {
            self.sync()?;
            self.open = Some(self.start_segment(first)?);
        }
        self.cleanup.is_unsynced = false;
        let must_sync = self.log.must_sync();
        let Some(open) = &mut self.open else { return Ok(()) };
        let bytes = records.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>().concat();
        self.cleanup.is_torn = true;
        open.file.write_all(&bytes)?;
        if must_sync {
            open.file.sync().inspect_err(|_| {
                self.cleanup.is_unsynced = true;
                self.cleanup.must_rewrite = !open.unsynced.is_empty();
            })?;
        }
        self.cleanup.is_torn = false;
        {
            let mut index = self.log.index.write();
            for (seq, bytes) in records {
                let position = RecordPosition { seq: *seq, segment: open.first, offset: open.length };
                index.add_record(position, bytes.len() as u64);
                open.length += bytes.len() as u64;
            }
        }
        if must_sync {
            open.unsynced = Vec::new();
            self.log.set_synced();
        } else {
            open.unsynced.extend_from_slice(&bytes);
        }
        self.write_head();
        Ok(())
    }

    /// Makes all records durable. Records whose sync has failed are written again in the same place, so that readers
    /// find them there meanwhile.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if self.cleanup.is_closed {
            return Err(io::Error::other("it is not open for writing"));
        }
        if self.cleanup.must_rewrite {
            self.check_open_segment()?;
        }
        let Some(open) = self.open.as_mut().filter(|open| !open.unsynced.is_empty()) else { return Ok(()) };
        if self.cleanup.must_rewrite {
            let synced_length = open.length - open.unsynced.len() as u64;
            let path = segment_path(&self.log.directory, open.first);
            self.disk.overwrite(&path, synced_length, &open.unsynced)?;
            self.cleanup.must_rewrite = false;
        } else {
            open.file.sync().inspect_err(|_| self.cleanup.must_rewrite = true)?;
        }
        open.unsynced = Vec::new();
        self.log.set_synced();
        Ok(())
    }

    /// Makes all records durable if those that are not take much space.
    pub(crate) fn limit_unsynced(&mut self) -> io::Result<()> {
        let bytes = self.open.as_ref().map_or(0, |open| open.unsynced.len());
        if (bytes as u64) < self.limits.unsynced { Ok(()) } else { self.sync() }
    }

    /// Starts a new segment, so that the previous one never changes again. Bytes that a failed write left at its end
    /// are cut off first.
    pub(crate) fn rotate(&mut self) -> io::Result<()> {
        self.resume()?;
        let last = self.log.last();
        if self.open.as_ref().is_some_and(|open| open.first <= last) {
            self.sync()?;
            self.open = Some(self.start_segment(last + 1)?);
        }
        Ok(())
    }

    /// Starts a segment. All records of the previous one must be durable: only the open segment can be synced later.
    fn start_segment(&mut self, first: u64) -> io::Result<OpenSegment> {
        let path = segment_path(&self.log.directory, first);
        self.cleanup.incomplete_segment = Some(path.clone());
        let mut file = self.disk.create(&path)?;
        file.write_all(&Header::new(first).encode())?;
        file.sync()?;
        self.disk.sync_directory(&self.log.directory)?;
        self.cleanup.incomplete_segment = None;
        let before =
            self.open.as_ref().and_then(|open| modified_at(&segment_path(&self.log.directory, open.first)));
        let mut index = self.log.index.write();
        index.complete_segment(before);
        index.start_segment(first);
        Ok(OpenSegment { file, first, length: HEADER as u64, unsynced: Vec::new() })
    }
}
