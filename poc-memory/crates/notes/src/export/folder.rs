//! Export as a folder of Markdown files.

use super::used_paths::UsedPaths;
use super::{ExportReport, for_each_note, reason};
use crate::Memory;
use crate::folder_entries::first_other;
use crate::interchange::Note;
use crate::markdown;
use poc_graph::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes one Markdown file for each note into a new or empty folder, atomically. Files are named after keys; a
/// `/` in a key makes sub-folders.
pub fn folder(memory: &Memory, folder: &Path, progress: &dyn Fn(u64, u64)) -> Result<ExportReport> {
    let mut names = UsedPaths::default();
    write_folder(memory, folder, progress, |note| Ok(vec![(names.path(&note.key), markdown::write(note)?)]))
}

/// Writes the files that `files` makes of each note into a new or empty folder, atomically. A note without files is not
/// counted.
pub(super) fn write_folder(
    memory: &Memory,
    folder: &Path,
    progress: &dyn Fn(u64, u64),
    mut files: impl FnMut(&Note) -> Result<Vec<(PathBuf, String)>>,
) -> Result<ExportReport> {
    let wrong = |error: std::io::Error| {
        Error::invalid(format!("cannot be written: {}", reason(&error)))
            .hint("name a new folder inside one that exists and is yours")
            .file(folder.display().to_string())
    };
    if let Some(other) = first_other(folder, |_| false).map_err(wrong)? {
        let other = other.to_string_lossy();
        return Err(Error::conflict(format!("the folder is not empty: it contains `{other}`"))
            .hint("name a new folder: files of an older export would stay behind")
            .file(folder.display().to_string()));
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = tempfile::Builder::new().prefix(".export-").tempdir_in(parent).map_err(wrong)?;
    let (mut left_out, mut edges_left_out) = (0, 0);
    let exported = for_each_note(memory, progress, |note| {
        let files = files(note)?;
        if files.is_empty() {
            left_out += 1;
            edges_left_out += note.edges.len() as u64;
        }
        for (path, text) in files {
            let file = temporary.path().join(path);
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent).map_err(wrong)?;
            }
            fs::write(&file, text).map_err(wrong)?;
        }
        Ok(())
    })?;
    // The temporary folder is renamed, so dropping its guard deletes nothing.
    fs::rename(temporary.path(), folder).map_err(wrong)?;
    Ok(ExportReport {
        nodes: exported.nodes - left_out,
        edges: exported.edges - edges_left_out,
        lost: exported.lost,
    })
}
