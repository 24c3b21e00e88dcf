//! The files of a part of a store, such as its records or a folder in the quarantine.

use poc_graph::error::{Error, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The path itself if it is a file, or all files in the folder and below it, sorted, so that tables are in the order of
/// their age. A folder that cannot be read is the error `unavailable` in place of its files.
pub(super) fn part_files(path: &Path) -> Vec<Result<PathBuf>> {
    if !path.is_dir() {
        return vec![Ok(path.to_owned())];
    }
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return vec![Err(unreadable(path, &error))],
    };
    let (mut paths, mut found) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry {
            Ok(entry) => paths.push(entry.path()),
            Err(error) => found.push(Err(unreadable(path, &error))),
        }
    }
    paths.sort();
    found.extend(paths.iter().flat_map(|path| part_files(path)));
    found
}

/// The error for a file or folder that cannot be read.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::unavailable(format!("`{}` cannot be read: {error}", path.display()))
}
