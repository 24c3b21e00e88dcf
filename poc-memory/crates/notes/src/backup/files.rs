//! Files of backups: written durably, hashed while they are copied, and listed.

use super::{BackupCallbacks, unusable};
use poc_config::atomic_write::sync_folder;
use poc_config::paths::create_private;
use poc_graph::error::{Error, Result};
use poc_store::FileId;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Number of bytes that are copied or hashed between two calls of the callbacks.
const PIECE: usize = 1 << 20;

/// Maximum depth of nested folders that are read, because symbolic links between folders may form cycles.
const MAX_DEPTH: usize = 8;

/// A file of a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// Path below the folder of the generation, with `/`.
    pub path: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// BLAKE3 of the content: 64 hexadecimal digits.
    pub blake3: String,
}

/// The id of the file at a path, without following a symbolic link; `None` if there is none.
pub(super) fn id(path: &Path) -> Option<FileId> {
    fs::symlink_metadata(path).ok().as_ref().map(FileId::of)
}

/// Counts bytes for the callbacks.
pub(super) struct ByteCounter<'a> {
    callbacks: &'a BackupCallbacks<'a>,
    done: u64,
    total: Option<u64>,
}

impl<'a> ByteCounter<'a> {
    /// A counter for an operation on `total` bytes, if that number is known.
    pub(super) fn new(callbacks: &'a BackupCallbacks<'a>, total: Option<u64>) -> ByteCounter<'a> {
        ByteCounter { callbacks, done: 0, total }
    }

    /// Counts bytes and reports the progress. The error of a cancelled operation must end it.
    pub(super) fn add(&mut self, bytes: u64) -> Result<()> {
        self.done += bytes;
        (self.callbacks.progress)(self.done, self.total);
        (self.callbacks.check_cancelled)()
    }
}

/// Creates a file that only its owner can read.
pub(super) fn create(path: &Path) -> Result<File> {
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    created.map_err(|error| unusable(path, "written", &error))
}

/// Writes a new file, durably, and creates its folder. It needs no temporary name, because the folder of a generation
/// has one until all its files are complete.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    create_private(path.parent().unwrap_or(path))?;
    let mut file = create(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|error| unusable(path, "written", &error))
}

/// Copies the first `bytes` of a file into a new one, durably, and returns their BLAKE3.
///
/// # Errors
/// `damaged` when the file is shorter.
pub(super) fn copy(from: &Path, to: &Path, bytes: u64, counter: &mut ByteCounter<'_>) -> Result<String> {
    let source = File::open(from).map_err(|error| unusable(from, "read", &error))?;
    let (copied, target) = write_from(from, &mut source.take(bytes), to, counter)?;
    target.sync_all().map_err(|error| unusable(to, "written", &error))?;
    match copied.bytes == bytes {
        true => Ok(copied.blake3),
        false => Err(Error::damaged(format!(
            "`{}` ends after {} bytes instead of {bytes}",
            from.display(),
            copied.bytes
        ))),
    }
}

/// Copies the content of a reader of the file `from` into a new file, and creates its folder. Returns the
/// file without syncing it.
pub(super) fn write_from(
    from: &Path,
    reader: &mut dyn Read,
    to: &Path,
    counter: &mut ByteCounter<'_>,
) -> Result<(Digest, File)> {
    create_private(to.parent().unwrap_or(to))?;
    let mut target = create(to)?;
    let digest = each_piece(from, reader, counter, &mut |piece| {
        target.write_all(piece).map_err(|error| unusable(to, "written", &error))
    })?;
    Ok((digest, target))
}

/// Length and BLAKE3 of a file's content.
pub(super) struct Digest {
    pub(super) bytes: u64,
    pub(super) blake3: String,
}

/// Length and BLAKE3 of a file.
pub(super) fn digest(path: &Path, counter: &mut ByteCounter<'_>) -> Result<Digest> {
    let mut file = File::open(path).map_err(|error| unusable(path, "read", &error))?;
    digest_of(path, &mut file, counter)
}

/// Length and BLAKE3 of the content of a reader of a file.
pub(super) fn digest_of(path: &Path, reader: &mut dyn Read, counter: &mut ByteCounter<'_>) -> Result<Digest> {
    each_piece(path, reader, counter, &mut |_| Ok(()))
}

/// Calls `each` with the content of a reader of a file, piece by piece.
fn each_piece(
    path: &Path,
    reader: &mut dyn Read,
    counter: &mut ByteCounter<'_>,
    each: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Digest> {
    let (mut hasher, mut buffer, mut done) = (blake3::Hasher::new(), vec![0; PIECE], 0);
    loop {
        let piece = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => buffer.get(..read).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(unusable(path, "read", &error)),
        };
        hasher.update(piece);
        each(piece)?;
        done += piece.len() as u64;
        counter.add(piece.len() as u64)?;
    }
    Ok(Digest { bytes: done, blake3: hasher.finalize().to_hex().to_string() })
}

impl Digest {
    /// Whether length and hash are those of a file of a generation.
    pub(super) fn is(&self, file: &BackupFile) -> bool {
        (self.bytes, &self.blake3) == (file.bytes, &file.blake3)
    }

    /// How a file differs from the same file of a generation, as the end of a sentence about that file.
    pub(super) fn difference(&self, file: &BackupFile) -> Option<String> {
        let is_changed = self.blake3 != file.blake3;
        wrong_length(self.bytes, file)
            .or_else(|| is_changed.then(|| "is damaged: its checksum differs".to_owned()))
    }
}

/// The difference in length to a file of a generation, as the end of a sentence about that file.
pub(super) fn wrong_length(bytes: u64, file: &BackupFile) -> Option<String> {
    (bytes != file.bytes).then(|| format!("has {bytes} bytes instead of {}", file.bytes))
}

/// Makes the names in a folder and in its subfolders durable.
pub(super) fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        }
    }
    sync_folder(folder)
}

/// The contents of a folder and of its subfolders.
#[derive(Default)]
pub(super) struct Listing {
    /// The regular files, also behind symbolic links, sorted.
    pub(super) files: Vec<PathBuf>,
    /// Paths that are neither files nor folders, that cannot be found, or that are nested too deeply.
    pub(super) others: Vec<PathBuf>,
}

/// Lists a file, or a folder with its subfolders. A missing one is empty.
pub(super) fn list(path: &Path) -> Result<Listing> {
    let mut listing = Listing::default();
    // A missing path is an empty listing, but a broken symbolic link inside it is reported.
    if fs::symlink_metadata(path).is_ok() {
        add(path, 0, &mut listing)?;
    }
    listing.files.sort();
    Ok(listing)
}

fn add(path: &Path, depth: usize, listing: &mut Listing) -> Result<()> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            listing.others.push(path.to_owned());
            return Ok(());
        }
        Err(error) => return Err(unusable(path, "read", &error)),
    };
    if found.is_file() {
        listing.files.push(path.to_owned());
    } else if found.is_dir() && depth < MAX_DEPTH {
        for entry in fs::read_dir(path).map_err(|error| unusable(path, "read", &error))? {
            add(&entry.map_err(|error| unusable(path, "read", &error))?.path(), depth + 1, listing)?;
        }
    } else {
        listing.others.push(path.to_owned());
    }
    Ok(())
}

/// Deletes a file or folder, if it is there.
pub(super) fn remove(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unusable(path, "deleted", &error)),
        _ => Ok(()),
    }
}
