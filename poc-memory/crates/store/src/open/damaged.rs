//! Opens a store whose log is damaged. Nothing on disk changes except the lock; a person decides what to do with
//! `poc-memory repair`.
//!
//! The state is assembled from everything that is intact: the records or the prefix of the log, whichever is newer, and
//! then every later intact transaction of the log. If the records cannot be used as a whole, their intact blocks are
//! used. Files that an engine changes when it opens are copied first.

use super::catch_up_sources;
use crate::catch_up;
use crate::derived_index::DerivedIndex;
use crate::engine::lazy::{CurrentEngine, EngineOpener, OpenedEngine};
use crate::group_commit::{CommitQueue, TenantMemory};
use crate::index_workers::IndexWorkers;
use crate::lock::Lock;
use crate::log::{self, Log};
use crate::log_head;
use crate::read_only::ReadOnlyReason;
use crate::rebuilt_files::RebuiltFiles;
use crate::repair;
use crate::salvaged_records::SalvagedRecords;
use crate::shared_state::StoreState;
use crate::suspect_log::SuspectLog;
use crate::tenant_views::TenantViews;
use crate::transaction_range::TransactionRange;
use crate::view_file::SavedViews;
use crate::views::Views;
use crate::writer_state::WriterState;
use parking_lot::Mutex;
use poc_graph::Tenant;
use poc_graph::error::{Code, Error, Result};
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A damaged store that is being opened.
pub(super) struct DamagedStore<'a> {
    pub(super) directory: &'a Path,
    pub(super) embedder: &'a str,
    /// Whether its log is a copy of a shared log.
    pub(super) is_copy: bool,
    /// Why a copy of a shared log could not be restored from it.
    pub(super) not_restored: Option<Error>,
    pub(super) heartbeat_timeout: Duration,
    pub(super) saved: Option<SavedViews>,
    pub(super) lock: Arc<Lock>,
}

impl DamagedStore<'_> {
    /// Opens the store for reading.
    pub(super) fn open(mut self, indexes: Vec<Arc<dyn DerivedIndex>>) -> Result<StoreState> {
        let IntactParts { log, records, views, usable, mut damage } = self.intact_parts()?;
        let mut awaits_shared_log = false;
        if let Some(error) = &self.not_restored {
            damage += &format!("; it was not restored from the shared log: {}", error.message);
            damage += match error.code {
                // The message has the reason, and `repair` can repair such a folder.
                _ if log_head::exists(self.directory) => "",
                Code::Conflict => {
                    "; this folder may have changes that the shared log lacks: move it away without deleting it, and the \
                     next start begins a new copy"
                }
                Code::Unavailable => {
                    awaits_shared_log = true;
                    "; the next start tries again, and a running daemon starts again when it reaches the shared log"
                }
                _ => "; the next start tries again",
            };
        }
        let DamagedStore { directory, embedder, lock, .. } = self;
        let seq = log.last();
        let opened = OpenedEngine::new(records, None);
        let opener = EngineOpener::start(move || Ok(opened))?;
        let engine = opener.engine();
        let reason = Some(ReadOnlyReason::Damage(damage.clone()));
        let commits = Arc::new(CommitQueue::new(seq, TenantViews::fixed(views), None, reason));
        // Nothing is built again from a damaged log.
        let rebuilt = Arc::new(RebuiltFiles::default());
        let sources =
            catch_up_sources(&commits, log.clone(), engine.clone(), embedder, Some(usable), &rebuilt);
        let index_workers = Arc::new(IndexWorkers::start(indexes, &sources, seq, 0)?);
        let tenant_memory = Arc::new(TenantMemory::new(lock.clone(), log.clone()));
        Ok(StoreState {
            directory: directory.to_owned(),
            commits,
            writer: WriterState::shared(seq),
            committer: None,
            shared_log: None,
            watcher: None,
            engine,
            log,
            index_workers,
            tenant_memory,
            embedder: embedder.to_owned(),
            messages: Vec::new(),
            damage: Some(damage),
            awaits_shared_log,
            compactor: None,
            rebuilt,
            saved: Mutex::new(seq),
            _opener: opener,
            lock,
        })
    }

    /// Reads everything that is intact, and describes the damage.
    fn intact_parts(&mut self) -> Result<IntactParts> {
        let DamagedStore { directory, is_copy, heartbeat_timeout, .. } = *self;
        let log_directory = directory.join("log");
        // The whole log is checked, including segments that an earlier open has checked.
        let (prefix, prefix_end) = log::inspect(&log_directory, true)?;
        let prefix_last = prefix.last();
        let suspect = SuspectLog {
            directory,
            prefix_end: prefix_end.as_ref(),
            last: prefix_last,
            is_copy,
            unreplaced_copy: repair::unreplaced_copy(directory, is_copy, prefix_last),
            heartbeat_timeout,
        };
        let newer = suspect.newer_parts()?;
        let log = Arc::new(log::salvage(prefix, prefix_end.as_ref())?);
        let last_record = log.last();
        log.raise_last(newer.seq);
        let (salvaged, problem) =
            best_records(&directory.join("records"), &log, prefix_last, heartbeat_timeout)?;
        let base = salvaged.base;
        let saved = self.saved.take().filter(|saved| saved.seq() > base.max(prefix_last));
        log.raise_last(saved.as_ref().map_or(0, SavedViews::seq));
        let is_unusable = problem.is_some();
        let state = SalvagedState {
            log_problem: suspect.problem(&newer, is_unusable),
            has_readable_end: prefix_end.is_none(),
            prefix: prefix_last,
            last_record,
            base,
            problem,
            has_blocks: salvaged.newest > base,
            lost_notes: salvaged.lost_notes.len(),
            view: saved.as_ref().map(SavedViews::seq),
            missing: log.missing(),
            is_only_quarantine: suspect.is_only_quarantine(&newer, is_unusable),
            is_unreplaced_copy: suspect.unreplaced_copy.is_some(),
        };
        let records = salvaged.into_current();
        let mut views: Views = catch_up::views(records.engine.as_ref(), log.last(), &|| {})?;
        if let Some(saved) = saved {
            views.insert(Tenant::default(), saved.salvage(&log)?);
        }
        Ok(IntactParts {
            usable: usable_saved_state(&log, base),
            damage: state.to_string(),
            log,
            records,
            views,
        })
    }
}

/// What is intact in a damaged store.
struct IntactParts {
    /// The intact transactions.
    log: Arc<Log>,
    /// The state after the last transaction, as far as it is known.
    records: CurrentEngine,
    /// The views of that state.
    views: Views,
    /// The transactions for which the saved state of an index can be used.
    usable: RangeInclusive<u64>,
    /// What is damaged, and which state is shown instead.
    damage: String,
}

/// The records in a folder, or else their intact blocks, or else those of the log alone, each with every later intact
/// transaction of the log, whose intact prefix ends with transaction `prefix`. Also why the records cannot be used, if
/// there are any.
fn best_records(
    folder: &Path,
    log: &Arc<Log>,
    prefix: u64,
    heartbeat_timeout: Duration,
) -> Result<(SalvagedRecords, Option<String>)> {
    let error = match SalvagedRecords::of(folder, log.clone(), heartbeat_timeout)? {
        Ok(records) => return Ok((records, None)),
        Err(error) => error,
    };
    let blocks = SalvagedRecords::of_intact_blocks(folder, log, prefix, heartbeat_timeout)?;
    let of_log = || SalvagedRecords::of_log(log.clone(), log.last(), heartbeat_timeout);
    Ok((blocks.map_or_else(of_log, Ok)?, folder.exists().then_some(error.message)))
}

/// The range of transactions whose saved index state can be used although the log has lost some: it differs from the
/// records only by transactions that the log still has. `base` is the last transaction in the records. If it is 0, the
/// records cannot be used as a whole, and the range is empty.
fn usable_saved_state(log: &Log, base: u64) -> RangeInclusive<u64> {
    let missing = log.missing();
    let before = missing.iter().filter(|lost| lost.first <= base).map(|lost| lost.last.min(base));
    let after = missing.iter().filter(|lost| lost.last > base).map(|lost| base.max(lost.first - 1));
    // An index without saved state has reached transaction 0.
    let first = before.max().unwrap_or(0).max(log.base_seq()).max(1);
    let last = if base == 0 { 0 } else { after.min().unwrap_or(log.last()) };
    first..=last
}

/// Describes what is damaged and which state is shown instead.
struct SalvagedState {
    /// What is wrong with the log.
    log_problem: String,
    /// Whether no unreadable bytes follow the valid prefix of the log.
    has_readable_end: bool,
    /// The last transaction of the valid prefix.
    prefix: u64,
    /// The last intact record of the log.
    last_record: u64,
    /// The last transaction in the records.
    base: u64,
    /// Why the records cannot be used.
    problem: Option<String>,
    /// Whether intact blocks of records that cannot be used are shown.
    has_blocks: bool,
    /// The number of notes of which only index entries or later additions are left.
    lost_notes: usize,
    /// The last transaction of the saved view, if that view is shown.
    view: Option<u64>,
    /// The ranges of transactions that the log lacks.
    missing: Vec<TransactionRange>,
    /// Whether only the quarantine may have notes.
    is_only_quarantine: bool,
    /// Whether a copy of a shared log was moved to the quarantine and not replaced.
    is_unreplaced_copy: bool,
}

impl SalvagedState {
    /// The last transaction of the part that is shown, to which later changes of the log are added.
    fn shown(&self) -> u64 {
        self.view.unwrap_or(self.base).max(self.prefix)
    }

    /// Writes which changes the log lacks, and which of these are in no other part of the store.
    fn write_missing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_lost_end = self.has_readable_end && self.prefix > 0;
        let after =
            |lost: &TransactionRange| TransactionRange::new(lost.first.max(self.shown() + 1), lost.last);
        let lost: Vec<TransactionRange> = self.missing.iter().filter_map(after).collect();
        let are_all_lost = lost == self.missing && !has_lost_end;
        if !self.missing.is_empty() && !has_lost_end && !are_all_lost {
            let is_lost = self.has_readable_end && self.prefix == 0;
            write!(f, "{} {}", if is_lost { ", including" } else { " and lacks" }, ranges(&self.missing))?;
        }
        if !lost.is_empty() {
            let separator = if are_all_lost { ":" } else { ";" };
            let blocks = if self.has_blocks { ", except in intact blocks of the records" } else { "" };
            write!(f, "{separator} no part of the store has {} any more{blocks}", ranges(&lost))?;
        }
        Ok(())
    }

    /// Writes what answers show.
    fn write_shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.shown();
        f.write_str("; answers show ")?;
        match (self.view, self.base > self.prefix) {
            (None, false) if shown == 0 && self.has_blocks => {
                f.write_str("the intact blocks of the records")?;
                if self.last_record > 0 {
                    write!(f, " and the intact changes of the log, up to {}", self.last_record)?;
                }
            }
            (None, false) if shown == 0 && self.last_record > 0 => {
                write!(f, "only the intact changes of the log, up to {}", self.last_record)?;
            }
            (None, false) if shown == 0 => f.write_str("no notes")?,
            (Some(view), _) => write!(f, "the names and links of the saved view up to change {view}")?,
            (None, true) => write!(f, "the records up to change {}", self.base)?,
            (None, false) if self.last_record > shown => {
                return write!(f, "all other changes up to {}", self.last_record);
            }
            (None, false) => write!(f, "the log up to change {}", self.prefix)?,
        }
        if self.last_record > shown && shown > 0 {
            write!(f, ", and what the log still has of the changes from then to {}", self.last_record)?;
        }
        Ok(())
    }
}

impl fmt::Display for SalvagedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.log_problem)?;
        self.write_missing(f)?;
        if self.shown().max(self.last_record) == 0 && self.problem.is_none() {
            let before = match (self.is_unreplaced_copy, self.is_only_quarantine) {
                (true, _) => "otherwise, ",
                (false, true) => "",
                (false, false) => "nothing is left of its notes: ",
            };
            return write!(
                f,
                "; {before}restore a backup, or move the folder of the store away to begin with an empty memory"
            );
        }
        self.write_shown(f)?;
        if let Some(problem) = &self.problem {
            match self.has_blocks {
                true => write!(f, "; only the intact blocks of the records can be used: {problem}")?,
                false => write!(f, "; the records cannot be used: {problem}")?,
            }
        }
        match self.lost_notes {
            0 => Ok(()),
            1 => f.write_str("; 1 note is lost, which `poc-memory repair` names"),
            lost => write!(f, "; {lost} notes are lost, which `poc-memory repair` names"),
        }
    }
}

/// Ranges of changes in words, such as `changes 3, 5 to 8 and 10`.
fn ranges(all: &[TransactionRange]) -> String {
    let is_one = matches!(all, [range] if range.count() == 1);
    let mut named = if is_one { "change ".to_owned() } else { "changes ".to_owned() };
    for (at, range) in all.iter().enumerate() {
        named += match at {
            0 => "",
            _ if at + 1 == all.len() => " and ",
            _ => ", ",
        };
        named += &range.to_string();
    }
    named
}
