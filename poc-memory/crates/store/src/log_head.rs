//! The number of the last acknowledged transaction, in a file next to the log.
//!
//! The log alone cannot show that its last records are missing. This file is overwritten in place after every sync of
//! the log. It is not synced itself, because that would cost as much as the sync of the log: it is exact after the
//! process was killed, and may be older after a power failure. It is never newer than what was synced, so a log that
//! ends before this number has lost transactions.
//!
//! A copy of a shared log has no such file, because the shared log shows what the copy lacks. An open deletes the file
//! of a folder that became a copy as soon as the copy equals the shared log. A folder with the file may therefore have
//! transactions of its own.

use super::atomic_file;
use poc_graph::error::Result;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The name of the file in the folder of the store.
pub(crate) const NAME: &str = "head";

/// The length of the file: the number, and the CRC32C of it, both little-endian.
const BYTES: usize = 12;

/// The file, open for writing.
#[derive(Debug)]
pub(crate) struct LogHead {
    path: PathBuf,
    /// `None` until the file could be opened.
    file: Option<File>,
    /// The number in the file.
    written: u64,
}

impl LogHead {
    /// The file of the store in a directory. It is created by the first write.
    pub(crate) fn new(store: &Path) -> LogHead {
        LogHead { path: store.join(NAME), file: None, written: 0 }
    }

    /// Overwrites the number. A failure is only logged, because the transaction is in the log.
    pub(crate) fn write(&mut self, seq: u64) {
        if seq == self.written {
            return;
        }
        match self.try_write(seq) {
            Ok(()) => self.written = seq,
            Err(error) => {
                tracing::debug!("`{}` cannot be written: {error}", self.path.display());
                self.file = None;
            }
        }
    }

    fn try_write(&mut self, seq: u64) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            closed => {
                let opened = File::options().write(true).create(true).truncate(false).open(&self.path)?;
                // More bytes than the number and its checksum are damage, which overwriting would leave.
                if opened.metadata()?.len() > BYTES as u64 {
                    opened.set_len(BYTES as u64)?;
                }
                closed.insert(opened)
            }
        };
        file.write_all_at(&encode(seq), 0)
    }
}

/// Creates the file in a directory, durably. Unlike [`LogHead::write`], it is for a log that is not in use yet.
///
/// # Errors
/// `read_only` or `unavailable` if the file cannot be written.
pub(crate) fn create(directory: &Path, seq: u64) -> Result<()> {
    atomic_file::write_plain(&directory.join(NAME), &[&encode(seq)])
}

/// The number in the file of the store in a directory; `None` if the file is missing or damaged.
pub(crate) fn read(store: &Path) -> Option<u64> {
    decode(&fs::read(store.join(NAME)).ok()?)
}

/// Whether the file of the store in a directory contains anything but a number and its checksum. After a power failure,
/// a new file may be empty or contain only zeros, which is not damage.
pub(crate) fn is_damaged(store: &Path) -> bool {
    match fs::read(store.join(NAME)) {
        Ok(bytes) => bytes.iter().any(|byte| *byte != 0) && decode(&bytes).is_none(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Whether the store in a directory has the file, intact or not. If the disk cannot tell, it counts as there, because a
/// folder without it may be replaced by the shared log.
pub(crate) fn exists(store: &Path) -> bool {
    store.join(NAME).try_exists().unwrap_or(true)
}

/// Deletes the file of the store in a directory. A failure is only logged.
pub(crate) fn remove(store: &Path) {
    if let Err(error) = fs::remove_file(store.join(NAME))
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::debug!("`{NAME}` in `{}` cannot be deleted: {error}", store.display());
    }
}

fn encode(seq: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let (number, checksum) = bytes.split_at_mut(8);
    number.copy_from_slice(&seq.to_le_bytes());
    checksum.copy_from_slice(&crc32c::crc32c(&seq.to_le_bytes()).to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<u64> {
    let (number, checksum) = bytes.split_first_chunk()?;
    let is_intact = *checksum == crc32c::crc32c(number).to_le_bytes();
    is_intact.then(|| u64::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_read_and_a_damaged_file_is_ignored() {
        let folder = poc_graph::testing::folder();
        assert_eq!(read(folder.path()), None);
        let mut head = LogHead::new(folder.path());
        for seq in [1, 70_000, 2] {
            head.write(seq);
            assert_eq!(read(folder.path()), Some(seq));
        }
        let path = folder.path().join(NAME);
        let bytes = fs::read(&path).unwrap();
        for at in 0..BYTES {
            let mut flipped = bytes.clone();
            flipped[at] ^= 4;
            fs::write(&path, flipped).unwrap();
            assert_eq!(read(folder.path()), None, "byte {at}");
            assert!(is_damaged(folder.path()), "byte {at}");
            fs::write(&path, &bytes[..at]).unwrap();
            assert_eq!(read(folder.path()), None, "{at} bytes");
        }
        fs::write(&path, [&bytes[..], b"more"].concat()).unwrap();
        assert_eq!(read(folder.path()), None);
        LogHead::new(folder.path()).write(3);
        assert_eq!(read(folder.path()), Some(3));
        assert!(exists(folder.path()));
        for _ in 0..2 {
            remove(folder.path());
            assert!(!exists(folder.path()) && !is_damaged(folder.path()));
        }
        // After a power failure, a new file may have its length and no content.
        fs::write(&path, [0; BYTES]).unwrap();
        assert_eq!(read(folder.path()), None);
        assert!(!is_damaged(folder.path()));
    }

    #[test]
    fn a_file_that_cannot_be_written_stops_nothing() {
        let folder = poc_graph::testing::folder();
        fs::create_dir(folder.path().join(NAME)).unwrap();
        let mut head = LogHead::new(folder.path());
        head.write(1);
        fs::remove_dir(folder.path().join(NAME)).unwrap();
        head.write(2);
        assert_eq!(read(folder.path()), Some(2));
    }

    #[test]
    fn a_file_that_cannot_be_examined_counts_as_there() {
        let folder = poc_graph::testing::folder();
        // A symbolic link to itself.
        std::os::unix::fs::symlink(NAME, folder.path().join(NAME)).unwrap();
        assert!(exists(folder.path()));
    }
}
