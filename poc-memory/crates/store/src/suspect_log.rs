//! Recognises a damaged log.

use crate::engine::lsm;
use crate::log::PrefixEnd;
use crate::{atomic_file, log_head, view_file};
use poc_graph::error::Result;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

/// The files of indexes, and the list of checked segments, relative to the folder of the store. Each contains the
/// number of the last transaction that it reflects. They are written after the transactions were synced.
const NUMBERED_FILES: [&str; 7] = [
    "log/checked",
    "text/snapshot",
    "text/tenants/manifest",
    "vectors/manifest",
    "vectors/tenants/manifest",
    "mentions/snapshot",
    "mentions/tenants/manifest",
];

/// The names of the parts of a store whose number can show that the log has lost its end.
const PARTS: [&str; 6] = ["records", "view", log_head::NAME, "text", "vectors", "mentions"];

/// What is wrong with a store of which no intact part is left outside the quarantine.
const ONLY_QUARANTINE: &str = "the log is missing, and only `quarantine/` may have some of its notes: \
     `poc-memory doctor quarantine list` shows what is in it";

/// A log that may be damaged, and whose valid prefix ends with transaction `last`.
pub(crate) struct SuspectLog<'a> {
    pub(crate) directory: &'a Path,
    /// Where the prefix ends, if further bytes follow it.
    pub(crate) prefix_end: Option<&'a PrefixEnd>,
    pub(crate) last: u64,
    /// Whether it is a copy of a shared log. A copy reads what it has lost from the shared log again. It counts as
    /// damaged only if the records or a view are newer, or if it has wrong bytes that a power failure does not explain.
    pub(crate) is_copy: bool,
    /// The folder of the quarantine with the damaged copy of a shared log, if neither a new copy nor another store nor
    /// a repaired log has taken its place.
    pub(crate) unreplaced_copy: Option<String>,
    /// Maximum time between two heartbeats of the record engine.
    pub(crate) heartbeat_timeout: Duration,
}

impl SuspectLog<'_> {
    /// Whether any intact part of the store is newer than the prefix, or the log is missing although there is a
    /// quarantine, or a damaged copy was moved there and not replaced. Otherwise the bytes after the prefix are the end
    /// of an interrupted write.
    pub(crate) fn is_damaged(&self) -> Result<bool> {
        Ok(self.newer_parts()?.seq > self.last
            || self.prefix_end.is_some_and(|end| {
                !self.may_be_unsynced(end) && end.precedes_intact_records().unwrap_or(true)
            })
            || self.is_missing_despite_quarantine()
            || self.unreplaced_copy.is_some())
    }

    /// Whether the bytes after the prefix may never have been synced. A copy of a shared log syncs records after they were
    /// acknowledged. A power failure may keep any part of them, and the shared log has all of them.
    fn may_be_unsynced(&self, end: &PrefixEnd) -> bool {
        // A folder with a head may have been in use without the shared log, and then has records of its own.
        self.is_copy && end.may_be_unsynced() && !log_head::exists(self.directory)
    }

    /// Whether the log is missing although the store had one: only a store with a log puts files into its quarantine.
    fn is_missing_despite_quarantine(&self) -> bool {
        !self.is_copy && !self.directory.join("log").exists() && has_quarantine(self.directory)
    }

    /// Whether only the quarantine of a damaged store may have notes. `newer` are its newer parts, and
    /// `has_unusable_records` says whether it has records that cannot be used: they may have notes, too.
    pub(crate) fn is_only_quarantine(&self, newer: &NewerParts, has_unusable_records: bool) -> bool {
        self.prefix_end.is_none() && self.last == 0 && newer.names.is_empty() && !has_unusable_records
    }

    /// What is wrong with the log of a damaged store, as a sentence for people.
    pub(crate) fn problem(&self, newer: &NewerParts, has_unusable_records: bool) -> String {
        if let Some(folder) = &self.unreplaced_copy {
            return format!(
                "the log is missing, because a damaged copy of a shared log was moved to `quarantine/{folder}` \
                 (`poc-memory doctor quarantine list`) and not replaced: set `[store] log` again to begin a new copy"
            );
        }
        match self.prefix_end {
            Some(end) => end.to_string(),
            None if self.is_only_quarantine(newer, has_unusable_records) => ONLY_QUARANTINE.to_owned(),
            None if self.last == 0 => "the log is missing".to_owned(),
            // This names the missing changes.
            None => newer.problem(self.last),
        }
    }

    /// The parts other than the log that are intact and newer than the prefix.
    pub(crate) fn newer_parts(&self) -> Result<NewerParts> {
        let mut newer = NewerParts::default();
        let mut add = |name, seq| {
            if seq > self.last {
                newer.seq = newer.seq.max(seq);
                newer.names.push(name);
            }
        };
        add("records", lsm::newest_seq(&self.directory.join("records"), self.heartbeat_timeout)?);
        if view_file::claimed_seq(self.directory) > self.last {
            add("view", view_file::read(self.directory).map_or(0, |saved| saved.seq()));
        }
        if self.is_copy {
            return Ok(newer);
        }
        add(log_head::NAME, log_head::read(self.directory).unwrap_or(0));
        for name in NUMBERED_FILES {
            let file = self.directory.join(name);
            let claimed = atomic_file::claimed_seq_of_any(&file).unwrap_or(0);
            // The whole file is read only if its number matters.
            if claimed > self.last && !atomic_file::is_damaged(&file) {
                add(name, claimed);
            }
        }
        Ok(newer)
    }
}

/// The highest number of a transaction that a store's folder mentions outside the segments of the log, according to
/// files that are not checked; 0 if there is none.
pub(crate) fn claimed_seq(directory: &Path, heartbeat_timeout: Duration) -> Result<u64> {
    let claimed = |name: &&str| atomic_file::claimed_seq_of_any(&directory.join(name));
    let files = NUMBERED_FILES.iter().filter_map(claimed).chain(log_head::read(directory)).max();
    let records = lsm::newest_seq(&directory.join("records"), heartbeat_timeout)?;
    Ok(files.unwrap_or(0).max(records).max(view_file::claimed_seq(directory)))
}

/// Whether a directory has any part from which a lost log can be noticed.
pub(crate) fn has_parts(directory: &Path) -> bool {
    PARTS.iter().any(|part| directory.join(part).exists()) || has_quarantine(directory)
}

/// Whether anything is in the quarantine of a store. A quarantine that cannot be read counts as not empty.
fn has_quarantine(directory: &Path) -> bool {
    match fs::read_dir(directory.join("quarantine")) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// Intact parts of a store that are newer than its log.
#[derive(Debug, Default)]
pub(crate) struct NewerParts {
    /// The highest number of a transaction in any of them; 0 without any.
    pub(crate) seq: u64,
    /// Their paths, relative to the folder of the store.
    pub(crate) names: Vec<&'static str>,
}

impl NewerParts {
    /// The names in an enumeration.
    fn list(&self) -> String {
        let quoted: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        match quoted.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }

    /// What is wrong with a log that ends with transaction `last` before these parts do.
    fn problem(&self, last: u64) -> String {
        let lost = match self.seq.saturating_sub(last) {
            1 => format!("change {}", self.seq),
            _ => format!("changes {} to {}", last + 1, self.seq),
        };
        let verb = if self.names.len() == 1 { "knows" } else { "know" };
        format!("the log ends at change {last} and lacks {lost}, which {} {verb} of", self.list())
    }
}
