//! Chooses the generation from which a state is restored.

use super::{RestoreOptions, RestorePoint};
use crate::backup::generation::BackupGeneration;
use crate::backup::manifest::BackupManifest;
use crate::backup::verify::Checker;
use crate::backup::{BackupCallbacks, no_backups};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_store::last_transaction_before;
use std::collections::BTreeMap;
use std::path::Path;

/// The generations that may have a state, newest first.
pub(super) fn candidates<'a>(
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
pub(super) fn no_such_state(all: &[BackupGeneration], point: RestorePoint) -> Error {
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
            "the oldest state is change {oldest}, the newest is change {newest}{last}: the same command \
             without `--to` restores the newest"
        ),
        None => {
            format!("the newest state is change {newest}{last}: the same command without `--to` restores it")
        }
    };
    Error::not_found(message).hint(hint).field("to")
}

/// Whether a generation has a state.
pub(super) enum StateAvailability {
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

/// Looks for a state in a generation.
pub(super) fn select(
    generation: &BackupGeneration,
    options: RestoreOptions,
    callbacks: &BackupCallbacks<'_>,
) -> Result<StateAvailability> {
    let manifest = match &generation.manifest {
        Ok(manifest) => manifest,
        Err(problem) => return Ok(StateAvailability::Damaged(problem.clone())),
    };
    let last = if let RestorePoint::Seq(seq) = options.point { seq } else { u64::MAX };
    let mut checker = Checker::new(callbacks);
    if let Some(problem) = checker.log_problems(&generation.path, manifest, last)?.into_iter().next() {
        return Ok(StateAvailability::Damaged(problem));
    }
    let seq = match options.point {
        RestorePoint::Newest => manifest.seq,
        RestorePoint::Seq(seq) => seq,
        RestorePoint::Within { last, .. } => match state_at(generation, manifest, last)? {
            Some(seq) => seq,
            None => return Ok(StateAvailability::Absent),
        },
    };
    let damaged = checker.file_problems(&generation.path, manifest)?;
    Ok(match damaged.values().next() {
        Some(problem) if !options.skip_damaged_files => StateAvailability::DamagedFile(problem.clone()),
        _ => StateAvailability::State { seq, damaged },
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

/// What to do when every generation with the state is damaged. `is_log_intact` says whether one of them has an intact
/// log.
pub(super) fn hint_after_damage(
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
