//! The record engine: a log-structured merge tree (O'Neil et al. 1996).
//!
//! Small batches of changes go to sled; a large batch becomes a [`SortedTable`] at once. When sled holds enough, its
//! records become a table too and a new sled folder is started. Tables of similar length are merged in the background.
//! A record is looked up in sled first, if a Bloom filter passes its key, then in the tables from newest to oldest.
//!
//! Tables are synced, but sled is not. After a power failure, sled's folder is emptied, and the changes after the
//! newest table are read from the log again.
//!
//! The folder contains `last` (see [`highest_seq`]), the tables, and `recent.N`, which is sled's folder for the changes
//! after the table whose last generation is `N`.

mod directory;
mod earlier_layout;
mod merge;
mod merge_cursor;
mod merge_iterator;
mod recent_records;
mod table_files;
#[cfg(test)]
mod tests;

pub(crate) use directory::{
    IntactRecordVisitor, delete_open, each_intact_record, integrity, is_readable, newest_seq, record_files,
    size,
};
pub(crate) use earlier_layout::is_in as has_earlier_layout;
pub(crate) use table_files::is_table;

use super::sled::boot_marker;
use super::sorted_table::{SortedTable, StoredRecord, TableWriter};
use super::{
    Engine, EngineError, Put, Visitor, Watermark, damage_marker, first_with_value, highest_seq, put_length,
    sorted,
};
use crate::disk;
use crate::table::{TENANT_PREFIX, split_tenant, tenant_prefix};
use crate::watchdog;
use merge_iterator::MergeIterator;
use parking_lot::{Mutex, RwLock};
use poc_graph::Tenant;
use poc_graph::error::Result;
use recent_records::{RecentRecords, open_recent, recent_folder};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use table_files::GenerationRange;

/// When changes are written as tables.
#[derive(Clone, Copy)]
pub(crate) struct FlushLimits {
    /// Size of a batch of changes, in bytes, from which it becomes a table at once.
    pub(crate) table: usize,
    /// Number of bytes written to sled from which its records become a table. After a power failure, about as many
    /// bytes are read from the log.
    pub(crate) recent: usize,
}

impl Default for FlushLimits {
    fn default() -> FlushLimits {
        FlushLimits { table: 1 << 20, recent: 4 << 20 }
    }
}

/// Disk space in bytes that a table needs in addition to its records.
const SPARE_BYTES: u64 = 1 << 20;

/// The engine for the records in a directory.
pub(crate) struct LsmEngine {
    state: Arc<LsmState>,
    limits: FlushLimits,
    /// Whether the directory is a temporary copy, so that nothing needs to be synced.
    is_copy: bool,
    /// The number in [`highest_seq`]; 0 while unknown. A thread that writes holds this lock.
    highest_seq: Mutex<u64>,
    /// The thread that merges tables.
    merger: Mutex<Option<JoinHandle<()>>>,
}

/// The state shared by the engine and the thread that merges tables.
struct LsmState {
    directory: PathBuf,
    current: RwLock<Arc<Version>>,
    /// Whether a table could not be read.
    has_failed: AtomicBool,
    /// Held while the free disk space is checked, because the check writes a file.
    space: Mutex<()>,
    is_closing: AtomicBool,
    /// Whether all tables are about to be merged, so that a merge in the background is not needed.
    is_rewriting: AtomicBool,
}

/// An immutable list of where the records are. Each change creates a new version.
#[derive(Clone, Default)]
struct Version {
    /// The tables, newest first.
    tables: Vec<Run>,
    /// The changes after the newest table; `None` if there are none.
    recent: Option<Arc<RecentRecords>>,
}

/// A table and the generations it contains.
#[derive(Clone)]
struct Run {
    generations: GenerationRange,
    table: Arc<SortedTable>,
}

/// The stored form of a value: the value and one more byte, or no bytes as the tombstone of a deleted key.
fn encode_value(value: Option<Vec<u8>>) -> Vec<u8> {
    value.map_or_else(Vec::new, |mut value| {
        value.push(1);
        value
    })
}

/// Like [`encode_value`], into a reusable buffer.
fn encode_value_into(value: Option<&[u8]>, encoded: &mut Vec<u8>) {
    encoded.clear();
    if let Some(value) = value {
        encoded.extend_from_slice(value);
        encoded.push(1);
    }
}

/// The changes in the form in which sled stores them.
pub(crate) fn encoded(changes: &[Put]) -> Vec<Put> {
    changes.iter().map(|(key, value)| (key.clone(), Some(encode_value(value.clone())))).collect()
}

/// Decodes the result of [`encode_value`]; `None` for a tombstone.
fn decode_value(encoded: &[u8]) -> Option<&[u8]> {
    encoded.split_last().map(|(_, value)| value)
}

impl Version {
    fn newest_generation(&self) -> u64 {
        self.tables.first().map_or(0, |run| run.generations.last)
    }

    /// The records in sled whose keys start with a prefix.
    fn recent_records(&self, prefix: &[u8]) -> Result<Vec<StoredRecord>> {
        let mut found = Vec::new();
        if let Some(recent) = &self.recent {
            recent.engine.scan(prefix, &mut |key, value| {
                found.push((key.to_vec(), value.to_vec()));
                Ok(())
            })?;
        }
        Ok(found)
    }

    fn watermark(&self) -> Result<Watermark> {
        let recent =
            self.recent.as_ref().map_or(Ok(Watermark::default()), |recent| recent.engine.watermark())?;
        let newest_table = self.tables.first().map_or(Watermark::default(), |run| run.table.watermark());
        Ok(if recent.seq >= newest_table.seq && recent != Watermark::default() {
            recent
        } else {
            newest_table
        })
    }
}

impl LsmEngine {
    /// Opens a directory, creating it if it is missing. If its files are damaged, sled may panic or hang; see
    /// [`watchdog`].
    pub(crate) fn open(directory: &Path) -> Result<LsmEngine> {
        LsmEngine::open_with(directory, FlushLimits::default())
    }

    /// Like [`LsmEngine::open`], with other limits.
    pub(crate) fn open_with(directory: &Path, limits: FlushLimits) -> Result<LsmEngine> {
        let engine = LsmEngine::open_files(directory, limits, false)?;
        if highest_seq::read(directory).is_none() {
            let newest = [Some(engine.watermark()?), engine.unfinished()?];
            let newest = newest.iter().flatten().map(|watermark| watermark.seq).max().unwrap_or(0);
            highest_seq::write(directory, newest)?;
        }
        Ok(engine)
    }

    /// Opens a temporary copy of a directory. Nothing is synced when it is closed.
    pub(crate) fn open_copy(directory: &Path) -> Result<LsmEngine> {
        LsmEngine::open_files(directory, FlushLimits::default(), true)
    }

    fn open_files(directory: &Path, limits: FlushLimits, is_copy: bool) -> Result<LsmEngine> {
        if damage_marker::exists(directory) {
            return Err(EngineError::FoundDamaged.into());
        }
        if has_earlier_layout(directory) {
            return Err(EngineError::EarlierLayout.into());
        }
        fs::create_dir_all(directory).map_err(EngineError::io("created", directory))?;
        let open = |generations: GenerationRange| {
            let table = Arc::new(SortedTable::open(&directory.join(generations.file_name()))?);
            Ok(Run { generations, table })
        };
        let tables: Vec<Run> =
            table_files::read(directory)?.into_iter().map(open).collect::<Result<_, EngineError>>()?;
        let mut current = Version { tables, recent: None };
        let folder = recent_folder(directory, current.newest_generation());
        if is_copy && !boot_marker::is_same_boot(&folder) {
            fs::remove_dir_all(&folder).map_err(EngineError::io("deleted", &folder))?;
        }
        if folder.is_dir() {
            current.recent = Some(Arc::new(open_recent(folder, is_copy)?));
        }
        let current = RwLock::new(Arc::new(current));
        let state = LsmState {
            directory: directory.to_owned(),
            current,
            has_failed: AtomicBool::new(false),
            space: Mutex::default(),
            is_closing: AtomicBool::new(false),
            is_rewriting: AtomicBool::new(false),
        };
        Ok(LsmEngine {
            state: Arc::new(state),
            limits,
            is_copy,
            highest_seq: Mutex::new(0),
            merger: Mutex::default(),
        })
    }

    /// Saves the number of a transaction in [`highest_seq`] before its changes are written. `known` is the value of
    /// [`LsmEngine::highest_seq`].
    fn raise_highest_seq(&self, known: &mut u64, seq: u64) -> Result<()> {
        if *known < seq && !self.is_copy {
            let directory = &self.state.directory;
            if highest_seq::read(directory).is_none_or(|saved| saved < seq) {
                highest_seq::write(directory, seq)?;
            }
            *known = seq;
        }
        Ok(())
    }

    /// Writes changes to sled.
    fn write_recent(&self, current: &Version, changes: &[Put], watermark: Watermark) -> Result<()> {
        let recent = match &current.recent {
            Some(recent) => recent.clone(),
            None => {
                let folder = recent_folder(&self.state.directory, current.newest_generation());
                let recent = Arc::new(open_recent(folder, self.is_copy)?);
                self.state.update(|current| current.recent = Some(recent.clone()));
                recent
            }
        };
        recent.apply(encoded(changes), watermark)?;
        let bytes: usize = changes.iter().map(put_length).sum();
        if recent.bytes.fetch_add(bytes, Ordering::SeqCst) + bytes >= self.limits.recent
            && let Err(error) = self.write_table(&self.state.current(), &[], watermark)
        {
            // This is not an error: sled still has all of the records.
            tracing::warn!("records stay in sled for now: {error}");
        }
        Ok(())
    }

    /// Writes sled's records and the given changes as a table, which replaces sled's folder.
    fn write_table(&self, current: &Version, changes: &[Put], watermark: Watermark) -> Result<()> {
        let changes = sorted(changes);
        let recent = current.recent_records(&[])?;
        let recent_bytes: usize = recent.iter().map(|(key, value)| key.len() + value.len()).sum();
        self.state.check_space((recent_bytes + changes.iter().map(put_length).sum::<usize>()) as u64)?;
        let generations = GenerationRange::one(current.newest_generation() + 1);
        let path = self.state.directory.join(generations.file_name());
        let mut writer = TableWriter::create(&path, (recent.len() + changes.len()) as u64)?;
        let is_oldest = current.tables.is_empty();
        let mut push = |key: &[u8], value: &[u8]| {
            // A tombstone in the oldest table is not needed, because no older table has a value that it would hide.
            let is_needed = !is_oldest || !value.is_empty();
            if is_needed { writer.push(key, value) } else { Ok(()) }
        };
        let mut recent = recent.into_iter().peekable();
        let mut value = Vec::new();
        for (key, change) in changes.iter() {
            while let Some((older, value)) = recent.next_if(|(older, _)| older < key) {
                push(&older, &value)?;
            }
            recent.next_if(|(older, _)| older == key);
            encode_value_into(change.as_deref(), &mut value);
            push(key, &value)?;
        }
        recent.try_for_each(|(key, value)| push(&key, &value))?;
        let run = Run { generations, table: Arc::new(writer.finish(watermark)?) };
        let obsolete = current.recent.clone();
        self.state.update(|current| {
            current.tables.insert(0, run);
            current.recent = None;
        });
        if let Some(obsolete) = obsolete {
            obsolete.folder.is_obsolete.store(true, Ordering::SeqCst);
        }
        self.start_merge();
        Ok(())
    }

    /// Starts a thread that merges tables, if a merge is due and none is running.
    fn start_merge(&self) {
        let mut merger = self.merger.lock();
        let is_running = merger.as_ref().is_some_and(|thread| !thread.is_finished());
        let has_failed = self.state.has_failed.load(Ordering::SeqCst);
        if is_running || has_failed || self.state.current().due_to_merge().is_none() {
            return;
        }
        let state = self.state.clone();
        let started = watchdog::spawn("merge-records", move || {
            if let Err(error) = watchdog::catch_panic(|| state.merge_while_due()) {
                tracing::warn!("tables of records cannot be merged for now: {error}");
            }
        });
        match started {
            Ok(thread) => *merger = Some(thread),
            Err(error) => tracing::warn!("{error}"),
        }
    }

    /// Waits until no merge is due any more.
    #[cfg(test)]
    pub(crate) fn finish_merging(&self) {
        if let Some(thread) = self.merger.lock().take() {
            thread.join().unwrap();
        }
    }
}

impl LsmState {
    /// The current version, which later changes do not affect.
    fn current(&self) -> Arc<Version> {
        self.current.read().clone()
    }

    /// Replaces the current version by a changed one.
    fn update(&self, change: impl FnOnce(&mut Version)) {
        change(Arc::make_mut(&mut self.current.write()));
    }

    /// Records the outcome of reading a table. After damage or a disk failure, the engine must be reopened. Damage is
    /// also marked in the directory, for an open after a crash.
    fn check_damage<T>(&self, read: Result<T, EngineError>) -> Result<T> {
        match &read {
            Err(EngineError::Damaged(_)) if !self.is_closing.load(Ordering::SeqCst) => {
                self.has_failed.store(true, Ordering::SeqCst);
                damage_marker::write(&self.directory);
            }
            Err(EngineError::Unreadable(_)) => self.has_failed.store(true, Ordering::SeqCst),
            _ => {}
        }
        Ok(read?)
    }

    /// Fails if the disk has no space for a table of `bytes` bytes.
    fn check_space(&self, bytes: u64) -> Result<()> {
        let _checking = self.space.lock();
        Ok(disk::check_space(&self.directory, bytes + SPARE_BYTES, 0).map_err(EngineError::NoSpace)?)
    }
}

impl Drop for LsmEngine {
    fn drop(&mut self) {
        self.state.is_closing.store(true, Ordering::SeqCst);
        if let Some(thread) = self.merger.lock().take() {
            // The thread catches its own panics.
            let _ = thread.join();
        }
    }
}

impl Engine for LsmEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let current = self.state.current();
        let mut found = None;
        if let Some(recent) = &current.recent {
            found = recent.get(key)?;
        }
        for run in &current.tables {
            if found.is_some() {
                break;
            }
            found = self.state.check_damage(run.table.get(key))?;
        }
        // The last byte only marks that there is a value.
        Ok(found.and_then(|mut encoded| encoded.pop().map(|_| encoded)))
    }

    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        let current = self.state.current();
        let recent = current.recent_records(prefix)?;
        let mut sources = MergeIterator::default();
        sources.add(recent.into_iter().map(Ok));
        for run in &current.tables {
            let has_prefix = |record: &Result<StoredRecord, EngineError>| {
                record.as_ref().map_or(true, |(key, _)| key.starts_with(prefix))
            };
            sources.add(run.table.cursor_from(prefix).take_while(has_prefix));
        }
        for record in sources {
            let (key, value) = self.state.check_damage(record)?;
            if let Some(value) = decode_value(&value) {
                each(&key, value)?;
            }
        }
        Ok(())
    }

    fn first_key(&self, prefix: &[u8], from: &[u8]) -> Result<Option<Vec<u8>>> {
        let current = self.state.current();
        first_with_value(self, from, |from| {
            let recent = current.recent.as_ref().map(|recent| recent.engine.first_key(prefix, from));
            let mut first = recent.transpose()?.flatten();
            for run in &current.tables {
                if let Some(record) = run.table.cursor_from(from).next() {
                    let (key, _) = self.state.check_damage(record)?;
                    if key.starts_with(prefix) && first.as_ref().is_none_or(|first| key < *first) {
                        first = Some(key);
                    }
                }
            }
            Ok(first)
        })
    }

    fn tenants(&self) -> Result<BTreeSet<Tenant>> {
        let current = self.state.current();
        let recent = current.recent_records(&[TENANT_PREFIX])?;
        let recent = recent.iter().filter_map(|(key, _)| split_tenant(key));
        let mut tenants: BTreeSet<Tenant> = recent.map(|(tenant, _)| tenant).collect();
        for run in &current.tables {
            let mut from = vec![TENANT_PREFIX];
            while let Some(record) = run.table.cursor_from(&from).next() {
                let (key, _) = self.state.check_damage(record)?;
                let Some((tenant, _)) = split_tenant(&key) else { break };
                tenants.insert(tenant);
                // After all keys of the tenant: no table has this number.
                from = tenant_prefix(tenant);
                from.push(u8::MAX);
            }
        }
        Ok(tenants)
    }

    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()> {
        let mut known = self.highest_seq.lock();
        self.raise_highest_seq(&mut known, watermark.seq)?;
        let current = self.state.current();
        match changes.iter().map(put_length).sum::<usize>() >= self.limits.table {
            true => self.write_table(&current, &changes, watermark),
            false => self.write_recent(&current, &changes, watermark),
        }
    }

    fn watermark(&self) -> Result<Watermark> {
        self.state.current().watermark()
    }

    fn unfinished(&self) -> Result<Option<Watermark>> {
        let current = self.state.current();
        current.recent.as_ref().map_or(Ok(None), |recent| recent.engine.unfinished())
    }

    fn has_failed(&self) -> bool {
        self.state.has_failed.load(Ordering::SeqCst)
            || self.state.current().recent.as_ref().is_some_and(|recent| recent.engine.has_failed())
    }

    fn rewrite(&self, check_cancelled: &dyn Fn() -> Result<()>) -> Result<()> {
        // While the lock is held, no other thread writes.
        let _writing = self.highest_seq.lock();
        let current = self.state.current();
        if current.recent.is_some() {
            self.write_table(&current, &[], current.watermark()?)?;
        }
        self.state.is_rewriting.store(true, Ordering::SeqCst);
        if let Some(thread) = self.merger.lock().take() {
            // The thread catches its own panics.
            let _ = thread.join();
        }
        self.state.is_rewriting.store(false, Ordering::SeqCst);
        let current = self.state.current();
        match current.tables.len() {
            0 | 1 => Ok(()),
            all => self.state.merge(&current, all, check_cancelled),
        }
    }

    fn check_files(&self) -> Result<()> {
        if !self.is_copy && !self.state.directory.is_dir() {
            return self.state.check_damage(Err(EngineError::Damaged("their folder is missing".to_owned())));
        }
        for run in &self.state.current().tables {
            let path = run.table.path();
            let checked = match path.exists() {
                true => SortedTable::open(path).map(drop),
                false => Err(EngineError::Damaged(format!("`{}` is missing", path.display()))),
            };
            let is_current = |other: &Run| other.generations == run.generations;
            // A table that was merged in the meantime has been deleted, which is not an error.
            if checked.is_err() && self.state.current().tables.iter().any(is_current) {
                self.state.check_damage(checked)?;
            }
        }
        Ok(())
    }

    fn size(&self) -> Result<u64> {
        Ok(size(&self.state.directory))
    }

    fn flush(&self) -> Result<()> {
        if self.state.has_failed.load(Ordering::SeqCst) {
            return Err(EngineError::Damaged("a table cannot be read".to_owned()).into());
        }
        let current = self.state.current();
        current.recent.as_ref().map_or(Ok(()), |recent| recent.engine.flush())
    }
}
