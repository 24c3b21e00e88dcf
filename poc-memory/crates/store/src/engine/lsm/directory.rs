//! Reads a records directory without opening it as an engine.

use super::earlier_layout::is_in as has_earlier_layout;
use super::{decode_value, table_files};
use crate::engine::sled::{self, SledEngine, boot_marker};
use crate::engine::sorted_table::{SortedTable, StoredRecord, read_watermark};
use crate::engine::temporary_folder::TemporaryFolder;
use crate::engine::{Engine as _, EngineError, Watermark, damage_marker, highest_seq, table_salvage};
use crate::file_integrity::FileIntegrity;
use crate::watchdog::run_watched;
use poc_graph::error::{Error, Result};
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
        let read = move || SledEngine::open_damaged_copy(copy.path())?.newest_seq();
        match run_watched(heartbeat_timeout, move |_| read()) {
            Ok(seq) => newest = newest.max(seq),
            // The description of the damaged store says what is wrong with the records.
            Err(error) => tracing::debug!("the last transaction of the records cannot be read: {error}"),
        }
    }
    Ok(newest)
}

/// The files of a directory that [`each_intact_record`] reads, oldest first.
pub(crate) fn record_files(directory: &Path) -> Vec<PathBuf> {
    let (mut tables, mut databases) = (Vec::new(), Vec::new());
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let database = path.join(sled::FILE);
        if table_files::is_table(&path) {
            let seq = read_watermark(&path).map_or_else(|| seq_before(&path), |watermark| watermark.seq);
            tables.push((seq, path));
        } else if database.exists() {
            databases.push(database);
        }
    }
    tables.sort();
    tables.into_iter().map(|(_, table)| table).chain(databases).collect()
}

/// A callback that receives the watermark of a table, a key, and its value, or `None` for a tombstone. If the end of
/// the table is damaged, the watermark has the number of the table before it, because its records are not older, and
/// the checksum 0.
pub(crate) type IntactRecordVisitor<'a> = dyn FnMut(Watermark, &[u8], Option<&[u8]>) + 'a;

/// Calls `each` with the intact records of a file of a directory that is not open: of a table, or of sled's database.
/// Does nothing for other files. Returns why not all records of the file could be read; `None` if all could.
///
/// # Errors
/// `unavailable` if the temporary folder cannot be used.
pub(crate) fn each_intact_record(
    file: &Path,
    heartbeat_timeout: Duration,
    each: &mut IntactRecordVisitor,
) -> Result<Option<Error>> {
    let folder = file.parent().unwrap_or(file);
    let read = if table_files::is_table(file) {
        each_record_of_table(file, each)
    } else if file.file_name().is_some_and(|name| name == sled::FILE) && boot_marker::is_same_boot(folder) {
        match TemporaryFolder::copy_of(folder) {
            Err(error @ EngineError::TemporaryFolder { .. }) => return Err(error.into()),
            Err(error) => Err(error.into()),
            Ok(copy) => each_record_of_sled(copy, heartbeat_timeout, each),
        }
    } else {
        // Sled's files of another boot may lack anything, and sled cannot tell what.
        Ok(())
    };
    Ok(read.err())
}

/// Which bytes of a table are intact; `None` for other files, and for a table that cannot be read. If the index of a
/// table is damaged, blocks without a known checksum count as damaged.
pub(crate) fn integrity(file: &Path) -> Option<FileIntegrity> {
    if !table_files::is_table(file) {
        return None;
    }
    match SortedTable::open(file) {
        Ok(table) => Some(table.integrity()),
        Err(_) => table_salvage::integrity(file).ok(),
    }
}

fn each_record_of_table(file: &Path, each: &mut IntactRecordVisitor) -> Result<()> {
    if let Ok(table) = SortedTable::open(file) {
        let watermark = table.watermark();
        table.each_intact_record(&mut |key, encoded| each(watermark, key, decode_value(encoded)));
        return Ok(());
    }
    let before = seq_before(file);
    let salvaged = table_salvage::each_intact_record(file, &mut |watermark, key, encoded| {
        each(Watermark { seq: watermark.seq.max(before), ..watermark }, key, decode_value(encoded));
    });
    Ok(salvaged.map_err(EngineError::io("read", file))?)
}

/// The last transaction of the older tables in the same folder, as far as they have it; 0 without any.
fn seq_before(file: &Path) -> u64 {
    let entries = file.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    // The names of tables have the order of their age.
    let older =
        entries.map(|entry| entry.path()).filter(|path| table_files::is_table(path) && path.as_path() < file);
    older.filter_map(|path| read_watermark(&path)).map(|watermark| watermark.seq).max().unwrap_or(0)
}

fn each_record_of_sled(
    copy: TemporaryFolder,
    heartbeat_timeout: Duration,
    each: &mut IntactRecordVisitor,
) -> Result<()> {
    let (watermark, records, scanned) = run_watched(heartbeat_timeout, move |heartbeat| {
        let engine = SledEngine::open_damaged_copy(copy.path())?;
        let mut records: Vec<StoredRecord> = Vec::new();
        let scanned = engine.scan(&[], &mut |key, encoded| {
            heartbeat.beat();
            records.push((key.to_vec(), encoded.to_vec()));
            Ok(())
        });
        Ok((engine.watermark()?, records, scanned))
    })?;
    for (key, encoded) in &records {
        each(watermark, key, decode_value(encoded));
    }
    scanned
}

/// The total size of the files in a directory, in bytes; 0 if it is missing.
pub(crate) fn size(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let length = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        // A temporary copy has links to tables.
        Ok(found) if found.is_symlink() => fs::metadata(entry.path()).map_or(0, |found| found.len()),
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
