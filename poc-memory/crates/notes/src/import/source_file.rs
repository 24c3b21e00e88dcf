//! A file to import, or a text in place of one.

use super::location::SourceLocation;
use crate::front_matter::BOM;
use crate::regular_file;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use serde_json::Value;
use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Number of bytes at the beginning of a file that are used to recognise its format.
const SAMPLE_BYTES: u64 = 256 << 10;
/// Maximum number of lines of a sample that are parsed.
const SAMPLE_LINES: usize = 24;

/// The earliest time of a file that counts: the beginning of 1981.
const EARLIEST_TIME: Timestamp = Timestamp(347_155_200_000);

/// A file to import.
pub(super) struct SourceFile<'a> {
    /// Name of the file in messages: its path relative to the folder of the import, or its file name.
    pub name: String,
    /// Whether it is one of several files of a folder.
    in_folder: bool,
    content: FileContent<'a>,
}

enum FileContent<'a> {
    File(PathBuf),
    Text(&'a str),
}

/// The beginning of a file.
pub(super) struct Sample {
    /// The extension in lower case; empty if there is none.
    pub extension: String,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether the sample is the whole file.
    pub is_whole: bool,
    objects: OnceCell<Vec<Value>>,
    /// The names of fields in the text, each with its depth, if a format has searched for them; `None` if the text is
    /// not JSON.
    pub names: OnceCell<Option<Vec<(usize, String)>>>,
}

impl<'a> SourceFile<'a> {
    /// The file at a path. Only regular files are accepted, because reading a pipe waits for a writer.
    pub(super) fn at(path: &Path, name: String) -> Result<SourceFile<'static>> {
        let file = SourceFile { name, in_folder: false, content: FileContent::File(path.to_owned()) };
        let found = std::fs::metadata(path).map_err(|error| file.unreadable(&error))?;
        if !found.is_file() {
            return Err(Error::invalid("it is neither a file nor a folder")
                .hint("copy its content into a file, or pipe it to `poc-memory import -`")
                .file(path.display().to_string()));
        }
        Ok(file)
    }

    /// A text that was given instead of a file.
    pub(super) fn text_of(text: &'a str) -> SourceFile<'a> {
        SourceFile { name: "-".into(), in_folder: false, content: FileContent::Text(text) }
    }

    /// Marks it as one of several files, so that locations include its name.
    pub(super) fn in_folder(self) -> SourceFile<'a> {
        SourceFile { in_folder: true, ..self }
    }

    /// Whether it is one of several files of a folder.
    pub(super) fn is_in_folder(&self) -> bool {
        self.in_folder
    }

    /// The place of a line, from 1.
    pub(super) fn line(&self, number: u64) -> SourceLocation {
        if self.in_folder { self.item("line", number) } else { SourceLocation::Line(number) }
    }

    /// The place of a part, for example `conversation` 3.
    pub(super) fn item(&self, kind: &'static str, number: u64) -> SourceLocation {
        SourceLocation::Item { file: self.name.clone(), kind, number }
    }

    /// The place of the whole file.
    pub(super) fn location(&self) -> SourceLocation {
        SourceLocation::File(self.name.clone())
    }

    /// Its name without the extension, with `/` between folders: the key of a note that is the whole file.
    pub(super) fn key(&self) -> Option<String> {
        let FileContent::File(_) = self.content else { return None };
        let key = Path::new(&self.name).with_extension("");
        let key: Vec<_> = key.iter().map(|part| part.to_string_lossy()).collect();
        Some(key.join("/"))
    }

    /// Its size in bytes.
    pub(super) fn size(&self) -> Result<u64> {
        match &self.content {
            FileContent::Text(text) => Ok(text.len() as u64),
            FileContent::File(path) => {
                std::fs::metadata(path).map(|found| found.len()).map_err(|error| self.unreadable(&error))
            }
        }
    }

    /// When it was last changed; `None` for a text, and for the times before 1981 that some archives give all files.
    pub(super) fn modified(&self) -> Option<Timestamp> {
        let FileContent::File(path) = &self.content else { return None };
        let modified = std::fs::metadata(path).and_then(|found| found.modified()).ok()?;
        let since_1970 = modified.duration_since(UNIX_EPOCH).ok()?;
        let time = Timestamp(i64::try_from(since_1970.as_millis()).ok()?);
        (time >= EARLIEST_TIME).then_some(time)
    }

    /// Opens it.
    pub(super) fn open(&self) -> Result<Box<dyn BufRead + 'a>> {
        match &self.content {
            FileContent::Text(text) => Ok(Box::new(Cursor::new(*text))),
            FileContent::File(_) => Ok(Box::new(self.open_seekable()?)),
        }
    }

    /// Opens it after the byte order mark that some editors write at its beginning.
    pub(super) fn open_text(&self) -> Result<Box<dyn BufRead + 'a>> {
        let mut input = self.open()?;
        let begin = input.fill_buf().map_err(|error| self.unreadable(&error))?;
        let marked = begin.starts_with(BOM.as_bytes());
        input.consume(if marked { BOM.len() } else { 0 });
        Ok(input)
    }

    /// Opens the file for reading from any position; an error for a text.
    pub(super) fn open_seekable(&self) -> Result<BufReader<File>> {
        let FileContent::File(path) = &self.content else {
            return Err(Error::internal("a text has no file"));
        };
        regular_file::open(path).map(BufReader::new).map_err(|error| self.unreadable(&error))
    }

    /// Its bytes, at most `max_bytes`.
    pub(super) fn bytes(&self, max_bytes: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.open()?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| self.unreadable(&error))?;
        if bytes.len() as u64 > max_bytes {
            return Err(Error::invalid(format!("the file has more than {max_bytes} bytes"))
                .hint("split it into several, one idea each"));
        }
        Ok(bytes)
    }

    /// Its text, at most `max_bytes` bytes.
    pub(super) fn text(&self, max_bytes: u64) -> Result<String> {
        String::from_utf8(self.bytes(max_bytes)?).map_err(|error| not_utf8(error.utf8_error()))
    }

    /// Its beginning.
    pub(super) fn sample(&self) -> Result<Sample> {
        let mut bytes = Vec::new();
        let read = self.open()?.take(SAMPLE_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| self.unreadable(&error))?;
        let extension = Path::new(&self.name).extension();
        let extension = extension.map(|extension| extension.to_string_lossy().to_lowercase());
        let is_whole = (bytes.len() as u64) < SAMPLE_BYTES;
        let (objects, names) = (OnceCell::new(), OnceCell::new());
        Ok(Sample { extension: extension.unwrap_or_default(), bytes, is_whole, objects, names })
    }

    /// The error for a file that cannot be read.
    pub(super) fn unreadable(&self, error: &io::Error) -> Error {
        unreadable(&self.path(), error)
    }

    /// Whether an error is about reading this file, and not about the store.
    pub(super) fn is_unreadable(&self, error: &Error) -> bool {
        let file = error.at.as_ref().and_then(|at| at.file.as_deref());
        error.code == Code::Unavailable && file == Some(self.path().as_str())
    }

    /// Its path, for errors of the whole file.
    fn path(&self) -> String {
        match &self.content {
            FileContent::File(path) => path.display().to_string(),
            FileContent::Text(_) => self.name.clone(),
        }
    }
}

/// The error for a file or folder that cannot be read.
pub(super) fn unreadable(path: &str, error: &io::Error) -> Error {
    let reason = format!("cannot be read: {error}");
    let error = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Error::not_found("there is no such file or folder"),
        // The path or the content is wrong.
        ErrorKind::InvalidInput | ErrorKind::InvalidFilename | ErrorKind::InvalidData => {
            Error::invalid(reason)
        }
        _ => Error::unavailable(reason),
    };
    error.file(path)
}

impl Sample {
    /// The text, up to the last complete character; `None` if the file is not UTF-8.
    pub(super) fn text(&self) -> Option<&str> {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => Some(text),
            Err(error) if error.error_len().is_none() && !self.is_whole => {
                std::str::from_utf8(self.bytes.get(..error.valid_up_to())?).ok()
            }
            Err(_) => None,
        }
        .map(|text| text.strip_prefix(BOM).unwrap_or(text))
    }

    /// The JSON objects of the first lines; lines that are truncated or not objects are left out.
    pub(super) fn objects(&self) -> &[Value] {
        self.objects.get_or_init(|| {
            let text = self.text().unwrap_or_default();
            let lines = text.lines().filter(|line| line.trim_start().starts_with('{')).take(SAMPLE_LINES);
            lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
        })
    }

    /// The first character that is not a space.
    pub(super) fn first(&self) -> Option<char> {
        self.text()?.trim_start().chars().next()
    }
}

/// The error for bytes that are not UTF-8.
pub(super) fn not_utf8(error: std::str::Utf8Error) -> Error {
    Error::invalid(format!("it is not UTF-8: byte {} is invalid", error.valid_up_to() + 1))
        .hint("save it as UTF-8")
}
