//! The file operations that durability depends on, behind a trait so that tests can count and fail them.

use poc_graph::error::Code;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
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

    /// Creates a file if it is missing and gives it `bytes` bytes of space on the disk.
    fn allocate(&self, path: &Path, bytes: u64) -> io::Result<()>;
}

/// A file that grows at its end.
pub(super) trait AppendFile: Send {
    /// Appends all bytes.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything written so far durable.
    fn sync(&mut self) -> io::Result<()>;

    /// What identifies the file, whatever its path names by now.
    fn id(&self) -> io::Result<FileId>;
}

/// Identifies a file, whatever its names: its device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(u64, u64);

impl FileId {
    /// The id of the file that was found.
    pub fn of(found: &Metadata) -> FileId {
        FileId(found.dev(), found.ino())
    }
}

/// Whether the disk cannot read a part of a file.
pub(super) fn is_unreadable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

/// The bytes of a file from a byte on. Blocks that the disk cannot read are zeros, which no valid record is.
pub(super) fn read_around(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    read_blocks(from, file.metadata()?.len(), |part, at| file.read_exact_at(part, at))
}

fn read_blocks(
    from: u64,
    length: u64,
    read: impl Fn(&mut [u8], u64) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    /// Bytes that a disk reads or does not read at once: a page.
    const BLOCK: usize = 4096;
    let mut bytes = vec![0; usize::try_from(length.saturating_sub(from)).map_err(io::Error::other)?];
    match read(&mut bytes, from) {
        Err(error) if is_unreadable(&error) => {}
        whole => return whole.map(|()| bytes),
    }
    // Blocks are counted from the beginning of the file.
    let mut at = from;
    let mut rest = bytes.as_mut_slice();
    while !rest.is_empty() {
        let left = BLOCK - (at % BLOCK as u64) as usize;
        let (part, further) = rest.split_at_mut(left.min(rest.len()));
        match read(part, at) {
            Err(error) if is_unreadable(&error) => part.fill(0),
            read => read?,
        }
        at += part.len() as u64;
        rest = further;
    }
    Ok(bytes)
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

    fn allocate(&self, path: &Path, bytes: u64) -> io::Result<()> {
        allocate(path, bytes)
    }
}

fn allocate(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        // Not every filesystem can: then the space is taken by writing.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => io::copy(&mut io::repeat(0).take(bytes), &mut file).map(drop),
        allocated => Ok(allocated?),
    }
}

/// The file by which [`check_space`] finds out. An interrupted check leaves it.
pub(super) const PROBE: &str = "room";

/// Fails when a folder has no space for `bytes` more bytes, or when its longest file, of `longest` bytes, may not grow by
/// as much. For writers that cannot go on after a failed write.
pub(super) fn check_space(folder: &Path, bytes: u64, longest: u64) -> io::Result<()> {
    let probe = folder.join(PROBE);
    // No bytes at all are an invalid argument.
    let checked = allocate(&probe, bytes.max(1)).and_then(|()| {
        // Takes no space, but is refused beyond the limit on the length of files.
        OpenOptions::new().write(true).open(&probe)?.set_len(longest + bytes)
    });
    let removed = std::fs::remove_file(&probe);
    checked.and(removed)
}

/// Whether a disk refused or failed an operation. Nothing is wrong with the contents of the file then.
pub(super) fn is_failure(error: &io::Error) -> bool {
    // sled hides the number of the error in a text, and its kind when it has none of its own.
    const IO_ERROR: &str = "code: 5,";
    is_full(error)
        || matches!(error.kind(), ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied)
        || [Errno::IO, Errno::NODEV, Errno::NXIO, Errno::MFILE, Errno::NFILE, Errno::NOMEM]
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
        || error.to_string().contains(IO_ERROR)
}

/// The code for an error of an operation that is not possible without it.
pub(super) fn code(error: &io::Error) -> Code {
    if is_failure(error) { Code::ReadOnly } else { Code::Internal }
}

/// Deletes a folder with everything in it, if it exists.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether an operation failed because there is no space for what it writes.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

impl AppendFile for File {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        Write::write_all(self, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn id(&self) -> io::Result<FileId> {
        Ok(FileId::of(&self.metadata()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_cannot_be_read_are_zeros() {
        let content: Vec<u8> = (0..10_000u32).map(|at| (at % 251) as u8 + 1).collect();
        // The second page.
        let bad = 4096..8192;
        let read = |into: &mut [u8], at: u64| {
            let range = at as usize..at as usize + into.len();
            if range.start < bad.end && bad.start < range.end {
                return Err(Errno::IO.into());
            }
            into.copy_from_slice(&content[range]);
            Ok(())
        };
        let mut expected = content.clone();
        expected[bad.clone()].fill(0);
        for from in [0, 1, 4095, 4096, 5000, 8191, 8192, 10_000] {
            let found = read_blocks(from, content.len() as u64, read).unwrap();
            assert!(found == expected[from as usize..], "from {from}");
        }
        let denied = |_: &mut [u8], _| Err(Errno::ACCESS.into());
        assert!(read_blocks(0, 10, denied).is_err());
    }
}
