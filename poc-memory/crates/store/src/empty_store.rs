//! Stores in which nothing was ever written, as commands that only read leave them.

use crate::engine::lsm;
use crate::lock::Lock;
use crate::{Store, log};
use poc_graph::error::{Error, Result};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// How long the record engine may go without a heartbeat.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a store has only after something was written, and what names the place of a backup.
const TRACES: [&str; 4] = ["view", "quarantine", "repair.json", "backups"];

/// Whether a directory has a store without any transaction, and nothing of an earlier one.
///
/// # Errors
/// `locked` when a process has the store open.
pub fn is_empty_store(directory: &Path) -> Result<bool> {
    if !Store::exists(directory) {
        return Ok(false);
    }
    let _lock = Lock::take(&directory.join("lock"))?;
    is_empty(directory)
}

/// Deletes a store that [`is_empty_store`]. Returns whether it was.
///
/// # Errors
/// As [`is_empty_store`]; `unavailable` when it cannot be deleted.
pub fn delete_empty_store(directory: &Path) -> Result<bool> {
    if !Store::exists(directory) {
        return Ok(false);
    }
    let _lock = Lock::take(&directory.join("lock"))?;
    if !is_empty(directory)? {
        return Ok(false);
    }
    fs::remove_dir_all(directory).map_err(|error| {
        Error::unavailable(format!("`{}` cannot be deleted: {error}", directory.display()))
    })?;
    Ok(true)
}

fn is_empty(directory: &Path) -> Result<bool> {
    if TRACES.iter().any(|name| directory.join(name).exists()) {
        return Ok(false);
    }
    let (log, end) = log::inspect(&directory.join("log"), true)?;
    Ok(log.last() == 0 && end.is_none() && lsm::newest_seq(&directory.join("records"), PATIENCE)? == 0)
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
    fn only_a_store_without_transactions_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("store");
        assert!(!is_empty_store(&directory).unwrap() && !directory.exists());
        let store = open_with_segments(&directory, 1500).unwrap();
        assert_eq!(is_empty_store(&directory).unwrap_err().code, Code::Locked);
        assert_eq!(delete_empty_store(&directory).unwrap_err().code, Code::Locked);
        drop(store);
        assert!(is_empty_store(&directory).unwrap());
        assert!(delete_empty_store(&directory).unwrap() && !directory.exists());
        let store = open_with_segments(&directory, 1500).unwrap();
        store.transact(Cause::new(Timestamp(1), "manual", "test"), |tx| tx.put_node(&node(1))).unwrap();
        drop(store);
        assert!(!is_empty_store(&directory).unwrap() && !delete_empty_store(&directory).unwrap());
        // Its log is lost, but its records are not.
        fs::remove_dir_all(directory.join("log")).unwrap();
        assert!(!delete_empty_store(&directory).unwrap());
        assert!(directory.join("records").exists());
    }
}
