//! Stores in which nothing was ever written, as commands that only read leave them.

use crate::Store;
use crate::lock::Lock;
use poc_graph::error::{Error, Result};
use std::fs;
use std::io;
use std::path::Path;

/// What a store has before anything was written to it, and what is made again when it is missing.
const NAMES_OF_EMPTY: [&str; 9] = [
    "lock",
    "log",
    "records",
    "reserve",
    "embedder.json",
    "verification.json",
    "text",
    "vectors",
    "mentions",
];

/// The only file that records without a transaction have.
const LAST_MARK: &str = "last";

/// Whether a directory has a store without any transaction, and nothing else.
///
/// # Errors
/// `locked` when a process has an empty store open; `unavailable` when the directory cannot be read.
pub fn is_empty_store(directory: &Path) -> Result<bool> {
    if !Store::exists(directory) || !is_empty(directory)? {
        return Ok(false);
    }
    let _lock = Lock::take(&directory.join("lock"))?;
    is_empty(directory)
}

/// Deletes a store without any transaction, and returns whether there was one.
///
/// # Errors
/// As [`is_empty_store`]; `unavailable` also when it cannot be deleted.
pub fn delete_empty_store(directory: &Path) -> Result<bool> {
    if !Store::exists(directory) || !is_empty(directory)? {
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

/// By the names of files only, so that nothing that cannot be read counts as empty.
fn is_empty(directory: &Path) -> Result<bool> {
    let known = names(directory)?.iter().all(|name| NAMES_OF_EMPTY.contains(&name.as_str()));
    let without_records = names(&directory.join("records"))?.iter().all(|name| name == LAST_MARK);
    Ok(known && without_records && names(&directory.join("log"))?.is_empty())
}

/// The names in a folder; none if it is missing.
fn names(folder: &Path) -> Result<Vec<String>> {
    let unreadable =
        |error: io::Error| Error::unavailable(format!("`{}` cannot be read: {error}", folder.display()));
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unreadable)?,
    };
    let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    entries.map(name).collect::<io::Result<_>>().map_err(unreadable)
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
        store.checkpoint().unwrap();
        drop(store);
        assert!(!is_empty_store(&directory).unwrap() && !delete_empty_store(&directory).unwrap());
        // Its log is lost and its mark damaged, but its records are there.
        fs::remove_dir_all(directory.join("log")).unwrap();
        fs::remove_file(directory.join("view")).unwrap();
        fs::write(directory.join("records/last"), "damaged").unwrap();
        assert!(!delete_empty_store(&directory).unwrap());
        assert!(directory.join("records").exists());
    }
}
