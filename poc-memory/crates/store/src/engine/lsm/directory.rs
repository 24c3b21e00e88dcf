//! Reads a records directory without opening it as an engine.

use super::earlier_layout::is_in as has_earlier_layout;
use super::{decode_value, table_files};
use crate::engine::sled::{self, SledEngine, boot_marker};
use crate::engine::sorted_table::{SortedTable, StoredRecord, read_watermark};
use crate::engine::temporary_folder::TemporaryFolder;
use crate::engine::{Engine as _, EngineError, damage_marker, highest_seq, table_salvage};
use crate::watchdog::{HEARTBEAT_TIMEOUT, run_watched};
use poc_graph::error::Result;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whether a directory has records that are not marked as damaged and have the current layout.
pub(crate) fn is_readable(directory: &Path) -> bool {
    directory.is_dir() && !damage_marker::exists(directory) && !has_earlier_layout(directory)
}

/// The highest number of a transaction whose changes a directory may contain; 0 if it has none or cannot be read.
///
/// # Errors
/// Fails if there is no space for a temporary copy of files that must not be changed.
pub(crate) fn newest_seq(directory: &Path, heartbeat_timeout: Duration) -> Result<u64> {
    if let Some(last) = highest_seq::read(directory) {
        return Ok(last);
    }
    let Ok(entries) = fs::read_dir(directory) else { return Ok(0) };
    let mut newest = 0;
    let mut folders_of_sled: Vec<PathBuf> = Vec::new();
    if has_earlier_layout(directory) {
        folders_of_sled.push(directory.to_owned());
    }
    for path in entries.flatten().map(|entry| entry.path()) {
        if table_files::is_table(&path) {
            newest = newest.max(SortedTable::open(&path).map_or(0, |table| table.watermark().seq));
        } else if path.is_dir() && path.join(sled::FILE).exists() {
            folders_of_sled.push(path);
        }
    }
    for folder in folders_of_sled.into_iter().filter(|folder| boot_marker::is_same_boot(folder)) {
        // The files of a damaged store must not change, and sled changes what it opens.
        let copy = TemporaryFolder::copy_of(&folder)?;
        match run_watched(heartbeat_timeout, move |_| SledEngine::open_copy(copy.path())?.newest_seq()) {
            Ok(seq) => newest = newest.max(seq),
            Err(error) => tracing::warn!("the last transaction of the records cannot be read: {error}"),
        }
    }
    Ok(newest)
}

/// A callback that receives the number of the last transaction of a table, a key, and its value, or `None` for a
/// tombstone. If the end of the table is damaged, the number is that of the table before it: its records are not older.
pub(crate) type IntactRecordVisitor<'a> = dyn FnMut(u64, &[u8], Option<&[u8]>) + 'a;

/// Calls `each` with the intact records of a file of a directory that is not open: of a table, or of sled's database.
/// Does nothing for other files.
pub(crate) fn each_intact_record(file: &Path, each: &mut IntactRecordVisitor) {
    let read = if table_files::is_table(file) {
        each_record_of_table(file, each)
    } else if file.file_name().is_some_and(|name| name == sled::FILE) {
        each_record_of_sled(file.parent().unwrap_or(file), each)
    } else {
        Ok(())
    };
    if let Err(error) = read {
        tracing::warn!("`{}` cannot be read: {error}", file.display());
    }
}

fn each_record_of_table(file: &Path, each: &mut IntactRecordVisitor) -> Result<()> {
    if let Ok(table) = SortedTable::open(file) {
        let seq = table.watermark().seq;
        table.each_intact_record(&mut |key, encoded| each(seq, key, decode_value(encoded)));
        return Ok(());
    }
    let before = seq_before(file);
    let salvaged = table_salvage::each_intact_record(file, &mut |watermark, key, encoded| {
        each(watermark.seq.max(before), key, decode_value(encoded));
    });
    Ok(salvaged.map_err(|source| EngineError::Io { path: file.to_owned(), source })?)
}

/// The last transaction of the older tables in the same folder, as far as they have it; 0 without any.
fn seq_before(file: &Path) -> u64 {
    let entries = file.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    // The names of tables have the order of their age.
    let older =
        entries.map(|entry| entry.path()).filter(|path| table_files::is_table(path) && path.as_path() < file);
    older.filter_map(|path| read_watermark(&path)).map(|watermark| watermark.seq).max().unwrap_or(0)
}

fn each_record_of_sled(folder: &Path, each: &mut IntactRecordVisitor) -> Result<()> {
    // The files of another boot may lack anything, and sled cannot tell what.
    if !boot_marker::is_same_boot(folder) {
        return Ok(());
    }
    let copy = TemporaryFolder::copy_of(folder)?;
    let (seq, records) = run_watched(HEARTBEAT_TIMEOUT, move |heartbeat| {
        let engine = SledEngine::open_copy(copy.path())?;
        let mut records: Vec<StoredRecord> = Vec::new();
        let scanned = engine.scan(&[], &mut |key, encoded| {
            heartbeat.beat();
            records.push((key.to_vec(), encoded.to_vec()));
            Ok(())
        });
        if let Err(error) = scanned {
            tracing::warn!("not all of the newest records can be read: {error}");
        }
        Ok((engine.newest_seq()?, records))
    })?;
    for (key, encoded) in &records {
        each(seq, key, decode_value(encoded));
    }
    Ok(())
}

/// The total size of the files in a directory, in bytes; 0 if it is missing.
pub(crate) fn size(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let length = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.flatten().map(length).sum()
}

/// Deletes a directory that an abandoned engine of this process still has open.
///
/// # Errors
/// Fails if the directory cannot be deleted.
pub(crate) fn delete_open(directory: &Path) -> io::Result<()> {
    // An open file keeps its space after it is deleted, so the files are truncated first.
    truncate_files(directory)?;
    fs::remove_dir_all(directory)
}

fn truncate_files(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => truncate_files(&entry.path())?,
            false => File::options().write(true).open(entry.path())?.set_len(0)?,
        }
    }
    Ok(())
}
