//! A backup in one file: a tar archive of one generation, in a folder of its name. `tar -xf` makes a backup folder of it.
//!
//! The manifest is first in the archive. A generation is written as in a backup folder, into a folder beside the archive,
//! and packed from there.

use super::backup_places;
use super::create::{BackupReport, origin, require_outside, require_own, write_generation};
use super::files::{self, BackupFile, Meter};
use super::generations::{self, BackupGeneration};
use super::manifest::{self, BackupManifest};
use super::verify::gap;
use super::{BackupCallbacks, unusable};
use poc_config::paths::{Paths, create_private};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_store::Store;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read};
use std::path::{Component, Path, PathBuf};
use tar::{Archive, Builder, Entry, EntryType, Header};

/// How much of a manifest is read: a hundred bytes for each of a million files.
const MAX_MANIFEST: u64 = 100 << 20;

/// Whether a backup to this place is an archive: an existing file, or a new one that is named `….tar`.
pub fn is_archive(place: &Path) -> bool {
    place.is_file() || (!place.exists() && place.extension().is_some_and(|extension| extension == "tar"))
}

/// Writes a generation into an archive, reads it back, and replaces an earlier archive of the same memory. The store may
/// be written to meanwhile. The disk of the archive needs twice its size until then.
///
/// # Errors
/// As [`create`](super::create), and `invalid_argument` when the file exists and is not a backup.
pub fn create_archive(
    store: &Store,
    paths: &Paths,
    file: &Path,
    now: Timestamp,
    callbacks: &BackupCallbacks<'_>,
) -> Result<BackupReport> {
    require_outside(file, paths)?;
    let earlier = if file.exists() { Some(generation(file)?) } else { None };
    require_own(file, earlier.as_slice(), &origin(store)?)?;
    let partial = partial(file);
    create_private(&partial)?;
    let lock = generations::lock(&partial)?;
    let folder = partial.join("generations");
    let made = write_generation(store, paths, &folder, 1, now, callbacks)
        .and_then(|report| replace(file, earlier.as_ref(), &partial, report, callbacks));
    drop(lock);
    // What cannot be deleted now is used, and deleted, by the next backup.
    let _ = fs::remove_dir_all(&partial);
    let report = made?;
    backup_places::remember(paths, file);
    Ok(report)
}

/// The folder in which an archive is prepared.
fn partial(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    file.with_file_name(name)
}

/// Packs the generation that was just written, unless the earlier archive has the same content and is intact.
fn replace(
    file: &Path,
    earlier: Option<&BackupGeneration>,
    partial: &Path,
    mut report: BackupReport,
    callbacks: &BackupCallbacks<'_>,
) -> Result<BackupReport> {
    // Nothing that the preparation did is of interest: the archive is new.
    report.unchanged = false;
    report.copied = (report.copied.0 + report.linked.0, report.copied.1 + report.linked.1);
    report.linked = (0, 0);
    report.removed.clear();
    report.damaged.clear();
    let mut meter = Meter::new(callbacks, Some(report.manifest.bytes() * 2));
    match earlier.map(|earlier| (earlier, earlier.manifest.as_ref())) {
        Some((earlier, Ok(known))) if known.same_content(&report.manifest) => {
            if problems(file, known, &mut meter)?.is_empty() {
                report.unchanged = true;
                report.name.clone_from(&earlier.name);
                report.manifest = known.clone();
                report.copied = (0, 0);
                return Ok(report);
            }
            report.damaged.push(file.display().to_string());
        }
        Some((_, Err(_))) => report.damaged.push(file.display().to_string()),
        _ => {}
    }
    let packed = partial.join("archive.tar");
    let source = partial.join("generations").join(&report.name);
    pack(&source, &report.name, &report.manifest, &packed, &mut meter)?;
    if let Some(problem) = problems(&packed, &report.manifest, &mut meter)?.first() {
        return Err(Error::internal(format!(
            "`{}` does not contain what was written: {problem}",
            packed.display()
        ))
        .hint("check the disk of the backup; nothing was changed in the memory"));
    }
    let parent = file.parent().unwrap_or(file);
    let renamed = fs::rename(&packed, file).and_then(|()| files::sync_folder(parent));
    renamed.map_err(|error| unusable(file, "written", &error))?;
    Ok(report)
}

/// Packs the files of a generation, durably.
fn pack(
    source: &Path,
    name: &str,
    manifest: &BackupManifest,
    target: &Path,
    meter: &mut Meter<'_>,
) -> Result<()> {
    let written = |error: io::Error| unusable(target, "written", &error);
    // One that an interruption left behind.
    let _ = fs::remove_file(target);
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
        meter.add(bytes)?;
    }
    let file =
        archive.into_inner().map_err(written)?.into_inner().map_err(|error| written(error.into_error()))?;
    file.sync_all().map_err(written)
}

/// The generation of an archive.
///
/// # Errors
/// `invalid_argument` when the file does not begin like an archive of a generation, `unavailable` when it cannot be read.
pub(super) fn generation(path: &Path) -> Result<BackupGeneration> {
    let mut archive = open(path)?;
    let mut files = Files::of(path, &mut archive)?;
    let mut read = |expected: &str| match files.next()? {
        Some(Ok(mut file)) if file.path == expected => {
            let mut content = Vec::new();
            let read = (&mut file.content).take(MAX_MANIFEST).read_to_end(&mut content);
            let problem = |error: io::Error| format!("`{expected}` cannot be read: {error}");
            Ok((file.generation, read.map(|_| content).map_err(problem)))
        }
        _ => Err(no_backup(path)),
    };
    let (name, text) = read(manifest::FILE)?;
    let checksum = read(manifest::CHECKSUM).map(|(_, checksum)| checksum);
    let checksum = checksum.unwrap_or_else(|_| Err(format!("`{}` is missing", manifest::CHECKSUM)));
    let manifest = text.and_then(|text| BackupManifest::parse(&text, &checksum?));
    BackupGeneration::new(name, path.to_owned(), manifest).ok_or_else(|| no_backup(path))
}

/// What is damaged or missing in an archive.
pub(super) fn problems(path: &Path, manifest: &BackupManifest, meter: &mut Meter<'_>) -> Result<Vec<String>> {
    let mut problems: Vec<String> = gap(manifest).into_iter().collect();
    let mut missing: BTreeMap<&str, &BackupFile> =
        manifest.all_files().map(|file| (file.path.as_str(), file)).collect();
    let mut archive = open(path)?;
    let mut files = Files::of(path, &mut archive)?;
    loop {
        let mut file = match files.next()? {
            None => break,
            Some(Ok(file)) => file,
            Some(Err(problem)) => {
                problems.push(problem);
                break;
            }
        };
        if [manifest::FILE, manifest::CHECKSUM].contains(&file.path.as_str()) {
            continue;
        }
        let digest = files::digest_of(path, &mut file.content, meter)?;
        problems.extend(match missing.remove(file.path.as_str()) {
            Some(expected) => digest.difference(expected).map(|problem| format!("`{}` {problem}", file.path)),
            None => Some(format!("`{}` is not in the manifest", file.path)),
        });
    }
    problems.extend(missing.keys().map(|path| format!("`{path}` is missing")));
    Ok(problems)
}

/// Unpacks an archive into an empty folder, which becomes a backup folder. What is damaged is found when that is read.
///
/// # Errors
/// `internal` when the archive breaks off.
pub(super) fn unpack(path: &Path, folder: &Path, callbacks: &BackupCallbacks<'_>) -> Result<()> {
    let mut meter = Meter::new(callbacks, None);
    let mut archive = open(path)?;
    let mut files = Files::of(path, &mut archive)?;
    while let Some(file) = files.next()? {
        let mut file = file.map_err(|problem| {
            Error::internal(format!(
                "the backup is damaged and was not restored: `{}`: {problem}",
                path.display()
            ))
        })?;
        let target = folder.join(&file.generation).join(&file.path);
        files::write_from(path, &mut file.content, &target, &mut meter)?;
    }
    Ok(())
}

fn open(path: &Path) -> Result<Archive<BufReader<File>>> {
    let file = File::open(path).map_err(|error| unusable(path, "read", &error))?;
    Ok(Archive::new(BufReader::new(file)))
}

/// The error for a file that is something else.
fn no_backup(path: &Path) -> Error {
    Error::invalid(format!("`{}` is not a backup", path.display()))
        .hint("name a folder or a file that `poc-memory backup` wrote; a new archive is named `….tar`")
        .field("path")
}

/// The files of an archive.
struct Files<'a> {
    path: &'a Path,
    entries: tar::Entries<'a, BufReader<File>>,
    /// The last one, for messages.
    last: Option<String>,
}

/// A file of an archive.
struct ArchivedFile<'a> {
    generation: String,
    /// The path in the generation, with `/`.
    path: String,
    content: Entry<'a, BufReader<File>>,
}

impl<'a> Files<'a> {
    fn of(path: &'a Path, archive: &'a mut Archive<BufReader<File>>) -> Result<Files<'a>> {
        let entries = archive.entries().map_err(|error| unusable(path, "read", &error))?;
        Ok(Files { path, entries, last: None })
    }

    /// The next file, or what is wrong with the archive from here on.
    ///
    /// # Errors
    /// `unavailable` when the disk cannot read the archive.
    fn next(&mut self) -> Result<Option<Result<ArchivedFile<'a>, String>>> {
        let place = || match &self.last {
            Some(last) => format!("after `{last}`"),
            None => "at its beginning".to_owned(),
        };
        let entry = match self.entries.next() {
            None => return Ok(None),
            Some(Ok(entry)) => entry,
            Some(Err(error)) if error.raw_os_error().is_some() => {
                return Err(unusable(self.path, "read", &error));
            }
            Some(Err(error)) => return Ok(Some(Err(format!("the archive is damaged {}: {error}", place())))),
        };
        let Some((generation, path)) = names(&entry) else {
            return Ok(Some(Err(format!("the archive has something that no backup has, {}", place()))));
        };
        self.last = Some(path.clone());
        Ok(Some(Ok(ArchivedFile { generation, path, content: entry })))
    }
}

/// The generation of a file and its path there. `None` if it is no regular file, or lies outside.
fn names(entry: &Entry<'_, BufReader<File>>) -> Option<(String, String)> {
    if entry.header().entry_type() != EntryType::Regular {
        return None;
    }
    let path = entry.path().ok()?;
    let path = path.to_str()?;
    let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let (generation, path) = path.split_once('/')?;
    is_inside.then(|| (generation.to_owned(), path.to_owned()))
}
