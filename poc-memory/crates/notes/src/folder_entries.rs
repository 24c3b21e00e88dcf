//! Finds out what a folder contains before something is written into it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The alphabetically first name in a folder that `is_own` does not accept; `None` if there is none or the folder does
/// not exist.
pub(crate) fn first_other(folder: &Path, is_own: impl Fn(&OsStr) -> bool) -> io::Result<Option<OsString>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut first: Option<OsString> = None;
    for entry in entries {
        let name = entry?.file_name();
        if !is_own(&name) && first.as_ref().is_none_or(|first| name < *first) {
            first = Some(name);
        }
    }
    Ok(first)
}
