//! Files with data that other parts of the program have derived from the log. The store returns a file only if the log
//! is the one that it was written for: the log has the transaction that was the last one at that time.
//!
//! A repair may replace earlier transactions and keep that one, so it deletes the files.

use super::Store;
use super::atomic_file::{self, Fingerprint};
use poc_graph::error::{Error, Result};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The folder of the files, in the folder of the store.
pub(super) const FOLDER: &str = "derived";

/// Why the files cannot be listed.
#[derive(Debug, thiserror::Error)]
#[error("the files in `{}` cannot be listed: {source}", folder.display())]
struct DerivedFilesError {
    folder: PathBuf,
    source: io::Error,
}

impl From<DerivedFilesError> for Error {
    fn from(error: DerivedFilesError) -> Error {
        Error::unavailable(error.to_string())
    }
}

/// The paths of the files, relative to the folder of the store.
///
/// # Errors
/// `unavailable` if the folder cannot be read.
pub(super) fn names(store: &Path) -> Result<Vec<String>> {
    let folder = store.join(FOLDER);
    let names: io::Result<Vec<String>> = match fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(|entries| {
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        }),
    };
    let names = names.map_err(|source| DerivedFilesError { folder, source })?.into_iter();
    Ok(names.filter(|name| !name.ends_with(".partial")).map(|name| format!("{FOLDER}/{name}")).collect())
}

impl Store {
    fn derived_file(&self, name: &str) -> PathBuf {
        self.shared.directory.join(FOLDER).join(name)
    }

    /// Saves what was derived from published transactions, as the file `name`, which only one thread may write at a
    /// time. `payload` must not contain texts of notes, because an erasure does not delete the file. Returns whether it
    /// was saved: it is not if the store is damaged or was moved, or if its log is not complete on disk.
    ///
    /// # Errors
    /// `read_only` or `unavailable` if the file cannot be written.
    pub fn save_derived(&self, name: &str, fingerprint: Fingerprint, payload: &[u8]) -> Result<bool> {
        let shared = &self.shared;
        if !shared.may_save() || !shared.lock.is_current() || shared.log.lost_bytes().is_some() {
            return Ok(false);
        }
        let seq = self.published_seq();
        let (Some(checksum), Some(origin)) = (self.checksum(seq)?, self.log_origin()?) else {
            return Ok(false);
        };
        shared.log.sync(seq)?;
        let checksum = checksum.to_le_bytes();
        atomic_file::write(&self.derived_file(name), fingerprint, seq, &[&checksum, &origin, payload])?;
        Ok(true)
    }

    /// The payload that [`Store::save_derived`] has saved; `None` if there is no intact file with this name and
    /// fingerprint, if the log has another transaction in the place of the last one at that time, for example after a
    /// compaction, or if the store is damaged.
    ///
    /// # Errors
    /// Those of the log.
    pub fn load_derived(&self, name: &str, fingerprint: Fingerprint) -> Result<Option<Vec<u8>>> {
        if self.damage().is_some() {
            return Ok(None);
        }
        let file = self.derived_file(name);
        let Some((seq, bytes)) = atomic_file::read(&file, fingerprint) else {
            self.shared.rebuilt.add_if_damaged(&file);
            return Ok(None);
        };
        let Some((checksum, bytes)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        let Some((origin, payload)) = bytes.split_first_chunk::<16>() else { return Ok(None) };
        let is_of_log =
            self.checksum(seq)? == Some(u32::from_le_bytes(*checksum)) && self.log_origin()? == Some(*origin);
        Ok(is_of_log.then(|| payload.to_vec()))
    }
}
