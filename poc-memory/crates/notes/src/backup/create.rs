//! Writes a generation.

use super::files::{self, BackupFile, ByteCounter};
use super::generation::{self, BackupGeneration};
use super::manifest::{BackupManifest, BackupSegment};
use super::{BackupCallbacks, backup_destinations, folder_lock, generations, retention, unusable};
use crate::folder_entries::first_other;
use poc_config::atomic_write::{is_temporary, sync_folder};
use poc_config::paths::{Paths, create_private};
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_store::{DAMAGED_HINT, SegmentExtent, SegmentState, Store, check_segment};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The result of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// The name of the generation: its last sequence number and its time.
    pub name: String,
    /// The manifest of the generation.
    pub manifest: BackupManifest,
    /// Whether an earlier generation has the same content, so that no new one was written.
    pub unchanged: bool,
    /// Number of files that were copied, and their total bytes.
    pub copied: FileTotals,
    /// Number of files that an earlier generation already had, and their total bytes.
    pub linked: FileTotals,
    /// Files of earlier generations that are damaged or missing. They were copied again.
    pub damaged: Vec<String>,
    /// Generations of the folder that are known to be damaged. They do not count towards the number that is kept.
    pub damaged_generations: Vec<String>,
    /// Generations that were deleted because there are newer ones.
    pub removed: Vec<String>,
    /// Generations with changes that the store lacks, such as those of another copy of the memory. They are
    /// not deleted.
    pub diverged: Vec<String>,
    /// Paths among agents, prompts and runs that were left out, because they are not regular files or their
    /// names are not UTF-8.
    pub left_out: Vec<PathBuf>,
}

/// A number of files and their total size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTotals {
    /// Number of files.
    pub files: u64,
    /// Their total size in bytes.
    pub bytes: u64,
}

impl FileTotals {
    fn add(&mut self, file: &BackupFile) {
        self.files += 1;
        self.bytes += file.bytes;
    }

    fn remove(&mut self, file: &BackupFile) {
        self.files -= 1;
        self.bytes -= file.bytes;
    }
}

/// The parts of a profile that are copied in addition to the log: their names in a generation and their
/// paths.
pub(super) fn parts(paths: &Paths) -> [(&'static str, PathBuf); 4] {
    [
        ("config.toml", paths.config_file()),
        ("agents", paths.agents()),
        ("prompts", paths.prompts()),
        ("runs", paths.runs()),
    ]
}

/// Writes a generation of the store and the files of its profile into a folder, reads it back, and deletes
/// the generations that are older than the newest `keep` intact ones. The store may be written to while the backup is
/// made.
///
/// # Errors
/// `conflict` when the folder has backups of another memory, or other files and no backup, or the memory is empty;
/// `invalid_argument` when the folder is part of what is copied, is a generation, or is new and inside another backup;
/// `locked` during another backup; `read_only` when the store is damaged; `damaged` when the log or the new copy is
/// damaged. After an error no unfinished generation remains.
pub fn create(
    store: &Store,
    paths: &Paths,
    folder: &Path,
    keep: usize,
    now: Timestamp,
    callbacks: &BackupCallbacks<'_>,
) -> Result<BackupReport> {
    let remember = || backup_destinations::remember(paths, folder);
    require_outside_backups(folder)?;
    write_generation(store, paths, folder, keep, now, &remember, callbacks)
}

/// [`create`] with a callback that remembers the destination before older generations are deleted.
pub(super) fn write_generation(
    store: &Store,
    paths: &Paths,
    folder: &Path,
    keep: usize,
    now: Timestamp,
    remember: &dyn Fn(),
    callbacks: &BackupCallbacks<'_>,
) -> Result<BackupReport> {
    require_outside(folder, paths)?;
    if let Some(damage) = store.damage() {
        let message = format!("a damaged memory is not backed up: {damage}");
        return Err(Error::new(Code::ReadOnly, message).hint(DAMAGED_HINT));
    }
    let origin = origin(store)?;
    if generations::in_generation(folder).is_some() {
        let message = format!("`{}` is a generation of a backup", folder.display());
        return Err(Error::invalid(message).hint("name the folder that contains it").field("path"));
    }
    require_no_other_files(folder)?;
    create_folder(folder)?;
    let _lock = folder_lock::lock(folder)?;
    generations::remove_partial(folder)?;
    let earlier = generations::in_folder(folder)?;
    require_own(folder, &earlier, &origin)?;
    let log = store.log_snapshot();
    let notes = store.total_counts().live;
    let numbers = earlier.iter().filter_map(|generation| Some(generation.manifest.as_ref().ok()?.number));
    let number = numbers.max().unwrap_or(0) + 1;
    let manifest = BackupManifest { number, ..BackupManifest::new(origin, log.seq, log.base, now, notes) };
    let name = generation::name(log.seq, now);
    let total = log.segments.iter().map(|segment| segment.bytes * 2).sum();
    let mut writer = GenerationWriter {
        partial: generations::partial(folder, &name),
        earlier: &earlier,
        counter: ByteCounter::new(callbacks, Some(total)),
        report: BackupReport {
            name,
            manifest,
            unchanged: false,
            copied: FileTotals::default(),
            linked: FileTotals::default(),
            damaged: Vec::new(),
            damaged_generations: Vec::new(),
            removed: Vec::new(),
            diverged: Vec::new(),
            left_out: Vec::new(),
        },
    };
    let written = writer.write(store, paths, &log.segments).and_then(|()| writer.complete(folder));
    let GenerationWriter { partial, mut report, .. } = writer;
    if written.is_err() || report.unchanged {
        // The next backup deletes what cannot be deleted now.
        let _ = fs::remove_dir_all(&partial);
    }
    written?;
    remember();
    // Other generations may share the damaged files.
    let check_all = !report.damaged.is_empty();
    let kept = retention::remove_old(store, folder, keep, &report.name, check_all, callbacks)?;
    report.removed = kept.removed;
    report.diverged = kept.diverged;
    report.damaged_generations = kept.damaged;
    Ok(report)
}

/// The id of the memory of a store: 32 hexadecimal digits.
pub(super) fn origin(store: &Store) -> Result<String> {
    let origin = store.log_origin()?.ok_or_else(|| {
        Error::conflict("this memory is empty: there is nothing to back up")
            .hint("store a note first: `poc-memory insert --title TITLE --body TEXT`")
    })?;
    Ok(origin.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Refuses a destination that has backups of another memory.
pub(super) fn require_own(destination: &Path, earlier: &[BackupGeneration], origin: &str) -> Result<()> {
    let is_other = |generation: &&BackupGeneration| {
        generation.manifest.as_ref().is_ok_and(|manifest| manifest.store != origin)
    };
    match earlier.iter().find(is_other) {
        Some(other) => {
            let message = format!(
                "`{}` has backups of another memory, such as `{}`",
                destination.display(),
                other.name
            );
            // A repair makes a new log, which is another memory for backups.
            let hint = "choose another path; after a repair, new backups need a path of their own";
            Err(Error::conflict(message).hint(hint).field("path"))
        }
        None => Ok(()),
    }
}

/// Refuses a folder that has other files and no backup, because generations would be mixed with these files.
fn require_no_other_files(folder: &Path) -> Result<()> {
    let is_own = |name: &OsStr| name.to_str().is_some_and(generations::may_be_in_empty_folder);
    let other = first_other(folder, is_own).map_err(|error| unusable(folder, "read", &error))?;
    match other {
        Some(other) if generations::in_folder(folder)?.is_empty() => {
            let (shown, other) = (folder.display(), other.to_string_lossy());
            Err(Error::conflict(format!("`{shown}` is not a backup folder: it contains `{other}`"))
                .hint("name a new or empty folder, or one that contains a backup")
                .field("path"))
        }
        _ => Ok(()),
    }
}

/// Refuses a folder without a backup that is inside a backup folder or a generation.
fn require_outside_backups(folder: &Path) -> Result<()> {
    let path = resolved_path(folder);
    // A generation is itself in a backup folder, which is the one to name.
    let outer = path.ancestors().skip(1).filter(|above| generations::has_generation(above)).last();
    match outer {
        Some(outer) if !generations::has_generation(&path) => {
            let (shown, outer) = (folder.display(), outer.display());
            Err(Error::invalid(format!("`{shown}` is inside the backup `{outer}`"))
                .hint(format!("name `{outer}` itself to continue that backup, or a folder outside of it"))
                .field("path"))
        }
        _ => Ok(()),
    }
}

/// The path with all symbolic links resolved; the file itself need not exist yet.
pub(super) fn resolved_path(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    known.map_or_else(
        || path.to_owned(),
        |(above, real)| path.strip_prefix(above).map_or_else(|_| path.to_owned(), |rest| real.join(rest)),
    )
}

/// Creates the folder of a backup, or the one in which an archive is prepared.
pub(super) fn create_folder(folder: &Path) -> Result<()> {
    create_private(folder).map_err(|error| error.hint("choose a folder in which you may create files"))
}

/// Refuses a destination inside one of the copied folders, because the backup would contain itself.
pub(super) fn require_outside(destination: &Path, paths: &Paths) -> Result<()> {
    let (path, shown) = (resolved_path(destination), destination.display());
    let mut copied = parts(paths).into_iter().map(|(_, path)| path).chain([paths.store()]);
    let is_inside = |own: &PathBuf| path.starts_with(resolved_path(own));
    let problem = if let Some(inside) = copied.find(is_inside) {
        format!("`{shown}` is inside `{}`, which is part of the memory", inside.display())
    } else if paths.folders().iter().any(|folder| path == resolved_path(folder)) {
        // Generations would be mixed with the files of the memory.
        format!("`{shown}` is the folder of the memory")
    } else if paths.machine_files().iter().any(is_inside) {
        // The memory will write a file of its own there, even if it does not exist yet.
        format!("`{shown}` is the path of another file of the memory")
    } else {
        return Ok(());
    };
    Err(Error::invalid(problem)
        .hint("choose a path outside the memory, ideally on another disk")
        .field("path"))
}

/// Writes one generation under its temporary name.
struct GenerationWriter<'a> {
    partial: PathBuf,
    earlier: &'a [BackupGeneration],
    counter: ByteCounter<'a>,
    report: BackupReport,
}

impl GenerationWriter<'_> {
    fn write(&mut self, store: &Store, paths: &Paths, segments: &[SegmentExtent]) -> Result<()> {
        create_private(&self.partial)?;
        for segment in segments.iter().filter(|segment| segment.last >= segment.first) {
            self.add_segment(store, segment)?;
        }
        for (part, source) in parts(paths) {
            let listing = files::list(&source)?;
            self.report.left_out.extend(listing.others);
            let is_complete = |file: &PathBuf| !file.file_name().is_some_and(is_temporary);
            for file in listing.files.into_iter().filter(is_complete) {
                let below = file.strip_prefix(&source).unwrap_or(Path::new(""));
                match part_path(part, below) {
                    Some(path) => self.add_file(&file, path)?,
                    None => self.report.left_out.push(file),
                }
            }
        }
        Ok(())
    }

    /// The earlier generations with a readable manifest, the newest first.
    fn manifests(&self) -> impl Iterator<Item = (&BackupGeneration, &BackupManifest)> {
        self.earlier.iter().filter_map(|generation| Some((generation, generation.manifest.as_ref().ok()?)))
    }

    fn add_segment(&mut self, store: &Store, segment: &SegmentExtent) -> Result<()> {
        let checksum = store.checksum(segment.last)?;
        let checksum = checksum.ok_or_else(|| Error::internal("the end of a segment is not in the log"))?;
        let intact = SegmentState::Intact { last: segment.last, bytes: segment.bytes, checksum };
        let path = format!("log/{:020}.log", segment.first);
        let target = self.partial.join(&path);
        let is_same = |own: &&BackupSegment| {
            (own.first, own.last, own.file.bytes, own.checksum)
                == (segment.first, segment.last, segment.bytes, checksum)
        };
        let known = self.manifests().find_map(|(generation, manifest)| {
            let own = manifest.log.iter().find(is_same)?;
            Some((generation.path.join(&own.file.path), own.file.clone()))
        });
        if let Some((source, file)) = known
            && self.link(&source, &file, &target)?
        {
            if check_segment(&target, segment.first, u64::MAX)? == intact {
                self.report.manifest.log.push(BackupSegment {
                    file,
                    first: segment.first,
                    last: segment.last,
                    checksum,
                });
                return Ok(());
            }
            self.unlink(&source, &file, &target)?;
        }
        let blake3 = files::copy(&segment.path, &target, segment.bytes, &mut self.counter)?;
        let file = BackupFile { path, bytes: segment.bytes, blake3 };
        self.read_back(&target, &file)?;
        if check_segment(&target, segment.first, u64::MAX)? != intact {
            return Err(damaged_log(segment)?.unwrap_or_else(|| copy_error(&target)));
        }
        self.report.copied.add(&file);
        self.report.manifest.log.push(BackupSegment {
            file,
            first: segment.first,
            last: segment.last,
            checksum,
        });
        Ok(())
    }

    fn add_file(&mut self, source: &Path, path: String) -> Result<()> {
        let bytes = match fs::read(source) {
            Ok(bytes) => bytes,
            // Agents and the prompts of old runs may be deleted during the backup.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unusable(source, "read", &error)),
        };
        let blake3 = blake3::hash(&bytes).to_hex().to_string();
        let file = BackupFile { path, bytes: bytes.len() as u64, blake3 };
        let target = self.partial.join(&file.path);
        let known = self.manifests().find_map(|(generation, manifest)| {
            let own = manifest.files.iter().find(|own| **own == file)?;
            Some(generation.path.join(&own.path))
        });
        let is_linked = known.map(|known| self.link(&known, &file, &target)).transpose()?.unwrap_or(false);
        if !is_linked {
            files::write(&target, &bytes)?;
            self.read_back(&target, &file)?;
            self.report.copied.add(&file);
        }
        self.report.manifest.files.push(file);
        Ok(())
    }

    /// Creates a hard link to a file of an earlier generation, and reads the file. Returns `false` when links
    /// are not possible or the file is damaged or missing.
    fn link(&mut self, source: &Path, file: &BackupFile, target: &Path) -> Result<bool> {
        create_private(target.parent().unwrap_or(target))?;
        let is_linked = fs::hard_link(source, target).is_ok();
        if is_linked {
            self.report.linked.add(file);
        }
        // The file is read even where links are not possible: an unchanged memory gets no new generation, so
        // the existing one must be intact. A read error counts as damage.
        let digest = files::digest(source, &mut self.counter);
        self.check_cancelled()?;
        if digest.is_ok_and(|digest| digest.is(file)) {
            return Ok(is_linked);
        }
        if is_linked {
            self.unlink(source, file, target)?;
        } else {
            self.add_damaged(source);
        }
        Ok(false)
    }

    /// Removes a link to a damaged file.
    fn unlink(&mut self, source: &Path, file: &BackupFile, target: &Path) -> Result<()> {
        self.report.linked.remove(file);
        self.add_damaged(source);
        fs::remove_file(target).map_err(|error| unusable(target, "deleted", &error))
    }

    fn add_damaged(&mut self, file: &Path) {
        self.report.damaged.push(file.display().to_string());
    }

    /// Fails if the operation was cancelled.
    fn check_cancelled(&mut self) -> Result<()> {
        self.counter.add(0)
    }

    /// Reads a file that was just written, and compares it with its entry in the manifest.
    fn read_back(&mut self, target: &Path, file: &BackupFile) -> Result<()> {
        if files::digest(target, &mut self.counter)?.is(file) { Ok(()) } else { Err(copy_error(target)) }
    }

    /// Completes the generation, unless the newest has the same content.
    fn complete(&mut self, folder: &Path) -> Result<()> {
        self.report.manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
        if let Some(newest) = self.earlier.first()
            && let Ok(manifest) = &newest.manifest
            && manifest.same_content(&self.report.manifest)
            && self.report.damaged.is_empty()
        {
            self.report.unchanged = true;
            self.report.name.clone_from(&newest.name);
            self.report.manifest = manifest.clone();
            return Ok(());
        }
        self.report.manifest.write(&self.partial)?;
        let path = folder.join(&self.report.name);
        if path.exists() {
            return Err(Error::conflict(format!("`{}` exists already", path.display()))
                .hint("the clock was set back: try again later"));
        }
        let renamed = files::sync_tree(&self.partial)
            .and_then(|()| fs::rename(&self.partial, &path))
            .and_then(|()| sync_folder(folder));
        renamed.map_err(|error| unusable(&path, "written", &error))
    }
}

/// The path of a file in a generation; `None` if it is not UTF-8.
fn part_path(part: &str, below: &Path) -> Option<String> {
    below
        .components()
        .try_fold(part.to_owned(), |path, name| Some(format!("{path}/{}", name.as_os_str().to_str()?)))
}

/// The error for a damaged segment of the memory's own log; `None` if the segment is intact.
fn damaged_log(segment: &SegmentExtent) -> Result<Option<Error>> {
    let SegmentState::Damaged { offset } = check_segment(&segment.path, segment.first, segment.last)? else {
        return Ok(None);
    };
    let message = format!("the log of this memory is damaged: `{}` at byte {offset}", segment.path.display());
    Ok(Some(Error::damaged(message).hint("`poc-memory doctor` says more; earlier backups are unchanged")))
}

/// The error for a copy whose content differs from what was written.
fn copy_error(target: &Path) -> Error {
    Error::damaged(format!("`{}` differs from what was written", target.display()))
        .hint("check the disk of the backup; nothing was changed in the memory")
}
