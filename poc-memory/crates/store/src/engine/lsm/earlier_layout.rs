//! The layout before tables, in which sled held all records, in the directory itself.

use super::stored;
use super::table_files::Generations;
use crate::engine::sled::{self, SledEngine, session};
use crate::engine::sorted_table::TableWriter;
use crate::engine::{Engine as _, EngineError};
use crate::watchdog::run_watched;
use poc_graph::error::Result;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Whether sled's files lie in a directory.
fn is_in(directory: &Path) -> bool {
    directory.join(sled::FILE).exists()
}

/// Whether a directory has this layout and the machine stopped while it was open.
pub(super) fn is_untrusted(directory: &Path) -> bool {
    is_in(directory) && (!session::survived(directory) || directory.join(super::DAMAGED).exists())
}

/// The greatest number of a transaction in records of this layout; 0 when there are none or they cannot be read.
pub(crate) fn newest_seq(directory: &Path, patience: Duration) -> u64 {
    if !is_in(directory) || is_untrusted(directory) {
        return 0;
    }
    let directory = directory.to_owned();
    let newest = run_watched(patience, move |_| SledEngine::open_copy(&directory)?.newest_seq());
    newest.unwrap_or_else(|error| {
        tracing::warn!("the last transaction of the records cannot be read: {error}");
        0
    })
}

/// Writes records of this layout as a table and deletes what is left of it. Records of the layout before blocks are
/// deleted, and written again from the log; of a copy, they are an error.
pub(super) fn convert(directory: &Path, is_copy: bool) -> Result<()> {
    if !is_in(directory) {
        return Ok(());
    }
    tracing::info!("the records have an earlier layout and are written again");
    let failed = |source| EngineError::Directory { directory: directory.to_owned(), source };
    let earlier = if is_copy { SledEngine::open_copy(directory)? } else { SledEngine::open(directory)? };
    let mark = earlier.mark()?;
    if earlier.holds_earlier_layout()? && is_copy {
        return Err(EngineError::EarlierLayout.into());
    }
    if earlier.unfinished()?.is_some() {
        return Err(EngineError::Interrupted.into());
    }
    // An earlier release may have used a directory that already had tables.
    delete_others(directory).map_err(failed)?;
    if mark.seq > 0 && !earlier.holds_earlier_layout()? {
        let mut count = 0;
        earlier.scan(&[], &mut |_, _| {
            count += 1;
            Ok(())
        })?;
        let mut writer = TableWriter::create(&directory.join(Generations::one(1).file_name()), count)?;
        earlier.scan(&[], &mut |key, value| Ok(writer.push(key, &stored(Some(value.to_vec())))?))?;
        writer.finish(mark)?;
    }
    drop(earlier);
    Ok(delete_sled(directory).map_err(failed)?)
}

fn delete_others(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".table") || name.ends_with(".partial") {
            fs::remove_file(entry.path())?;
        } else if name.starts_with("recent.") {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Deletes sled's files, the one by which the layout is recognised first.
fn delete_sled(directory: &Path) -> io::Result<()> {
    fs::remove_file(directory.join(sled::FILE))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        match name.to_string_lossy().as_ref() {
            "blobs" => fs::remove_dir_all(entry.path())?,
            "conf" => fs::remove_file(entry.path())?,
            name if name.starts_with("snap.") => fs::remove_file(entry.path())?,
            _ => {}
        }
    }
    Ok(())
}
