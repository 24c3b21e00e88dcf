//! The problems of the last notification, in a file: the next daemon reports their end, and does not repeat them.
//!
//! A daemon is often restarted to solve a problem, so the end of the problem is seen by another process.

use poc_graph::error::{Error, Result};
use poc_store::Store;
use poc_store::atomic_file::Fingerprint;
use std::collections::{BTreeMap, BTreeSet};

/// The ids of the problems that were reported and are not reported as solved yet, by recipient.
pub(crate) type ReportedProblems = BTreeMap<String, BTreeSet<String>>;

/// The file in `derived/` of the store.
const FILE: &str = "reported-problems";

/// The description of its format.
const FORMAT: &str = "reported problems 1";

/// Identifies a problem in the file, which an erasure does not delete: a hash, because the text may quote a note.
pub(crate) fn id(problem: &str) -> String {
    blake3::hash(problem.as_bytes()).to_hex().to_string()
}

/// What an earlier daemon has reported; nothing if the file is missing or damaged, or belongs to another log.
pub(crate) fn load(store: &Store) -> ReportedProblems {
    let saved = store.load_derived(FILE, Fingerprint::of(FORMAT)).unwrap_or_else(|error| {
        tracing::warn!("problems that were reported before may be reported again: {error}");
        None
    });
    saved.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Saves what was reported.
///
/// # Errors
/// Those of [`Store::save_derived`].
pub(crate) fn save(store: &Store, reported: &ReportedProblems) -> Result<()> {
    let payload = serde_json::to_vec(reported)
        .map_err(|error| Error::internal(format!("the reported problems cannot be encoded: {error}")))?;
    store.save_derived(FILE, Fingerprint::of(FORMAT), &payload).map(|_| ())
}
