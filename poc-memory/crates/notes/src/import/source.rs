//! The sources of an import: a file, a folder, a text.

use super::format::{self, FolderRole, Format, json_lines};
use super::location::SourceLocation;
use super::run::{Import, PROVENANCE};
use super::source_file::{Sample, SourceFile, unreadable};
use super::{copies, references};
use crate::backup;
use crate::markdown_frame::MarkdownFrame;
use crate::vault_walk::{self, VaultWalk};
use poc_graph::error::{Code, Error, Result};
use poc_graph::{cancellation, escape_line, normal_key};
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

/// The source of an import.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportSource {
    /// A file or a folder.
    Path(PathBuf),
    /// The text of a file.
    Text(String),
    /// Selected lines of a file of JSON Lines, with their line numbers.
    Lines(PathBuf, Vec<(u64, String)>),
}

impl ImportSource {
    /// The provenance of the notes: `import:` and the name of the folder or file.
    pub(super) fn provenance(&self) -> String {
        match self {
            ImportSource::Path(path) | ImportSource::Lines(path, _) => provenance_of(path),
            ImportSource::Text(_) => provenance_of(Path::new("stdin")),
        }
    }

    /// Reads all notes of the source into an import.
    pub(super) fn read(&self, import: &mut Import<'_>) -> Result<()> {
        let forced = import.options.format.as_deref().map(format::named).transpose()?;
        match self {
            ImportSource::Text(text) => {
                let file = SourceFile::text_of(text);
                let format = match forced {
                    Some(format) => format,
                    None => {
                        format::recognize(&file.sample()?).map_or_else(|| format::named("markdown"), Ok)?
                    }
                };
                read_file(&file, format, import)
            }
            ImportSource::Lines(_, lines) => {
                import.total = Some(lines.len() as u64);
                lines.iter().try_for_each(|(number, line)| {
                    let note = json_lines::read_line(line, import.options, import.provenance());
                    import.add_note(SourceLocation::Line(*number), line.len(), note)
                })
            }
            ImportSource::Path(path) if path.is_dir() => read_folder(path, forced, import),
            ImportSource::Path(path) => {
                let name = Path::new(path.file_name().unwrap_or(path.as_os_str()));
                import.continue_earlier(path.parent().unwrap_or(Path::new("")), 0, &[name.to_owned()])?;
                let file = SourceFile::at(path, import.name_of(name))?;
                // A file that cannot be read is an error even if the format is forced.
                let sample = file.sample()?;
                let format = match forced {
                    Some(format) => Some(format),
                    None => format::recognize_file(&file, &sample)?,
                };
                read_file(&file, format.ok_or_else(|| unknown_format(path, &sample))?, import)
            }
        }
    }
}

/// The provenance of the notes of a file or folder.
fn provenance_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    format!("{PROVENANCE}{}", name.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Whether the second frame is that of the same file, from an import of a subfolder of the folder of the first.
pub(super) fn is_below(frame: &MarkdownFrame, other: &MarkdownFrame) -> bool {
    let folder = frame.path.strip_suffix(other.path.as_str()).and_then(|folder| folder.strip_suffix('/'));
    folder.is_some_and(|folder| provenance_of(Path::new(folder)) == other.provenance)
}

/// Whether a file is Markdown, according to its name. An import records only the paths of such files.
fn is_markdown(file: &Path) -> bool {
    file.extension().and_then(OsStr::to_str).is_some_and(references::is_markdown)
}

impl Import<'_> {
    /// If an earlier import of a parent folder has read most of these files, continues that import: the notes get its
    /// keys and its provenance. A few files alone do not show this, because another folder of the same name may have
    /// them, too. Of `folder` and its parents, the first `skipped` are not considered.
    fn continue_earlier(&mut self, folder: &Path, skipped: usize, files: &[PathBuf]) -> Result<()> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        // A folder that cannot be read is reported when its files are.
        let Ok(folder) = folder.canonicalize() else { return Ok(()) };
        for above in folder.ancestors().skip(skipped).filter(|above| above.file_name().is_some()) {
            let below = folder.strip_prefix(above).unwrap_or(&folder);
            let provenance = provenance_of(above);
            let (mut read, mut unread) = (0usize, 0usize);
            for file in files {
                if self.was_read(&below.join(file), &provenance)? {
                    read += 1;
                } else if is_markdown(file) {
                    unread += 1;
                }
            }
            if read > unread {
                self.cause.actor = provenance;
                self.below = below.to_owned();
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether an earlier import with this provenance has read a file of its folder.
    fn was_read(&self, file: &Path, provenance: &str) -> Result<bool> {
        let store = &self.memory.store;
        let key = file.with_extension("");
        let Some(id) = store.find_key(&normal_key(&key.to_string_lossy()))? else { return Ok(false) };
        let path = file.to_string_lossy();
        let frames = MarkdownFrame::all(store, id)?;
        Ok(frames.iter().any(|frame| frame.provenance == provenance && frame.path == path))
    }

    /// The name of a file, from its path in the folder of the source.
    fn name_of(&self, file: &Path) -> String {
        self.below.join(file).to_string_lossy().into_owned()
    }
}

/// The error for a file of an unknown format.
fn unknown_format(path: &Path, sample: &Sample) -> Error {
    if let Some(error) = format::malformed(sample) {
        return error.file(path.display().to_string());
    }
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let extension = extension.as_deref().unwrap_or_default();
    let hint = match format::missing_feature(extension) {
        Some(feature) => {
            format!(
                "this program was built without `--features {feature}`, which is needed to read this file; save the file as text, or rebuild the program"
            )
        }
        None if matches!(extension, "zip" | "gz" | "tgz" | "tar") => {
            "unpack it, and import what is in it".to_owned()
        }
        None => format!("`--format NAME` forces one; {}", format::known()),
    };
    Error::invalid("its format is unknown").hint(hint).file(path.display().to_string())
}

/// Reads a file. An error of the whole file is reported as one of its notes.
fn read_file(file: &SourceFile<'_>, format: &dyn Format, import: &mut Import<'_>) -> Result<()> {
    cancellation::check()?;
    *import.report.formats.entry(format.name().to_owned()).or_default() += 1;
    match format.read(file, import) {
        // Errors of the store end the import; errors of a single file are reported.
        Err(error)
            if matches!(error.code, Code::InvalidArgument | Code::NotFound) || file.is_unreadable(&error) =>
        {
            import.add_note(file.location(), 0, Err(error))
        }
        result => result,
    }
}

/// Reads all files of a folder whose format is known, and counts the others. A subfolder that cannot be read is
/// reported as one of its notes.
fn read_folder(folder: &Path, forced: Option<&'static dyn Format>, import: &mut Import<'_>) -> Result<()> {
    let found = FolderScan::of(folder).map_err(|error| unreadable(&folder.display().to_string(), &error))?;
    for _ in 0..found.outside {
        import.report.skipped.add("symbolic links out of the folder", 0);
    }
    for _ in 0..found.special {
        import.report.skipped.add("files that are not regular files", 0);
    }
    for _ in 0..found.backups {
        import.report.skipped.add("backups of memories", 0);
    }
    import.continue_earlier(folder, 1, &found.files)?;
    import.files = found.files.iter().map(|file| import.name_of(file)).collect();
    for (relative, error) in found.unreadable {
        let error = unreadable(&folder.join(&relative).display().to_string(), &error);
        let name = import.name_of(&relative);
        import.unread_folders.push(PathBuf::from(&name));
        import.add_note(SourceLocation::File(name), 0, Err(error))?;
    }
    let mut opened_files = Vec::new();
    for relative in &found.files {
        cancellation::check()?;
        let name = import.name_of(relative);
        let path = folder.join(relative);
        let opened = SourceFile::at(&path, name.clone()).and_then(|file| {
            let file = file.in_folder();
            let sample = file.sample()?;
            let format = match forced {
                Some(format) => Some(format),
                None => format::recognize_file(&file, &sample)?,
            };
            Ok((file, format, copies::text_hash(&sample)))
        });
        match opened {
            Ok((file, Some(format), text)) => opened_files.push(((file, format), text)),
            Ok((file, None, _)) => {
                let extension = Path::new(&file.name).extension();
                let extension = extension.map(|extension| format!(".{}", extension.to_string_lossy()));
                let kind = format!("files `{}`", extension.as_deref().unwrap_or(&file.name));
                import.report.skipped.add(&kind, file.size().unwrap_or(0) as usize);
            }
            Err(error) => import.add_note(SourceLocation::File(name), 0, Err(error))?,
        }
    }
    let files = copies::in_order_of_ranks(opened_files, |(file, _)| file.name.as_str());
    if files.is_empty() && import.report.failed.is_empty() {
        return Err(Error::invalid("the folder has no file of a known format")
            .hint(format::known())
            .file(folder.display().to_string()));
    }
    // In a folder with Markdown or the data of programs, other documents count as attachments.
    let is_attachment = |format: &dyn Format| format.folder_role() == FolderRole::Document;
    let has_others = forced.is_none() && files.iter().any(|(_, format)| !is_attachment(*format));
    let (attachments, files): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(_, format)| has_others && is_attachment(*format));
    import.report.left_out =
        attachments.into_iter().map(|(file, format)| (file.name, format.name())).collect();
    if files.iter().all(|(_, format)| format.folder_role() == FolderRole::Markdown) {
        import.total = Some(files.len() as u64);
    }
    files.iter().try_for_each(|(file, format)| read_file(file, *format, import))
}

/// The files below a folder.
#[derive(Default)]
struct FolderScan {
    /// Paths relative to the folder, sorted.
    files: Vec<PathBuf>,
    /// Number of symbolic links that lead out of the folder or are broken.
    outside: u64,
    /// Number of devices, pipes and sockets.
    special: u64,
    /// Number of backups of memories, which have prompts in Markdown.
    backups: u64,
    /// Subfolders that cannot be read, as paths relative to the folder, with the errors.
    unreadable: Vec<(PathBuf, io::Error)>,
}

impl FolderScan {
    /// Scans a folder. Hidden files and folders and backups of memories are left out, symbolic links to folders are not
    /// followed, and links to files are followed only within the folder. In a vault of Obsidian, folders of templates
    /// and what ignore files exclude are left out, too.
    ///
    /// # Errors
    /// When the folder itself cannot be read. Subfolders that cannot be read are in the result.
    fn of(folder: &Path) -> io::Result<FolderScan> {
        let root = folder.canonicalize()?;
        let mut scan = FolderScan::default();
        if vault_walk::is_obsidian_vault(&root) {
            scan.add_vault(&root)?;
            scan.files.sort();
            return Ok(scan);
        }
        let mut folders = vec![PathBuf::new()];
        while let Some(relative) = folders.pop() {
            match scan.add_folder(folder, &root, &relative, &mut folders) {
                Err(error) if relative.as_os_str().is_empty() => return Err(error),
                Err(error) => scan.unreadable.push((relative, error)),
                Ok(()) => {}
            }
        }
        scan.files.sort();
        Ok(scan)
    }

    /// Adds the files of the vault with the canonical path `root`.
    fn add_vault(&mut self, root: &Path) -> io::Result<()> {
        let not_regular = |file: &Path| {
            io::Error::other(format!("`{}` is not a regular file", escape_line(&file.to_string_lossy())))
        };
        let mut walk = VaultWalk::of(root).map_err(|file| not_regular(&file))?;
        let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
        for entry in &mut walk {
            match entry {
                Ok(entry) => match entry.file_type() {
                    Some(kind) if !kind.is_dir() => self.add_file(root, relative(entry.path()), kind),
                    _ => {}
                },
                Err(error) => {
                    let folder = vault_walk::path_of(&error).map(relative).unwrap_or_default();
                    let text = error.to_string();
                    let error = error.into_io_error().unwrap_or_else(|| io::Error::other(text));
                    if folder.as_os_str().is_empty() {
                        return Err(error);
                    }
                    self.unreadable.push((folder, error));
                }
            }
        }
        for file in walk.special_ignore_files() {
            self.unreadable.push((file.parent().map(relative).unwrap_or_default(), not_regular(&file)));
        }
        Ok(())
    }

    /// Adds the files of the folder `relative` below `folder`, whose canonical path is `root`, and pushes the folders
    /// in it to `folders`.
    fn add_folder(
        &mut self,
        folder: &Path,
        root: &Path,
        relative: &Path,
        folders: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        for entry in fs::read_dir(folder.join(relative))? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            let path = relative.join(&name);
            let kind = entry.file_type()?;
            if kind.is_dir() && backup::is_generation(&folder.join(&path)) {
                self.backups += 1;
            } else if kind.is_dir() {
                folders.push(path);
            } else {
                self.add_file(root, path, kind);
            }
        }
        Ok(())
    }

    /// Adds a file or link at a path below the folder with the canonical path `root`.
    fn add_file(&mut self, root: &Path, path: PathBuf, kind: FileType) {
        if kind.is_symlink() {
            let target = root.join(&path).canonicalize().ok();
            let target = target.filter(|target| target.starts_with(root));
            match target {
                None => self.outside += 1,
                Some(target) if target.is_file() => self.files.push(path),
                // A link to a folder inside is skipped, because that folder is read at its own path.
                Some(_) => {}
            }
        } else if kind.is_file() {
            self.files.push(path);
        } else {
            self.special += 1;
        }
    }
}
