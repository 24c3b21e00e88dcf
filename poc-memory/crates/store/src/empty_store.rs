//! Empty stores, which contain only data that a daemon and read-only commands write on their own.

use crate::lock::Lock;
use crate::table::Table;
use crate::watchdog::HEARTBEAT_TIMEOUT;
use crate::{Store, disk, log, log_head, suspect_log};
use poc_graph::error::{Error, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a directory cannot be checked or deleted.
#[derive(Debug, thiserror::Error)]
enum EmptyStoreError {
    #[error("`{}` cannot be read: {source}", folder.display())]
    Read { folder: PathBuf, source: io::Error },
    #[error("`{}` cannot be deleted: {source}", directory.display())]
    Delete { directory: PathBuf, source: io::Error },
}

impl From<EmptyStoreError> for Error {
    fn from(error: EmptyStoreError) -> Error {
        Error::unavailable(error.to_string())
    }
}

const LOCK: &str = "lock";
const LOG: &str = "log";

/// The files and folders that a new store has, or that are created again if they are missing.
const NAMES_OF_EMPTY: [&str; 11] = [
    LOCK,
    LOG,
    log_head::NAME,
    "records",
    "view",
    "reserve",
    "embedder.json",
    "verification.json",
    "text",
    "vectors",
    "mentions",
];

/// The tables that a daemon and read-only commands write to on their own.
const INCIDENTAL: [Table; 5] =
    [Table::Meta, Table::Agents, Table::AgentStates, Table::Occurrences, Table::Samples];

/// Maximum size in bytes of the log of an empty store. A longer log certainly has other records, so
/// it is not read.
const MAX_LOG_BYTES: u64 = 4 << 20;

/// The only file in the records folder of a store without any transaction.
const HIGHEST_SEQ_FILE: &str = "last";

/// Whether a directory contains an empty store and nothing else.
///
/// # Errors
/// `locked` if a process has an empty store open, and `unavailable` if the directory cannot be
/// read.
pub fn is_empty_store(directory: &Path) -> Result<bool> {
    Ok(locked_if_empty(directory)?.is_some())
}

/// Deletes an empty store. Returns whether there was one.
///
/// # Errors
/// Those of [`is_empty_store`], and `unavailable` if the store cannot be deleted.
pub fn delete_empty_store(directory: &Path) -> Result<bool> {
    let Some(_lock) = locked_if_empty(directory)? else { return Ok(false) };
    delete(directory, &mut disk::remove)
        .map_err(|source| EmptyStoreError::Delete { directory: directory.to_owned(), source })?;
    Ok(true)
}

/// Deletes the folder of an empty store. `remove` deletes a file or a folder if it exists. What is derived from the log
/// comes first: without the log, an open would take what an interruption leaves for a damaged store.
fn delete(directory: &Path, remove: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    let derived = NAMES_OF_EMPTY.into_iter().filter(|name| ![LOCK, LOG].contains(name));
    derived.map(|name| directory.join(name)).try_for_each(|path| remove(&path))?;
    let log = directory.join(LOG);
    log::remove_segments(&log)?;
    remove(&log)?;
    // Without it, another process may create a store there, so nothing else is deleted afterwards.
    remove(&directory.join(LOCK))?;
    fs::remove_dir(directory)
}

/// Takes the lock of an empty store; `None` if the directory does not contain one.
fn locked_if_empty(directory: &Path) -> Result<Option<Lock>> {
    // The first check needs no lock: a store with notes is not empty, even if another process has
    // it open.
    if !Store::exists(directory) || !is_empty(directory)? {
        return Ok(None);
    }
    let lock = Lock::take(&directory.join(LOCK))?;
    Ok(is_empty(directory)?.then_some(lock))
}

/// Whether the store is empty. A part that cannot be read does not count as empty.
fn is_empty(directory: &Path) -> Result<bool> {
    if !names(directory)?.iter().all(|name| NAMES_OF_EMPTY.contains(&name.as_str())) {
        return Ok(false);
    }
    let newest = suspect_log::claimed_seq(directory, HEARTBEAT_TIMEOUT)?;
    if names(&directory.join(LOG))?.is_empty() {
        let without_records = names(&directory.join("records"))?.iter().all(|name| name == HIGHEST_SEQ_FILE);
        return Ok(newest == 0 && without_records && !directory.join("view").exists());
    }
    let (log, end) = log::inspect(&directory.join(LOG), true)?;
    let is_whole = end.is_none() && log.first() == 1 && newest <= log.last();
    if !is_whole || log.bytes() > MAX_LOG_BYTES {
        return Ok(false);
    }
    let mut is_incidental = true;
    log.replay(1, log.last(), &mut |txn, _| {
        is_incidental &= txn.writes.iter().all(|write| INCIDENTAL.contains(&write.table));
        Ok(())
    })?;
    Ok(is_incidental)
}

/// The names in a folder; empty if the folder is missing.
fn names(folder: &Path) -> Result<Vec<String>> {
    let unreadable = |source| EmptyStoreError::Read { folder: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unreadable)?,
    };
    let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    Ok(entries.map(name).collect::<io::Result<_>>().map_err(unreadable)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cause;
    use crate::testing::open_with_segments;
    use poc_graph::error::Code;
    use poc_graph::testing::node;
    use poc_graph::time::Timestamp;

    #[test]
    fn what_an_interrupted_deletion_leaves_is_not_damaged() {
        for steps in 0.. {
            let folder = poc_graph::testing::folder();
            let directory = folder.path().join("store");
            let store = open_with_segments(&directory, 300).unwrap();
            for number in 1..=9 {
                let cause = Cause::new(Timestamp(1), "manual", "test");
                store.transact(cause, |tx| tx.put_raw(Table::Meta, b"identity", Some(vec![number]))).unwrap();
            }
            store.checkpoint().unwrap();
            drop(store);
            let mut left = steps;
            let deleted = delete(&directory, &mut |path| {
                if left == 0 {
                    return Err(io::Error::from(io::ErrorKind::Interrupted));
                }
                left -= 1;
                disk::remove(path)
            });
            assert_eq!(directory.exists(), deleted.is_err());
            if deleted.is_ok() {
                assert_eq!(steps, NAMES_OF_EMPTY.len());
                return;
            }
            assert_eq!(open_with_segments(&directory, 300).unwrap().damage(), None, "{steps} steps");
            assert!(delete_empty_store(&directory).unwrap());
        }
    }

    #[test]
    fn only_an_empty_store_is_deleted() {
        let folder = poc_graph::testing::folder();
        let directory = folder.path().join("store");
        assert!(!is_empty_store(&directory).unwrap() && !directory.exists());
        let store = open_with_segments(&directory, 1500).unwrap();
        assert_eq!(is_empty_store(&directory).unwrap_err().code, Code::Locked);
        assert_eq!(delete_empty_store(&directory).unwrap_err().code, Code::Locked);
        drop(store);
        assert!(is_empty_store(&directory).unwrap());
        // Data that commands write on their own does not count.
        let store = open_with_segments(&directory, 1500).unwrap();
        let cause = Cause::new(Timestamp(1), "manual", "test");
        store.transact(cause, |tx| tx.put_raw(Table::Meta, b"identity", Some(vec![1]))).unwrap();
        store.checkpoint().unwrap();
        drop(store);
        assert!(delete_empty_store(&directory).unwrap() && !directory.exists());
        let store = open_with_segments(&directory, 1500).unwrap();
        store.transact(Cause::new(Timestamp(1), "manual", "test"), |tx| tx.put_node(&node(1))).unwrap();
        store.checkpoint().unwrap();
        drop(store);
        assert!(!is_empty_store(&directory).unwrap() && !delete_empty_store(&directory).unwrap());
        // The log is lost and `records/last` is damaged, but the records exist.
        fs::remove_dir_all(directory.join("log")).unwrap();
        fs::remove_file(directory.join("view")).unwrap();
        fs::write(directory.join("records/last"), "damaged").unwrap();
        assert!(!delete_empty_store(&directory).unwrap());
        assert!(directory.join("records").exists());
    }
}
