//! The record engine: an ordered key-value store that materialises the log.
//!
//! It need not be durable: everything that it loses or corrupts is rebuilt from the log.

mod block;
mod block_cache;
mod block_compression;
mod bloom_filter;
pub(super) mod buffered;
mod damage_marker;
pub(super) mod highest_seq;
pub(super) mod lazy;
pub(super) mod lsm;
pub(super) mod memory;
pub(super) mod sled;
mod sorted_table;
mod table_salvage;
pub(super) mod temporary_folder;

#[cfg(any(fuzzing, test))]
pub(super) use sorted_table::read_any_table;

use super::creation::Creation;
use super::disk;
use super::keys;
use super::logged_transaction::LoggedTransaction;
use super::record_encoding::Record;
use super::table::{TENANT_PREFIX, Table, split_tenant};
use poc_graph::Tenant;
use poc_graph::error::{Code, Error, Result};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A function that opens the engine in a folder.
pub(super) type OpenEngine = fn(&Path) -> Result<Arc<dyn Engine>>;

/// What a person can do if the temporary folder cannot be used.
const TEMPORARY_FOLDER_HINT: &str = "nothing was changed: make space in the temporary folder, or set `TMPDIR` to a \
     folder that has more, and repeat the command";

/// Why the records cannot be used in their present state.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    #[error("the records belong to another log")]
    OtherLog,
    #[error("the records are ahead of the log")]
    AheadOfLog,
    #[error("damage was found when the records were last in use")]
    FoundDamaged,
    /// `action` is what was attempted, as a participle: `read`.
    #[error("`{}` cannot be {action}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("the record engine failed: {0}")]
    Failed(::sled::Error),
    #[error("there is not enough space on the disk: {0}")]
    NoSpace(std::io::Error),
    #[error("the records cannot be read: {0}")]
    Unreadable(std::io::Error),
    #[error("the records are damaged: {0}")]
    Damaged(String),
    #[error("the record engine's watermark is damaged")]
    DamagedWatermark,
    #[error("the records were written by an earlier release")]
    EarlierLayout,
    #[error("the machine stopped while the records were being written")]
    NotTrusted,
    #[error("an interrupted change of the records cannot be completed, because the log lacks part of it")]
    Interrupted,
    #[error("the records cannot be copied to `{}`: {source}", directory.display())]
    Copy { directory: PathBuf, source: std::io::Error },
    /// The records themselves may be intact.
    #[error("the temporary folder `{}` cannot be used: {source}", directory.display())]
    TemporaryFolder { directory: PathBuf, source: std::io::Error },
    #[error("`records` cannot be moved to the quarantine: {0}")]
    Quarantine(std::io::Error),
    /// Neither the engine nor a substitute is open.
    #[error("neither the records nor a copy of them can be opened")]
    NotOpen,
    #[error("the records are in use")]
    InUse,
    #[error("the engine did not close after a disk failure")]
    NotClosed,
    #[error("the record files cannot be replaced")]
    NotReplaceable,
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Error {
        let code = match error {
            _ if error.is_of_disk() => Code::ReadOnly,
            EngineError::Damaged(_)
            | EngineError::DamagedWatermark
            | EngineError::FoundDamaged
            | EngineError::Unreadable(_) => Code::Damaged,
            EngineError::Io { .. }
            | EngineError::Copy { .. }
            | EngineError::TemporaryFolder { .. }
            | EngineError::Quarantine(_)
            | EngineError::NotOpen
            | EngineError::InUse
            | EngineError::NotClosed
            | EngineError::Failed(::sled::Error::Io(_)) => Code::Unavailable,
            _ => Code::Internal,
        };
        let converted = Error::new(code, error.to_string());
        match error {
            EngineError::Damaged(_) => converted.hint(
                "if the log is undamaged, the records are rebuilt from it, at the latest at the next open",
            ),
            EngineError::TemporaryFolder { .. } => converted.hint(TEMPORARY_FOLDER_HINT),
            _ => converted,
        }
    }
}

/// The error for an engine in a temporary folder that cannot write its records.
pub(super) fn temporary_write_error(error: &Error) -> Error {
    Error::unavailable(format!("the records cannot be written to the temporary folder: {}", error.message))
        .hint(TEMPORARY_FOLDER_HINT)
}

impl EngineError {
    /// Converts an error of sled. Its descriptions of damage name its own data structures, so only the log of the
    /// program has them.
    pub(super) fn of_sled(error: ::sled::Error) -> EngineError {
        match error {
            ::sled::Error::Corruption { .. } | ::sled::Error::ReportableBug(_) => {
                tracing::debug!("{error}");
                EngineError::Damaged(format!("the file `{}` differs from what was written", sled::FILE))
            }
            error => EngineError::Failed(error),
        }
    }

    /// Converts an error of the operating system. `action` is what was attempted, as a participle: `read`.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> EngineError {
        move |source| EngineError::Io { action, path: path.to_owned(), source }
    }

    /// Whether the disk refused or failed an operation. The records themselves are intact then.
    fn is_of_disk(&self) -> bool {
        match self {
            EngineError::NoSpace(_) => true,
            EngineError::Failed(::sled::Error::Io(source))
            | EngineError::Io { source, .. }
            | EngineError::Copy { source, .. }
            | EngineError::Quarantine(source)
            | EngineError::Unreadable(source) => disk::is_failure(source),
            _ => false,
        }
    }
}

/// A key and its new value; `None` deletes the key.
pub(super) type Put = (Vec<u8>, Option<Vec<u8>>);

/// The size of the key and the value of a change, in bytes.
fn put_length((key, value): &Put) -> usize {
    key.len() + value.as_ref().map_or(0, Vec::len)
}

/// The changes sorted by key. If several changes have the same key, only the last one is kept.
fn sorted(changes: &[Put]) -> Cow<'_, [Put]> {
    match changes.is_sorted_by(|(a, _), (b, _)| a < b) {
        true => changes.into(),
        false => changes.iter().cloned().collect::<BTreeMap<_, _>>().into_iter().collect::<Vec<_>>().into(),
    }
}

/// The last transaction that an engine contains, as its sequence number and the checksum of its log record. The
/// checksum reveals an engine that belongs to another log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Watermark {
    /// Sequence number; 0 for an empty engine.
    pub(super) seq: u64,
    /// CRC32C of the log record; 0 for an empty engine.
    pub(super) checksum: u32,
}

/// Number of records that are read between two checks whether the work is cancelled.
pub(super) const CHECK_RECORDS: u64 = 1_024;

/// A callback that receives a key and its value.
pub(super) type Visitor<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// An ordered key-value store. [`Table::engine_key`] creates the keys.
pub(super) trait Engine: Send + Sync {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Calls `each` with every key that starts with `prefix` and its value, sorted by key, until a call fails.
    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()>;

    /// The first key from `from` on, `from` included, if it starts with `prefix`. `from` starts with `prefix`, too.
    fn first_key(&self, prefix: &[u8], from: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut first = None;
        self.scan(prefix, &mut |key, _| {
            if first.is_none() && key >= from {
                first = Some(key.to_vec());
            }
            Ok(())
        })?;
        Ok(first)
    }

    /// The tenants, except the default one, that have keys. Tenants whose records were all deleted may be among them.
    fn tenants(&self) -> Result<BTreeSet<Tenant>> {
        let mut tenants = BTreeSet::new();
        self.scan(&[TENANT_PREFIX], &mut |key, _| {
            tenants.extend(split_tenant(key).map(|(tenant, _)| tenant));
            Ok(())
        })?;
        Ok(tenants)
    }

    /// Applies changes and then the watermark. If several changes have the same key, the last one wins. A crash in
    /// between leaves the old watermark, an arbitrary part of the changes, and the new watermark as
    /// [`Engine::unfinished`].
    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()>;

    /// The last transaction whose changes are all applied.
    fn watermark(&self) -> Result<Watermark>;

    /// The watermark of changes that a crash left half applied. Applying everything from [`Engine::watermark`] up to it
    /// again completes them.
    fn unfinished(&self) -> Result<Option<Watermark>> {
        Ok(None)
    }

    /// The size of the changes that are only in memory, in bytes.
    fn buffered(&self) -> usize {
        0
    }

    /// Whether the engine must be reopened because of damage or a failed write to the disk.
    fn has_failed(&self) -> bool {
        false
    }

    /// Retries writes that failed.
    fn retry(&self) -> Result<()> {
        Ok(())
    }

    /// Rewrites all records, so that no overwritten or deleted value remains. Calls `check_cancelled` often; its error
    /// ends the rewriting, and the files stay as they are.
    fn rewrite(&self, _check_cancelled: &dyn Fn() -> Result<()>) -> Result<()> {
        Ok(())
    }

    /// Reads files again that were only read at open and are kept in memory, such as the indexes of tables. A scan does
    /// not read them.
    fn check_files(&self) -> Result<()> {
        Ok(())
    }

    /// The size on disk, in bytes.
    fn size(&self) -> Result<u64>;

    /// Writes everything to disk, so that the next open need not replay the log.
    fn flush(&self) -> Result<()>;
}

/// The first key from `from` on that has a value in an engine. `next` returns the first key from another one on, also if
/// it was deleted.
fn first_with_value(
    engine: &dyn Engine,
    from: &[u8],
    mut next: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>>,
) -> Result<Option<Vec<u8>>> {
    let mut from = from.to_vec();
    while let Some(key) = next(&from)? {
        if engine.get(&key)?.is_some() {
            return Ok(Some(key));
        }
        from = key_after(key);
    }
    Ok(None)
}

/// The first possible key after a key.
fn key_after(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}

/// The changes that a transaction makes to an engine. Applying them again has no effect.
pub(super) fn changes(txn: &LoggedTransaction) -> Result<Vec<Put>> {
    let mut changes = Vec::with_capacity(txn.writes.len());
    for write in &txn.writes {
        changes.push((write.table.engine_key(txn.tenant, &write.key), write.after.clone()));
        if write.table == Table::Nodes && !txn.is_state() {
            let change = keys::change(keys::read_id(&write.key)?, txn.seq);
            let creation = match (&write.before, &write.after) {
                (None, Some(after)) => Creation::new(&txn.cause, after)?.encode()?,
                _ => Vec::new(),
            };
            changes.push((Table::Changes.engine_key(txn.tenant, &change), Some(creation)));
        }
    }
    Ok(changes)
}
