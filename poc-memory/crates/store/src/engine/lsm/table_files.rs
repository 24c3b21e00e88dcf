//! The file names of the tables in a directory.
//!
//! Each new table is a generation of its own. A merged table contains the generations of its sources. If a crash
//! prevents the deletion of the sources, the next open recognises them as obsolete.

use super::recent_records::recent_folder;
use crate::disk;
use crate::engine::EngineError;
use std::fs;
use std::io;
use std::path::Path;

const EXTENSION: &str = "table";

/// Whether a file has the name of a table.
pub(crate) fn is_table(file: &Path) -> bool {
    file.extension().is_some_and(|own| own == EXTENSION)
}

/// A range of consecutive generations, including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GenerationRange {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl GenerationRange {
    /// A single generation.
    pub(super) fn one(generation: u64) -> GenerationRange {
        GenerationRange { first: generation, last: generation }
    }

    /// The name of the table file with these generations.
    pub(super) fn file_name(self) -> String {
        format!("{:08}-{:08}.{EXTENSION}", self.first, self.last)
    }

    fn of_file_name(name: &str) -> Option<GenerationRange> {
        let (first, last) = name.strip_suffix(EXTENSION)?.strip_suffix('.')?.split_once('-')?;
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (1 <= first && first <= last).then_some(GenerationRange { first, last })
    }

    fn contains(self, other: GenerationRange) -> bool {
        self != other && self.first <= other.first && other.last <= self.last
    }
}

/// Finds the tables of a directory, newest first. Deletes obsolete files: tables contained in other tables, files of
/// interrupted writes, and sled's folders of earlier generations.
///
/// # Errors
/// [`EngineError::Damaged`] if a table is missing.
pub(super) fn read(directory: &Path) -> Result<Vec<GenerationRange>, EngineError> {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(EngineError::io("read", directory))?;
    let mut named: Vec<(String, fs::DirEntry)> =
        entries.into_iter().map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry)).collect();
    // Obsolete tables are deleted oldest first: see `merge`.
    named.sort_by(|(name, _), (other, _)| name.cmp(other));
    let all: Vec<GenerationRange> =
        named.iter().filter_map(|(name, _)| GenerationRange::of_file_name(name)).collect();
    let mut tables: Vec<GenerationRange> =
        all.iter().copied().filter(|own| !all.iter().any(|other| other.contains(*own))).collect();
    tables.sort_unstable();
    let mut next = 1;
    for table in &tables {
        if table.first != next {
            return Err(EngineError::Damaged(format!(
                "the table of generation {next} is missing: the next one is `{}`",
                table.file_name()
            )));
        }
        next = table.last + 1;
    }
    let recent = recent_folder(directory, next - 1);
    for (name, entry) in named {
        let path = entry.path();
        let is_obsolete = match GenerationRange::of_file_name(&name) {
            Some(own) => !tables.contains(&own),
            None => name.ends_with(".partial") || name == disk::PROBE,
        };
        if is_obsolete {
            fs::remove_file(&path).map_err(EngineError::io("deleted", &path))?;
        } else if name.starts_with("recent.") && path != recent {
            fs::remove_dir_all(&path).map_err(EngineError::io("deleted", &path))?;
        }
    }
    tables.reverse();
    Ok(tables)
}
