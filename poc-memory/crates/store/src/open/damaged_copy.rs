//! Restores the damaged copy of a shared log from that log.
//!
//! Nothing changes before the shared log was found to be the one that was copied, and to reach as far as any part of the
//! copy; only files derived from the log may then be deleted. If the valid prefix of the copy can be continued, only
//! what follows it is read again. Otherwise the copy is moved to the quarantine and begins anew.

use super::{StoreOptions, create_log_directory};
use crate::engine::Watermark;
use crate::log::{self, Log, PrefixEnd, frame};
use crate::log_head;
use crate::repair;
use crate::salvaged_records::SalvagedRecords;
use crate::shared_log::{DeletedHistory, SharedLog};
use crate::shared_log_copy::SharedLogCopy;
use crate::shared_snapshot::{self, CopyBeginning, CopyStart, SnapshotFiles};
use crate::suspect_log::SuspectLog;
use crate::view_file;
use poc_graph::error::{Error, Result};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Why the damaged copy of a shared log is not restored from it.
#[derive(Debug, thiserror::Error)]
enum DamagedCopyError {
    #[error("the folder was used without the shared log, and may have changes of its own")]
    OwnChanges,
    #[error("no intact part of the folder shows that it is a copy of `{address}`")]
    Unknown { address: String },
    #[error("`{address}` is another memory, or has lost changes that the folder has")]
    OtherMemory { address: String },
    #[error("`{address}` ends at change {head}, but the folder has changes up to {known}")]
    Shorter { address: String, head: u64, known: u64 },
    /// A database that had lost changes may have others with their numbers now.
    #[error(
        "the folder has changes up to {known}, but only those up to {seq} can be compared with `{address}`"
    )]
    Unreadable { address: String, seq: u64, known: u64 },
}

impl From<DamagedCopyError> for Error {
    fn from(error: DamagedCopyError) -> Error {
        Error::conflict(error.to_string())
    }
}

/// A copy whose log is a valid prefix of the shared log again, or empty. Its end is read from the shared log next.
pub(super) struct RestoredCopy {
    pub(super) log: Arc<Log>,
    /// Where the prefix ends, if further bytes follow it. They must be moved to the quarantine.
    pub(super) prefix_end: Option<PrefixEnd>,
    /// The derived files of the snapshot with which the copy begins now.
    pub(super) files: Option<SnapshotFiles>,
    /// The last record that the records or the saved view, which are still in use, have and the log may lack; 0 if there
    /// is none.
    pub(super) newest_derived: u64,
    /// What was done, for people.
    pub(super) messages: Vec<String>,
}

/// The restored copy, or why it could not be restored. Nothing has changed then.
pub(super) type RestoreOutcome = Result<RestoredCopy>;

/// Restores the damaged copy of a shared log in the folder of a store, whose lock the caller holds. `start` says where a
/// copy begins that begins anew.
///
/// # Errors
/// Errors of the disk and of the shared log after the copy was moved, or its move has begun. The next open continues.
pub(super) fn restore(
    directory: &Path,
    (shared, start): (&Arc<dyn SharedLog>, CopyStart),
    options: &StoreOptions,
) -> Result<RestoreOutcome> {
    let put_aside = RefCell::new(None);
    match restore_with(directory, (shared, start), options, &put_aside) {
        Err(error) if put_aside.borrow().is_none() && !repair::is_interrupted(directory) => Ok(Err(error)),
        restored => restored.map(Ok),
    }
}

/// Like [`restore`]. `put_aside` becomes the name of the folder in the quarantine to which the copy was moved.
fn restore_with(
    directory: &Path,
    (shared, start): (&Arc<dyn SharedLog>, CopyStart),
    options: &StoreOptions,
    put_aside: &RefCell<Option<String>>,
) -> Result<RestoredCopy> {
    let damaged = DamagedCopy::read(directory, options.heartbeat_timeout)?;
    let deleted = damaged.require_same(shared.as_ref())?;
    let log_directory = directory.join("log");
    if damaged.can_continue(deleted) {
        let (log, prefix_end) = log::inspect(&log_directory, true)?;
        let log = Arc::new(log);
        // The newest record may be known from the records or the view only, and the log be that of another memory.
        SharedLogCopy::new(shared.clone(), log.clone()).check_again()?;
        let message = format!(
            "the copy of the shared log was damaged: {}; its changes after {} are read from the shared log again",
            damaged.problem,
            log.last()
        );
        let newest_derived = damaged.newest_derived;
        return Ok(RestoredCopy { log, prefix_end, files: None, newest_derived, messages: vec![message] });
    }
    let move_aside = || -> Result<()> {
        if put_aside.borrow().is_none() {
            let folder = repair::put_copy_aside(directory)?;
            *put_aside.borrow_mut() = Some(folder);
        }
        Ok(())
    };
    create_log_directory(&log_directory, directory, options.disk.as_ref())?;
    let (files, from) = match shared_snapshot::fetch(
        directory,
        options.disk.as_ref(),
        shared.as_ref(),
        start,
        &move_aside,
    )? {
        CopyBeginning::Snapshot(files) => (files, "a snapshot, without earlier history"),
        CopyBeginning::FirstRecord(_) => {
            move_aside()?;
            (None, "the first change that the shared log has")
        }
    };
    let (log, prefix_end) = log::inspect(&log_directory, true)?;
    let folder = put_aside.borrow().clone().unwrap_or_default();
    let mut messages = vec![format!(
        "the copy of the shared log was damaged: {}; it was moved to `quarantine/{folder}`, and the copy begins anew with {from}",
        damaged.problem
    )];
    if damaged.base < deleted.erased {
        // The new copy does not have these texts, so it does not know what to search for.
        messages.push(format!(
            "another daemon has erased texts that the damaged copy may have had: the prompts of runs and the quarantine on \
             this machine, which now has `quarantine/{folder}`, were not searched for them"
        ));
    }
    Ok(RestoredCopy { log: Arc::new(log), prefix_end, files, newest_derived: 0, messages })
}

/// What the folder of a damaged copy shows about the log that was copied.
struct DamagedCopy {
    /// What is damaged, as a sentence for people.
    problem: String,
    /// The last record of the valid prefix; 0 without any.
    last: u64,
    /// Whether the prefix has a record after or at the end of the state with which it begins.
    is_prefix_complete: bool,
    /// The last record that any part mentions.
    known: u64,
    /// The last record after the prefix that the records or the saved view mention; 0 if they do not mention any.
    newest_derived: u64,
    /// The last record of the state with which the log begins; 0 without such a state, or if it cannot be read.
    base: u64,
    /// The number and the checksum of the newest record whose checksum an intact part has.
    newest: Option<(u64, u32)>,
    /// The identity of the log, if its beginning is intact.
    origin: Option<[u8; 16]>,
}

impl DamagedCopy {
    /// Reads the whole log, the saved view and, if these do not show the newest record, the records.
    fn read(directory: &Path, heartbeat_timeout: Duration) -> Result<DamagedCopy> {
        if log_head::exists(directory) {
            return Err(DamagedCopyError::OwnChanges.into());
        }
        let log_directory = directory.join("log");
        let (prefix, prefix_end) = log::inspect(&log_directory, true)?;
        let last = prefix.last();
        // A state that ends between two of its records has no wrong byte.
        let is_prefix_complete = prefix_end.as_ref().is_none_or(|end| !end.is_in_state())
            && last >= prefix.base_seq()
            && prefix.read(last)?.is_some();
        let (prefix_end, is_copy) = (prefix_end.as_ref(), true);
        let suspect =
            SuspectLog { directory, prefix_end, last, is_copy, unreplaced_copy: None, heartbeat_timeout };
        let newer = suspect.newer_parts()?;
        let problem = suspect.problem(&newer, false);
        let intact = log::salvage(prefix, prefix_end)?;
        let known = intact.last().max(newer.seq);
        // The shared log does not have the records of a state.
        let of_log = intact.read(intact.last())?.filter(|(txn, _)| !txn.is_state());
        let of_view = view_file::read(directory).map(|saved| saved.last_record());
        let mut newest = of_log.map(|(txn, checksum)| (txn.seq, checksum)).max(of_view);
        if newest.is_none_or(|(seq, _)| seq < known) {
            let (folder, empty) = (directory.join("records"), Arc::new(Log::empty(&log_directory)));
            if let Ok(records) = SalvagedRecords::of(&folder, empty, heartbeat_timeout)? {
                let Watermark { seq, checksum } = records.engine.watermark()?;
                newest = newest.max(Some((seq, checksum)).filter(|(seq, _)| *seq > 0));
            }
        }
        Ok(DamagedCopy {
            problem,
            last,
            is_prefix_complete,
            known,
            newest_derived: newer.seq,
            base: intact.base_seq(),
            newest,
            origin: intact.origin()?,
        })
    }

    /// Fails unless the shared log is the one that was copied and reaches as far as the copy. Returns what was deleted
    /// from it.
    fn require_same(&self, shared: &dyn SharedLog) -> Result<DeletedHistory> {
        let (address, known) = (shared.address(), self.known);
        let Some((seq, checksum)) = self.newest else {
            return Err(DamagedCopyError::Unknown { address }.into());
        };
        let (head, deleted) = (shared.head()?, shared.deleted()?);
        if head < known {
            return Err(DamagedCopyError::Shorter { address, head, known }.into());
        }
        if seq < self.newest_derived {
            return Err(DamagedCopyError::Unreadable { address, seq, known }.into());
        }
        let is_same = if seq <= deleted.last {
            let Some(origin) = self.origin else {
                return Err(DamagedCopyError::Unknown { address }.into());
            };
            origin == deleted.origin
        } else {
            let record = shared.read(seq - 1, 1)?.into_iter().next();
            record.is_some_and(|record| record.seq == seq && frame(seq, &record.payload).1 == checksum)
        };
        is_same.then_some(deleted).ok_or_else(|| DamagedCopyError::OtherMemory { address }.into())
    }

    /// Whether the shared log continues the valid prefix.
    fn can_continue(&self, deleted: DeletedHistory) -> bool {
        self.last > deleted.last && self.is_prefix_complete
    }
}
