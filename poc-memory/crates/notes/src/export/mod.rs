//! Export of every node, in the order of ids.

mod folder;
mod used_paths;
mod vault;

pub use folder::folder;
use folder::write_folder;
pub use vault::vault;

use super::Memory;
use super::interchange::Note;
use poc_graph::error::{Error, Result};
use poc_graph::{NodeId, View, cancellation};
use poc_store::Records as _;
use std::io::Write;
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

/// Writes JSON Lines to a file, atomically.
pub fn json_lines_file(memory: &Memory, file: &Path, progress: &dyn Fn(u64, u64)) -> Result<ExportReport> {
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
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let temporary = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(wrong)?;
    let mut out = std::io::BufWriter::new(temporary);
    let exported = json_lines(memory, &mut out, progress)?;
    let temporary = out.into_inner().map_err(|error| wrong(error.into_error()))?;
    temporary.as_file().sync_all().map_err(wrong)?;
    temporary.persist(file).map_err(|error| wrong(error.error))?;
    Ok(exported)
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
