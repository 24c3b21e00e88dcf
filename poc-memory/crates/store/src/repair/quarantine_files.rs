//! Which bytes of the files in the quarantine are intact.

use super::journal::MANIFEST;
use super::lost_notes;
use super::part_files::unreadable;
use super::quarantine_parts::{files, is_log, part_path};
use crate::engine::lsm;
use crate::log;
use poc_graph::error::Result;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// A file in a part of the quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineFile {
    /// The path in the part, or the name of a part that is a single file.
    pub name: String,
    /// The size, in bytes.
    pub bytes: u64,
    /// The intact contents; `None` for files whose contents are not checked, such as a saved view.
    pub contents: Option<IntactContents>,
    /// The ranges of bytes that are damaged or incomplete, ascending.
    pub damaged: Vec<Range<u64>>,
}

/// The number of intact entries of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntactContents {
    /// Of a segment of the log, or of a piece of one.
    Changes(u64),
    /// Of a table of records.
    Records(u64),
}

/// The files of a part of the quarantine, sorted by path. The lists that a repair saves with them are left out.
///
/// # Errors
/// `not_found` if the quarantine has no such part, `unavailable` if a file cannot be read.
pub fn quarantine_files(directory: &Path, name: &str) -> Result<Vec<QuarantineFile>> {
    let path = part_path(directory, name)?;
    let lists = [path.join(MANIFEST), path.join(lost_notes::FILE)];
    let files = files(&path)?.into_iter().filter(|file| !lists.contains(file));
    files.map(|file| checked(&path, &file)).collect()
}

/// Checks a file of the part with this path.
fn checked(part: &Path, file: &Path) -> Result<QuarantineFile> {
    let below = file.strip_prefix(part).ok().filter(|below| !below.as_os_str().is_empty());
    let name = below.map(Path::as_os_str).or(file.file_name()).unwrap_or_default();
    let (contents, damaged) = if is_log(file) {
        let found = log::integrity(&fs::read(file).map_err(|error| unreadable(file, &error))?);
        (Some(IntactContents::Changes(found.records)), found.damaged)
    } else if let Some(found) = lsm::integrity(file) {
        (Some(IntactContents::Records(found.records)), found.damaged)
    } else {
        (None, Vec::new())
    };
    let bytes = fs::metadata(file).map_or(0, |found| found.len());
    Ok(QuarantineFile { name: name.to_string_lossy().into_owned(), bytes, contents, damaged })
}
