//! The notes of the demo in a memory that is deleted afterwards.

use crate::dispatch::{Connection, InProcess};
use crate::ops;
use poc_agent::embedded;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use serde_json::{Value, json};
use std::path::Path;

/// Runs the linker over the notes with the models of some settings, and returns its answer. The run writes nothing.
///
/// # Errors
/// Those of `import` and `agent run`.
pub(super) fn try_linker(config: Config) -> Result<Value> {
    let folder = temporary_folder()?;
    let notes = folder.path().join("notes");
    write_notes(&notes)?;
    let paths = Paths::in_folder(folder.path());
    let mut memory = Connection::InProcess(Box::new(InProcess::open(paths, config)?));
    let mut call = |name: &str, request: Value| {
        let op = ops::find(name).ok_or_else(|| Error::internal(format!("there is no op `{name}`")))?;
        memory.call(op, request, &|_| {})
    };
    call("import", json!({ "from": { "path": notes } }))?;
    call("agent run", json!({ "agent": "linker", "dry_run": true }))
}

/// A folder that is deleted when it is dropped.
pub(super) fn temporary_folder() -> Result<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("poc-memory-demo-").tempdir();
    folder.map_err(|error| Error::unavailable(format!("no folder can be made for the demo: {error}")))
}

/// Writes the notes of the demo.
pub(super) fn write_notes(folder: &Path) -> Result<()> {
    std::fs::create_dir(folder)
        .and_then(|()| {
            let mut notes = embedded::demo_notes().iter();
            notes.try_for_each(|note| std::fs::write(folder.join(note.name), note.text))
        })
        .map_err(|error| Error::unavailable(format!("`{}` cannot be written: {error}", folder.display())))
}
