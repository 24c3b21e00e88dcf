//! The file operations that durability depends on, behind a trait so that tests can count them and make them fail.

use poc_graph::error::Code;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Append-only files and their directories.
pub(super) trait Disk: Send + Sync {
    /// Creates an empty file. Fails if it exists.
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;

    /// Opens an existing file for appending.
    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;

    /// Truncates a file to `length` bytes, durably.
    fn truncate(&self, path: &Path, length: u64) -> io::Result<()>;

    /// Overwrites bytes of an existing file from byte `offset` on, durably.
    fn overwrite(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes the directory entries of a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Creates a file if it is missing, and allocates `bytes` bytes of disk space for it.
    fn allocate(&self, path: &Path, bytes: u64) -> io::Result<()>;
}

/// A file opened for appending.
pub(super) trait AppendFile: Send {
    /// Appends all of `bytes`.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything written so far durable.
    fn sync(&mut self) -> io::Result<()>;

    /// The id of the open file, even if its path now names another one.
    fn id(&self) -> io::Result<FileId>;
}

/// Identifies a file by device and inode, independently of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(u64, u64);

impl FileId {
    /// The id of the file with this metadata.
    pub fn of(found: &Metadata) -> FileId {
        FileId(found.dev(), found.ino())
    }
}

/// Whether an error means that the disk cannot read a part of a file.
pub(super) fn is_unreadable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

/// Reads a file from byte `from` to its end. Blocks that the disk cannot read become zeros, which are never a valid
/// record.
pub(super) fn read_or_zero(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    read_blocks(from, file.metadata()?.len(), |part, at| file.read_exact_at(part, at))
}

fn read_blocks(
    from: u64,
    length: u64,
    read: impl Fn(&mut [u8], u64) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    /// The size in bytes of a unit that a disk reads or fails to read as a whole: a page.
    const BLOCK: usize = 4096;
    let mut bytes = vec![0; usize::try_from(length.saturating_sub(from)).map_err(io::Error::other)?];
    match read(&mut bytes, from) {
        Err(error) if is_unreadable(&error) => {}
        result => return result.map(|()| bytes),
    }
    // Blocks are aligned to the beginning of the file.
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

/// File operations of the operating system.
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

    fn overwrite(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        file.write_all_at(bytes, offset)?;
        file.sync_all()
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn allocate(&self, path: &Path, bytes: u64) -> io::Result<()> {
        allocate(path, bytes)
    }
}

/// File operations in a folder that need not survive a power failure: they sync nothing and reserve no space.
pub(super) struct UnsyncedDisk;

struct UnsyncedFile(Box<dyn AppendFile>);

impl Disk for UnsyncedDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(UnsyncedFile(SystemDisk.create(path)?)))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(UnsyncedFile(SystemDisk.append(path)?)))
    }

    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        OpenOptions::new().write(true).open(path)?.set_len(length)
    }

    fn overwrite(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new().write(true).open(path)?.write_all_at(bytes, offset)
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn allocate(&self, _: &Path, _: u64) -> io::Result<()> {
        Ok(())
    }
}

impl AppendFile for UnsyncedFile {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn id(&self) -> io::Result<FileId> {
        self.0.id()
    }
}

fn allocate(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    // A signal, such as that of a child process that ends, interrupts the call on some file systems.
    match rustix::io::retry_on_intr(|| fallocate(&file, FallocateFlags::empty(), 0, bytes)) {
        // Not every file system supports this. Otherwise the space is allocated by writing zeros.
        Err(error) if is_unsupported(error) => io::copy(&mut io::repeat(0).take(bytes), &mut file).map(drop),
        allocated => Ok(allocated?),
    }
}

/// Whether an error means that the file system lacks an operation. Two of the numbers are the same on Linux, but not on
/// macOS.
fn is_unsupported(error: Errno) -> bool {
    [Errno::OPNOTSUPP, Errno::NOTSUP, Errno::NOSYS].contains(&error)
}

/// The temporary file of [`check_space`]. An interrupted check leaves it behind.
pub(super) const PROBE: &str = "room";

/// Fails if there is no space for `bytes` more bytes in a folder, or if its longest file, which has `longest` bytes,
/// may not grow by that much. Writers that cannot continue after a failed write call it first.
pub(super) fn check_space(folder: &Path, bytes: u64, longest: u64) -> io::Result<()> {
    let probe = folder.join(PROBE);
    // A length of zero would be an invalid argument.
    let checked = allocate(&probe, bytes.max(1)).and_then(|()| {
        // This takes no space, but fails beyond the limit on the length of files.
        OpenOptions::new().write(true).open(&probe)?.set_len(longest + bytes)
    });
    let removed = std::fs::remove_file(&probe);
    checked.and(removed)
}

/// Whether the disk refused or failed an operation. This says nothing about the contents of the file.
pub(super) fn is_failure(error: &io::Error) -> bool {
    // sled puts the number of the error into its text, and does not always keep its kind.
    const IO_ERROR: &str = "code: 5,";
    is_full(error)
        || matches!(error.kind(), ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied)
        || [Errno::IO, Errno::NODEV, Errno::NXIO, Errno::MFILE, Errno::NFILE, Errno::NOMEM]
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
        || error.to_string().contains(IO_ERROR)
}

/// The error code for an operation that fails because of the disk.
pub(super) fn code(error: &io::Error) -> Code {
    if is_failure(error) { Code::ReadOnly } else { Code::Unavailable }
}

/// Deletes a file, or a folder with all its contents, if it exists.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return remove_folder(path);
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Deletes a folder with all its contents, if it exists.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether an operation failed because there is not enough space.
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
        // The second page is unreadable.
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
