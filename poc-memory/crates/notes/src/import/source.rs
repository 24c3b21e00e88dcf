//! The sources of an import, and the notes in them.

use super::foreign::ForeignNote;
use crate::interchange::{Note, SCHEMA_VERSION};
use crate::markdown;
use poc_config::Config;
use poc_graph::error::{Error, Result};
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Cursor, Read as _};
use std::path::{Path, PathBuf};

/// Prefix of the provenance of imported notes; the name of the file follows.
pub(super) const PROVENANCE: &str = "import:";

/// Defaults for the imported notes.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Type of notes without one.
    pub node_type: Option<String>,
    /// Keywords added to every note.
    pub keywords: Vec<String>,
}

/// The location of a note in its source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceLocation {
    /// A line of JSON Lines, from 1.
    Line(u64),
    /// A file, relative to the folder.
    File(String),
}

/// What to import.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportSource {
    /// A folder of Markdown, a Markdown file or a file of JSON Lines.
    Path(PathBuf),
    /// The text of a Markdown file or of JSON Lines.
    Text(String),
    /// Selected lines of a file of JSON Lines, with their line numbers.
    Lines(PathBuf, Vec<(u64, String)>),
}

/// A note as read from its source.
pub(super) enum ParsedNote {
    /// A note that export wrote.
    Exported(Box<Note>),
    /// Any other.
    Foreign(Box<ForeignNote>),
}

/// The unparsed text of a note.
pub(super) struct RawNote {
    /// Its text.
    pub content: String,
    form: Format,
}

enum Format {
    JsonLine,
    /// A Markdown file, with the key derived from its path.
    Markdown(Option<String>),
}

/// The notes of a source.
pub(super) struct SourceNotes<'a> {
    /// Number of notes, if known.
    pub total: Option<u64>,
    /// The notes.
    pub notes: RawNotes<'a>,
    /// JSON Lines files inside a Markdown folder, which are not imported.
    pub left_out: Vec<String>,
}

type RawNotes<'a> = Box<dyn Iterator<Item = (SourceLocation, Result<RawNote>)> + 'a>;

const MARKDOWN: [&str; 2] = ["md", "markdown"];
const JSON_LINES: [&str; 3] = ["jsonl", "ndjson", "json"];

impl ImportSource {
    /// The provenance of the notes: `import:` and the name of the folder or file.
    pub(super) fn provenance(&self) -> String {
        let name = match self {
            ImportSource::Path(path) | ImportSource::Lines(path, _) => {
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()
            }
            ImportSource::Text(_) => "stdin".into(),
        };
        format!("{PROVENANCE}{}", name.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Opens the source.
    pub(super) fn open(&self, config: &Config) -> Result<SourceNotes<'_>> {
        // JSON needs up to six bytes for one byte of text; edges and visits are added to that.
        let longest = config.insert.max_node_bytes.saturating_mul(8) as u64;
        let opened = |total, notes| SourceNotes { total, notes, left_out: Vec::new() };
        let path = match self {
            ImportSource::Text(text) if text.trim_start().starts_with('{') => {
                return Ok(opened(None, Box::new(lines(Cursor::new(text), longest))));
            }
            ImportSource::Text(text) => {
                let note = RawNote { content: text.clone(), form: Format::Markdown(None) };
                return Ok(opened(
                    Some(1),
                    Box::new(std::iter::once((SourceLocation::File("-".into()), Ok(note)))),
                ));
            }
            ImportSource::Lines(_, lines) => {
                let note = |(number, line): &(u64, String)| {
                    (
                        SourceLocation::Line(*number),
                        Ok(RawNote { content: line.clone(), form: Format::JsonLine }),
                    )
                };
                return Ok(opened(Some(lines.len() as u64), Box::new(lines.iter().map(note))));
            }
            ImportSource::Path(path) => path,
        };
        let wrong = |error: std::io::Error| {
            let error = if error.kind() == std::io::ErrorKind::NotFound {
                Error::not_found("there is no such file or folder")
            } else {
                Error::invalid(format!("cannot be read: {error}"))
            };
            error.file(path.display().to_string())
        };
        if fs::metadata(path).map_err(wrong)?.is_dir() {
            let (files, others): (Vec<PathBuf>, Vec<PathBuf>) =
                files_in(path).map_err(wrong)?.into_iter().partition(|file| has_extension(file, &MARKDOWN));
            if files.is_empty()
                && let Some(other) = others.first()
            {
                return Err(Error::invalid("the folder has no Markdown file")
                    .hint(format!(
                        "`poc-memory import {}` takes the notes of that file",
                        path.join(other).display()
                    ))
                    .file(path.display().to_string()));
            }
            let total = files.len() as u64;
            let notes = files.into_iter().map(move |relative| {
                let name = relative.to_string_lossy().into_owned();
                let note = markdown_file(&path.join(&relative), &relative, longest);
                (SourceLocation::File(name), note)
            });
            let left_out = others.iter().map(|file| file.display().to_string()).collect();
            return Ok(SourceNotes { total: Some(total), notes: Box::new(notes), left_out });
        }
        if has_extension(path, &MARKDOWN) {
            let name = PathBuf::from(path.file_name().unwrap_or(path.as_os_str()));
            let location = SourceLocation::File(name.to_string_lossy().into_owned());
            let note = markdown_file(path, &name, longest);
            return Ok(opened(Some(1), Box::new(std::iter::once((location, note)))));
        }
        if has_extension(path, &JSON_LINES) {
            let file = BufReader::new(File::open(path).map_err(wrong)?);
            return Ok(opened(None, Box::new(lines(file, longest))));
        }
        Err(Error::invalid("it is neither Markdown nor JSON Lines")
            .hint("name a folder of Markdown files, a file `….md` or a file `….jsonl`")
            .file(path.display().to_string()))
    }
}

impl RawNote {
    /// Parses the note.
    pub(super) fn read(self, options: &ImportOptions, provenance: &str) -> Result<ParsedNote> {
        match self.form {
            Format::JsonLine => {
                let value: Value = serde_json::from_str(self.content.trim()).map_err(|error| {
                    let message = error.to_string();
                    let message = message.split(" at line ").next().unwrap_or_default();
                    Error::invalid(format!("it is not JSON: {message} at column {}", error.column()))
                })?;
                let Value::Object(fields) = value else {
                    return Err(Error::invalid("it is JSON but not an object")
                        .hint("write one note a line: {\"title\": …, \"body\": …}"));
                };
                if is_exported(&fields)? {
                    return serde_path_to_error::deserialize(Value::Object(fields))
                        .map(|note| ParsedNote::Exported(Box::new(note)))
                        .map_err(|error| {
                            let field = error.path().to_string();
                            let wrong = Error::invalid(error.into_inner().to_string());
                            if field == "." { wrong } else { wrong.field(field) }
                        });
                }
                ForeignNote::read(fields, None, None, options, provenance)
            }
            Format::Markdown(key) => {
                let parts = markdown::split(&self.content);
                let fields = match markdown::front::<Option<Value>>(parts.front)? {
                    None => Map::new(),
                    Some(Value::Object(fields)) => fields,
                    Some(_) => {
                        return Err(Error::invalid("the front matter is not a list of `name: value`"));
                    }
                };
                if is_exported(&fields)? {
                    let mut note: Note = markdown::front(parts.front)?;
                    note.body = parts.body.to_owned();
                    return Ok(ParsedNote::Exported(Box::new(note)));
                }
                ForeignNote::read(fields, Some(parts.body), key, options, provenance)
            }
        }
    }
}

/// Whether export wrote these fields; an error if this release cannot read their format.
fn is_exported(fields: &Map<String, Value>) -> Result<bool> {
    match fields.get("schema_version") {
        None => Ok(false),
        Some(version) if version.as_u64() == Some(u64::from(SCHEMA_VERSION)) => Ok(true),
        Some(version) => Err(Error::invalid(format!(
            "the note has the form {version}, this release reads {SCHEMA_VERSION}"
        ))
        .hint("import it with the release that wrote it, or a newer one")
        .field("schema_version")),
    }
}

/// The lines that are not blank, with their numbers. Lines that are too long are errors.
fn lines(mut input: impl BufRead, longest: u64) -> impl Iterator<Item = (SourceLocation, Result<RawNote>)> {
    let mut number = 0;
    std::iter::from_fn(move || {
        loop {
            number += 1;
            let mut line = Vec::new();
            let unreadable = |error| Error::invalid(format!("cannot be read: {error}"));
            match input.by_ref().take(longest).read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                // A device that fails once would fail at every line.
                Err(error) => {
                    number = u64::MAX;
                    return Some((SourceLocation::Line(number), Err(unreadable(error))));
                }
            }
            if line.len() as u64 == longest && line.last() != Some(&b'\n') {
                let too_long = Error::invalid(format!("the line has more than {longest} bytes"))
                    .hint("split the note into several, one idea each");
                let error = input.skip_until(b'\n').err().map_or(too_long, unreadable);
                return Some((SourceLocation::Line(number), Err(error)));
            }
            match String::from_utf8(line) {
                Ok(content) if content.trim().is_empty() => {}
                Ok(content) => {
                    return Some((
                        SourceLocation::Line(number),
                        Ok(RawNote { content, form: Format::JsonLine }),
                    ));
                }
                Err(error) => return Some((SourceLocation::Line(number), Err(not_utf8(error.utf8_error())))),
            }
        }
    })
}

/// The files below a folder with one of these extensions, relative to it, sorted. Hidden folders and files
/// are left out; links to folders are not followed.
fn files_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(relative) = folders.pop() {
        for entry in fs::read_dir(folder.join(&relative))? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            let path = relative.join(&name);
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if (has_extension(&path, &MARKDOWN) || has_extension(&path, &JSON_LINES))
                && folder.join(&path).is_file()
            {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn markdown_file(path: &Path, relative: &Path, longest: u64) -> Result<RawNote> {
    let unreadable = |error| Error::invalid(format!("cannot be read: {error}"));
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(longest + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > longest {
        return Err(Error::invalid(format!("the file has more than {longest} bytes"))
            .hint("split it into several notes, one idea each"));
    }
    let content = String::from_utf8(bytes).map_err(|error| not_utf8(error.utf8_error()))?;
    let key = relative.with_extension("");
    let key: Vec<_> = key.iter().map(|part| part.to_string_lossy()).collect();
    Ok(RawNote { content, form: Format::Markdown(Some(key.join("/"))) })
}

fn not_utf8(error: std::str::Utf8Error) -> Error {
    Error::invalid(format!("it is not UTF-8 from byte {} on", error.valid_up_to() + 1))
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    extension.is_some_and(|extension| extensions.contains(&extension.as_str()))
}

impl std::fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SourceLocation::Line(line) => write!(f, "line {line}"),
            SourceLocation::File(file) => write!(f, "`{file}`"),
        }
    }
}
