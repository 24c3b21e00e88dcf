//! Checks generations: every file against the manifest, and in folders also the log against its own checksums.

use super::files::{self, BackupFile, ByteCounter};
use super::generation::BackupGeneration;
use super::manifest::{BackupManifest, BackupSegment};
use super::{BackupCallbacks, archive, damage_record, unusable};
use poc_graph::error::Result;
use poc_store::{FileId, SegmentState, check_segment};
use std::collections::BTreeMap;
use std::path::Path;

/// The result of checking a generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupCheck {
    /// The name of the generation.
    pub name: String,
    /// Damaged and missing files, one line each; empty if the generation is intact.
    pub problems: Vec<String>,
}

/// Checks generations. A file that several of them share is read once. What is found in folders is remembered there,
/// for [`BackupGeneration::known_problems`].
pub fn verify(generations: &[BackupGeneration], callbacks: &BackupCallbacks<'_>) -> Result<Vec<BackupCheck>> {
    let mut checker = Checker::new(callbacks);
    let check = |generation: &BackupGeneration| {
        let problems = match &generation.manifest {
            Ok(manifest) if generation.path.is_file() => {
                archive::problems(&generation.path, manifest, &mut checker.counter)?
            }
            Ok(manifest) => {
                let problems = checker.problems(&generation.path, manifest)?;
                damage_record::write(&generation.path, &problems);
                problems
            }
            Err(problem) => vec![problem.clone()],
        };
        Ok(BackupCheck { name: generation.name.clone(), problems })
    };
    generations.iter().map(check).collect()
}

/// Checks files, and remembers the results of files that have several names.
pub(super) struct Checker<'a> {
    counter: ByteCounter<'a>,
    /// The expected content of each checked file, and its problem, if any.
    known: BTreeMap<FileId, (String, Option<String>)>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(callbacks: &'a BackupCallbacks<'a>) -> Checker<'a> {
        Checker { counter: ByteCounter::new(callbacks, None), known: BTreeMap::new() }
    }

    /// Takes the files of a generation as intact, because they have just been read.
    pub(super) fn add_intact(&mut self, folder: &Path, manifest: &BackupManifest) {
        let segments = manifest.log.iter().map(|segment| (&segment.file, Some(segment)));
        for (file, segment) in segments.chain(manifest.files.iter().map(|file| (file, None))) {
            if let Some(id) = files::id(&folder.join(&file.path)) {
                self.known.insert(id, (expected(file, segment), None));
            }
        }
    }

    /// The damaged and missing files of a generation.
    pub(super) fn problems(&mut self, folder: &Path, manifest: &BackupManifest) -> Result<Vec<String>> {
        let mut problems = self.log_problems(folder, manifest, u64::MAX)?;
        problems.extend(self.file_problems(folder, manifest)?.into_values());
        Ok(problems)
    }

    /// The damaged and missing segments of the log of a generation. Segments that begin after `last` are not
    /// read.
    pub(super) fn log_problems(
        &mut self,
        folder: &Path,
        manifest: &BackupManifest,
        last: u64,
    ) -> Result<Vec<String>> {
        let mut problems: Vec<String> = manifest.gap().into_iter().collect();
        for segment in manifest.log.iter().filter(|segment| segment.first <= last) {
            problems.extend(self.problem(folder, &segment.file, Some(segment))?);
        }
        Ok(problems)
    }

    /// The problems of the other files of a generation, by path.
    pub(super) fn file_problems(
        &mut self,
        folder: &Path,
        manifest: &BackupManifest,
    ) -> Result<BTreeMap<String, String>> {
        let mut problems = BTreeMap::new();
        for file in &manifest.files {
            if let Some(problem) = self.problem(folder, file, None)? {
                problems.insert(file.path.clone(), problem);
            }
        }
        Ok(problems)
    }

    fn problem(
        &mut self,
        folder: &Path,
        file: &BackupFile,
        segment: Option<&BackupSegment>,
    ) -> Result<Option<String>> {
        let path = folder.join(&file.path);
        let named = |problem: String| format!("`{}` {problem}", file.path);
        let found = match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => found,
            Ok(_) => return Ok(Some(named("is not a file".into()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Some(named("is missing".into())));
            }
            Err(error) => return Err(unusable(&path, "read", &error)),
        };
        let inode = FileId::of(&found);
        let expected = expected(file, segment);
        if let Some((known, problem)) = self.known.get(&inode)
            && *known == expected
        {
            return Ok(problem.clone().map(named));
        }
        let problem = self.read(&path, file, segment)?;
        self.known.insert(inode, (expected, problem.clone()));
        Ok(problem.map(named))
    }

    fn read(
        &mut self,
        path: &Path,
        file: &BackupFile,
        segment: Option<&BackupSegment>,
    ) -> Result<Option<String>> {
        let digest = match files::digest(path, &mut self.counter) {
            Ok(digest) => digest,
            Err(error) => {
                self.counter.add(0)?;
                return Ok(Some(error.message));
            }
        };
        let state = segment.map(|segment| check_segment(path, segment.first, u64::MAX)).transpose()?;
        if let Some(SegmentState::Damaged { offset }) = state {
            return Ok(Some(format!("is damaged at byte {offset}")));
        }
        if let Some(difference) = digest.difference(file) {
            return Ok(Some(difference));
        }
        Ok(match (state, segment) {
            (Some(SegmentState::Intact { last, checksum, .. }), Some(segment))
                if (last, checksum) != (segment.last, segment.checksum) =>
            {
                Some(format!("ends with change {last} instead of {}", segment.last))
            }
            _ => None,
        })
    }
}

/// What the content of a file must be, for comparison.
fn expected(file: &BackupFile, segment: Option<&BackupSegment>) -> String {
    format!("{} {} {:?}", file.bytes, file.blake3, segment.map(|segment| segment.checksum))
}
