//! A backup in one file: a tar archive of one generation, in a folder of its name. `tar -xf` makes a backup
//! folder of it.
//!
//! The manifest is the first file in the archive. A generation is first written into a folder beside the
//! archive, as in a backup folder, and packed from there. An archive may come from anybody, so reading
//! accepts only regular files of one generation that its manifest lists.

use super::backup_places;
use super::create::{
    BackupReport, has_other_changes, origin, require_outside, require_own, write_generation,
};
use super::files::{self, BackupFile, Meter};
use super::generations::{self, BackupGeneration};
use super::manifest::{self, BackupManifest};
use super::restore::damaged;
use super::verify::gap;
use super::{BackupCallbacks, unusable};
use poc_config::paths::{Paths, create_private};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_store::Store;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};
use tar::{Archive, Builder, Entry, EntryType, Header};

/// Maximum size of a manifest in bytes: about 200 bytes for each of five million files.
const MAX_MANIFEST: u64 = 1 << 30;

/// Whether a backup to this path is an archive: an existing file, or a new one whose name ends in `.tar`.
pub fn is_archive(place: &Path) -> bool {
    let is_named = || place.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tar"));
    place.is_file() || (!place.exists() && is_named())
}

/// Writes a generation into an archive, reads it back, and replaces an earlier archive of the same memory.
/// The store may be written to meanwhile. The disk of the archive needs free space of twice its size until
/// then.
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
    let earlier = if file.exists() { Some(generation(file)?) } else { None };
    if let Some(earlier) = &earlier {
        require_own(file, std::slice::from_ref(earlier), &origin(store)?)?;
        require_replaceable(earlier, store)?;
    }
    let report = write_generation(store, paths, &preparation.generations(), 1, now, &|| {}, callbacks)?;
    let report = preparation.pack(file, earlier.as_ref(), report, callbacks)?;
    backup_places::remember(paths, file);
    Ok(report)
}

/// The file that a path leads to. An archive behind a symbolic link is replaced; the link stays.
fn resolved(file: &Path) -> Result<PathBuf> {
    if fs::symlink_metadata(file).is_ok() {
        return file.canonicalize().map_err(|error| unusable(file, "found", &error));
    }
    Ok(file.to_owned())
}

/// Refuses to replace an archive that cannot be read or that has states which the store lacks.
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
        create_private(&folder)?;
        let preparation = Preparation { _lock: generations::lock(&folder)?, folder };
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
        let mut meter = Meter::new(callbacks, Some(report.manifest.bytes().saturating_mul(2)));
        if let Some(earlier) = earlier
            && let Ok(known) = &earlier.manifest
            && known.same_content(&report.manifest)
        {
            if problems(file, known, &mut meter)?.is_empty() {
                report.unchanged = true;
                report.name.clone_from(&earlier.name);
                report.manifest = known.clone();
                report.copied = (0, 0);
                return Ok(report);
            }
            report.damaged.push(file.display().to_string());
        }
        let packed = self.archive();
        pack(&self.generations().join(&report.name), &report.name, &report.manifest, &packed, &mut meter)?;
        // The whole archive is read back, including the manifest.
        let problems = match generation(&packed)?.manifest {
            Ok(manifest) if manifest == report.manifest => problems(&packed, &manifest, &mut meter)?,
            Ok(_) => vec!["its manifest is another".to_owned()],
            Err(problem) => vec![problem],
        };
        if let Some(problem) = problems.first() {
            let message = format!("`{}` does not contain what was written: {problem}", packed.display());
            return Err(Error::internal(message)
                .hint("check the disk of the backup; nothing was changed in the memory"));
        }
        let parent = file.parent().unwrap_or(file);
        let renamed = fs::rename(&packed, file).and_then(|()| files::sync_folder(parent));
        renamed.map_err(|error| unusable(file, "written", &error))?;
        Ok(report)
    }
}

impl Drop for Preparation {
    fn drop(&mut self) {
        // The next backup deletes what cannot be deleted now. The lock is released last.
        let _ = self.clear();
        let _ = fs::remove_file(self.folder.join(generations::LOCK));
        let _ = fs::remove_dir(&self.folder);
    }
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
/// `invalid_argument` when the file does not begin like an archive of a generation, `unavailable` when it
/// cannot be read.
pub(super) fn generation(path: &Path) -> Result<BackupGeneration> {
    let mut archive = open(path)?;
    let mut files = Files::of(path, &mut archive)?;
    let Some(Ok(first)) = files.next()? else { return Err(no_backup(path)) };
    let name = first.generation.clone();
    let text = content(first, manifest::FILE);
    let checksum = match files.next()? {
        Some(file) => file.and_then(|file| content(file, manifest::CHECKSUM)),
        None => Err(format!("`{}` is missing", manifest::CHECKSUM)),
    };
    let manifest = || BackupManifest::parse(&text?, &checksum?);
    BackupGeneration::new(name, path.to_owned(), manifest).ok_or_else(|| no_backup(path))
}

/// The content of a file of the manifest, or what is wrong with it.
fn content(mut file: ArchivedFile<'_>, expected: &str) -> Result<Vec<u8>, String> {
    if file.path != expected {
        return Err(format!("`{}` is in the place of `{expected}`", file.path));
    }
    let mut content = Vec::new();
    match (&mut file.content).take(MAX_MANIFEST).read_to_end(&mut content) {
        Ok(read) if read as u64 == MAX_MANIFEST => Err(format!("`{expected}` is too long")),
        Ok(_) => Ok(content),
        Err(error) => Err(format!("`{expected}` cannot be read: {error}")),
    }
}

/// The damaged and missing files of an archive, one line each.
pub(super) fn problems(path: &Path, manifest: &BackupManifest, meter: &mut Meter<'_>) -> Result<Vec<String>> {
    let mut problems: Vec<String> = gap(manifest).into_iter().collect();
    let mut archive = open(path)?;
    let mut files = ListedFiles::of(Files::of(path, &mut archive)?, manifest);
    loop {
        match files.next()? {
            None => break,
            Some(Ok((mut file, Some(listed)))) => match files::digest_of(path, &mut file.content, meter) {
                Ok(digest) => {
                    let difference = digest.difference(listed);
                    problems.extend(difference.map(|difference| format!("`{}` {difference}", file.path)));
                }
                Err(error) => {
                    // A read error counts as damage, unless the operation was cancelled.
                    meter.add(0)?;
                    problems.push(error.message);
                    return Ok(problems);
                }
            },
            Some(Ok(_)) => {}
            Some(Err(problem)) => {
                problems.push(problem);
                break;
            }
        }
    }
    problems.extend(files.missing.keys().map(|path| format!("`{path}` is missing")));
    Ok(problems)
}

/// Calls `each` with each file that the manifest of an archive lists, and a temporary copy of it.
///
/// # Errors
/// Those of `each`, and as [`unpack`].
pub(super) fn each_file(
    generation: &BackupGeneration,
    each: &mut dyn FnMut(&BackupFile, &Path) -> Result<()>,
) -> Result<()> {
    let path = &generation.path;
    let manifest = generation.readable()?;
    let mut archive = open(path)?;
    let mut files = ListedFiles::of(Files::of(path, &mut archive)?, manifest);
    while let Some(file) = files.next()? {
        let (mut file, listed) = file.map_err(|problem| damaged(&problem))?;
        let Some(listed) = listed else { continue };
        let temporary = |error: io::Error| unusable(&std::env::temp_dir(), "written", &error);
        let mut copy = tempfile::NamedTempFile::new().map_err(temporary)?;
        io::copy(&mut file.content, &mut copy).map_err(|error| unusable(path, "copied", &error))?;
        each(listed, copy.path())?;
    }
    Ok(())
}

/// Unpacks an archive into an empty folder, which becomes a backup folder with one generation. The content is
/// checked afterwards, as that of any generation.
///
/// # Errors
/// `internal` when the archive is truncated or contains files that its manifest does not list; `unavailable`
/// when the archive cannot be read or the folder cannot be written.
pub(super) fn unpack(
    generation: &BackupGeneration,
    folder: &Path,
    callbacks: &BackupCallbacks<'_>,
) -> Result<()> {
    let path = &generation.path;
    let manifest = generation.readable()?;
    let mut meter = Meter::new(callbacks, Some(manifest.bytes()));
    let mut archive = open(path)?;
    let mut files = ListedFiles::of(Files::of(path, &mut archive)?, manifest);
    while let Some(file) = files.next()? {
        let (mut file, _) = file.map_err(|problem| damaged(&format!("`{}`: {problem}", path.display())))?;
        let target = folder.join(&generation.name).join(&file.path);
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
    Error::invalid(format!("`{}` is not a backup, or its beginning is damaged", path.display()))
        .hint(
            "name a folder or a file that `poc-memory backup` wrote, or a new one, whose name ends in `.tar` if it is to be \
             a file; or move this file away",
        )
        .field("path")
}

/// The files of an archive, which are all of one generation.
struct Files<'a> {
    path: &'a Path,
    entries: tar::Entries<'a, BufReader<File>>,
    /// The generation.
    generation: Option<String>,
    /// The path of the last file, for messages.
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
        Ok(Files { path, entries, generation: None, last: None })
    }

    /// The next file, or what is wrong with the archive from here on.
    ///
    /// # Errors
    /// `unavailable` when the disk cannot read the archive.
    fn next(&mut self) -> Result<Option<Result<ArchivedFile<'a>, String>>> {
        let place = match &self.last {
            Some(last) => format!("after `{last}`"),
            None => "at its beginning".to_owned(),
        };
        let entry = match self.entries.next() {
            None => return Ok(None),
            Some(Ok(entry)) => entry,
            Some(Err(error)) if error.raw_os_error().is_some() => {
                return Err(unusable(self.path, "read", &error));
            }
            Some(Err(error)) => return Ok(Some(Err(format!("the archive is damaged {place}: {error}")))),
        };
        let names = names(&entry);
        let is_of_generation = |(generation, _): &(String, String)| {
            self.generation.as_ref().is_none_or(|known| known == generation)
        };
        let Some((generation, path)) = names.filter(is_of_generation) else {
            return Ok(Some(Err(format!("the archive has something that no backup has, {place}"))));
        };
        self.generation = Some(generation.clone());
        self.last = Some(path.clone());
        Ok(Some(Ok(ArchivedFile { generation, path, content: entry })))
    }
}

/// The generation of a file and its path there. `None` if it is not a regular file, or the path could lead elsewhere.
fn names(entry: &Entry<'_, BufReader<File>>) -> Option<(String, String)> {
    if entry.header().entry_type() != EntryType::Regular {
        return None;
    }
    let path = String::from_utf8(entry.path_bytes().into_owned()).ok()?;
    // Checks the text itself, because a `Path` ignores empty parts and repeated separators.
    let is_inside = path.split('/').all(|part| !["", ".", ".."].contains(&part));
    let (generation, below) = path.split_once('/')?;
    is_inside.then(|| (generation.to_owned(), below.to_owned()))
}

/// A file of an archive with its entry in the manifest; `None` for the files of the manifest itself.
type ListedFile<'a, 'm> = (ArchivedFile<'a>, Option<&'m BackupFile>);

/// The files of an archive that its manifest lists, each once.
struct ListedFiles<'a, 'm> {
    files: Files<'a>,
    /// The listed files that were not read yet, by path.
    missing: BTreeMap<&'m str, &'m BackupFile>,
    /// The files of the manifest itself that are not read yet.
    own: Vec<&'static str>,
}

impl<'a, 'm> ListedFiles<'a, 'm> {
    fn of(files: Files<'a>, manifest: &'m BackupManifest) -> ListedFiles<'a, 'm> {
        let missing = manifest.all_files().map(|file| (file.path.as_str(), file)).collect();
        ListedFiles { files, missing, own: vec![manifest::FILE, manifest::CHECKSUM] }
    }

    /// The next file, or what is wrong with the archive from here on.
    fn next(&mut self) -> Result<Option<Result<ListedFile<'a, 'm>, String>>> {
        let file = match self.files.next()? {
            None => return Ok(None),
            Some(Err(problem)) => return Ok(Some(Err(problem))),
            Some(Ok(file)) => file,
        };
        if let Some(at) = self.own.iter().position(|own| *own == file.path) {
            self.own.remove(at);
            return Ok(Some(Ok((file, None))));
        }
        Ok(Some(match self.missing.remove(file.path.as_str()) {
            Some(listed) => Ok((file, Some(listed))),
            None => Err(format!("the archive has `{}`, which its manifest does not list", file.path)),
        }))
    }
}
