//! Saves the views of tenants with many notes in files of their own, so that the first question to such a tenant does
//! not wait until its view is built from its records.
//!
//! The number in a file is that of the last transaction in the view. The store knows the last transaction of every
//! tenant. If it is a later one, the view is brought up to it from the log, provided that this is quick. A file that is
//! too old or from another log is ignored, and replaced or deleted at the next checkpoint. A damaged file is deleted
//! when it is read.

use super::atomic_file::{self, FileState, Fingerprint};
use super::catch_up;
use super::log::{Log, SyncedLog};
use super::rebuilt_files::RebuiltFiles;
use super::tenant_counts::TenantCounts;
use super::view_file;
use parking_lot::{Mutex, MutexGuard};
use poc_graph::error::{Error, Result};
use poc_graph::{Tenant, View};
use rustc_hash::FxHashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of the files, in the folder of the store.
pub(super) const FOLDER: &str = "views";

/// Why the files cannot be listed.
#[derive(Debug, thiserror::Error)]
#[error("the saved views in `{}` cannot be listed: {source}", folder.display())]
struct ListError {
    folder: PathBuf,
    source: io::Error,
}

impl From<ListError> for Error {
    fn from(error: ListError) -> Error {
        Error::unavailable(error.to_string())
    }
}

/// A view, and what identifies the log that it belongs to.
pub(super) struct SavedTenantView {
    view: View,
    /// The [`Log::origin`].
    origin: [u8; 16],
    /// The checksum of the record of the last transaction in the view. It means nothing if a compaction has deleted
    /// that record.
    checksum: u32,
}

/// Decodes the payload of a file, in whose view the last transaction is `seq`.
pub(super) fn decode(bytes: &[u8], seq: u64) -> Option<SavedTenantView> {
    let (checksum, bytes) = bytes.split_first_chunk()?;
    let (origin, bytes) = bytes.split_first_chunk()?;
    let view = View::decode(bytes, seq)?;
    Some(SavedTenantView { view, origin: *origin, checksum: u32::from_le_bytes(*checksum) })
}

/// The file of one tenant is not valid for another.
fn fingerprint(tenant: Tenant) -> Fingerprint {
    Fingerprint::of(&format!("{} of tenant {tenant}", view_file::FORMAT))
}

/// The tenant that a file is named after; `None` if it has another name.
fn tenant_of(path: &Path) -> Option<Tenant> {
    let name = path.file_name()?.to_str()?;
    let mut id = [0; 16];
    for (byte, at) in id.iter_mut().zip((0usize..).step_by(2)) {
        *byte = u8::from_str_radix(name.get(at..at + 2)?, 16).ok()?;
    }
    Some(Tenant(id)).filter(|tenant| tenant.to_string() == name)
}

/// The saved views of all tenants with many notes, except the default one.
pub(super) struct TenantViewFiles {
    folder: PathBuf,
    log: Arc<Log>,
    /// Number of notes from which the view of a tenant is saved.
    min_nodes: usize,
    rebuilt: Arc<RebuiltFiles>,
    states: Mutex<FileStates>,
    /// Held while files are written or deleted.
    saving: Mutex<()>,
}

#[derive(Default)]
struct FileStates {
    /// The last transaction in the file of each tenant; `None` if the file is missing or cannot be used.
    files: FxHashMap<Tenant, Option<u64>>,
    /// Whether all files in the folder are known.
    is_complete: bool,
}

impl TenantViewFiles {
    /// The files in the folder of a store with a log. Damaged ones are added to `rebuilt`.
    pub(super) fn new(
        store: &Path,
        log: Arc<Log>,
        rebuilt: Arc<RebuiltFiles>,
        min_nodes: usize,
    ) -> TenantViewFiles {
        TenantViewFiles {
            folder: store.join(FOLDER),
            log,
            min_nodes,
            rebuilt,
            states: Mutex::default(),
            saving: Mutex::default(),
        }
    }

    fn path(&self, tenant: Tenant) -> PathBuf {
        self.folder.join(tenant.to_string())
    }

    /// The saved view of a tenant with these counts, after its last transaction; `None` if the view must be built from
    /// the records. A damaged file is deleted. The tenant must not be in memory.
    pub(super) fn load(&self, tenant: Tenant, counts: &TenantCounts) -> Option<View> {
        if !self.is_large(counts.nodes) {
            return None;
        }
        let (seq, view) = self.read(tenant, counts.seq).unzip();
        let path = self.path(tenant);
        let state = if seq.is_none() { atomic_file::state(&path) } else { FileState::Intact };
        match state {
            FileState::Damaged => {
                // The next checkpoint writes a missing file, and replaces one that cannot be deleted. After a power
                // cut, it does not matter whether the file is there.
                let _ = fs::remove_file(&path);
                self.rebuilt.add(path);
            }
            FileState::Unreadable(error) => {
                tracing::warn!("the file `{}` cannot be read: {error}", path.display());
            }
            FileState::Missing | FileState::Intact => {}
        }
        self.states.lock().files.insert(tenant, seq);
        view
    }

    /// The number of the last transaction in the file of a tenant, and the view of the file caught up to `last`, the
    /// tenant's last transaction. `None` if the file cannot be used.
    pub(super) fn read(&self, tenant: Tenant, last: u64) -> Option<(u64, View)> {
        let (path, fingerprint) = (self.path(tenant), fingerprint(tenant));
        // The whole file is read only if its number fits.
        let claimed = atomic_file::claimed_seq(&path, fingerprint)?;
        if !self.is_usable(claimed, last) {
            return None;
        }
        let (seq, bytes) = atomic_file::read(&path, fingerprint)?;
        let saved = decode(&bytes, seq)?;
        let caught_up = self.catch_up(tenant, saved, last).unwrap_or_else(|error| {
            tracing::warn!("the saved view of a tenant is built again: {error}");
            None
        });
        Some((seq, caught_up?))
    }

    /// Whether a view that contains everything up to transaction `seq` of a tenant can be brought up to its transaction
    /// `last` quickly.
    fn is_usable(&self, seq: u64, last: u64) -> bool {
        seq == last || seq < last && seq >= self.log.base_seq() && catch_up::is_quick(&self.log, seq)
    }

    /// The view after transaction `last` of its tenant; `None` if it does not belong to the log.
    fn catch_up(&self, tenant: Tenant, saved: SavedTenantView, last: u64) -> Result<Option<View>> {
        let SavedTenantView { mut view, origin, checksum } = saved;
        let seq = view.seq;
        let found = self.log.read(seq)?.map(|(_, found)| found);
        // A compaction gives other records the numbers up to the base. The base is read last, because a compaction may
        // end meanwhile.
        let is_of_log = found == Some(checksum) || seq <= self.log.base_seq();
        if !is_of_log || self.log.origin()? != Some(origin) {
            return Ok(None);
        }
        if seq < last {
            catch_up::tenant_view(&mut view, tenant, last, &self.log)?;
            if seq < self.log.base_seq() {
                return Ok(None);
            }
        }
        Ok(Some(view))
    }

    /// Whether the view of a tenant with this number of notes is saved.
    pub(super) fn is_large(&self, nodes: u64) -> bool {
        nodes >= self.min_nodes as u64
    }

    /// Whether a view in memory belongs in a file and is in none, not even in an earlier state. After a restart, it
    /// would be built from the records again.
    pub(super) fn lacks(&self, tenant: Tenant, view: &View) -> bool {
        self.is_large(view.node_count() as u64) && self.saved_seq(tenant).is_none()
    }

    /// The last transaction in the file of a tenant; `None` if no file is known that can be used.
    fn saved_seq(&self, tenant: Tenant) -> Option<u64> {
        self.states.lock().files.get(&tenant).copied().flatten()
    }

    /// The paths of the files in the folder of the store.
    ///
    /// # Errors
    /// `unavailable` if the folder cannot be read.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let tenants = self.list()?.into_iter().filter_map(|path| tenant_of(&path));
        Ok(tenants.map(|tenant| format!("{FOLDER}/{tenant}")).collect())
    }

    /// The tenants whose file has all of their transactions up to `seq`. `counts` returns the counts of a tenant.
    pub(super) fn tenants_with_all(
        &self,
        seq: u64,
        counts: &dyn Fn(Tenant) -> Option<TenantCounts>,
    ) -> Result<Vec<Tenant>> {
        let mut tenants: Vec<Tenant> = self.list()?.iter().filter_map(|path| tenant_of(path)).collect();
        tenants.retain(|tenant| {
            let saved = atomic_file::claimed_seq(&self.path(*tenant), fingerprint(*tenant));
            let last = counts(*tenant).map(|counts| counts.seq);
            saved.is_some_and(|saved| saved >= seq || Some(saved) == last)
        });
        Ok(tenants)
    }

    fn list(&self) -> Result<Vec<PathBuf>> {
        let paths: io::Result<Vec<PathBuf>> = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()),
        };
        Ok(paths.map_err(|source| ListError { folder: self.folder.clone(), source })?)
    }

    /// Waits until no other thread writes files.
    pub(super) fn writer(&self) -> TenantViewWriter<'_> {
        TenantViewWriter { files: self, _saving: self.saving.lock() }
    }

    /// Like [`TenantViewFiles::writer`]; `None` if another thread is writing.
    pub(super) fn try_writer(&self) -> Option<TenantViewWriter<'_>> {
        Some(TenantViewWriter { _saving: self.saving.try_lock()?, files: self })
    }
}

/// The right to write and delete the files.
pub(super) struct TenantViewWriter<'a> {
    files: &'a TenantViewFiles,
    _saving: MutexGuard<'a, ()>,
}

impl TenantViewWriter<'_> {
    /// Saves the published view of a tenant, unless it has few notes or its file already has it.
    pub(super) fn save(&self, tenant: Tenant, view: &View, _: &SyncedLog<'_>) -> Result<()> {
        let files = self.files;
        if !files.is_large(view.node_count() as u64) || files.saved_seq(tenant) == Some(view.seq) {
            return Ok(());
        }
        let Some(origin) = files.log.origin()? else { return Ok(()) };
        let checksum = files.log.read(view.seq)?.map_or(0, |(_, checksum)| checksum).to_le_bytes();
        let graph = view.encode()?;
        let path = files.path(tenant);
        atomic_file::write(&path, fingerprint(tenant), view.seq, &[&checksum, &origin, &graph])?;
        files.states.lock().files.insert(tenant, Some(view.seq));
        Ok(())
    }

    /// Deletes the files that are of no use any more, and what a killed process has half written. Texts that were
    /// erased must not stay in them. `counts` returns the counts of a tenant.
    pub(super) fn delete_unusable(&self, counts: &dyn Fn(Tenant) -> Option<TenantCounts>) -> Result<()> {
        self.complete_list()?;
        let files = self.files;
        let all: Vec<(Tenant, Option<u64>)> =
            files.states.lock().files.iter().map(|(tenant, saved)| (*tenant, *saved)).collect();
        for (tenant, saved) in all {
            let counts = counts(tenant).filter(|counts| files.is_large(counts.nodes));
            if saved.zip(counts).is_some_and(|(seq, counts)| files.is_usable(seq, counts.seq)) {
                continue;
            }
            atomic_file::remove(&files.path(tenant))?;
            files.states.lock().files.remove(&tenant);
        }
        Ok(())
    }

    /// Adds the files of earlier processes to the known ones.
    fn complete_list(&self) -> Result<()> {
        if self.files.states.lock().is_complete {
            return Ok(());
        }
        for path in self.files.list()? {
            match tenant_of(&path) {
                Some(tenant) => {
                    let mut states = self.files.states.lock();
                    let claimed = || atomic_file::claimed_seq(&path, fingerprint(tenant));
                    states.files.entry(tenant).or_insert_with(claimed);
                }
                None if path.extension().is_some_and(|extension| extension == "partial") => {
                    atomic_file::remove(&path)?;
                }
                None => {}
            }
        }
        self.files.states.lock().is_complete = true;
        Ok(())
    }
}
