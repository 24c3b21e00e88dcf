//! The files of the vector index: one for the rows, one for the HNSW graph, and a manifest with the names,
//! lengths and BLAKE3 hashes of both. The manifest is written last. Files that do not match it are not loaded.

use super::hnsw::{Hnsw, Options};
use super::rows::{NONE, Rows};
use crate::error::IndexError;
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_store::atomic_file::{self, Fingerprint};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The directory of the files, and their expected fingerprint.
#[derive(Debug)]
pub(super) struct Files {
    directory: PathBuf,
    fingerprint: Fingerprint,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    rows: FileEntry,
    graph: Option<FileEntry>,
}

impl Manifest {
    /// The listed files.
    fn parts(&self) -> impl Iterator<Item = &FileEntry> {
        std::iter::once(&self.rows).chain(&self.graph)
    }
}

#[derive(Serialize, Deserialize)]
struct FileEntry {
    name: String,
    length: u64,
    blake3: [u8; 32],
}

impl FileEntry {
    /// The entry of a file. Its name depends on its content, because the previous manifest must stay valid until the new
    /// one is written: the graph also changes without a transaction.
    fn of(kind: &str, applied: u64, bytes: &[u8]) -> FileEntry {
        let hash = blake3::hash(bytes);
        let name = format!("{kind}-{applied}-{}", hash.to_hex());
        FileEntry { name, length: bytes.len() as u64, blake3: *hash.as_bytes() }
    }
}

#[derive(Serialize, Deserialize)]
struct SavedRows {
    // The id of each slot, and whether its node is live.
    slots: Vec<Option<([u8; 16], bool)>>,
    // The slot of the node and the passage, by row.
    passages: Vec<(u32, u16)>,
    #[serde(with = "serde_bytes")]
    codes: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct SavedGraph {
    members: Vec<u32>,
    #[serde(with = "serde_bytes")]
    graph: Vec<u8>,
}

/// The encoded index for a checkpoint. It is encoded under the lock and written without it.
pub(super) struct EncodedIndex {
    applied: u64,
    rows: Vec<u8>,
    graph: Option<Vec<u8>>,
}

impl EncodedIndex {
    pub(super) fn of(rows: &Rows, hnsw: &Hnsw, applied: u64) -> Result<EncodedIndex> {
        let graph = match hnsw.encode()? {
            Some((members, graph)) => Some(encode(&SavedGraph { members, graph })?),
            None => None,
        };
        Ok(EncodedIndex { applied, rows: encode_rows(rows)?, graph })
    }
}

/// An index that was read from its files.
pub(super) struct SavedVectors {
    pub(super) rows: Rows,
    pub(super) hnsw: Hnsw,
    /// The last transaction that it contains.
    pub(super) applied: u64,
}

fn encode_rows(rows: &Rows) -> Result<Vec<u8>> {
    let slots = rows.slots().iter().map(|slot| slot.map(|entry| (*entry.id.as_bytes(), entry.live)));
    encode(&SavedRows {
        slots: slots.collect(),
        passages: rows.passages(),
        codes: rows.codes().iter().map(|code| code.cast_unsigned()).collect(),
    })
}

/// Decodes rows of vectors; `None` if the bytes are invalid or the vectors have another number of dimensions.
fn decode_rows(bytes: &[u8], dimensions: usize) -> Option<Rows> {
    let saved: SavedRows = postcard::from_bytes(bytes).ok()?;
    let slots = saved.slots.into_iter().map(|slot| slot.map(|(id, live)| (NodeId::from_bytes(id), live)));
    let codes = saved.codes.into_iter().map(u8::cast_signed).collect();
    Rows::restore(dimensions, slots.collect(), saved.passages, codes)
}

/// The saved form of decoded rows of vectors with four dimensions.
#[cfg(any(fuzzing, test))]
pub(crate) fn saved_again(bytes: &[u8]) -> Option<Vec<u8>> {
    encode_rows(&decode_rows(bytes, 4)?).ok()
}

fn encode(value: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_allocvec(value)
        .map_err(|problem| IndexError::Encode { what: "vector index", problem }.into())
}

impl Files {
    pub(super) fn new(directory: &Path, embedder: &str, options: &Options) -> Self {
        let fingerprint = Fingerprint::of(&format!(
            "vector index 3, usearch {}, {embedder}, {} dimensions, M {}, ef {}",
            usearch::version(),
            options.dimensions,
            options.connectivity,
            options.expansion_add,
        ));
        Files { directory: directory.to_owned(), fingerprint }
    }

    /// The same files in another directory.
    pub(super) fn in_directory(&self, directory: &Path) -> Files {
        Files { directory: directory.to_owned(), fingerprint: self.fingerprint }
    }

    pub(super) fn write(&self, encoded: &EncodedIndex) -> Result<()> {
        let graph = encoded.graph.as_ref().map(|bytes| FileEntry::of("graph", encoded.applied, bytes));
        let rows = FileEntry::of("rows", encoded.applied, &encoded.rows);
        let manifest = Manifest { rows, graph };
        self.try_write(encoded, &manifest).inspect_err(|_| self.delete_unused(&manifest))?;
        self.delete_unlisted_files(&manifest);
        Ok(())
    }

    fn try_write(&self, encoded: &EncodedIndex, manifest: &Manifest) -> Result<()> {
        self.write_part(&manifest.rows, &encoded.rows)?;
        if let (Some(entry), Some(bytes)) = (&manifest.graph, &encoded.graph) {
            self.write_part(entry, bytes)?;
        }
        self.write_manifest(encoded.applied, manifest)
    }

    fn write_manifest(&self, applied: u64, manifest: &Manifest) -> Result<()> {
        atomic_file::write(&self.manifest(), self.fingerprint, applied, &[&encode(manifest)?])
    }

    /// The last transaction in the files, and their names and hashes; `None` if the manifest is missing, damaged or has
    /// other settings.
    fn read_manifest(&self) -> Option<(u64, Manifest)> {
        let (applied, bytes) = atomic_file::read(&self.manifest(), self.fingerprint)?;
        Some((applied, postcard::from_bytes(&bytes).ok()?))
    }

    /// Deletes the HNSW graph. The index builds it again after it is read.
    pub(super) fn remove_graph(&self) -> Result<()> {
        let Some((applied, Manifest { rows, graph: Some(graph) })) = self.read_manifest() else {
            return Ok(());
        };
        let manifest = Manifest { rows, graph: None };
        self.write_manifest(applied, &manifest)?;
        atomic_file::remove(&self.directory.join(graph.name))?;
        self.delete_unlisted_files(&manifest);
        Ok(())
    }

    /// Reads the index; `None` if anything is missing, damaged or has other settings.
    pub(super) fn read(&self, options: Options) -> Option<SavedVectors> {
        let (applied, manifest) = self.read_manifest()?;
        let rows = decode_rows(&self.read_part(&manifest.rows)?, options.dimensions)?;
        let graph = match &manifest.graph {
            Some(entry) => {
                let saved: SavedGraph = postcard::from_bytes(&self.read_part(entry)?).ok()?;
                if !saved.members.iter().all(|&row| row == NONE || rows.row(row).is_some()) {
                    return None;
                }
                Some((saved.members, saved.graph))
            }
            None => None,
        };
        let hnsw = Hnsw::restore(options, &rows, graph)?;
        Some(SavedVectors { rows, hnsw, applied })
    }

    /// The files that are damaged. Files listed in a manifest of other settings are not checked.
    pub(super) fn damaged(&self) -> Vec<PathBuf> {
        if atomic_file::is_damaged(&self.manifest()) {
            return vec![self.manifest()];
        }
        let damaged = || {
            let (_, manifest) = self.read_manifest()?;
            let damaged = manifest.parts().filter(|part| self.read_part(part).is_none());
            Some(damaged.map(|part| self.directory.join(&part.name)).collect::<Vec<_>>())
        };
        let found = damaged().unwrap_or_default();
        // A checkpoint may have replaced the files during the check, so it is repeated once.
        if found.is_empty() { found } else { damaged().unwrap_or_default() }
    }

    /// Deletes the files, and first the manifest, which invalidates the others.
    pub(super) fn remove(&self) -> Result<()> {
        atomic_file::remove(&self.manifest())?;
        self.delete_files_except(&[]);
        Ok(())
    }

    /// The last transaction in the files according to the unverified header of the manifest; `None` if it is missing or
    /// has other settings.
    pub(super) fn claimed_seq(&self) -> Option<u64> {
        atomic_file::claimed_seq(&self.manifest(), self.fingerprint)
    }

    /// The path of the manifest.
    pub(super) fn manifest(&self) -> PathBuf {
        self.directory.join("manifest")
    }

    fn write_part(&self, entry: &FileEntry, bytes: &[u8]) -> Result<()> {
        atomic_file::write_plain(&self.directory.join(&entry.name), &[bytes])
    }

    fn read_part(&self, entry: &FileEntry) -> Option<Vec<u8>> {
        let bytes = fs::read(self.directory.join(&entry.name)).ok()?;
        let is_intact =
            bytes.len() as u64 == entry.length && *blake3::hash(&bytes).as_bytes() == entry.blake3;
        is_intact.then_some(bytes)
    }

    /// Deletes the files of a manifest that could not be written, unless the one on disk lists them, too. On a full disk,
    /// they would take the space that the next attempt needs.
    fn delete_unused(&self, failed: &Manifest) {
        let current = self.read_manifest().map(|(_, manifest)| manifest);
        let is_listed = |part: &FileEntry| {
            current.iter().flat_map(Manifest::parts).any(|listed| listed.name == part.name)
        };
        for part in failed.parts().filter(|part| !is_listed(part)) {
            // If it fails, the next checkpoint that succeeds tries again.
            let _ = fs::remove_file(self.directory.join(&part.name));
        }
    }

    fn delete_unlisted_files(&self, manifest: &Manifest) {
        let parts = manifest.parts().map(|part| self.directory.join(&part.name));
        let kept: Vec<PathBuf> = parts.chain([self.manifest()]).collect();
        self.delete_files_except(&kept);
    }

    /// Deletes the files in the directory except some.
    fn delete_files_except(&self, kept: &[PathBuf]) {
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            if !kept.contains(&entry.path()) {
                // If it fails, the next checkpoint tries again.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}
