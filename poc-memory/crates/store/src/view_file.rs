//! Saves the view of the default tenant and the counts of the other tenants in the store's folder, so that an open need
//! not read every record. The views of tenants with many notes are in files of their own, and those of the others are
//! built from the records when they are needed.
//!
//! The file contains the sequence number of its last transaction and the checksum of that record, which reveals a file
//! of another log. A file that does not match the log is replaced by what the records give.

use super::atomic_file::{self, Fingerprint};
use super::catch_up;
use super::log::{Log, LogError, SyncedLog};
use super::tenant_counts::{self, TenantTable};
use super::views::StoreViews;
use poc_graph::View;
use poc_graph::error::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the file in the folder of the store.
pub(super) const NAME: &str = "view";

fn file(store: &Path) -> PathBuf {
    store.join(NAME)
}

/// The number must change whenever the meaning or the encoding of views changes.
pub(super) const FORMAT: &str = "view 10";

fn fingerprint() -> Fingerprint {
    Fingerprint::of(FORMAT)
}

/// The saved view and counts, the last transaction they contain, and the checksum of its record.
pub(super) struct SavedViews {
    views: StoreViews,
    seq: u64,
    checksum: u32,
}

/// Reads what is saved in a store's folder; `None` if the file is missing or damaged.
pub(super) fn read(store: &Path) -> Option<SavedViews> {
    let (seq, bytes) = atomic_file::read(&file(store), fingerprint())?;
    decode(&bytes, seq)
}

/// Decodes the payload of the file, whose last transaction is `seq`.
pub(super) fn decode(bytes: &[u8], seq: u64) -> Option<SavedViews> {
    let (checksum, bytes) = bytes.split_first_chunk()?;
    let (last, bytes) = bytes.split_first_chunk()?;
    let (others, bytes) = tenant_counts::decode(bytes)?;
    let main = Arc::new(View::decode(bytes, u64::from_le_bytes(*last))?);
    Some(SavedViews { views: StoreViews { main, others }, seq, checksum: u32::from_le_bytes(*checksum) })
}

/// The number of the last transaction in what is saved in a store's folder, according to the unverified header of the
/// file; 0 if there is none.
pub(super) fn claimed_seq(store: &Path) -> u64 {
    atomic_file::claimed_seq(&file(store), fingerprint()).unwrap_or(0)
}

/// Deletes the saved views, durably.
pub(super) fn remove(store: &Path) -> Result<()> {
    atomic_file::remove(&file(store))
}

impl SavedViews {
    /// The number of the last transaction that is included.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// The number of the last transaction that is included, and the checksum of its record.
    pub(super) fn last_record(&self) -> (u64, u32) {
        (self.seq, self.checksum)
    }

    /// The view of the default tenant.
    pub(super) fn main(&self) -> &View {
        &self.views.main
    }

    /// Whether the saved views can belong to the log: it does not contain their last transaction, or contains the same
    /// one.
    pub(super) fn may_belong_to(&self, log: &Log) -> Result<bool> {
        Ok(log.read(self.seq)?.is_none_or(|(_, checksum)| checksum == self.checksum))
    }

    /// The view and the counts, and the number of the last transaction in them.
    pub(super) fn into_parts(self) -> (StoreViews, u64) {
        (self.views, self.seq)
    }

    /// Brings the view of the default tenant up to the end of a damaged log, using all intact records.
    pub(super) fn salvage(self, log: &Log) -> Result<Arc<View>> {
        let mut views = self.views;
        catch_up::saved_views(&mut views, self.seq, log)?;
        Ok(views.main)
    }

    /// Brings the view and the counts up to the end of the log. Returns them and the number of changes applied; `None`
    /// if they belong to another log or are ahead of this one, or if the log cannot be read.
    pub(super) fn catch_up(self, log: &Log) -> Option<(StoreViews, usize)> {
        let SavedViews { mut views, seq, checksum } = self;
        let found = log.read(seq).ok().flatten();
        found.filter(|(_, found)| *found == checksum)?;
        let changes = catch_up::saved_views(&mut views, seq, log)
            .inspect_err(|error| tracing::warn!("the saved views are built again: {error}"));
        Some((views, changes.ok()?))
    }
}

/// Saves a view and counts that contain everything up to transaction `seq`, which the log must have.
pub(super) fn write(
    store: &Path,
    seq: u64,
    main: &View,
    others: &TenantTable,
    synced: &SyncedLog<'_>,
) -> Result<()> {
    let Some((_, checksum)) = synced.log().read(seq)? else {
        return Err(LogError::Missing(seq).into());
    };
    let (checksum, last) = (checksum.to_le_bytes(), main.seq.to_le_bytes());
    let (others, main) = (tenant_counts::encode(others)?, main.encode()?);
    atomic_file::write(&file(store), fingerprint(), seq, &[&checksum, &last, &others, &main])
}
