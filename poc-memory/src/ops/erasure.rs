//! The additional answer of `delete --erase` and `forget --erase`.

use super::compact::with_callbacks;
use super::hit::is_zero;
use super::text::{plural, second};
use super::{Ctx, IrreversibleFlag, Principal};
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::erasure::{ErasedTexts, Erasure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The flag of the ops that erase.
pub(super) const FLAG: IrreversibleFlag = IrreversibleFlag {
    name: "erase",
    warning: "This erases the text for good and deletes the history of the whole memory up to now. It cannot be \
              undone.",
};

/// The result of an erasure.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ErasureOutput {
    /// Where the history of the memory begins now.
    history_since: Timestamp,
    /// The shared log from which it was also deleted. The other daemons erase the text from their copies within
    /// seconds, or when they start; the files and backups of the database itself may contain it for longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared_log: Option<String>,
    /// Number of deleted rows of runs and proposals that quoted the text.
    rows: usize,
    /// Number of deleted files with prompts and replies of runs.
    run_files: usize,
    /// Files with prompts and replies of runs, or their folder, that could not be read or deleted. They may still
    /// contain the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unread_run_files: Vec<PathBuf>,
    /// Number of deleted copies of files of vaults from before a write-back.
    #[serde(default, skip_serializing_if = "is_zero")]
    vault_copies: usize,
    /// Names of data that was deleted from the quarantine.
    quarantine: Vec<String>,
    /// Names of quarantined data that repairs replaced. Its readable parts do not contain the text, but
    /// damaged parts cannot be searched. It was kept because it may be the only copy of other notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kept_repairs: Vec<String>,
    /// Keys of notes and ids of messages that also contain the text, its title or its key. They were kept.
    elsewhere: Vec<String>,
    /// Generations and archives of backups that still contain the text.
    backups: Vec<PathBuf>,
    /// Folders, generations and archives of backups that could not be read completely and may still contain
    /// the text. The list of the backups itself if it could not be read.
    #[serde(default)]
    unread_backups: Vec<PathBuf>,
    /// Other generations and archives of backups that may contain the text: the erasure completes one that was
    /// interrupted after it had deleted the history, so the text is not known any more and cannot be searched for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unsearched_backups: Vec<PathBuf>,
}

/// Refuses an erasure for a model: it deletes history of the whole memory.
pub(super) fn require_person(ctx: &Ctx<'_>) -> Result<()> {
    if ctx.actor == Principal::Person {
        return Ok(());
    }
    Err(Error::new(
        Code::Rejected,
        "only a person may erase: an erasure deletes the history of the whole memory",
    )
    .field("erase"))
}

/// Erases what an op has deleted.
pub(super) fn run(ctx: &Ctx<'_>, erasure: Erasure<'_>, texts: &ErasedTexts) -> Result<ErasureOutput> {
    let stopped =
        || Error::new(Code::Unavailable, "the daemon is stopping: the text is deleted but not erased");
    let report = with_callbacks(ctx, &stopped, |callbacks| erasure.run(texts, callbacks))?;
    Ok(ErasureOutput {
        history_since: report.history_since,
        shared_log: ctx.memory.store.shared_log().map(|log| log.address),
        rows: report.rows,
        run_files: report.run_files,
        unread_run_files: report.unread_run_files,
        vault_copies: report.vault_copies,
        quarantine: report.quarantine,
        kept_repairs: report.kept_repairs,
        elsewhere: report.elsewhere,
        backups: report.backups,
        unread_backups: report.unread_backups,
        unsearched_backups: report.unsearched_backups,
    })
}

impl ErasureOutput {
    /// The outcome as text for a person.
    pub(super) fn show(&self) -> String {
        let mut text = format!(
            "erased from log, records and indexes; the history of the memory begins at {}\n",
            second(self.history_since)
        );
        if let Some(address) = &self.shared_log {
            text.push_str(&format!(
                "deleted from {address}; other daemons erase it from their copies within seconds, or when they start\n\
                 the files of the database contain it until `VACUUM FULL poc_memory_log, poc_memory_snapshot_part`, and \
                 its backups for longer\n"
            ));
        }
        if self.run_files + self.rows > 0 {
            text.push_str(&format!(
                "deleted {} with prompts and {} of runs\n",
                plural(self.run_files as u64, "file"),
                plural(self.rows as u64, "row")
            ));
        }
        if self.vault_copies > 0 {
            let copies = plural(self.vault_copies as u64, "copied file");
            text.push_str(&format!("deleted {copies} of vaults\n"));
        }
        if !self.quarantine.is_empty() {
            text.push_str(&format!("deleted from the quarantine: {}\n", self.quarantine.join(", ")));
        }
        if !self.kept_repairs.is_empty() {
            text.push_str(&format!(
                "kept in the quarantine, because its readable part does not contain the text: {}\n",
                self.kept_repairs.join(", ")
            ));
        }
        if !self.elsewhere.is_empty() {
            text.push_str(&format!(
                "the text, its title or its key is also in: {}\n",
                self.elsewhere.join(", ")
            ));
        }
        for file in &self.unread_run_files {
            text.push_str(&format!(
                "a file of runs that cannot be read or deleted now may contain it: {}\n",
                file.display()
            ));
        }
        for backup in &self.backups {
            text.push_str(&format!("a backup still contains it: {}\n", backup.display()));
        }
        for backup in &self.unread_backups {
            text.push_str(&format!(
                "a backup that cannot be read now may contain it: {}\n",
                backup.display()
            ));
        }
        for backup in &self.unsearched_backups {
            text.push_str(&format!(
                "a backup may contain the text of an interrupted erasure, which is not known any more and cannot be \
                 searched for: {}\n",
                backup.display()
            ));
        }
        text
    }
}
