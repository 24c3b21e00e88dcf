//! Export of every node, in the order of ids.

mod folder;
mod sessions;
mod used_paths;
mod vault;

pub use folder::folder;
use folder::write_folder;
pub use vault::vault;

use super::interchange::Note;
use super::{Memory, regular_file};
use poc_config::atomic_write;
use poc_graph::error::{Error, Result};
use poc_graph::{NodeId, View, cancellation};
use poc_store::Records as _;
use serde_json::{Map, Value};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Number of exported nodes.
    pub nodes: u64,
    /// Number of exported edges.
    pub edges: u64,
    /// Nodes whose records are lost in a damaged store. They were left out.
    pub lost: u64,
}

/// Writes JSON Lines, one note per line. Calls `progress` with the number of written notes and the total.
pub fn json_lines(memory: &Memory, out: &mut dyn Write, progress: &dyn Fn(u64, u64)) -> Result<ExportReport> {
    for_each_note(memory, progress, |note| {
        serde_json::to_writer(&mut *out, note)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(|error| Error::unavailable(format!("the export cannot be written: {error}")))
    })
}

/// Writes JSON Lines to a file, atomically. Replaces an earlier export, an empty file, and with `force` any file.
///
/// # Errors
/// `conflict` when there is another file, `invalid_argument` when the file cannot be written.
pub fn json_lines_file(
    memory: &Memory,
    file: &Path,
    force: bool,
    progress: &dyn Fn(u64, u64),
) -> Result<ExportReport> {
    let wrong = |error: std::io::Error| {
        Error::invalid(format!("cannot be written: {}", reason(&error)))
            .hint("name a file in a folder that exists and is yours")
            .file(file.display().to_string())
    };
    // Symbolic links are followed. A file that is not regular (a device, a pipe) is written to instead of
    // replaced.
    let file = &file.canonicalize().unwrap_or_else(|_| file.to_owned());
    if file.metadata().is_ok_and(|found| !found.is_file()) {
        let mut out =
            std::io::BufWriter::new(std::fs::OpenOptions::new().write(true).open(file).map_err(wrong)?);
        let exported = json_lines(memory, &mut out, progress)?;
        out.flush().map_err(wrong)?;
        return Ok(exported);
    }
    let require_replaceable = || -> Result<()> {
        if force || may_be_replaced(file).map_err(wrong)? {
            return Ok(());
        }
        // The error is about the field and not in the file, so that the hint names the option of the command line.
        Err(Error::conflict(format!("`{}` exists and is not an export of a memory", file.display()))
            .hint("name another file, or give `force` to replace this one")
            .field("output"))
    };
    require_replaceable()?;
    let mut out = std::io::BufWriter::new(atomic_write::temporary(file).map_err(wrong)?);
    let exported = json_lines(memory, &mut out, progress)?;
    let temporary = out.into_inner().map_err(|error| wrong(error.into_error()))?;
    temporary.as_file().sync_all().map_err(wrong)?;
    // Another program may have created the file since.
    require_replaceable()?;
    temporary.persist(file).map_err(|error| wrong(error.error))?;
    Ok(exported)
}

/// Whether there is no file, an empty one, or one whose first line is a note that export wrote, in any release.
fn may_be_replaced(file: &Path) -> std::io::Result<bool> {
    let file = match regular_file::open(file) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    let reader = std::io::BufReader::new(file);
    let first = serde_json::Deserializer::from_reader(reader).into_iter::<Map<String, Value>>().next();
    Ok(match first {
        // The file of a memory without notes is empty.
        None => true,
        Some(Ok(note)) => ["schema_version", "id", "key"].iter().all(|field| note.contains_key(*field)),
        Some(Err(error)) if error.is_io() => return Err(error.into()),
        Some(Err(_)) => false,
    })
}

/// The system's message without the name of the temporary file.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" at path ").next().unwrap_or_default().to_owned()
}

/// Calls `take` with every note of the newest view, in the order of ids.
fn for_each_note(
    memory: &Memory,
    progress: &dyn Fn(u64, u64),
    mut take: impl FnMut(&Note) -> Result<()>,
) -> Result<ExportReport> {
    let view = memory.store.view();
    let ids = ids(&view);
    let mut exported = ExportReport::default();
    for id in &ids {
        cancellation::check()?;
        match Note::read(&memory.store, &view, *id)? {
            Some(note) => {
                take(&note)?;
                exported.nodes += 1;
                exported.edges += note.edges.len() as u64;
            }
            None if memory.store.may_lack_records() => exported.lost += 1,
            // Deleted since the view was taken.
            None => {}
        }
        if exported.nodes.is_multiple_of(1000) {
            progress(exported.nodes, ids.len() as u64);
        }
    }
    progress(exported.nodes, ids.len() as u64);
    Ok(exported)
}

fn ids(view: &View) -> Vec<NodeId> {
    let mut ids: Vec<NodeId> =
        (0..view.slots()).filter(|&ix| view.state(ix).is_some()).filter_map(|ix| view.id(ix)).collect();
    ids.sort_unstable();
    ids
}
