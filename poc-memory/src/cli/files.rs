//! Writes user files atomically.

use poc_agent::definition;
use poc_config::paths::{Paths, create_private};
use poc_graph::error::{Error, Result};
use rustix::fs::Mode;
use std::io::Write;
use std::path::Path;
use tempfile::{Builder, NamedTempFile};

/// Makes all files that this process creates accessible to their owner only, whatever the umask was. Programs that it
/// starts inherit this.
pub fn restrict_new_files() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Writes a file unless it exists; returns whether it was written.
pub(super) fn write_new(path: &Path, text: &str) -> Result<bool> {
    match beside(path, text)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(unwritten(path, &error.error)),
    }
}

/// Writes a file, or replaces it in one step, and creates its folder. A link is followed, so that the file it leads to
/// is replaced and not the link. The permissions of an existing file are kept.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    let file = beside(path, text)?;
    if let Ok(there) = std::fs::metadata(path) {
        file.as_file().set_permissions(there.permissions()).map_err(|error| unwritten(path, &error))?;
    }
    file.persist(path).map(drop).map_err(|error| unwritten(path, &error.error))
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::unavailable(format!("`{}` cannot be removed: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Writes the JSON Schema that agent files refer to, and returns whether the file changed. It is replaced
/// without asking, because it belongs to the program.
pub(super) fn schema(paths: &Paths) -> Result<bool> {
    let path = paths.agent_schema();
    let text = serde_json::to_string_pretty(&definition::schema()).unwrap_or_default() + "\n";
    if std::fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Ok(false);
    }
    create_private(path.parent().unwrap_or(&path))?;
    write(&path, &text)?;
    Ok(true)
}

/// The text in a temporary file next to `path`.
fn beside(path: &Path, text: &str) -> Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || {
        let mut file = Builder::new().prefix(".").suffix("~").tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    written().map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::unavailable(format!("`{}` cannot be written: {error}", path.display()))
}
