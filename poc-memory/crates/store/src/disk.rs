//! The file operations that durability depends on, behind a trait so that tests can count and fail them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Append-only files and the directories that name them.
pub(super) trait Disk: Send + Sync {
    /// Creates an empty file; it must not exist yet.
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;

    /// Opens an existing file to append to it.
    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;

    /// Cuts a file to `length` bytes, durably.
    fn truncate(&self, path: &Path, length: u64) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// A file that grows at its end.
pub(super) trait AppendFile: Send {
    /// Appends all bytes.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything written so far durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// The operating system's files.
pub(super) struct SystemDisk;

impl Disk for SystemDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(OpenOptions::new().append(true).create_new(true).open(path)?))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(OpenOptions::new().append(true).open(path)?))
    }

    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.sync_all()
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

impl AppendFile for File {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        Write::write_all(self, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
