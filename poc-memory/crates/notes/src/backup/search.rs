//! Finds the backups of a memory that contain something.

use super::backup_destinations::{self, list_file};
use super::files::{self, ByteCounter};
use super::generation::BackupGeneration;
use super::generations::generations;
use super::manifest::{BackupManifest, BackupSegment};
use super::{BackupCallbacks, BackupFile, archive, unusable};
use poc_config::paths::Paths;
use poc_graph::error::Result;
use poc_store::{FileId, LoggedTransaction, each_transaction_of_segment};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A part of a backup.
pub(crate) enum BackupPart<'a> {
    /// A change in the log.
    Transaction(&'a LoggedTransaction),
    /// The content of another file.
    File(&'a [u8]),
}

/// The backups of a memory that were searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BackupSearchResult {
    /// Generations and archives with a part that matches.
    pub(crate) found: Vec<PathBuf>,
    /// Generations and archives that cannot be read completely, and destinations without a backup, for example
    /// because their disk is not mounted. The list of destinations itself if it cannot be read.
    pub(crate) unread: Vec<PathBuf>,
}

/// Searches the folders and archives that the memory was backed up into. A file that several generations share
/// is read once. If `check_cancelled` fails, all of them count as unread.
pub(crate) fn search(
    paths: &Paths,
    matches: &dyn Fn(BackupPart<'_>) -> bool,
    callbacks: &BackupCallbacks<'_>,
) -> BackupSearchResult {
    let destinations = match backup_destinations::destinations(paths) {
        Ok(destinations) => destinations,
        Err(error) => {
            tracing::warn!("the backups were not searched: {error}");
            return BackupSearchResult { found: Vec::new(), unread: vec![list_file(paths)] };
        }
    };
    let mut searcher =
        Searcher { matches, counter: ByteCounter::new(callbacks, None), known: BTreeMap::new() };
    let found = searcher.in_destinations(&destinations);
    found.unwrap_or_else(|_| BackupSearchResult { found: Vec::new(), unread: destinations })
}

/// The generations and archives that the memory was backed up into, without those that cannot be listed.
pub(crate) fn all_backups(paths: &Paths) -> Vec<PathBuf> {
    let destinations = backup_destinations::destinations(paths).unwrap_or_default();
    let all = destinations.iter().flat_map(|destination| generations(destination).unwrap_or_default());
    all.map(|generation| generation.path).collect()
}

struct Searcher<'a> {
    matches: &'a dyn Fn(BackupPart<'_>) -> bool,
    counter: ByteCounter<'a>,
    /// Whether a file has a part that matches; `None` if none was found and it is damaged.
    known: BTreeMap<FileId, Option<bool>>,
}

impl Searcher<'_> {
    /// # Errors
    /// Those of `check_cancelled`, as for the methods below.
    fn in_destinations(&mut self, destinations: &[PathBuf]) -> Result<BackupSearchResult> {
        let mut result = BackupSearchResult::default();
        for destination in destinations {
            let all = generations(destination).unwrap_or_default();
            if all.is_empty() {
                result.unread.push(destination.clone());
            }
            for generation in all {
                match self.in_generation(&generation)? {
                    Some(true) => result.found.push(generation.path),
                    Some(false) => {}
                    None => result.unread.push(generation.path),
                }
            }
        }
        Ok(result)
    }

    /// Whether a generation has a part that matches; `None` if none was found and not all of it can be read.
    fn in_generation(&mut self, generation: &BackupGeneration) -> Result<Option<bool>> {
        let Ok(manifest) = &generation.manifest else { return Ok(None) };
        let mut found = Some(false);
        let mut add = |in_file: Option<bool>| {
            found = match (found, in_file) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (None, _) | (_, None) => None,
                _ => Some(false),
            };
        };
        if generation.path.is_file() {
            let read = archive::each_file(generation, &mut |file, path| {
                add(self.in_file(path, file, manifest)?);
                Ok(())
            });
            self.counter.add(0)?;
            if read.is_err() {
                add(None);
            }
            return Ok(found);
        }
        for file in manifest.all_files() {
            let path = generation.path.join(&file.path);
            let id = files::id(&path);
            let in_file = match id.as_ref().and_then(|id| self.known.get(id)) {
                Some(known) => *known,
                None => self.in_file(&path, file, manifest)?,
            };
            self.known.extend(id.map(|id| (id, in_file)));
            add(in_file);
        }
        Ok(found)
    }

    /// Whether a file of a generation has a part that matches; `None` if none was found and the file is
    /// damaged.
    fn in_file(&mut self, path: &Path, file: &BackupFile, manifest: &BackupManifest) -> Result<Option<bool>> {
        let segment = manifest.log.iter().find(|segment| segment.file.path == file.path);
        let searched = match segment {
            Some(segment) => Ok(self.in_segment(path, segment)),
            None => self.in_other_file(path, file),
        };
        // A read error counts as damage, unless the operation was cancelled.
        self.counter.add(0)?;
        let (found, is_intact) = searched.unwrap_or_default();
        Ok(if found { Some(true) } else { is_intact.then_some(false) })
    }

    /// Whether a segment has a transaction that matches, and whether the segment is intact.
    fn in_segment(&mut self, path: &Path, segment: &BackupSegment) -> (bool, bool) {
        let (mut found, mut last) = (false, 0);
        let damage = each_transaction_of_segment(path, segment.first, &mut |txn| {
            found = found || (self.matches)(BackupPart::Transaction(&txn));
            last = txn.seq;
            self.counter.add(0)
        });
        let is_whole = matches!(damage, Ok(None)) && last == segment.last;
        (found, is_whole)
    }

    /// Whether a file outside the log matches, and whether the file is intact.
    fn in_other_file(&mut self, path: &Path, file: &BackupFile) -> Result<(bool, bool)> {
        let bytes = fs::read(path).map_err(|error| unusable(path, "read", &error))?;
        let digest = files::digest_of(path, &mut bytes.as_slice(), &mut self.counter)?;
        Ok(((self.matches)(BackupPart::File(&bytes)), digest.is(file)))
    }
}
