//! Puts the state of a generation in its place.

use super::{RestoreReport, require_no_store};
use crate::backup::create::parts;
use crate::backup::files::{self, ByteCounter};
use crate::backup::generation::BackupGeneration;
use crate::backup::manifest::{BackupManifest, BackupSegment};
use crate::backup::{BackupCallbacks, unusable};
use crate::history::UnfinishedCall;
use poc_config::atomic_write::sync_folder;
use poc_config::paths::{Paths, create_private};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Node, plural};
use poc_store::{
    Cause, Records, SegmentState, Store, check_segment, delete_empty_store, each_transaction_of_segment,
};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Name of the folder beside the store in which a restored profile is prepared.
pub(super) const STAGING: &str = "restore.partial";

/// Copies an intact generation of a backup up to a transaction, opens the store once, and moves everything to its place.
pub(super) fn put_in_place(
    backup: &Path,
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
            require_no_store(backup, target)?;
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
    moved.and_then(|()| sync_folder(parent)).map_err(|error| unusable(to, "written", &error))
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
