//! Saves the views in the store's folder, so that an open need not read every record.
//!
//! The file contains the sequence number of its last transaction and the checksum of that record, which reveals a file
//! of another log. Views that do not match the log are rebuilt from the records.

use super::atomic_file::{self, Fingerprint};
use super::catch_up;
use super::encoding_error::EncodingError;
use super::log::{Log, LogError};
use super::views::Views;
use poc_graph::error::Result;
use poc_graph::{Tenant, View};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn file(store: &Path) -> PathBuf {
    store.join("view")
}

/// The number must change whenever the meaning or the encoding of views changes.
fn fingerprint() -> Fingerprint {
    Fingerprint::of("view 8")
}

/// Precedes the views. For each view it has the tenant, the last transaction and the length in bytes.
type TableOfContents = Vec<(Tenant, u64, u64)>;

/// Saved views, the last transaction they contain, and the checksum of its record.
pub(super) struct SavedViews {
    views: Views,
    seq: u64,
    checksum: u32,
}

/// Reads the views saved in a store's folder; `None` if the file is missing or damaged.
pub(super) fn read(store: &Path) -> Option<SavedViews> {
    let (seq, bytes) = atomic_file::read(&file(store), fingerprint())?;
    decode(&bytes, seq)
}

/// Decodes the views in the payload of the file, whose last transaction is `seq`.
pub(super) fn decode(bytes: &[u8], seq: u64) -> Option<SavedViews> {
    let (checksum, bytes) = bytes.split_first_chunk()?;
    let (contents, mut bytes) = postcard::take_from_bytes::<TableOfContents>(bytes).ok()?;
    let mut views = Views::default();
    for (tenant, seq, length) in contents {
        let (view, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        bytes = rest;
        views.insert(tenant, Arc::new(View::decode(view, seq)?));
    }
    bytes.is_empty().then_some(SavedViews { views, seq, checksum: u32::from_le_bytes(*checksum) })
}

/// The number of the last transaction in the views saved in a store's folder, according to the unverified header of the
/// file; 0 if there is none.
pub(super) fn claimed_seq(store: &Path) -> u64 {
    atomic_file::claimed_seq(&file(store), fingerprint()).unwrap_or(0)
}

/// Deletes the saved views, durably.
pub(super) fn remove(store: &Path) -> Result<()> {
    atomic_file::remove(&file(store))
}

impl SavedViews {
    /// The number of the last transaction in the views.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// Whether the log has no other transaction under the number of the views' last one.
    pub(super) fn may_belong_to(&self, log: &Log) -> Result<bool> {
        Ok(log.read(self.seq)?.is_none_or(|(_, checksum)| checksum == self.checksum))
    }

    /// The views, and the number of the last transaction in them.
    pub(super) fn into_parts(self) -> (Views, u64) {
        (self.views, self.seq)
    }

    /// Brings the views up to the end of a damaged log, using all intact records.
    pub(super) fn salvage(self, log: &Log) -> Result<Views> {
        let mut views = self.views;
        catch_up::saved_views(&mut views, self.seq, log)?;
        Ok(views)
    }

    /// Brings the views up to the end of the log. Returns them and the number of changes applied; `None` if they belong
    /// to another log or are ahead of this one, or if the log cannot be read.
    pub(super) fn catch_up(self, log: &Log) -> Option<(Views, usize)> {
        let SavedViews { mut views, seq, checksum } = self;
        let found = log.read(seq).ok().flatten();
        found.filter(|(_, found)| *found == checksum)?;
        let taken = catch_up::saved_views(&mut views, seq, log)
            .inspect_err(|error| tracing::warn!("the saved views are built again: {error}"));
        Some((views, taken.ok()?))
    }
}

/// Saves views that contain everything up to transaction `seq`, which the log must have.
pub(super) fn write(store: &Path, seq: u64, views: &Views, log: &Log) -> Result<()> {
    let Some((_, checksum)) = log.read(seq)? else {
        return Err(LogError::Missing(seq).into());
    };
    let mut order: Vec<_> = views.iter().collect();
    order.sort_unstable_by_key(|(tenant, _)| **tenant);
    let encoded = order.iter().map(|(_, view)| view.encode()).collect::<Result<Vec<_>>>()?;
    let contents: TableOfContents = order
        .iter()
        .zip(&encoded)
        .map(|((tenant, view), bytes)| (**tenant, view.seq, bytes.len() as u64))
        .collect();
    let contents =
        postcard::to_allocvec(&contents).map_err(|error| EncodingError::new("the views", error))?;
    let checksum = checksum.to_le_bytes();
    let mut parts: Vec<&[u8]> = vec![&checksum, &contents];
    parts.extend(encoded.iter().map(Vec::as_slice));
    atomic_file::write(&file(store), fingerprint(), seq, &parts)
}
