//! Repairs a damaged store in a way that a person chooses, and undoes repairs.
//!
//! A repair writes a new log next to the old one and then exchanges them. The replaced files are moved to a folder in
//! the quarantine. The moves are saved to a journal first, so that the next open completes an interrupted repair.

mod journal;
mod lost_notes;
mod new_log;
mod new_log_writer;
mod part_files;
mod part_notes;
mod quarantine_files;
mod quarantine_parts;

pub use journal::repair_folders;
pub(crate) use journal::{complete, is_interrupted};
pub use quarantine_files::{IntactContents, QuarantineFile, quarantine_files};
pub use quarantine_parts::{
    QuarantineNote, QuarantinePart, QuarantineRecord, QuarantineTenant, RestorableRecords,
    delete_quarantine_part, for_each_quarantine_record, is_replaced_copy, quarantine_contents,
    quarantine_lost_notes, quarantine_names, quarantine_parts,
};

use crate::catch_up;
use crate::disk::remove_folder;
use crate::engine::Engine;
use crate::index_entries::LostNote;
use crate::lock::Lock;
use crate::log::{self, Log};
use crate::log_head;
use crate::salvaged_records::SalvagedRecords;
use crate::suspect_log::SuspectLog;
use crate::transaction_range::TransactionRange;
use crate::view_file;
use crate::views::Views;
use crate::watchdog::HEARTBEAT_TIMEOUT;
use journal::Journal;
use new_log::NewLog;
pub use new_log_writer::REPAIR_OP;
use part_notes::{PartNotes, RECORDS};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The source from which a store is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairSource {
    /// The records, or those of their blocks that are intact, and every intact record of the log. If the records can
    /// be used as a whole, nothing that is intact is lost. From blocks, a note may be older than it was, or exist
    /// although it was deleted.
    Records,
    /// Every intact record of the log, also after the damage.
    IntactLog,
    /// The log up to the damage.
    Log,
}

/// What a repair from one source would keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairOption {
    /// The source of the repair.
    pub source: RepairSource,
    /// The number of notes of all tenants, in any state.
    pub notes: u64,
    /// The number of links of all tenants, of every kind, as in the statistics of a store.
    pub links: u64,
    /// The sequence number of the last change. The repair may add changes after it: they delete what was added to notes
    /// that are lost, and write again what a view of the log would otherwise lack.
    pub last_seq: u64,
    /// The time of the last change whose time is known.
    pub until: Option<Timestamp>,
    /// Whether `until` is the time of the last change.
    pub until_is_exact: bool,
    /// The ranges of changes whose content is lost.
    pub lost: Vec<TransactionRange>,
    /// Whether the records cannot be used as a whole, and only their intact blocks are. These keep a part of the lost
    /// changes.
    pub is_partial: bool,
    /// For each of the [`Repair::parts`], the number of its notes that the repair would not keep.
    pub missing_notes: Vec<u64>,
}

/// A part of a damaged store, other than the log, that can be read at least partly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadablePart {
    /// Its path in the folder of the store: `records` or `view`.
    pub name: &'static str,
    /// The sequence number of the last change that it reflects.
    pub last_seq: u64,
    /// The number of its readable notes of all tenants, without those that the log deletes later. The view has only
    /// their names and links.
    pub notes: u64,
}

/// A repair that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// The name of the folder in the quarantine with the replaced files.
    pub replaced: String,
    /// The records that can be read in the replaced files and that the store lacks; `None` if the files cannot be read.
    pub restorable: Option<RestorableRecords>,
}

/// A damaged store that no other process has open.
pub struct Repair {
    directory: PathBuf,
    /// What is damaged.
    damage: String,
    log: Arc<Log>,
    /// The last transaction of the log's intact prefix.
    prefix: u64,
    /// The last transaction that is mentioned in any part of the store.
    known: u64,
    /// Whether the log is a copy of a shared log.
    is_copy: bool,
    /// `None` if the records cannot be used.
    records: Option<SalvagedRecords>,
    intact_log: SalvagedRecords,
    /// The notes of the records and of the saved view, as far as these can be read.
    parts: Vec<PartNotes>,
    _lock: Lock,
}

impl Repair {
    /// Reads the remains of the store in a directory; `None` if it is not damaged. Changes nothing. `is_copy` says
    /// whether its log is a copy of a shared log, from which it reads the end that it has lost.
    ///
    /// # Errors
    /// `locked` if a process has the store open, `not_found` if there is none, `conflict` if a newer release wrote it,
    /// and `unavailable` if the temporary folder cannot be used.
    pub fn of(directory: &Path, is_copy: bool) -> Result<Option<Repair>> {
        check_exists(directory)?;
        let log_directory = directory.join("log");
        log::check_format(&log_directory)?;
        let lock = Lock::take(&directory.join("lock"))?;
        complete(directory)?;
        let (prefix, prefix_end) = log::inspect(&log_directory, true)?;
        let last = prefix.last();
        let suspect = SuspectLog {
            directory,
            prefix_end: prefix_end.as_ref(),
            last,
            is_copy,
            unreplaced_copy: unreplaced_copy(directory, is_copy, last),
            heartbeat_timeout: HEARTBEAT_TIMEOUT,
        };
        if !suspect.is_damaged()? {
            return Ok(None);
        }
        let newer = suspect.newer_parts()?;
        let log = Arc::new(log::salvage(prefix, prefix_end.as_ref())?);
        let folder = directory.join("records");
        let mut intact_log = SalvagedRecords::of_log(log.clone(), log.last(), HEARTBEAT_TIMEOUT)?;
        let (mut records, problem) = salvage_records(&folder, &log, last)?;
        log.raise_last(records.as_ref().map_or(0, |records| records.newest));
        let known = log.last().max(newer.seq);
        let mut parts = vec![PartNotes::of_records(&folder)?];
        if let Some(saved) = view_file::read(directory)
            && saved.may_belong_to(&log)?
        {
            intact_log.name_lost_notes(saved.main());
            if let Some(records) = &mut records {
                records.name_lost_notes(saved.main());
            }
            parts.push(PartNotes::of_view(saved));
        }
        parts.iter_mut().try_for_each(|part| part.remove_deleted(&log))?;
        parts.retain(|part| part.count() > 0);
        let damage = suspect.problem(&newer, problem.is_some()) + &records_clause(problem, records.is_some());
        Ok(Some(Repair {
            directory: directory.to_owned(),
            damage,
            log,
            prefix: last,
            known,
            is_copy,
            records,
            intact_log,
            parts,
            _lock: lock,
        }))
    }

    /// What is damaged, as a sentence for people.
    pub fn damage(&self) -> &str {
        &self.damage
    }

    /// The parts other than the log that can be read.
    pub fn parts(&self) -> Vec<ReadablePart> {
        let readable =
            |part: &PartNotes| ReadablePart { name: part.name, last_seq: part.last_seq, notes: part.count() };
        self.parts.iter().map(readable).collect()
    }

    /// The notes of which the records and the log have only entries, such as that of their key, or what intact changes
    /// added to them, such as links. No repair keeps them. A note that a lost change deleted may be among them.
    pub fn lost_notes(&self) -> &[LostNote] {
        &self.records.as_ref().unwrap_or(&self.intact_log).lost_notes
    }

    /// If the log has lost its end, the last change that any part of the store mentions. There may have been later
    /// changes of which nothing is left.
    pub fn lost_end(&self) -> Option<u64> {
        (self.log.last_intact(u64::MAX) < self.known).then_some(self.known)
    }

    /// The ranges of changes that the log lacks and whose result the records have. No repair keeps their history.
    pub fn lost_history(&self) -> Vec<TransactionRange> {
        let base = self.records.as_ref().map_or(0, |records| records.base);
        let up_to_base =
            |missing: TransactionRange| TransactionRange::new(missing.first, missing.last.min(base));
        self.log.missing().into_iter().filter_map(up_to_base).collect()
    }

    /// Whether the record of a change in the log has a checksum; `None` if the log does not have the change, or if a
    /// compaction has rewritten it.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub fn has_record(&self, seq: u64, checksum: u32) -> Result<Option<bool>> {
        if seq <= self.log.base_seq() {
            return Ok(None);
        }
        Ok(self.log.read(seq)?.map(|(_, own)| own == checksum))
    }

    /// The possible repairs, most complete first. None if the folder is only a copy of a shared log: an open restores it
    /// from there.
    pub fn options(&self) -> Result<Vec<RepairOption>> {
        let sources = [RepairSource::Records, RepairSource::IntactLog, RepairSource::Log];
        sources
            .into_iter()
            .filter(|source| self.is_possible(*source))
            .map(|source| self.option(source))
            .collect()
    }

    fn is_possible(&self, source: RepairSource) -> bool {
        if self.is_copy && !log_head::exists(&self.directory) {
            // The shared log has everything, and a repaired log may have transactions that it lacks.
            return false;
        }
        match source {
            RepairSource::Records => self.records.is_some(),
            RepairSource::IntactLog => self.log.last_intact(u64::MAX) > self.prefix,
            // Without a log, the intact part of unusable records can be restored from the quarantine afterwards.
            RepairSource::Log => self.prefix > 0 || self.parts.iter().any(|part| part.name == RECORDS),
        }
    }

    /// The last transaction of the store if it is repaired from a source.
    fn last(&self, source: RepairSource) -> u64 {
        match source {
            RepairSource::Records => self.log.last(),
            RepairSource::IntactLog => self.log.last_intact(u64::MAX),
            RepairSource::Log => self.prefix,
        }
    }

    fn option(&self, source: RepairSource) -> Result<RepairOption> {
        let last = self.last(source);
        let (known, is_partial) = match (&self.records, source) {
            (Some(records), RepairSource::Records) => {
                (records.base.max(self.prefix), records.newest > records.base)
            }
            _ => (self.prefix, false),
        };
        let views = self.views(source)?;
        let unknown =
            |missing: TransactionRange| TransactionRange::new(missing.first.max(known + 1), missing.last);
        let mut lost: Vec<TransactionRange> = match source {
            RepairSource::Log => Vec::new(),
            _ => self.log.missing().into_iter().filter_map(unknown).collect(),
        };
        lost.retain(|range| range.first <= last);
        lost.extend(TransactionRange::new(last + 1, self.known));
        Ok(RepairOption {
            source,
            notes: views.values().map(|view| view.node_count() as u64).sum(),
            links: views.values().flat_map(|view| view.edges_by_kind().into_values()).sum(),
            last_seq: last,
            until: self.log.time_of_last(last)?,
            until_is_exact: self.log.contains_all(last, last),
            lost,
            is_partial,
            missing_notes: self.parts.iter().map(|part| part.missing_in(&views)).collect(),
        })
    }

    /// The views of the store if it is repaired from a source.
    fn views(&self, source: RepairSource) -> Result<Views> {
        self.with_records(source, |engine| catch_up::views(engine, self.last(source), &|| {}))
    }

    /// Calls `read` with the records of the store if it is repaired from a source.
    fn with_records<T>(
        &self,
        source: RepairSource,
        read: impl FnOnce(&dyn Engine) -> Result<T>,
    ) -> Result<T> {
        match (&self.records, source) {
            (Some(records), RepairSource::Records) => read(records.engine.as_ref()),
            (_, RepairSource::Log) => {
                let last = self.last(source);
                let prefix = SalvagedRecords::of_log(self.log.clone(), last, HEARTBEAT_TIMEOUT)?;
                read(prefix.engine.as_ref())
            }
            _ => read(self.intact_log.engine.as_ref()),
        }
    }

    /// Repairs the store from a source. `now` is the timestamp of the placeholder transactions for lost changes at the
    /// end. The folders `derived`, relative to the store's folder, contain data derived from the old log and are
    /// deleted. Afterwards, [`quarantine_lost_notes`] returns the [`Repair::lost_notes`].
    ///
    /// # Errors
    /// `invalid_argument` if the source is none of the [`Repair::options`], `unavailable` if the new log or the list of
    /// lost notes cannot be written or derived data cannot be deleted, `internal` if the new log does not lead to the
    /// expected state, and `read_only` or `unavailable` if the files cannot be moved. Interrupted moves are completed
    /// by the next open or repair. After any other error, the store is unchanged, except that derived data may be
    /// deleted.
    pub fn run(self, source: RepairSource, now: Timestamp, derived: &[&str]) -> Result<RepairReport> {
        if !self.is_possible(source) {
            return Err(Error::invalid("the store cannot be repaired from this source"));
        }
        let folder = self.directory.join(NEW_LOG);
        let last = self.last(source);
        let target: Option<&dyn Engine> = match (source, &self.records) {
            (RepairSource::Records, Some(records)) => Some(records.engine.as_ref()),
            (RepairSource::IntactLog, _) => Some(self.intact_log.engine.as_ref()),
            _ => None,
        };
        // The records are read before the files of the log are moved.
        self.with_records(source, |engine| {
            let prepare = || -> Result<(Views, Journal)> {
                NewLog { folder: &folder, log: &self.log, last, now, is_copy: self.is_copy }.write(target)?;
                if self.is_copy && last > 0 {
                    // The repaired log may have transactions that the shared log lacks. Without this file, a snapshot of
                    // the shared log could replace it.
                    log_head::create(&folder, last)?;
                }
                lost_notes::save(&self.directory, self.lost_notes())?;
                let views = catch_up::views(engine, last, &|| {})?;
                let journal = Journal::exchange(&self.directory, NEW_LOG, source_name(source))?;
                journal.save(&self.directory, derived)?;
                Ok((views, journal))
            };
            let (views, journal) = prepare().inspect_err(|_| clean_up(&self.directory))?;
            let replaced = journal.run(&self.directory)?;
            // The store is repaired, whether the replaced files can be read or not.
            let restorable = quarantine_contents(&self.directory, &replaced)
                .and_then(|contents| quarantine_parts::missing_in(&contents, &views, engine))
                .inspect_err(|error| tracing::warn!("the replaced files cannot be read: {error}"))
                .ok();
            Ok(RepairReport { replaced, restorable })
        })
    }
}

/// The folder of the new log until it replaces the old one.
const NEW_LOG: &str = "log.repaired";

/// Deletes the files that a repair left behind if it ended before it moved any file. Erasures do not search these
/// files, so they must not stay. Files that cannot be deleted now are deleted by the next repair, or by the next open of
/// a store that is not damaged.
pub(crate) fn clean_up(directory: &Path) {
    if is_interrupted(directory) {
        return;
    }
    if let Err(error) = remove_folder(&directory.join(NEW_LOG)) {
        tracing::debug!("`{NEW_LOG}` cannot be deleted: {error}");
    }
    if let Err(error) = lost_notes::save(directory, &[]) {
        tracing::debug!("the list of lost notes cannot be deleted: {error}");
    }
}

/// The name of a source in the journal.
fn source_name(source: RepairSource) -> &'static str {
    match source {
        RepairSource::Records => "records",
        RepairSource::IntactLog => "soundlog",
        RepairSource::Log => "log",
    }
}

/// Salvages the records in a folder: all of them or, if they cannot be used as a whole, those in intact blocks. In the
/// second case, the text says why; it is `None` if there is no folder. The records are `None` if the intact prefix of
/// the log, which ends with transaction `prefix`, has all of their changes.
fn salvage_records(
    folder: &Path,
    log: &Arc<Log>,
    prefix: u64,
) -> Result<(Option<SalvagedRecords>, Option<String>)> {
    Ok(match SalvagedRecords::of(folder, log.clone(), HEARTBEAT_TIMEOUT)? {
        Ok(records) => (Some(records).filter(|records| records.base > prefix), None),
        Err(error) => (
            SalvagedRecords::of_intact_blocks(folder, log, prefix, HEARTBEAT_TIMEOUT)?,
            folder.exists().then_some(error.message),
        ),
    })
}

/// The clause about records that cannot be used as a whole, for a description of the damage.
fn records_clause(problem: Option<String>, has_intact_blocks: bool) -> String {
    match (problem, has_intact_blocks) {
        (None, _) => String::new(),
        (Some(problem), true) => format!("; only the intact blocks of the records can be used: {problem}"),
        (Some(problem), false) => format!("; the records cannot be used: {problem}"),
    }
}

fn check_exists(directory: &Path) -> Result<()> {
    if crate::Store::exists(directory) || directory.join("quarantine").exists() {
        return Ok(());
    }
    Err(Error::not_found(format!("there is no store in `{}`", directory.display())))
}

/// Moves the log of a store, its records and its saved view to a folder in the quarantine, because the shared log that
/// they are a copy of replaces them. The caller holds the lock of the store. An interrupted move is completed by the
/// next open. Returns the name of the folder.
pub(crate) fn put_copy_aside(directory: &Path) -> Result<String> {
    let journal = Journal::put_aside(directory)
        .map_err(|error| Error::unavailable(format!("the folder of the log cannot be read: {error}")))?;
    journal.save(directory, &[])?;
    journal.run(directory)
}

/// The folder in the quarantine with the newest damaged copy of a shared log, if the store is no copy and nothing has
/// taken the place of the damaged one. That is so if the settings no longer name the shared log when the store is
/// opened for the first time after [`put_copy_aside`]. The log ends with transaction `last`.
pub(crate) fn unreplaced_copy(directory: &Path, is_copy: bool, last: u64) -> Option<String> {
    // A store that was in use since then has records, even if it has no transaction. A repair may leave an empty log
    // without records.
    if is_copy || last > 0 || directory.join(RECORDS).exists() {
        return None;
    }
    journal::last_replaced_copy(directory)
}

/// Whether [`undo_repair`] finds a repair that it can undo.
pub fn has_undoable_repair(directory: &Path) -> bool {
    Journal::undo(directory).is_ok()
}

/// Restores the files that the last repair of a store replaced. Returns the name of the quarantine folder with the
/// files that the repair had created. The folders `derived` are deleted, as by [`Repair::run`].
///
/// # Errors
/// `locked` if a process has the store open, `not_found` if there is no repair to undo, and `unavailable` if derived
/// data cannot be deleted or it is unknown which files the store has.
pub fn undo_repair(directory: &Path, derived: &[&str]) -> Result<String> {
    check_exists(directory)?;
    let _lock = Lock::take(&directory.join("lock"))?;
    complete(directory)?;
    let journal = Journal::undo(directory)?;
    journal.save(directory, derived)?;
    journal.run(directory)
}
