//! Files that are either complete or absent. They are written under a temporary name, synced and renamed. They are read
//! back only if length, checksum and fingerprint match.
//!
//! Layout: magic (8 bytes), fingerprint of kind and settings (32), sequence number (8, little endian), payload length
//! (8, little endian), BLAKE3 of everything else (32), payload.

use super::disk;
use poc_graph::error::{Error, Result};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error as ThisError;

const MAGIC: &[u8; 8] = b"pocindx1";
const HEADER: usize = 8 + 32 + 8 + 8 + 32;

/// Why a file could not be replaced or removed.
#[derive(Debug, ThisError)]
enum AtomicFileError {
    #[error("the file `{}` cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("the file `{}` cannot be removed: {source}", path.display())]
    Remove { path: PathBuf, source: std::io::Error },
}

impl From<AtomicFileError> for Error {
    fn from(error: AtomicFileError) -> Error {
        let (AtomicFileError::Write { source, .. } | AtomicFileError::Remove { source, .. }) = &error;
        Error::new(disk::code(source), error.to_string())
    }
}

/// Identifies the format of a file: the hash of a description of its kind, format and settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a description.
    pub fn of(description: &str) -> Self {
        Fingerprint(*blake3::hash(description.as_bytes()).as_bytes())
    }
}

/// Atomically writes a file whose payload is the concatenation of `parts`.
pub fn write(path: &Path, fingerprint: Fingerprint, seq: u64, parts: &[&[u8]]) -> Result<()> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&fingerprint.0);
    header.extend_from_slice(&seq.to_le_bytes());
    header.extend_from_slice(&(length as u64).to_le_bytes());
    let checksum = checksum(&header, parts);
    header.extend_from_slice(&checksum);
    let all: Vec<&[u8]> = std::iter::once(header.as_slice()).chain(parts.iter().copied()).collect();
    write_plain(path, &all)
}

/// Atomically writes `parts` without a header, for a file whose checksum is stored elsewhere.
pub fn write_plain(path: &Path, parts: &[&[u8]]) -> Result<()> {
    Ok(replace(path, parts).map_err(|source| AtomicFileError::Write { path: path.to_owned(), source })?)
}

/// The path of a file while it is being written. A killed process leaves it behind.
pub(crate) fn partial(path: &Path) -> PathBuf {
    path.with_extension("partial")
}

/// Removes a file durably. Succeeds if the file does not exist.
pub fn remove(path: &Path) -> Result<()> {
    let removed = match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
        Ok(()) => File::open(path.parent().unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all()),
    };
    Ok(removed.map_err(|source| AtomicFileError::Remove { path: path.to_owned(), source })?)
}

/// The sequence number and the payload of the file; `None` if the file is missing or damaged, or has another
/// fingerprint.
pub fn read(path: &Path, fingerprint: Fingerprint) -> Option<(u64, Vec<u8>)> {
    let mut bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            if error.kind() != ErrorKind::NotFound {
                tracing::warn!("the file `{}` cannot be read: {error}", path.display());
            }
            return None;
        }
    };
    let found = check(&bytes, fingerprint);
    if found.is_none() {
        tracing::info!(
            "the file `{}` is damaged or does not match the store, and is rebuilt",
            path.display()
        );
    }
    let seq = found?;
    bytes.drain(..HEADER);
    Some((seq, bytes))
}

/// The state of a file on the disk.
#[derive(Debug)]
pub(crate) enum FileState {
    /// There is no such file.
    Missing,
    /// Length and checksum are right.
    Intact,
    /// Length or checksum is wrong.
    Damaged,
    /// It cannot be read, for example because of its permissions. Its content may be intact.
    Unreadable(std::io::Error),
}

/// Reads the whole file. Its fingerprint is not checked.
pub(crate) fn state(path: &Path) -> FileState {
    match fs::read(path) {
        Ok(bytes) => {
            let fingerprint = bytes.get(8..40).and_then(|fingerprint| fingerprint.first_chunk::<32>());
            match fingerprint.and_then(|fingerprint| check(&bytes, Fingerprint(*fingerprint))) {
                Some(_) => FileState::Intact,
                None => FileState::Damaged,
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => FileState::Missing,
        Err(error) => FileState::Unreadable(error),
    }
}

/// Whether the file exists but is of no use: its length or checksum is wrong, or it cannot be read. Its fingerprint is
/// not checked.
pub fn is_damaged(path: &Path) -> bool {
    matches!(state(path), FileState::Damaged | FileState::Unreadable(_))
}

/// The sequence number in the header of the file. The rest of the file is neither read nor checked.
pub fn claimed_seq(path: &Path, fingerprint: Fingerprint) -> Option<u64> {
    read_header(path).and_then(|(found, seq)| (found == fingerprint).then_some(seq))
}

/// Like [`claimed_seq`], for a file of any kind.
pub(crate) fn claimed_seq_of_any(path: &Path) -> Option<u64> {
    read_header(path).map(|(_, seq)| seq)
}

fn read_header(path: &Path) -> Option<(Fingerprint, u64)> {
    let mut header = [0; HEADER];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    let (magic, rest) = header.split_first_chunk::<8>()?;
    let (fingerprint, rest) = rest.split_first_chunk::<32>()?;
    let (seq, _) = rest.split_first_chunk()?;
    (magic == MAGIC).then_some((Fingerprint(*fingerprint), u64::from_le_bytes(*seq)))
}

fn check(bytes: &[u8], fingerprint: Fingerprint) -> Option<u64> {
    let (header, payload) = bytes.split_at_checked(HEADER)?;
    let (fields, sum) = header.split_at_checked(HEADER - 32)?;
    let (magic, fields_after) = fields.split_at_checked(8)?;
    let (found, numbers) = fields_after.split_at_checked(32)?;
    let (seq, length) = numbers.split_at_checked(8)?;
    let seq = u64::from_le_bytes(seq.try_into().ok()?);
    let length = u64::from_le_bytes(length.try_into().ok()?);
    let is_expected = magic == MAGIC && found == fingerprint.0 && length == payload.len() as u64;
    (is_expected && checksum(fields, &[payload]) == sum).then_some(seq)
}

fn checksum(fields: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(fields);
    for part in parts {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

fn replace(path: &Path, parts: &[&[u8]]) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    // Unlike in `poc_config::atomic_write`, the temporary name is always the same, so that the large leftover of a
    // killed process is overwritten, and a file of many parts is not copied. The store does not know the settings.
    let partial = partial(path);
    let write = || {
        let mut file = File::create(&partial)?;
        for part in parts {
            file.write_all(part)?;
        }
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    // On a full disk, a leftover would take the space that the next attempt needs.
    write().inspect_err(|_| drop(fs::remove_file(&partial)))?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_written_file_is_read_back() {
        let directory = poc_graph::testing::folder();
        let path = directory.path().join("deep").join("file");
        let fingerprint = Fingerprint::of("a");
        assert_eq!(read(&path, fingerprint), None);
        write(&path, fingerprint, 7, &[b"one", b"", b"two"]).unwrap();
        assert_eq!(read(&path, fingerprint), Some((7, b"onetwo".to_vec())));
        assert_eq!(read(&path, Fingerprint::of("b")), None);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_damaged() {
        let directory = poc_graph::testing::folder();
        let path = directory.path().join("file");
        assert!(matches!(state(&path), FileState::Missing));
        write(&path, Fingerprint::of("a"), 7, &[b"one"]).unwrap();
        assert!(matches!(state(&path), FileState::Intact));
        fs::write(&path, "garbage").unwrap();
        assert!(matches!(state(&path), FileState::Damaged));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(state(&path), FileState::Unreadable(_)));
    }

    poc_laws::laws! {
    // Each case waits for the disk, so there are few.
    #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_damage_is_noticed(payload in any::<Vec<u8>>(), at in any::<prop::sample::Index>(), flip in 1u8.., cut in any::<bool>()) {
            let directory = poc_graph::testing::folder();
            let path = directory.path().join("file");
            let fingerprint = Fingerprint::of("a");
            write(&path, fingerprint, 7, &[&payload]).unwrap();
            let mut bytes = fs::read(&path).unwrap();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
            fs::write(&path, &bytes).unwrap();
            prop_assert_eq!(read(&path, fingerprint), None);
        }
    }
}
