//! One sync of a vault.

use super::binding::{self, FileElsewhere, VaultBinding, VaultFile, VaultFiles};
use super::deleted_notes::{drop_changed, take_without_note};
use super::digest::{self, FileDigest};
use super::names;
use super::plan::{self, Digests, ExpiredNotes, VaultSyncPlan};
use super::report::{FileError, RenamedFile, SyncSummary, VaultReport};
use super::scan::{FileStat, VaultScan};
use super::scan_record::{self, ScanRecord, file_time};
use crate::resolve::quoted;
use crate::{Memory, regular_file};
use parking_lot::Mutex;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, NodeId, State, cancellation};
use poc_store::{Cause, Transaction};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::Read as _;
use std::path::Path;

/// The op in the cause of the transactions of a sync.
pub(crate) const VAULT_SYNC_OP: &str = "vault sync";

/// Held while a sync runs. Two syncs of one vault at the same time would store the same files twice.
static RUNNING: Mutex<()> = Mutex::new(());

/// Time in nanoseconds for which a file must have been empty and unchanged until it counts as deleted. Until then, an
/// editor may be about to write it.
const EMPTY_GRACE_NANOS: i64 = 10_000_000_000;

/// How to synchronise.
#[derive(Clone, Copy, Debug, Default)]
pub struct SyncOptions {
    /// Whether the notes of a folder without files are retired. Otherwise they are kept, because the disk may
    /// not be mounted.
    pub allow_empty: bool,
    /// Whether files are read again whose last sync was undone or whose notes were deleted in the memory. Otherwise they
    /// are left alone until they change, because the undo or the deletion would have no effect with a daemon that
    /// synchronises by itself.
    pub redo_undone: bool,
}

/// A running sync.
pub(super) struct VaultSync<'a> {
    pub(super) memory: &'a Memory,
    pub(super) vault: VaultBinding,
    pub(super) began: Timestamp,
    /// The records of the files.
    pub(super) records: VaultFiles,
    /// The records of the files before this sync.
    pub(super) start: VaultFiles,
    /// The files that exist.
    pub(super) files: Digests,
    pub(super) plan: VaultSyncPlan,
    /// The name that each note should get from its file, by path.
    pub(super) desired_names: BTreeMap<String, String>,
    /// The names that notes got in this sync, by path.
    pub(super) names: HashMap<String, String>,
    /// Digests before this sync of the files that determine the properties of notes, by note.
    pub(super) before: HashMap<NodeId, FileDigest>,
    /// The notes of all vaults before this sync.
    pub(super) notes_of_all_vaults: HashSet<NodeId>,
    /// The files of other vaults that exist, by their notes.
    pub(super) files_elsewhere: HashMap<NodeId, Vec<FileElsewhere>>,
    /// The first file of each group whose names could not be assigned. Its text is not stored.
    pub(super) unnamed: HashSet<String>,
    /// The files into which this sync wrote links or replacements, with their current size and time.
    pub(super) written: BTreeMap<String, FileStat>,
    /// The files that this sync leaves alone, because their last sync was undone or their notes were deleted.
    pub(super) held: BTreeSet<String>,
    pub(super) report: VaultReport,
    pub(super) progress: &'a dyn Fn(u64, u64),
}

/// Synchronises the memory with a bound folder. Calls `progress` with the number of stored notes and the total.
///
/// # Errors
/// `unavailable` if the folder is missing, `conflict` if it is empty and was not before; nothing is changed
/// then. Errors of single files are in the report. Also `unavailable` when the sync is cancelled: it stops
/// between two transactions or files, and the next sync does the rest.
pub fn sync(
    memory: &Memory,
    vault: &VaultBinding,
    options: &SyncOptions,
    progress: &dyn Fn(u64, u64),
) -> Result<VaultReport> {
    let _running = RUNNING.lock();
    // The vault may have been removed while this sync waited.
    let vault = binding::named(memory, &vault.name)?;
    let mut record = ScanRecord::of(memory, &vault);
    let began = file_time(memory)?;
    let scan = VaultScan::of(&vault.folder)?;
    let before_sync = memory.store.published_seq();
    let mut records = binding::files(&memory.store, &vault)?;
    let mut undone = record.undone(memory, &vault, &records)?;
    let without_note = take_without_note(memory, &mut records)?;
    undone.extend(without_note.iter().cloned());
    let known = records.values().filter(|record| record.deleted_at.is_none()).count();
    if scan.files.is_empty() && known > 1 && !options.allow_empty {
        return Err(emptied(&vault, known));
    }
    let mut report = VaultReport { outside: scan.outside, ..VaultReport::default() };
    let unreadable = scan.unreadable.iter().filter(|(path, _)| !path.is_empty());
    report
        .refused
        .extend(unreadable.map(|(file, error)| FileError { file: file.clone(), error: error.clone() }));
    let holds = !options.redo_undone;
    let reader = FileReader {
        memory,
        vault: &vault,
        scan: &scan,
        before: &record,
        began,
        records: &records,
        undone: &undone,
        holds,
    };
    let read = reader.read_all(&mut report)?;
    drop_changed(memory, &mut records, &read.files)?;
    let is_changed = has_changed(&records, &read.files);
    let mut sync = VaultSync::new(memory, vault, records, read.files, report, progress);
    // An empty folder may be a disk that is not mounted.
    if !scan.files.is_empty() || options.allow_empty {
        let is_deleted = |path: &&String| !scan.files.contains_key(*path) && !scan.is_unknown(path);
        sync.delete_records(&without_note.iter().filter(is_deleted).collect::<Vec<_>>())?;
    }
    sync.held = read.held.clone();
    record.set_held(read.held, before_sync);
    if is_changed {
        record.begin(memory, &sync.vault)?;
        sync.apply()?;
    }
    sync.set_other_names()?;
    let redoes = options.redo_undone && !undone.is_empty();
    if is_changed || record.is_unfinished || redoes || sync.may_link_more(record.last.as_ref()) {
        sync.link()?;
    } else if let Some(last) = &record.last {
        sync.report.unresolved = last.unresolved.clone();
        sync.report.ambiguous = last.ambiguous.clone();
    }
    sync.report.files = sync.files_with_note();
    let last_warnings = record.last.as_ref().map(|last| last.warnings.as_slice()).unwrap_or_default();
    let kept_warnings = sync.kept_warnings(last_warnings, is_changed);
    let VaultSync { vault, records, report, written, .. } = sync;
    // Files that were not stored are read again by the next sync.
    let refused: HashSet<&str> = report.refused.iter().map(|problem| problem.file.as_str()).collect();
    let settled = read.stats.into_iter().filter(|(path, _)| {
        report.busy == 0 && !refused.contains(path.as_str()) && !written.contains_key(path)
    });
    let mut found = scan.files;
    found.extend(written.iter().map(|(path, stat)| (path.clone(), *stat)));
    record.set_files(settled, found, began);
    record.set_synced(&records);
    record.is_unfinished = false;
    record.last = Some(report.summary(kept_warnings, memory.now(), memory.store.published_seq()));
    record.write(memory, &vault)?;
    Ok(report)
}

/// The error for a folder that lost all its files. It may be a disk that is not mounted. `known` is the number of
/// notes.
fn emptied(vault: &VaultBinding, known: usize) -> Error {
    let (folder, name) = (vault.folder.display(), quoted(&vault.name));
    Error::conflict(format!("the folder `{folder}` is empty, but {known} notes come from its files")).hint(format!(
        "nothing was changed; if the files were deleted, `poc-memory vault sync {name} --emptied` retires their notes"
    ))
}

/// The files of a folder after a scan.
#[derive(Default)]
struct FilesRead {
    /// The digests of all files, or the last recorded ones where a file could not be read.
    files: Digests,
    /// Size and time of the files whose digests are current.
    stats: Vec<(String, FileStat)>,
    /// The files that are left alone, because their last sync was undone or their notes were deleted, and no change of
    /// them was found since.
    held: BTreeSet<String>,
}

impl FilesRead {
    /// Leaves a file alone. `record` is its record, if it has one, and `stat` its size and time, if it exists.
    fn hold(&mut self, path: &str, record: Option<&VaultFile>, stat: Option<&FileStat>) {
        self.files.extend(record.map(|record| (path.to_owned(), record.digest.clone())));
        self.stats.extend(stat.map(|stat| (path.to_owned(), *stat)));
        self.held.insert(path.to_owned());
    }
}

/// Reads the files of a vault after a scan.
struct FileReader<'a> {
    memory: &'a Memory,
    vault: &'a VaultBinding,
    scan: &'a VaultScan,
    /// The record of the last scan.
    before: &'a ScanRecord,
    /// When this scan began, by the clock of the file system, in nanoseconds.
    began: i64,
    records: &'a VaultFiles,
    /// The files whose last sync was undone or whose notes were deleted in the memory.
    undone: &'a BTreeSet<String>,
    /// Whether these files are left alone until they change.
    holds: bool,
}

impl FileReader<'_> {
    /// Reads the files that have changed. For a file that cannot be read, the last record is used.
    fn read_all(&self, report: &mut VaultReport) -> Result<FilesRead> {
        let mut read = FilesRead::default();
        for (path, stat) in &self.scan.files {
            cancellation::check()?;
            let record = self.records.get(path).filter(|record| record.deleted_at.is_none());
            let is_undone = self.undone.contains(path);
            let is_unchanged = self.before.files.get(path) == Some(stat);
            if is_undone && self.holds && is_unchanged {
                read.hold(path, record, Some(stat));
                continue;
            }
            if let Some(record) = record
                && record.digest.has_hash()
                && is_unchanged
                && !is_undone
                && !self.before.is_interrupted(path, record)
            {
                read.files.insert(path.clone(), record.digest.clone());
                read.stats.push((path.clone(), *stat));
                continue;
            }
            self.read_changed(path, stat, record, &mut read, report);
        }
        // Files in a folder that could not be read count as unchanged.
        let unknown = self.records.iter().filter(|(path, record)| {
            record.deleted_at.is_none() && !self.scan.files.contains_key(*path) && self.scan.is_unknown(path)
        });
        read.files.extend(unknown.map(|(path, record)| (path.clone(), record.digest.clone())));
        for path in self.undone.iter().filter(|path| self.holds && !self.scan.files.contains_key(*path)) {
            let record = self.records.get(path).filter(|record| record.deleted_at.is_none());
            let was_deleted = record.is_some() && self.before.synced(path).is_none();
            if was_deleted || self.scan.is_unknown(path) {
                read.hold(path, record, None);
            }
        }
        self.add_moved(&mut read, report);
        Ok(read)
    }

    /// Adds the files that cannot be read and were moved since the last sync, so that they keep their notes. They are
    /// recognised by their size and time.
    fn add_moved(&self, read: &mut FilesRead, report: &VaultReport) {
        let mut lost: HashMap<(u64, i64), Vec<&FileDigest>> = HashMap::new();
        for (path, record) in self.records {
            let is_there = read.files.contains_key(path) || self.scan.files.contains_key(path);
            let is_lost = record.deleted_at.is_none() && !is_there;
            if let Some(stat) = self.before.found(path).filter(|_| is_lost) {
                lost.entry((stat.size, stat.modified)).or_default().push(&record.digest);
            }
        }
        for FileError { file, .. } in &report.refused {
            let stat = self.scan.files.get(file).filter(|_| !read.files.contains_key(file));
            let moved = stat.and_then(|stat| lost.get(&(stat.size, stat.modified)));
            // If several files had this size and time, any of them may be the one that was moved.
            if let Some([digest]) = moved.map(Vec::as_slice)
                && let Ok(digest) = digest.unread_at(file)
            {
                read.files.insert(file.clone(), digest);
            }
        }
    }

    /// Reads a file that may have changed since its `record`.
    fn read_changed(
        &self,
        path: &str,
        stat: &FileStat,
        record: Option<&VaultFile>,
        read: &mut FilesRead,
        report: &mut VaultReport,
    ) {
        let recorded = || record.map(|record| (path.to_owned(), record.digest.clone()));
        let may_hold = self.holds && self.undone.contains(path);
        let bytes = match read_file(self.memory, &self.vault.folder.join(path), stat) {
            Ok(Some(bytes)) => bytes,
            unread => {
                match unread {
                    Err(error) => report.refused.push(FileError { file: path.to_owned(), error }),
                    Ok(_) => report.busy += 1,
                }
                read.held.extend(may_hold.then(|| path.to_owned()));
                return read.files.extend(recorded());
            }
        };
        if bytes.iter().all(u8::is_ascii_whitespace) && !path.ends_with(".canvas") {
            report.empty += 1;
            let is_young = stat.modified.saturating_add(EMPTY_GRACE_NANOS) > self.began;
            return read.files.extend(recorded().filter(|_| is_young));
        }
        let hash = *blake3::hash(&bytes).as_bytes();
        if may_hold && self.before.synced(path) == Some(scan_record::version(&hash)) {
            return read.hold(path, record, Some(stat));
        }
        let unchanged = record.filter(|record| record.digest.bytes == hash);
        let digest = match unchanged {
            Some(record) => Ok(record.digest.clone()),
            None => {
                let provenance = self.vault.provenance();
                digest::read(self.memory, &self.vault.folder.join(path), path, &bytes, &provenance)
                    .map(|file| file.digest)
            }
        };
        match digest {
            Ok(digest)
                if unchanged.is_none() && digest.given.expires.is_some_and(|at| at <= self.memory.now()) =>
            {
                report.expired += 1;
            }
            Ok(digest) => {
                read.files.insert(path.to_owned(), digest);
                read.stats.push((path.to_owned(), *stat));
            }
            Err(error) => {
                report.refused.push(FileError { file: path.to_owned(), error });
                read.files.extend(recorded());
            }
        }
    }
}

/// The bytes of a file; `None` if it changed while it was read.
fn read_file(memory: &Memory, path: &Path, stat: &FileStat) -> Result<Option<Vec<u8>>> {
    let longest = memory.config.insert.max_node_bytes.saturating_mul(2) as u64;
    if stat.size > longest {
        return Err(Error::invalid(format!(
            "the file has {} bytes, more than the maximum of {longest}",
            stat.size
        ))
        .hint("split it into several, one idea each"));
    }
    let unreadable = |error: std::io::Error| Error::invalid(format!("cannot be read: {error}"));
    let mut file = match regular_file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut bytes = Vec::new();
    file.by_ref().take(longest.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    let after = FileStat::of(&file.metadata().map_err(unreadable)?);
    Ok((after == *stat).then_some(bytes))
}

/// Whether the files differ from the records.
fn has_changed(records: &VaultFiles, files: &Digests) -> bool {
    let recorded: BTreeMap<_, _> = records
        .iter()
        .filter(|(_, record)| record.deleted_at.is_none())
        .map(|(path, record)| (path, &record.digest.bytes))
        .collect();
    recorded.len() != files.len()
        || files.iter().any(|(path, digest)| recorded.get(path).is_none_or(|bytes| **bytes != digest.bytes))
}

impl<'a> VaultSync<'a> {
    /// A sync that has read the files and not changed anything yet.
    fn new(
        memory: &'a Memory,
        vault: VaultBinding,
        records: VaultFiles,
        files: Digests,
        report: VaultReport,
        progress: &'a dyn Fn(u64, u64),
    ) -> VaultSync<'a> {
        VaultSync {
            memory,
            vault,
            began: memory.now(),
            start: records.clone(),
            records,
            files,
            plan: VaultSyncPlan::default(),
            desired_names: BTreeMap::new(),
            names: HashMap::new(),
            before: HashMap::new(),
            notes_of_all_vaults: HashSet::new(),
            files_elsewhere: HashMap::new(),
            unnamed: HashSet::new(),
            written: BTreeMap::new(),
            held: BTreeSet::new(),
            report,
            progress,
        }
    }

    /// The warnings of the last sync that still apply, because their files and notes have not changed. `is_renamed` says
    /// whether this sync has assigned the keys again, and warned of those that clash.
    fn kept_warnings(&self, last: &[FileError], is_renamed: bool) -> Vec<FileError> {
        let moved: HashMap<&str, &str> =
            self.plan.moved.iter().map(|(to, from)| (from.as_str(), to.as_str())).collect();
        let kept = last.iter().filter_map(|warning| {
            let from = warning.file.as_str();
            let path = moved.get(from).copied().unwrap_or(from);
            let (before, now) = (self.start.get(from)?, self.records.get(path)?);
            let has_same_file = self.files.get(path)?.bytes == before.digest.bytes && before.node == now.node;
            let field = warning.error.at.as_ref().and_then(|at| at.field.as_deref());
            // Conflicts are about the name and the text of the note, all others about the content of the file.
            let is_conflict = warning.error.code == Code::Conflict;
            let is_about_key = is_conflict && field == Some("key");
            let has_same_name = !is_conflict || from == path && before.name == now.name;
            let stays = has_same_file && has_same_name && !(is_about_key && is_renamed);
            stays.then(|| FileError { file: path.to_owned(), error: warning.error.clone() })
        });
        kept.collect()
    }

    /// Number of files that have a note.
    fn files_with_note(&self) -> u64 {
        self.records.values().filter(|record| record.deleted_at.is_none()).count() as u64
    }

    /// Whether links or replacements may be possible now that were not at the end of the last sync.
    fn may_link_more(&self, last: Option<&SyncSummary>) -> bool {
        let Some(last) = last else { return true };
        let writes_back = self.vault.write_back;
        let has_open_links = writes_back || !last.unresolved.is_empty() || !last.ambiguous.is_empty();
        // Links that could not be written into a broken file can be written once the file is repaired.
        let is_other_file_refused = writes_back && last.refused != self.report.refused;
        // An undo may have deleted notes of files or brought them back, without the links between them.
        if self.files_with_note() != last.files {
            return true;
        }
        has_open_links && last.seq != self.memory.store.published_seq() || is_other_file_refused
    }

    /// Changes the notes so that they match the files.
    fn apply(&mut self) -> Result<()> {
        let memory = self.memory;
        let vaults = binding::bindings(memory)?;
        for vault in &vaults {
            let files = binding::files(&memory.store, vault)?;
            self.notes_of_all_vaults.extend(files.values().map(|record| record.node));
            if vault.number != self.vault.number {
                for (path, file) in files.into_iter().filter(|(_, file)| file.deleted_at.is_none()) {
                    let elsewhere = self.files_elsewhere.entry(file.node).or_default();
                    elsewhere.push(FileElsewhere { vault: vault.clone(), path, file });
                }
            }
        }
        let mut before = HashMap::new();
        for record in self.records.values().filter(|record| record.is_source) {
            let node = self.current(record.node);
            // If a note has its own file, the files of notes that it replaced do not count.
            if node == record.node {
                before.insert(node, record.digest.clone());
            } else {
                before.entry(node).or_insert_with(|| record.digest.clone());
            }
        }
        self.before = before;
        let current = |node, expired| in_use(memory, node, expired);
        self.plan = plan::plan(&self.files, &self.records, &current, &|node| self.is_elsewhere(node));
        self.desired_names = names::desired_names(&self.files, &self.plan.groups, &mut self.report.warnings);
        self.adopt()?;
        let moved = self.plan.moved.iter();
        self.report.renamed =
            moved.map(|(to, from)| RenamedFile { from: from.clone(), to: to.clone() }).collect();
        self.remove_other_names()?;
        self.forget()?;
        self.hand_over()?;
        self.retire()?;
        self.rename()?;
        self.store()
    }

    /// Assigns notes that an earlier import of the folder created to their files.
    fn adopt(&mut self) -> Result<()> {
        // Writes nothing; the transaction only ensures that notes and frames are read in one state.
        let adopted = self.transact(|tx, _| {
            let mut groups = self.plan.groups.clone();
            let mut taken: HashSet<NodeId> = groups.iter().filter_map(|group| group.node).collect();
            for group in groups.iter_mut().filter(|group| group.node.is_none()) {
                for path in &group.paths {
                    let name =
                        self.desired_names.get(path).map(|name| tx.find_key(name)).transpose()?.flatten();
                    let Some(id) = name.filter(|id| !taken.contains(id)) else { continue };
                    let is_live = tx.node(id)?.is_some_and(|node| node.state.is_live());
                    if is_live && self.may_adopt(tx, id, &group.paths)? {
                        taken.insert(id);
                        group.node = Some(id);
                        break;
                    }
                }
            }
            Ok(groups)
        })?;
        self.plan.groups = adopted;
        Ok(())
    }

    /// The note that now represents a recorded note: itself, or the live note that replaced it.
    pub(super) fn current(&self, node: NodeId) -> NodeId {
        in_use(self.memory, node, ExpiredNotes::Skip).unwrap_or(node)
    }

    /// Runs a transaction of the sync, unless the sync was cancelled.
    pub(super) fn transact<T>(
        &self,
        build: impl Fn(&mut Transaction<'_>, Timestamp) -> Result<T>,
    ) -> Result<T> {
        cancellation::check()?;
        let cause = self.cause();
        let now = cause.at;
        Ok(self.memory.store.transact(cause, |tx| build(tx, now))?.value)
    }

    /// The cause of a transaction. All transactions of a sync have the same op, so that the change has one name.
    pub(super) fn cause(&self) -> Cause {
        let at = self.memory.now();
        Cause { began: Some(self.began), ..Cause::new(at, self.vault.provenance(), VAULT_SYNC_OP) }
    }
}

/// The note that now represents a recorded note: itself if it is live, else the live note that replaced it, else itself
/// if it is expired and `expired` includes it. `None` if there is none.
fn in_use(memory: &Memory, node: NodeId, expired: ExpiredNotes) -> Option<NodeId> {
    let view = memory.store.view();
    let first = view.find(node)?;
    let mut at = first;
    // Chains of replacements are short. The bound also ends a cycle, which should not occur.
    for _ in 0..64 {
        if view.is_live(at) {
            return view.id(at);
        }
        match view.state(at)? {
            State::Superseded => {
                let edges = view.other_edges(at).iter();
                let replacing =
                    edges.filter(|edge| edge.kind() == EdgeKind::Supersedes && edge.is_incoming());
                at = replacing.map(|edge| edge.target()).min_by_key(|&ix| view.id(ix))?;
            }
            _ => return (expired == ExpiredNotes::Include && at == first).then_some(node),
        }
    }
    None
}
