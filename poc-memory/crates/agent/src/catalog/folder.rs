//! Reading the folders of agents and prompts.

use crate::Definition;
use crate::embedded::{self, BundledFile};
use poc_config::paths;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Error, ErrorLocation, Result};
use poc_graph::similar;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Maximum size of an agent file or a template, in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// Result of reading the `agents` folder.
pub(super) enum Folder {
    /// The agent files by name, each with its text or why it cannot be read.
    Read(BTreeMap<String, Result<String, FileDiagnostic>>),
    /// The folder does not exist.
    Missing,
    /// The folder exists but cannot be read.
    Unreadable(String),
}

/// The file names of the bundled agents that `init` wrote into a folder; none if the list cannot be read.
pub(super) fn written_agents(folder: &Path) -> BTreeSet<String> {
    let list = std::fs::read_to_string(folder.join(embedded::WRITTEN_AGENTS)).unwrap_or_default();
    list.lines().map(|line| line.trim().to_owned()).collect()
}

/// Whether an agent is a bundled one that runs without a file in a folder.
fn is_without_file(folder: &Path, definition: &Definition) -> bool {
    let file = format!("{}.toml", definition.name);
    let is_bundled =
        embedded::agents().iter().any(|bundled| bundled.name == file && bundled.text == definition.source);
    is_bundled && !written_agents(folder).contains(&file)
}

/// Whether the folder exists, but not the file of an agent that needs one.
pub(super) fn lacks_file(folder: &Path, definition: &Definition) -> bool {
    let file = folder.join(format!("{}.toml", definition.name));
    // A file whose existence is unknown counts as present.
    folder.is_dir() && file.try_exists().is_ok_and(|exists| !exists) && !is_without_file(folder, definition)
}

/// Reads every `*.toml` file of a folder. Hidden files are skipped: editors create them.
pub(super) fn read(folder: &Path) -> Folder {
    let unreadable =
        |error: std::io::Error| Folder::Unreadable(format!("`{}` cannot be read: {error}", folder.display()));
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Folder::Missing,
        Err(error) => return unreadable(error),
    };
    let mut files = BTreeMap::new();
    for entry in entries {
        let path = match entry {
            Ok(entry) => entry.path(),
            Err(error) => return unreadable(error),
        };
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        if !is_toml || name.starts_with('.') || path.is_dir() {
            continue;
        }
        match text(&path) {
            // The file was deleted between listing and reading.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let unreadable = FileDiagnostic::new(format!("cannot be read: {error}"));
                files.insert(name.to_owned(), Err(unreadable.file(format!("agents/{name}.toml"))));
            }
            Ok(text) => {
                let file = format!("agents/{name}.toml");
                files.insert(name.to_owned(), text.map_err(|diagnostic| diagnostic.file(file)));
            }
        }
    }
    Folder::Read(files)
}

/// Creates the folder for the first agent. The error is one line for the user.
pub(super) fn create(folder: &Path) -> Result<(), String> {
    paths::create_private(folder).map_err(|error| error.message)
}

/// The text of a template: from the `prompts` folder, else the bundled one.
pub(crate) fn template(folder: &Path, name: &str) -> Result<String> {
    inside(folder, name, "template", "prompts", embedded::prompts())
}

/// The text of a file named by a test: from the `agents` folder, else the bundled one.
pub(super) fn test_file(folder: &Path, name: &str) -> Result<String> {
    inside(folder, name, "file", "agents", embedded::test_files())
}

/// The text of a file in a folder, else the bundled text of this name.
fn inside(folder: &Path, name: &str, what: &str, whose: &str, bundled: &[BundledFile]) -> Result<String> {
    let path = folder.join(name);
    let wrong = |problem: String| Error::config(format!("the {what} `{name}` {problem}"));
    match text(&path) {
        Ok(text) => {
            // A symbolic link must not lead out of the folder.
            let real =
                |path: &Path| path.canonicalize().map_err(|error| wrong(format!("cannot be read: {error}")));
            if real(&path)?.starts_with(real(folder)?) {
                return text.map_err(|diagnostic| diagnostic.file(name).into());
            }
            Err(wrong(format!("is outside the `{whose}` folder")).hint("copy it into the folder"))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if let Some(file) = bundled.iter().find(|file| file.name == name) {
                return Ok(file.text.to_owned());
            }
            let missing = wrong("is missing".into());
            Err(match similar::closest(name, bundled.iter().map(|file| file.name)) {
                Some(near) => missing.hint(format!("did you mean `{near}`?")),
                None => missing.hint(format!("put a file `{name}` into `{}`", folder.display())),
            })
        }
        Err(error) => Err(wrong(format!("cannot be read: {error}"))),
    }
}

/// The text of a file, or a diagnostic with the position of the first byte that is not UTF-8.
pub(crate) fn text(path: &Path) -> std::io::Result<Result<String, FileDiagnostic>> {
    let (wrong, about) = (std::io::Error::other::<String>, std::fs::metadata(path)?);
    // Opening a pipe would wait for a writer, and a device may never end.
    if !about.is_file() {
        return Err(wrong("it is not a regular file".into()));
    }
    if about.len() > MAX_BYTES {
        return Err(wrong(format!("it has {} bytes, more than {MAX_BYTES}", about.len())));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(error.as_bytes().get(..good).unwrap_or_default());
        let byte = error.as_bytes().get(good).copied().unwrap_or_default();
        FileDiagnostic::new(format!("the byte 0x{byte:02X} is not valid UTF-8"))
            .hint("save the file as UTF-8")
            .at(ErrorLocation::offset(&before, before.len()))
    }))
}
