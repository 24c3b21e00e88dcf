//! Writes a backup in one file.
//!
//! A generation is written as in a backup folder, into a folder beside the archive, and packed from there.

use super::archive;
use super::backup_destinations;
use super::create::{
    BackupReport, FileTotals, create_folder, origin, require_outside, require_own, write_generation,
};
use super::files::{self, ByteCounter};
use super::generation::BackupGeneration;
use super::manifest::{self, BackupManifest};
use super::retention::has_other_changes;
use super::{BackupCallbacks, folder_lock, unusable};
use poc_config::atomic_write::sync_folder;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_store::Store;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// Extensions of compressed archives.
const COMPRESSED: [&str; 10] = ["7z", "bz2", "gz", "rar", "tbz2", "tgz", "txz", "xz", "zip", "zst"];

/// Whether a backup to this path is an archive: an existing file, or a new one whose name ends in `.tar`.
///
/// # Errors
/// `invalid_argument` when nothing exists at the path and its name is that of a compressed archive, because backups are
/// not compressed.
pub fn is_archive(path: &Path) -> Result<bool> {
    if path.exists() {
        return Ok(path.is_file());
    }
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if COMPRESSED.contains(&extension.as_str()) {
        return Err(Error::invalid(format!("`{}` has the name of a compressed archive", path.display()))
            .hint("a backup in one file is not compressed: end its name in `.tar`")
            .field("path"));
    }
    Ok(extension == "tar")
}

/// Writes a generation into an archive, reads it back, and replaces an earlier archive of the same memory.
/// The store may be written to while the backup is made. The disk of the archive needs free space of twice its size
/// until the end.
///
/// # Errors
/// As [`create`](super::create); `invalid_argument` when the file exists and is not a backup; `conflict` when it has
/// transactions that the store lacks, or its manifest cannot be read.
pub fn create_archive(
    store: &Store,
    paths: &Paths,
    file: &Path,
    now: Timestamp,
    callbacks: &BackupCallbacks<'_>,
) -> Result<BackupReport> {
    let file = &resolved(file)?;
    require_outside(file, paths)?;
    let preparation = Preparation::begin(file)?;
    let earlier = if file.exists() { Some(archive::generation(file)?) } else { None };
    if let Some(earlier) = &earlier {
        require_own(file, std::slice::from_ref(earlier), &origin(store)?)?;
        require_replaceable(earlier, store)?;
    }
    let report = write_generation(store, paths, &preparation.generations(), 1, now, &|| {}, callbacks)?;
    let report = preparation.pack(file, earlier.as_ref(), report, callbacks)?;
    backup_destinations::remember(paths, file);
    Ok(report)
}

/// The file at a path, after symbolic links. The archive behind a link is replaced; the link stays.
fn resolved(file: &Path) -> Result<PathBuf> {
    if fs::symlink_metadata(file).is_ok() {
        return file.canonicalize().map_err(|error| unusable(file, "found", &error));
    }
    Ok(file.to_owned())
}

/// Returns an error if an archive cannot be read, or if it has states that the store lacks.
fn require_replaceable(earlier: &BackupGeneration, store: &Store) -> Result<()> {
    let refused = |why: String| {
        Err(Error::conflict(format!("`{}` is not replaced: {why}", earlier.path.display()))
            .hint("name another file, or move this one away")
            .field("path"))
    };
    let manifest = match &earlier.manifest {
        Ok(manifest) => manifest,
        Err(problem) => return refused(problem.clone()),
    };
    if has_other_changes(manifest, store)? {
        return refused("it has changes that this memory lacks".to_owned());
    }
    Ok(())
}

/// The locked folder beside an archive in which the next archive is prepared. It is deleted on drop.
struct Preparation {
    folder: PathBuf,
    _lock: File,
}

impl Preparation {
    /// Begins a preparation, and deletes the leftovers of an interrupted one.
    fn begin(file: &Path) -> Result<Preparation> {
        let mut name = OsString::from(".");
        name.push(file.file_name().unwrap_or_default());
        name.push(".backup-partial");
        let folder = file.with_file_name(name);
        create_folder(&folder)?;
        let preparation = Preparation { _lock: folder_lock::lock(&folder)?, folder };
        preparation.clear()?;
        Ok(preparation)
    }

    /// The backup folder with the generation.
    fn generations(&self) -> PathBuf {
        self.folder.join("generations")
    }

    /// The archive while it is written.
    fn archive(&self) -> PathBuf {
        self.folder.join("archive.tar")
    }

    /// Deletes the files of the preparation, and no other files in its folder.
    fn clear(&self) -> Result<()> {
        files::remove(&self.generations())?;
        files::remove(&self.archive())
    }

    /// Packs the generation, unless the earlier archive has the same content and is intact.
    fn pack(
        &self,
        file: &Path,
        earlier: Option<&BackupGeneration>,
        mut report: BackupReport,
        callbacks: &BackupCallbacks<'_>,
    ) -> Result<BackupReport> {
        let mut counter = ByteCounter::new(callbacks, Some(report.manifest.bytes().saturating_mul(2)));
        if let Some(earlier) = earlier
            && let Ok(known) = &earlier.manifest
            && known.same_content(&report.manifest)
        {
            if archive::problems(file, known, &mut counter)?.is_empty() {
                report.unchanged = true;
                report.name.clone_from(&earlier.name);
                report.manifest = known.clone();
                report.copied = FileTotals::default();
                return Ok(report);
            }
            report.damaged.push(file.display().to_string());
        }
        let packed = self.archive();
        pack(&self.generations().join(&report.name), &report.name, &report.manifest, &packed, &mut counter)?;
        // The whole archive is read back, including the manifest.
        let problems = match archive::generation(&packed)?.manifest {
            Ok(manifest) if manifest == report.manifest => {
                archive::problems(&packed, &manifest, &mut counter)?
            }
            Ok(_) => vec!["its manifest differs".to_owned()],
            Err(problem) => vec![problem],
        };
        if let Some(problem) = problems.first() {
            let message = format!("`{}` differs from what was written: {problem}", packed.display());
            return Err(Error::damaged(message)
                .hint("check the disk of the backup; nothing was changed in the memory"));
        }
        let parent = file.parent().unwrap_or(file);
        let renamed = fs::rename(&packed, file).and_then(|()| sync_folder(parent));
        renamed.map_err(|error| unusable(file, "written", &error))?;
        Ok(report)
    }
}

impl Drop for Preparation {
    fn drop(&mut self) {
        // The next backup deletes what cannot be deleted now. The lock is released last.
        let _ = self.clear();
        let _ = fs::remove_file(self.folder.join(folder_lock::LOCK));
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Packs the files of a generation, durably.
fn pack(
    source: &Path,
    name: &str,
    manifest: &BackupManifest,
    target: &Path,
    counter: &mut ByteCounter<'_>,
) -> Result<()> {
    let written = |error: io::Error| unusable(target, "written", &error);
    let mut archive = Builder::new(BufWriter::new(files::create(target)?));
    let paths = [manifest::FILE, manifest::CHECKSUM].into_iter();
    for path in paths.chain(manifest.all_files().map(|file| file.path.as_str())) {
        let from = source.join(path);
        let file = File::open(&from).map_err(|error| unusable(&from, "read", &error))?;
        let bytes = file.metadata().map_err(|error| unusable(&from, "read", &error))?.len();
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes);
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(manifest.at.0 / 1000).unwrap_or(0));
        archive.append_data(&mut header, format!("{name}/{path}"), file).map_err(written)?;
        counter.add(bytes)?;
    }
    let file =
        archive.into_inner().map_err(written)?.into_inner().map_err(|error| written(error.into_error()))?;
    file.sync_all().map_err(written)
}
