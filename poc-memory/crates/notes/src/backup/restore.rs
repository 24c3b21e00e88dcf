//! Restores a generation, or an earlier transaction of it, into a profile without notes.

use super::archive;
use super::backup_destinations;
use super::create::{parts, resolved_path};
use super::files::{self, ByteCounter};
use super::generation::BackupGeneration;
use super::generations::generations;
use super::manifest::{BackupManifest, BackupSegment};
use super::verify::Checker;
use super::{BackupCallbacks, damaged, no_backups, unusable};
use crate::history::UnfinishedCall;
use poc_config::paths::{Paths, create_private};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Node, plural};
use poc_store::{
    Cause, Records, SegmentState, Store, check_segment, delete_empty_store, each_transaction_of_segment,
    is_empty_store, last_transaction_before,
};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Name of the folder beside the store in which a restored profile is prepared.
const STAGING: &str = "restore.partial";

/// Name of the folder beside the store into which an archive is unpacked.
const UNPACKED: &str = "restore-archive.partial";

/// The state to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorePoint {
    /// The last state of the newest generation.
    Newest,
    /// The state after a transaction.
    Seq(u64),
    /// The state after the last transaction that was made at or before the end of a period, such as a second. A backup
    /// that began within the period is new enough.
    Within {
        /// The start of the period.
        first: Timestamp,
        /// The end of the period.
        last: Timestamp,
    },
}

impl RestorePoint {
    /// The state at a time.
    pub fn at(time: Timestamp) -> RestorePoint {
        RestorePoint::Within { first: time, last: time }
    }
}

/// The result of a restoration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    /// The name of the generation that was restored.
    pub generation: String,
    /// Sequence number of the last restored transaction.
    pub seq: u64,
    /// The time of that transaction.
    pub at: Timestamp,
    /// Number of live notes of all tenants.
    pub notes: u64,
    /// The folder of the store.
    pub store: PathBuf,
    /// Files and folders that were restored in addition to the store.
    pub restored: Vec<PathBuf>,
    /// Files and folders that existed already and were left as they are.
    pub kept: Vec<PathBuf>,
    /// Newer generations with the state that were skipped because they are damaged, with the first problem of
    /// each.
    pub skipped: Vec<String>,
    /// Damaged files next to the log that were left out, with the problem of each.
    pub left_out: Vec<String>,
    /// The import or other change of which the state has only a part, if any; the backup has all of it.
    pub unfinished: Option<UnfinishedCall>,
}

/// Options of a restoration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreOptions {
    /// The state.
    pub point: RestorePoint,
    /// Whether damaged settings, agents, prompts and runs are left out. Otherwise the generation counts as damaged.
    pub skip_damaged_files: bool,
}

/// Restores the newest intact generation of a folder or archive that has a state into the directories of a profile,
/// which have no store or an empty one. The store appears last, complete and opened once; settings, agents, prompts and
/// runs appear only where there are none.
///
/// # Errors
/// `conflict` when there is a store with content, `locked` when a process has it open, `not_found` when no generation
/// has the state, `damaged` when those that have it are damaged. The directories are unchanged then.
pub fn restore(
    backup: &Path,
    options: RestoreOptions,
    target: &Paths,
    callbacks: &BackupCallbacks<'_>,
) -> Result<RestoreReport> {
    require_elsewhere(backup, target)?;
    let all = generations(backup)?;
    if all.is_empty() {
        return Err(no_backups(backup));
    }
    require_no_store(target)?;
    let data = target.store().parent().map(Path::to_owned);
    let new_folder = data.filter(|data| !data.exists());
    let restored = match all.first() {
        Some(archived) if archived.path.is_file() => {
            restore_archive(archived, &all, backup, options, target, callbacks)
        }
        _ => restore_of(&all, backup, options, target, callbacks),
    };
    match (&restored, new_folder) {
        // Later erasures must search this backup, because it contains the same texts.
        (Ok(_), _) => backup_destinations::remember(target, backup),
        // The folder is not removed if it is not empty.
        (Err(_), Some(created)) => drop(fs::remove_dir(created)),
        (Err(_), None) => {}
    }
    restored
}

/// Unpacks an archive and restores its generation.
fn restore_archive(
    archived: &BackupGeneration,
    all: &[BackupGeneration],
    backup: &Path,
    options: RestoreOptions,
    target: &Paths,
    callbacks: &BackupCallbacks<'_>,
) -> Result<RestoreReport> {
    if candidates(all, backup, options.point)?.is_empty() {
        return Err(no_such_state(all, options.point));
    }
    if let Err(problem) = &archived.manifest {
        return Err(damaged(&format!("`{}`: {problem}", backup.display())));
    }
    let unpacked = target.store().with_file_name(UNPACKED);
    files::remove(&unpacked)?;
    create_private(&unpacked)?;
    let restored = archive::unpack(archived, &unpacked, callbacks).and_then(|damage| {
        let restored = restore_of(&generations(&unpacked)?, backup, options, target, callbacks);
        // The error is about the first file that is missing or cut off, which the damage of the archive explains.
        restored.map_err(|error| match damage {
            Some(damage) => Error { message: format!("{}; {damage}", error.message), ..error },
            None => error,
        })
    });
    // The next restoration deletes what cannot be deleted now.
    let _ = files::remove(&unpacked);
    restored
}

/// Restores the newest intact one of the generations of a backup.
fn restore_of(
    all: &[BackupGeneration],
    backup: &Path,
    options: RestoreOptions,
    target: &Paths,
    callbacks: &BackupCallbacks<'_>,
) -> Result<RestoreReport> {
    let (mut skipped, mut is_log_intact) = (Vec::new(), false);
    for generation in candidates(all, backup, options.point)? {
        match select(generation, options, callbacks)? {
            Selection::State { seq, damaged } => {
                let report = put_in_place(generation, seq, &damaged, target, callbacks)?;
                return Ok(RestoreReport { skipped, ..report });
            }
            Selection::DamagedFile(problem) => {
                is_log_intact = true;
                skipped.push(format!("`{}`: {problem}", generation.name));
            }
            Selection::Damaged(problem) => skipped.push(format!("`{}`: {problem}", generation.name)),
            Selection::Absent => {}
        }
    }
    match skipped.first() {
        Some(first) => Err(damaged(first).hint(hint_after_damage(all, is_log_intact, callbacks)?)),
        None => Err(no_such_state(all, options.point)),
    }
}

/// What to do when every generation with the state is damaged. `is_log_intact` says whether one of them has an intact
/// log.
fn hint_after_damage(
    all: &[BackupGeneration],
    is_log_intact: bool,
    callbacks: &BackupCallbacks<'_>,
) -> Result<String> {
    let mut hints = Vec::new();
    if is_log_intact {
        hints.push(
            "all notes are intact: the same command with `--skip-damaged-files` restores them and leaves out the \
             damaged files, which `poc-memory backup PATH --verify` lists"
                .to_owned(),
        );
    }
    match other_generation(all, callbacks)? {
        Some((generation, true)) => hints.push(format!(
            "the same command with `--to {}` restores the newest intact generation, of {}",
            generation.seq, generation.at
        )),
        Some((generation, false)) if hints.is_empty() => hints.push(format!(
            "the same command with `--to {} --skip-damaged-files` restores the notes of {} and leaves out the damaged files \
             of that generation",
            generation.seq, generation.at
        )),
        None if hints.is_empty() => hints.push(
            "no generation has an intact log: `poc-memory backup PATH --verify` lists the damage; copy the folder \
             `log` of a generation (`tar -xf` unpacks an archive) to `store/log` of an empty memory folder, and `poc-memory \
             repair` shows what can be saved"
                .to_owned(),
        ),
        Some(_) | None => {}
    }
    Ok(hints.join("; "))
}

/// Returns an error if the target is inside the backup, because a restoration must not change the backup.
fn require_elsewhere(backup: &Path, target: &Paths) -> Result<()> {
    let store = resolved_path(&target.store());
    if backup.is_dir() && store.starts_with(resolved_path(backup)) {
        let message = format!("`{}` is inside the backup", store.display());
        return Err(Error::invalid(message).hint("name a folder elsewhere").field("into"));
    }
    Ok(())
}

/// Returns an error if there is a store with content already, or another file at the path of the store.
fn require_no_store(target: &Paths) -> Result<()> {
    let store = target.store();
    let is_empty = match fs::read_dir(&store) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(error) => return Err(unusable(&store, "read", &error)),
    };
    if is_empty || is_empty_store(&store)? {
        return Ok(());
    }
    Err(Error::conflict(format!("`{}` already contains a store", store.display()))
        .hint("`poc-memory restore PATH --into OTHER-FOLDER` restores elsewhere; or stop the daemon and move the store away"))
}

/// The generations that may have a state, newest first.
fn candidates<'a>(
    all: &'a [BackupGeneration],
    backup: &Path,
    point: RestorePoint,
) -> Result<Vec<&'a BackupGeneration>> {
    let Some(newest) = all.first() else {
        return Err(no_backups(backup));
    };
    let has = |generation: &&BackupGeneration| match point {
        RestorePoint::Newest => generation.name == newest.name,
        RestorePoint::Seq(seq) => match &generation.manifest {
            Ok(manifest) => manifest.has(seq),
            Err(_) => generation.seq >= seq,
        },
        RestorePoint::Within { first, .. } => generation.at >= first,
    };
    Ok(all.iter().filter(has).collect())
}

/// The error when no generation has a state.
fn no_such_state(all: &[BackupGeneration], point: RestorePoint) -> Error {
    let newest = all.iter().map(|generation| generation.seq).max().unwrap_or(0);
    let newest_at = all.iter().map(|generation| generation.at).max();
    let message = match point {
        RestorePoint::Within { first, .. } if newest_at.is_some_and(|newest| newest < first) => {
            format!("no backup is as new as {first}")
        }
        RestorePoint::Within { last, .. } => format!("no backup has a change of {last} or earlier"),
        RestorePoint::Seq(seq) => format!("no backup has change {seq}"),
        RestorePoint::Newest => "there is no backup".to_owned(),
    };
    let last = newest_at.map_or_else(String::new, |at| format!(" of {at}"));
    let bases = all.iter().filter_map(|generation| Some(generation.manifest.as_ref().ok()?.base.max(1)));
    let hint = match bases.min().filter(|oldest| *oldest < newest) {
        Some(oldest) => format!(
            "the oldest state is change {oldest}, the newest is change {newest}{last}: `poc-memory restore PATH` \
             restores the newest"
        ),
        None => {
            format!("the newest state is change {newest}{last}: `poc-memory restore PATH` restores it")
        }
    };
    Error::not_found(message).hint(hint).field("to")
}

/// The newest intact generation, with `true`. If there is none, the newest generation with an intact log but other
/// damaged files, with `false`.
fn other_generation<'a>(
    all: &'a [BackupGeneration],
    callbacks: &BackupCallbacks<'_>,
) -> Result<Option<(&'a BackupGeneration, bool)>> {
    let mut checker = Checker::new(callbacks);
    let mut with_intact_log = None;
    for generation in all {
        let Ok(manifest) = &generation.manifest else { continue };
        if !checker.log_problems(&generation.path, manifest, u64::MAX)?.is_empty() {
            continue;
        }
        if checker.file_problems(&generation.path, manifest)?.is_empty() {
            return Ok(Some((generation, true)));
        }
        with_intact_log.get_or_insert((generation, false));
    }
    Ok(with_intact_log)
}

/// Whether a generation has a state.
enum Selection {
    /// It ends with this transaction, and everything needed for it is intact, except for damaged files that
    /// may be left out.
    State { seq: u64, damaged: BTreeMap<String, String> },
    /// It may have the state, but its log is damaged.
    Damaged(String),
    /// It may have the state, but another of its files is damaged.
    DamagedFile(String),
    /// It does not have the state.
    Absent,
}

fn select(
    generation: &BackupGeneration,
    options: RestoreOptions,
    callbacks: &BackupCallbacks<'_>,
) -> Result<Selection> {
    let manifest = match &generation.manifest {
        Ok(manifest) => manifest,
        Err(problem) => return Ok(Selection::Damaged(problem.clone())),
    };
    let last = if let RestorePoint::Seq(seq) = options.point { seq } else { u64::MAX };
    let mut checker = Checker::new(callbacks);
    if let Some(problem) = checker.log_problems(&generation.path, manifest, last)?.into_iter().next() {
        return Ok(Selection::Damaged(problem));
    }
    let seq = match options.point {
        RestorePoint::Newest => manifest.seq,
        RestorePoint::Seq(seq) => seq,
        RestorePoint::Within { last, .. } => match state_at(generation, manifest, last)? {
            Some(seq) => seq,
            None => return Ok(Selection::Absent),
        },
    };
    let damaged = checker.file_problems(&generation.path, manifest)?;
    Ok(match damaged.values().next() {
        Some(problem) if !options.skip_damaged_files => Selection::DamagedFile(problem.clone()),
        _ => Selection::State { seq, damaged },
    })
}

/// The last transaction of an intact generation that was made at or before a time.
fn state_at(generation: &BackupGeneration, manifest: &BackupManifest, at: Timestamp) -> Result<Option<u64>> {
    for segment in manifest.log.iter().rev() {
        let path = generation.path.join(&segment.file.path);
        if let Some(seq) = last_transaction_before(&path, segment.first, at)? {
            return Ok(Some(seq));
        }
    }
    Ok(None)
}

/// The call of transaction `seq` of an intact generation, if the generation also has later transactions of it.
fn unfinished_call(
    generation: &BackupGeneration,
    manifest: &BackupManifest,
    seq: u64,
) -> Result<Option<UnfinishedCall>> {
    let causes_of = |segment: &BackupSegment| -> Result<Vec<(u64, Cause)>> {
        let mut causes = Vec::new();
        let path = generation.path.join(&segment.file.path);
        each_transaction_of_segment(&path, segment.first, &mut |txn| {
            if txn.seq >= seq {
                causes.push((txn.seq, txn.cause));
            }
            Ok(())
        })?;
        Ok(causes)
    };
    // Segments are read only as far as the call continues.
    let segments = manifest.log.iter().filter(|segment| segment.last >= seq && seq < manifest.seq);
    let mut causes = segments.map(causes_of).flat_map(|causes| match causes {
        Ok(causes) => causes.into_iter().map(Ok).collect::<Vec<Result<(u64, Cause)>>>(),
        Err(error) => vec![Err(error)],
    });
    let Some((_, cause)) = causes.next().transpose()?.filter(|(first, _)| *first == seq) else {
        return Ok(None);
    };
    UnfinishedCall::of(seq, &cause, causes.map(|later| later.map(|(number, cause)| (number, Some(cause)))))
}

/// Copies an intact generation up to a transaction, opens the store once, and moves everything to its place.
fn put_in_place(
    generation: &BackupGeneration,
    seq: u64,
    damaged: &BTreeMap<String, String>,
    target: &Paths,
    callbacks: &BackupCallbacks<'_>,
) -> Result<RestoreReport> {
    let manifest = generation.readable()?;
    let store = target.store();
    let data = store.parent().unwrap_or(&store);
    create_private(data)?;
    let staging = data.join(STAGING);
    files::remove(&staging)?;
    let mut report = RestoreReport {
        generation: generation.name.clone(),
        seq,
        at: Timestamp(0),
        notes: 0,
        store: store.clone(),
        restored: Vec::new(),
        kept: Vec::new(),
        skipped: Vec::new(),
        left_out: damaged.values().cloned().collect(),
        unfinished: unfinished_call(generation, manifest, seq)?,
    };
    let placed = copy(generation, manifest, seq, damaged, &staging, callbacks)
        .and_then(|()| check_restored(&staging.join("store"), &mut report))
        .and_then(|()| {
            // Checked again, because a store may have been created during the copy.
            require_no_store(target)?;
            delete_empty_store(&store)?;
            for (part, path) in parts(target) {
                put(&staging.join(part), &path, &mut report)?;
            }
            rename(&staging.join("store"), &store)
        });
    // The next restoration deletes what cannot be deleted now.
    let _ = files::remove(&staging);
    placed.map(|()| report)
}

/// Copies a generation into a folder, with the log up to a transaction and without damaged files.
fn copy(
    generation: &BackupGeneration,
    manifest: &BackupManifest,
    seq: u64,
    damaged: &BTreeMap<String, String>,
    staging: &Path,
    callbacks: &BackupCallbacks<'_>,
) -> Result<()> {
    let needed = || manifest.log.iter().filter(|segment| segment.first <= seq);
    let total = needed().map(|segment| segment.file.bytes).sum();
    let mut counter = ByteCounter::new(callbacks, Some(total));
    create_private(&staging.join("store").join("log"))?;
    for segment in needed() {
        let source = generation.path.join(&segment.file.path);
        let last = segment.last.min(seq);
        let end = check_segment(&source, segment.first, last)?;
        let SegmentState::Intact { bytes, last: found, .. } = end else { return Err(changed(&source)) };
        let target = staging.join("store").join(&segment.file.path);
        files::copy(&source, &target, bytes, &mut counter)?;
        if found != last || check_segment(&target, segment.first, u64::MAX)? != end {
            return Err(changed(&source));
        }
    }
    for file in manifest.files.iter().filter(|file| !damaged.contains_key(&file.path)) {
        let source = generation.path.join(&file.path);
        let blake3 = files::copy(&source, &staging.join(&file.path), file.bytes, &mut counter)?;
        if blake3 != file.blake3 {
            return Err(changed(&source));
        }
    }
    files::sync_tree(staging).map_err(|error| unusable(staging, "written", &error))
}

/// The error for a file that was intact a moment ago.
fn changed(path: &Path) -> Error {
    Error::damaged(format!("`{}` changed while it was copied", path.display()))
        .hint("`poc-memory backup PATH --verify` checks the backup")
}

/// Opens the restored store, compares the graph with the records of every tenant, and closes it.
fn check_restored(folder: &Path, report: &mut RestoreReport) -> Result<()> {
    // Without indexes, no embedder is needed.
    let store = Store::open(folder, "", Vec::new())?;
    let wrong = |what: String| Error::damaged(format!("the restored store failed its check: {what}"));
    if let Some(damage) = store.damage().or(store.recovery().messages.first().map(String::as_str)) {
        return Err(wrong(damage.to_owned()));
    }
    if store.last_seq() != report.seq {
        return Err(wrong(format!("it ends with change {}", store.last_seq())));
    }
    let base = store.history_base().filter(|base| base.seq == report.seq).map(|base| base.at);
    let last = store.transaction_of_any_tenant(report.seq)?.map(|txn| txn.cause.at);
    report.at = last.or(base).ok_or_else(|| wrong("its last change is missing".into()))?;
    for own in store.all_tenants()? {
        let (records, counts) = (own.range::<Node>(&[])?.len() as u64, own.counts());
        if records != counts.nodes {
            let tenant = own.tenant();
            return Err(wrong(format!(
                "{} for {} of `{tenant}`",
                plural(records, "record"),
                plural(counts.nodes, "note")
            )));
        }
        report.notes += counts.live;
    }
    store.checkpoint()
}

/// Moves a restored part to its place, unless something is there.
fn put(staged: &Path, path: &Path, report: &mut RestoreReport) -> Result<()> {
    if !staged.exists() {
        return Ok(());
    }
    let is_free = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            fs::read_dir(path).map_err(|error| unusable(path, "read", &error))?.next().is_none()
        }
        Ok(_) => false,
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(error) => return Err(unusable(path, "read", &error)),
    };
    if !is_free {
        report.kept.push(path.to_owned());
        return Ok(());
    }
    create_private(path.parent().unwrap_or(path))?;
    rename(staged, path)?;
    report.restored.push(path.to_owned());
    Ok(())
}

/// Moves a file or folder to its place, durably. The folders of settings and of data may be on different disks.
fn rename(from: &Path, to: &Path) -> Result<()> {
    let parent = to.parent().unwrap_or(to);
    let moved = match fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            let beside = to.with_extension("restore-partial");
            files::remove(&beside)?;
            copy_tree(from, &beside)?;
            fs::rename(&beside, to)
        }
        moved => moved,
    };
    moved.and_then(|()| files::sync_folder(parent)).map_err(|error| unusable(to, "written", &error))
}

/// Copies a file, or a folder with everything in it, durably.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for source in files::list(from)?.files {
        let below = source.strip_prefix(from).unwrap_or(Path::new(""));
        let target = if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) };
        let bytes = fs::read(&source).map_err(|error| unusable(&source, "read", &error))?;
        files::write(&target, &bytes)?;
    }
    if to.is_dir() {
        files::sync_tree(to).map_err(|error| unusable(to, "written", &error))?;
    }
    Ok(())
}
