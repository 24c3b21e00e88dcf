//! Compares the parts of an open store with each other: segments of the log, records, views and indexes.
//!
//! The log is the source of truth: everything else must follow from its transactions. The store may be read and written
//! during the verification. Differences are checked again while no transaction runs, because they may only be due to
//! changes in between.

mod indexes;
mod records;
mod segments;
mod views;

use super::atomic_file::{self, FileState};
use super::{ReadOnlyReason, Store, derived_files};
use parking_lot::ReentrantMutexGuard;
use poc_graph::error::{Error, Result};
use std::path::PathBuf;
use std::time::Duration;

/// Maximum number of differences listed in a message.
const MAX_LISTED: usize = 20;
/// The message for a deleted file.
const MISSING: &str = "it is missing";
/// The message for a file whose bytes have changed.
const WRONG_CHECKSUM: &str = "its content does not match its checksum";
/// Number of records between two calls of the callbacks.
const SLICE: u64 = 256;
/// Maximum time for which the lock of the writers is held while a transaction is written. Most take less. Another one may
/// be built as soon as the lock is released, and the wait begins anew.
const OUTCOME_TIMEOUT: Duration = Duration::from_secs(1);

/// Callbacks of a verification.
pub struct VerifyCallbacks<'a> {
    /// Called with the name of the part being read, how much of it was read, and its total if known.
    pub progress: &'a dyn Fn(&str, u64, Option<u64>),
    /// Called often. An error ends the verification.
    pub check_cancelled: &'a dyn Fn() -> Result<()>,
}

/// A part of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorePart {
    /// The source of everything else.
    Log,
    /// The notes and all other records.
    Records,
    /// Names, links and numbers of the notes.
    View,
    /// An index, such as that of text or of vectors.
    Index,
}

/// A part of the store that is damaged or differs from the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedPart {
    /// The damaged part.
    pub part: StorePart,
    /// The file or folder of the part.
    pub path: PathBuf,
    /// What is wrong, as a sentence for people.
    pub message: String,
    /// Whether it was rebuilt from the log as soon as the damage was found. Records are also moved to the quarantine.
    pub is_rebuilt: bool,
}

impl Store {
    /// Reads every segment of the log, and compares all records, views and indexes of all tenants with it. Records
    /// that the engine holds in memory are not read from the disk again. Nothing is changed, except that records with a
    /// damaged file are rebuilt from the log, and damaged saved views of tenants that are not in memory are deleted and
    /// built from the records, as after any read that finds such damage. Files that were damaged when they were read
    /// since the open, and were built again, are reported once.
    ///
    /// If the log is damaged, the store accepts no writes from then on, until a verification finds no damage, and the
    /// next open checks every record. A copy of a shared log does accept writes: the next open reads again what the
    /// copy has lost.
    ///
    /// # Errors
    /// Errors that a callback returns, and `read_only` if the store was already opened as damaged.
    pub fn verify(&self, callbacks: &VerifyCallbacks<'_>) -> Result<Vec<DamagedPart>> {
        if let Some(damage) = self.damage() {
            return Err(
                Error::new(poc_graph::error::Code::ReadOnly, damage.to_owned()).hint(super::DAMAGED_HINT)
            );
        }
        let verifier = Verifier { store: self, callbacks };
        let mut findings = verifier.segments()?;
        verifier.report_log(&findings);
        // Everything else is compared with the log, so the log must be intact.
        if findings.is_empty() {
            findings.extend(verifier.head()?);
            findings.extend(verifier.lock());
            // The views of tenants are built from the records, and a read of damaged records replaces them.
            findings.extend(verifier.records()?);
            findings.extend(verifier.views()?);
            findings.extend(verifier.indexes()?);
            findings.extend(verifier.derived_files()?);
            let rebuilt = verifier.rebuilt(&findings);
            findings.extend(rebuilt);
        }
        Ok(findings)
    }
}

/// A verification in progress.
struct Verifier<'a> {
    store: &'a Store,
    callbacks: &'a VerifyCallbacks<'a>,
}

impl Verifier<'_> {
    /// Reports the progress and checks for cancellation, at intervals.
    fn step(&self, what: &str, done: u64, total: Option<u64>) -> Result<()> {
        if done % SLICE != 1 {
            return Ok(());
        }
        (self.callbacks.progress)(what, done, total);
        (self.callbacks.check_cancelled)()
    }

    /// Runs work while no transaction runs. `work` gets the number of the last transaction, which every part then
    /// reflects.
    fn at_rest<T>(&self, work: impl FnOnce(u64) -> Result<T>) -> Result<T> {
        let _writer = loop {
            let writer = self.store.shared.writer.lock();
            let last = writer.try_borrow().ok().and_then(|writer| writer.last.clone());
            // If that transaction was rejected, no part has it.
            if last.is_none_or(|last| last.wait_for(OUTCOME_TIMEOUT)) {
                break writer;
            }
            // The committer needs the lock to reject transactions.
            ReentrantMutexGuard::unlock_fair(writer);
            (self.callbacks.check_cancelled)()?;
        };
        work(self.store.shared.log.last())
    }

    /// Makes the store read-only if its log is damaged, and writable again if such damage was removed.
    fn report_log(&self, findings: &[DamagedPart]) {
        let shared = &self.store.shared;
        let damaged = findings.iter().find(|finding| finding.part == StorePart::Log);
        if damaged.is_some() {
            shared.log.forget_checked();
        }
        if shared.shared_log.is_some() {
            return;
        }
        // Files that are missing or too short can be put back, which the store notices by itself.
        shared.commits.check_files();
        if matches!(self.store.read_only(), Some(ReadOnlyReason::ChangedLog(_))) {
            return;
        }
        shared.commits.report_verified(match damaged {
            Some(part) => Err(format!("log segment `{}`: {}", part.path.display(), part.message)),
            None => Ok(()),
        });
    }

    fn finding(&self, part: StorePart, file: &str, message: impl Into<String>) -> DamagedPart {
        let path = self.store.shared.directory.join(file);
        DamagedPart { part, path, message: message.into(), is_rebuilt: false }
    }

    /// Reports that the lock file was deleted. A store that accepts no writes may have none.
    fn lock(&self) -> Option<DamagedPart> {
        let is_missing =
            !self.store.shared.directory.join("lock").exists() && self.store.read_only().is_none();
        let message = "it is missing, so another process could open the store at the same time";
        is_missing.then(|| self.finding(StorePart::Index, "lock", message))
    }

    /// The derived files that are damaged. Only the rest of the program could compare their contents with the log.
    fn derived_files(&self) -> Result<Vec<DamagedPart>> {
        let names = derived_files::names(&self.store.shared.directory)?;
        Ok(names.iter().filter_map(|name| self.check_file(StorePart::Index, name)).collect())
    }

    /// The files that were damaged when they were read, and that no verification of this store has reported yet. Those
    /// that are still damaged are among the findings already.
    fn rebuilt(&self, findings: &[DamagedPart]) -> Vec<DamagedPart> {
        let mut paths = self.store.shared.rebuilt.take_unreported();
        paths.retain(|path| findings.iter().all(|finding| finding.path != *path));
        let part = |path| DamagedPart {
            part: StorePart::Index,
            path,
            message: "it was damaged when it was read, and its content was built again from the log".into(),
            is_rebuilt: true,
        };
        paths.into_iter().map(part).collect()
    }

    /// Returns a diagnostic if a file with a checksum is damaged or cannot be read.
    fn check_file(&self, part: StorePart, file: &str) -> Option<DamagedPart> {
        match atomic_file::state(&self.store.shared.directory.join(file)) {
            FileState::Damaged => Some(self.finding(part, file, WRONG_CHECKSUM)),
            FileState::Unreadable(error) => {
                Some(self.finding(part, file, format!("it cannot be read: {error}")))
            }
            FileState::Missing | FileState::Intact => None,
        }
    }
}

/// The first of several names, and the number of the others.
fn listed(names: &[String], all: usize) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_LISTED).map(String::as_str).collect();
    match all.saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
