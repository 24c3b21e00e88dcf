//! The derived files of a snapshot: the records, the saved views and the indexes of the store that made it. A new store
//! copies them instead of building them again.
//!
//! All of them are optional. A file that does not arrive intact is left out with the others of its folder, and what a
//! store does not find or cannot use, it builds as without a snapshot. `schema/store.md` describes the stream in which
//! the files are stored.

use super::{PART, SharedSnapshotError, write_part};
use crate::compact::{CompactionCallbacks, CompactionJob};
use crate::disk::{self, Disk, remove_folder};
use crate::engine::{Watermark, lsm};
use crate::log::Log;
use crate::shared_log::{FIRST_FILE_PART, SnapshotStore};
use crate::shared_log_copy::SharedLogCopy;
use crate::{atomic_file, tenant_view_files, view_file};
use poc_graph::Tenant;
use poc_graph::error::{Error, Result};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

/// The folder of the records, in the folder of a store.
pub(super) const RECORDS: &str = "records";
/// The folders of the indexes. Each has the index of the default tenant, and the folder `tenants` with the others.
const INDEXES: [&str; 3] = ["text", "vectors", "mentions"];
const TENANTS: &str = "tenants";
/// The file in the folder `tenants` with the number of the last transaction that all indexes of this kind have.
const MANIFEST: &str = "manifest";

/// Begins the stream. The number must change whenever the layout of the stream changes.
const MAGIC: &[u8; 8] = b"pocfils1";
/// The length of the beginning of the stream in bytes: magic, number and checksum of a record, and BLAKE3 of all of it.
const HEADER: usize = 8 + 8 + 4 + 32;

/// Disk space in bytes that copied and downloaded files must leave, so that the store can accept writes.
const SPARE_BYTES: u64 = 16 << 20;

/// Files in a folder that has the layout of a store's folder.
pub(crate) struct SnapshotFiles {
    folder: PathBuf,
    /// A record of the log. No file has a later transaction.
    last: Watermark,
}

/// Why files cannot be uploaded or downloaded.
enum TransferError {
    /// Also the error of a callback.
    SharedLog(Error),
    Disk(io::Error),
    /// The stream to download is missing, incomplete, damaged or in another layout.
    Unreadable,
}

impl From<Error> for TransferError {
    fn from(error: Error) -> TransferError {
        TransferError::SharedLog(error)
    }
}

impl From<io::Error> for TransferError {
    fn from(error: io::Error) -> TransferError {
        TransferError::Disk(error)
    }
}

impl CompactionJob<'_> {
    /// Saves the views and the indexes, and adds their files to a folder that already has the records up to transaction
    /// `last`. `None` if they cannot be saved now, or the saved ones lack this transaction.
    pub(super) fn snapshot_files(&self, folder: &Path, last: u64) -> Result<Option<SnapshotFiles>> {
        let (store, log) = (self.shared, self.shared.log.as_ref());
        store.checkpoint()?;
        // No checkpoint replaces files while this is held.
        let saved_seq = store.saved.lock();
        // A file that lacks any transaction up to the last one may contain a text that was erased since. The log has
        // transactions before the views and the indexes have them.
        if !store.may_save() || *saved_seq < last {
            return Ok(None);
        }
        let tenants = store.commits.tenants_with_saved_view(last)?;
        link_derived(&store.directory, folder, &tenants, last)
            .map_err(|source| SharedSnapshotError::Write { directory: folder.to_owned(), source })?;
        let seq = log.last();
        let last = log.read(seq)?.map(|(_, checksum)| Watermark { seq, checksum });
        Ok(last.map(|last| SnapshotFiles { folder: folder.to_owned(), last }))
    }
}

/// Links the saved views of the default tenant and some others into another folder, and those indexes of them that have
/// all transactions up to `last`. The data of all other tenants is built when it is needed.
fn link_derived(store: &Path, folder: &Path, tenants: &[Tenant], last: u64) -> io::Result<()> {
    let views = tenant_view_files::FOLDER;
    fs::create_dir_all(folder.join(views))?;
    link(&store.join(view_file::NAME), &folder.join(view_file::NAME))?;
    for tenant in tenants {
        let name = Path::new(views).join(tenant.to_string());
        link(&store.join(&name), &folder.join(&name))?;
    }
    for index in INDEXES {
        let (from, to) = (store.join(index), folder.join(index));
        let saved_seq = atomic_file::claimed_seq_of_any(&from.join(TENANTS).join(MANIFEST));
        if saved_seq.is_none_or(|saved_seq| saved_seq < last) {
            continue;
        }
        link_files(&from, &to)?;
        let (from, to) = (from.join(TENANTS), to.join(TENANTS));
        link_files(&from, &to)?;
        for tenant in tenants.iter().map(Tenant::to_string) {
            link_files(&from.join(&tenant), &to.join(&tenant))?;
        }
    }
    Ok(())
}

/// Links the complete files of a folder, but not those of the folders in it, into another folder.
fn link_files(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    fs::create_dir_all(to)?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let is_complete = Path::new(&name).extension().is_none_or(|extension| extension != "partial");
        if is_complete && entry.file_type()?.is_file() {
            link(&entry.path(), &to.join(&name))?;
        }
    }
    Ok(())
}

/// Links a file, or copies it if the file system has no links. The link stays as it is, because the files are replaced
/// and never changed. Does nothing if the file is missing.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to).or_else(|_| copy(from, to)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        linked => linked,
    }
}

/// Copies a file if the disk then still has space for writes.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let bytes = fs::metadata(from)?.len();
    disk::check_space(to.parent().unwrap_or(to), bytes + SPARE_BYTES, 0)?;
    fs::copy(from, to).map(drop)
}

/// Whether a path, relative to the folder of a store, is that of a file that a snapshot can have. In a damaged
/// snapshot, it may be any path.
fn is_included(path: &Path) -> bool {
    let name = |component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    };
    let names: Option<Vec<&str>> = path.components().map(name).collect();
    match names.as_deref() {
        Some([view_file::NAME] | [tenant_view_files::FOLDER, _]) => true,
        Some([RECORDS, table]) => lsm::is_table(Path::new(table)),
        Some([index, _] | [index, TENANTS, _] | [index, TENANTS, _, _]) => INDEXES.contains(index),
        _ => false,
    }
}

/// The paths of all files below a folder, sorted.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    files.sort();
    Ok(files)
}

impl SnapshotFiles {
    /// Stores the files as parts of the snapshot whose last record is `seq`. If one of them cannot be read, the stream
    /// stays incomplete, and readers use none.
    ///
    /// # Errors
    /// Errors of the shared log and of a callback.
    pub(super) fn upload(
        &self,
        seq: u64,
        copy: &SharedLogCopy,
        callbacks: &CompactionCallbacks<'_>,
    ) -> Result<()> {
        let mut parts = FilePartWriter { seq, next: FIRST_FILE_PART, waiting: Vec::new(), copy, callbacks };
        match self.add_to(&mut parts) {
            Err(TransferError::SharedLog(error)) => return Err(error),
            Err(TransferError::Disk(error)) => {
                tracing::warn!("the snapshot is stored without derived files, which cannot be read: {error}");
            }
            Ok(()) | Err(TransferError::Unreadable) => {}
        }
        Ok(())
    }

    fn add_to(&self, parts: &mut FilePartWriter<'_>) -> Result<(), TransferError> {
        parts.add(&self.header())?;
        for path in files_below(&self.folder)? {
            let name = path.strip_prefix(&self.folder).unwrap_or(Path::new(""));
            if let Some(name) = name.to_str().filter(|name| is_included(Path::new(name))) {
                parts.add_file(name, &path)?;
            }
        }
        parts.add(&0u16.to_le_bytes())?;
        Ok(parts.flush()?)
    }

    fn header(&self) -> Vec<u8> {
        let Watermark { seq, checksum } = self.last;
        let mut bytes = [MAGIC.as_slice(), &seq.to_le_bytes(), &checksum.to_le_bytes()].concat();
        let hash = blake3::hash(&bytes);
        bytes.extend_from_slice(hash.as_bytes());
        bytes
    }

    /// The record in a header; `None` if the header is damaged or that of another layout.
    fn read_header(header: &[u8; HEADER]) -> Option<Watermark> {
        let (fields, hash) = header.split_last_chunk::<32>()?;
        let (magic, rest) = fields.split_first_chunk::<8>()?;
        let (seq, checksum) = rest.split_first_chunk::<8>()?;
        let is_intact = magic == MAGIC && blake3::hash(fields).as_bytes() == hash;
        let (seq, checksum) = (u64::from_le_bytes(*seq), u32::from_le_bytes(checksum.try_into().ok()?));
        is_intact.then_some(Watermark { seq, checksum })
    }

    /// Downloads the intact files of the snapshot whose last record is `seq` into a folder, which is emptied before.
    /// `None` if it has none, or the disk does not take them.
    ///
    /// # Errors
    /// Errors of the shared log.
    pub(super) fn download(
        folder: &Path,
        snapshots: &dyn SnapshotStore,
        seq: u64,
    ) -> Result<Option<SnapshotFiles>> {
        let mut parts =
            FilePartReader { snapshots, seq, next: FIRST_FILE_PART, part: Vec::new(), position: 0 };
        let mut download = || -> Result<Watermark, TransferError> {
            remove_folder(folder)?;
            let last = SnapshotFiles::read_header(&parts.array()?).ok_or(TransferError::Unreadable)?;
            let mut damaged = BTreeSet::new();
            while parts.download_file(folder, &mut damaged)? {}
            // Files of an index, and tables of records, are of no use without the others.
            for path in damaged {
                match path.parent().filter(|parent| *parent != folder) {
                    Some(parent) => remove_folder(parent)?,
                    None => fs::remove_file(&path)?,
                }
            }
            fs::create_dir_all(folder)?;
            disk::check_space(folder, SPARE_BYTES, 0)?;
            Ok(last)
        };
        let error = match download() {
            Ok(last) => return Ok(Some(SnapshotFiles { folder: folder.to_owned(), last })),
            Err(error) => error,
        };
        let _ = remove_folder(folder);
        match error {
            TransferError::SharedLog(error) => return Err(error),
            TransferError::Disk(error) => {
                tracing::warn!("the files of a snapshot cannot be written, and are built instead: {error}");
            }
            TransferError::Unreadable => tracing::debug!("the snapshot has no files that can be used"),
        }
        Ok(None)
    }

    /// Moves the files into the folder of a store that has nothing else to use, if its log is on disk and is the one
    /// that they belong to. Returns whether it is.
    pub(crate) fn install(self, store: &Path, log: &Log, disk: &dyn Disk) -> bool {
        let found = log.read(self.last.seq).ok().flatten();
        let is_same = found.is_some_and(|(_, checksum)| checksum == self.last.checksum);
        let is_of_log = is_same && log.sync(self.last.seq).is_ok();
        if is_of_log && let Err(error) = self.move_to(store, disk) {
            tracing::warn!("files of a snapshot cannot be moved, and are built instead: {error}");
        }
        let _ = remove_folder(&self.folder);
        is_of_log
    }

    fn move_to(&self, store: &Path, disk: &dyn Disk) -> io::Result<()> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let target = store.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                disk.sync_directory(&entry.path())?;
                // The indexes of a copy that was replaced are of no use any more.
                remove_folder(&target)?;
            }
            fs::rename(entry.path(), &target)?;
        }
        disk.sync_directory(store)
    }
}

/// Splits a stream into parts and stores them.
struct FilePartWriter<'a> {
    seq: u64,
    next: u64,
    /// Less than a part.
    waiting: Vec<u8>,
    copy: &'a SharedLogCopy,
    callbacks: &'a CompactionCallbacks<'a>,
}

impl FilePartWriter<'_> {
    fn add(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (fits, later) = rest.split_at(rest.len().min(PART - self.waiting.len()));
            self.waiting.extend_from_slice(fits);
            rest = later;
            if self.waiting.len() == PART {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn add_file(&mut self, name: &str, path: &Path) -> Result<(), TransferError> {
        let mut file = File::open(path)?;
        let mut left = file.metadata()?.len();
        let length = (name.len() as u16).to_le_bytes();
        let beginning = [length.as_slice(), name.as_bytes(), &left.to_le_bytes()].concat();
        let mut hasher = blake3::Hasher::new();
        hasher.update(&beginning);
        self.add(&beginning)?;
        while left > 0 {
            let mut bytes = Vec::new();
            let mut piece = Read::by_ref(&mut file).take(left.min(PART as u64));
            let read = piece.read_to_end(&mut bytes)?;
            if read == 0 {
                return Err(io::Error::from(ErrorKind::UnexpectedEof).into());
            }
            hasher.update(&bytes);
            self.add(&bytes)?;
            left -= read as u64;
        }
        Ok(self.add(hasher.finalize().as_bytes())?)
    }

    fn flush(&mut self) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        write_part(self.copy, self.callbacks, self.seq, self.next, &self.waiting)?;
        self.next += 1;
        self.waiting.clear();
        Ok(())
    }
}

/// Reads a stream part by part.
struct FilePartReader<'a> {
    snapshots: &'a dyn SnapshotStore,
    seq: u64,
    next: u64,
    part: Vec<u8>,
    /// The position of the next byte in the part.
    position: usize,
}

impl FilePartReader<'_> {
    /// Passes the next `length` bytes to `each`, in pieces.
    fn read(
        &mut self,
        length: u64,
        each: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), TransferError> {
        let mut left = length;
        while left > 0 {
            if self.position == self.part.len() {
                let part = self.snapshots.read_part(self.seq, self.next)?;
                let part = part.filter(|part| !part.is_empty()).ok_or(TransferError::Unreadable)?;
                (self.part, self.position, self.next) = (part, 0, self.next + 1);
            }
            let rest = self.part.get(self.position..).unwrap_or_default();
            let piece = rest.get(..usize::try_from(left).unwrap_or(usize::MAX)).unwrap_or(rest);
            each(piece)?;
            self.position += piece.len();
            left -= piece.len() as u64;
        }
        Ok(())
    }

    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, TransferError> {
        let mut bytes = Vec::with_capacity(length);
        self.read(length as u64, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], TransferError> {
        self.bytes(N)?.try_into().map_err(|_| TransferError::Unreadable)
    }

    /// Downloads the next file into a folder, and adds its path to `damaged` if it is not intact. Returns `false` at
    /// the end of the stream.
    fn download_file(
        &mut self,
        folder: &Path,
        damaged: &mut BTreeSet<PathBuf>,
    ) -> Result<bool, TransferError> {
        let length = self.array::<2>()?;
        let name = self.bytes(usize::from(u16::from_le_bytes(length)))?;
        if name.is_empty() {
            return Ok(false);
        }
        let size = self.array::<8>()?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&length).update(&name).update(&size);
        let size = u64::from_le_bytes(size);
        let name = std::str::from_utf8(&name).ok().map(Path::new).filter(|name| is_included(name));
        let path = name.map(|name| folder.join(name));
        let mut file = path.as_deref().map(create).transpose()?;
        self.read(size, &mut |piece| {
            hasher.update(piece);
            file.as_mut().map_or(Ok(()), |file| file.write_all(piece))
        })?;
        let is_intact = self.array::<32>()? == *hasher.finalize().as_bytes();
        match (file, path) {
            // If a power failure damages a small view or index, it is quickly built again.
            (Some(file), Some(path)) if is_intact && (size >= PART as u64 || lsm::is_table(&path)) => {
                file.sync_all()?;
            }
            (_, Some(path)) if !is_intact => drop(damaged.insert(path)),
            // It is not known which of the files is missing.
            (_, None) if !is_intact => return Err(TransferError::Unreadable),
            _ => {}
        }
        Ok(true)
    }
}

/// Creates a file and the folders that it is in.
fn create(path: &Path) -> io::Result<File> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    File::create(path)
}
