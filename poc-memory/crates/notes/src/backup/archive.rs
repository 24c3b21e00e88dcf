//! Reads a backup in one file: a tar archive of one generation, in a folder with its name. `tar -xf` turns it into a
//! backup folder.
//!
//! The manifest is first in the archive. An archive may come from anybody. It is accepted only if it has nothing but
//! regular files, all of one generation and all listed in its manifest.

use super::files::{self, BackupFile, ByteCounter};
use super::generation::BackupGeneration;
use super::manifest::{self, BackupManifest};
use super::{BackupCallbacks, damaged, unusable};
use poc_graph::error::{Error, Result};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use tar::{Archive, Entry, EntryType};

/// Maximum size of a manifest in bytes: about 200 bytes for each of five million files.
const MAX_MANIFEST: u64 = 1 << 30;

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
        Some(file) => {
            file.map_err(ArchiveProblem::message).and_then(|file| content(file, manifest::CHECKSUM))
        }
        None => Err(format!("`{}` is missing", manifest::CHECKSUM)),
    };
    let manifest = || BackupManifest::parse(&text?, &checksum?);
    BackupGeneration::new(name, path.to_owned(), manifest).ok_or_else(|| no_backup(path))
}

/// The content of a file of the manifest, or what is wrong with it.
fn content(mut file: ArchivedFile<'_>, expected: &str) -> Result<Vec<u8>, String> {
    if file.path != expected {
        return Err(format!("found `{}` where `{expected}` was expected", file.path));
    }
    let mut content = Vec::new();
    match (&mut file.content).take(MAX_MANIFEST).read_to_end(&mut content) {
        Ok(read) if read as u64 == MAX_MANIFEST => Err(format!("`{expected}` is too long")),
        Ok(_) => Ok(content),
        Err(error) => Err(format!("`{expected}` cannot be read: {error}")),
    }
}

/// The damaged and missing files of an archive, one line each.
pub(super) fn problems(
    path: &Path,
    manifest: &BackupManifest,
    counter: &mut ByteCounter<'_>,
) -> Result<Vec<String>> {
    let mut problems: Vec<String> = manifest.gap().into_iter().collect();
    let mut archive = open(path)?;
    let mut files = ListedFiles::of(Files::of(path, &mut archive)?, manifest);
    loop {
        match files.next()? {
            None => break,
            Some(Ok((mut file, Some(listed)))) => match files::digest_of(path, &mut file.content, counter) {
                Ok(digest) => {
                    let difference = digest.difference(listed);
                    problems.extend(difference.map(|difference| format!("`{}` {difference}", file.path)));
                }
                Err(error) => {
                    // A read error counts as damage, unless the operation was cancelled.
                    counter.add(0)?;
                    problems.push(error.message);
                    return Ok(problems);
                }
            },
            Some(Ok(_)) => {}
            Some(Err(problem)) => {
                problems.push(problem.message());
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
        let (mut file, listed) = file.map_err(|problem| damaged(&problem.message()))?;
        let Some(listed) = listed else { continue };
        let temporary = |error: io::Error| unusable(&std::env::temp_dir(), "written", &error);
        let mut copy = tempfile::NamedTempFile::new().map_err(temporary)?;
        io::copy(&mut file.content, &mut copy).map_err(|error| unusable(path, "copied", &error))?;
        each(listed, copy.path())?;
    }
    Ok(())
}

/// Unpacks an archive into an empty folder, which becomes a backup folder with one generation. The content is
/// checked afterwards, as that of any generation. If the archive is damaged or truncated, the files before the damage
/// are unpacked, and the problem is returned.
///
/// # Errors
/// `damaged` when the archive contains files that its manifest does not list; `unavailable` when the archive cannot be
/// read or the folder cannot be written.
pub(super) fn unpack(
    generation: &BackupGeneration,
    folder: &Path,
    callbacks: &BackupCallbacks<'_>,
) -> Result<Option<String>> {
    let path = &generation.path;
    let manifest = generation.readable()?;
    let mut counter = ByteCounter::new(callbacks, Some(manifest.bytes()));
    let mut archive = open(path)?;
    let mut files = ListedFiles::of(Files::of(path, &mut archive)?, manifest);
    while let Some(file) = files.next()? {
        let mut file = match file {
            Ok((file, _)) => file,
            Err(ArchiveProblem::Damaged(problem)) => return Ok(Some(problem)),
            Err(ArchiveProblem::Foreign(problem)) => {
                return Err(damaged(&format!("`{}`: {problem}", path.display())));
            }
        };
        let target = folder.join(&generation.name).join(&file.path);
        files::write_from(path, &mut file.content, &target, &mut counter)?;
    }
    Ok(None)
}

fn open(path: &Path) -> Result<Archive<BufReader<File>>> {
    let file = File::open(path).map_err(|error| unusable(path, "read", &error))?;
    Ok(Archive::new(BufReader::new(file)))
}

/// The error for a file that is something else.
fn no_backup(path: &Path) -> Error {
    Error::invalid(format!("`{}` is not a backup, or its beginning is damaged", path.display()))
        .hint(
            "give a folder or file that `poc-memory backup` wrote, or a new path, which ends in `.tar` for a file; or move \
             this file away",
        )
        .field("path")
}

/// What is wrong with an archive from some file on.
enum ArchiveProblem {
    /// It is damaged or truncated. The files before are as good as those of a folder.
    Damaged(String),
    /// It has something that no backup has, so it was not written by `backup`.
    Foreign(String),
}

impl ArchiveProblem {
    fn message(self) -> String {
        let (ArchiveProblem::Damaged(message) | ArchiveProblem::Foreign(message)) = self;
        message
    }
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
    fn next(&mut self) -> Result<Option<Result<ArchivedFile<'a>, ArchiveProblem>>> {
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
            Some(Err(error)) => {
                let problem = format!("the archive is damaged {place}: {error}");
                return Ok(Some(Err(ArchiveProblem::Damaged(problem))));
            }
        };
        let names = names(&entry);
        let is_of_generation = |(generation, _): &(String, String)| {
            self.generation.as_ref().is_none_or(|known| known == generation)
        };
        let Some((generation, path)) = names.filter(is_of_generation) else {
            let problem = format!("the archive contains an entry that no backup has, {place}");
            return Ok(Some(Err(ArchiveProblem::Foreign(problem))));
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
    fn next(&mut self) -> Result<Option<Result<ListedFile<'a, 'm>, ArchiveProblem>>> {
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
            None => Err(ArchiveProblem::Foreign(format!(
                "the archive has `{}`, which its manifest does not list",
                file.path
            ))),
        }))
    }
}
