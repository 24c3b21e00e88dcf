//! One generation of a backup, and its name.

use super::damage_record;
use super::files::{self, BackupFile};
use super::manifest::BackupManifest;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use std::fs;
use std::path::PathBuf;

/// A complete generation.
#[derive(Clone, Debug)]
pub struct BackupGeneration {
    /// The name of its folder: `SEQ-TIME`.
    pub name: String,
    /// The folder of the generation, or the archive that contains it.
    pub path: PathBuf,
    /// The last transaction, from the name.
    pub seq: u64,
    /// When the backup began, from the name.
    pub at: Timestamp,
    /// The manifest, or why it cannot be read.
    pub manifest: Result<BackupManifest, String>,
}

impl BackupGeneration {
    /// A generation with this name; `None` if it is not the name of a generation.
    pub(super) fn new(
        name: String,
        path: PathBuf,
        manifest: impl FnOnce() -> Result<BackupManifest, String>,
    ) -> Option<BackupGeneration> {
        let (seq, at) = parse(&name)?;
        let manifest = manifest().and_then(|manifest| {
            let is_own = (manifest.seq, manifest.at) == (seq, at);
            is_own.then_some(manifest).ok_or_else(|| "the manifest belongs to another generation".to_owned())
        });
        Some(BackupGeneration { name, path, seq, at, manifest })
    }

    /// The damage that is known without reading every file, one line each: what the last check found, and files that
    /// are missing or have another length. Empty for an archive, whose files cannot be checked in this way.
    pub fn known_problems(&self) -> Vec<String> {
        let Some(manifest) = self.manifest.as_ref().ok().filter(|_| !self.path.is_file()) else {
            return Vec::new();
        };
        let problem = |file: &BackupFile| match fs::symlink_metadata(self.path.join(&file.path)) {
            Ok(found) if !found.is_file() => Some("is not a file".to_owned()),
            Ok(found) => files::wrong_length(found.len(), file),
            Err(_) => Some("is missing".to_owned()),
        };
        let mut problems = damage_record::read(&self.path);
        for file in manifest.all_files() {
            let name = format!("`{}` ", file.path);
            if !problems.iter().any(|known| known.starts_with(&name)) {
                problems.extend(problem(file).map(|problem| format!("{name}{problem}")));
            }
        }
        problems
    }

    /// Whether a part of the log is known to be missing or damaged. Other files can be left out of a restoration.
    pub(super) fn has_damaged_log(&self) -> bool {
        self.known_problems().iter().any(|problem| problem.starts_with("`log/"))
    }

    /// The manifest.
    ///
    /// # Errors
    /// `damaged` when it is damaged.
    pub(super) fn readable(&self) -> Result<&BackupManifest> {
        self.manifest.as_ref().map_err(|problem| {
            Error::damaged(format!("the generation `{}` is damaged: {problem}", self.name))
        })
    }
}

/// The name of a generation.
pub(super) fn name(seq: u64, at: Timestamp) -> String {
    let digits: String = at.to_string().chars().filter(|c| !"-:".contains(*c)).collect();
    format!("{seq:020}-{digits}")
}

/// The sequence number and time of a name.
pub(super) fn parse(text: &str) -> Option<(u64, Timestamp)> {
    let (seq, time) = text.split_once('-')?;
    let (day, hour) = time.split_once('T')?;
    let (year, month, date) = (day.get(..4)?, day.get(4..6)?, day.get(6..)?);
    let (hours, minutes, seconds) = (hour.get(..2)?, hour.get(2..4)?, hour.get(4..)?);
    let at = Timestamp::parse(&format!("{year}-{month}-{date}T{hours}:{minutes}:{seconds}")).ok()?;
    let seq = seq.parse().ok()?;
    (name(seq, at) == text).then_some((seq, at))
}
