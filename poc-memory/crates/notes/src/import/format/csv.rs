//! Tables with a header row: each row is a note. The columns have the names of the fields of JSON Lines; if none of
//! them is a text, the text of a note is the list of its columns. Without a column of titles, names or subjects are the
//! titles.

use super::{FolderRole, Format};
use crate::import::ParsedNote;
use crate::import::foreign::{self, ForeignNote};
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use poc_graph::error::{Error, Result};
use poc_graph::former_title_of;
use serde_json::{Map, Value};
use std::io::Read;

/// CSV, with commas, semicolons or tabs.
pub(super) struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "tables with a header row"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Document
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        matches!(sample.extension.as_str(), "csv" | "tsv")
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        let sample = file.sample()?;
        let header = sample.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let count = |delimiter: &u8| header.iter().filter(|byte| *byte == delimiter).count();
        // `max_by_key` returns the last of several maxima, so a comma wins a tie.
        let delimiter = [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',');
        let mut rows =
            csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(file.open()?);
        let names = rows.byte_headers().map_err(|error| wrong(&error))?.clone();
        let names: Vec<String> = names.iter().map(name_of).collect();
        if names.iter().all(String::is_empty) {
            return Err(Error::invalid("the table has no header row")
                .hint("write the names of the columns into the first row, for example `title,body`"));
        }
        let fields: Vec<_> = names.iter().map(|name| foreign::field_of(name)).collect();
        let has_text = fields.iter().flatten().any(|field| matches!(*field, "title" | "body"));
        let columns = Columns { title: title_column(&names, &fields), names, fields, has_text };
        // An unclosed quote would make the rest of the file one cell and hide the rows in it.
        if let Some(line) = unclosed_quote(file, delimiter)? {
            let error = Error::invalid("a quote in this row is not closed")
                .hint("close it, or write a quote inside a cell twice; no row was imported");
            return import.add_note(file.line(line), 0, Err(error));
        }
        let mut row = csv::ByteRecord::new();
        loop {
            let line = rows.position().line();
            match rows.read_byte_record(&mut row) {
                Ok(false) => return Ok(()),
                Ok(true) => {
                    let line = row.position().map_or(line, csv::Position::line);
                    let note = note(&row, &columns, import);
                    import.add_note(file.line(line), row.as_slice().len(), note)?;
                }
                Err(error) => {
                    if error.is_io_error() {
                        return Err(wrong(&error));
                    }
                    import.add_note(file.line(line), 0, Err(wrong(&error)))?;
                }
            }
        }
    }
}

/// The line, from 1, of the quote that opens a cell which is never closed, if there is one.
fn unclosed_quote(file: &SourceFile<'_>, delimiter: u8) -> Result<Option<u64>> {
    /// The position of a byte within a cell.
    #[derive(PartialEq)]
    enum Place {
        Start,
        Unquoted,
        Quoted,
        /// After a quote in a quoted cell: either the end of the cell or the first half of an escaped quote.
        AfterQuote,
    }
    let mut place = Place::Start;
    let (mut line, mut opened) = (1, 1);
    for byte in file.open()?.bytes() {
        let byte = byte.map_err(|error| file.unreadable(&error))?;
        let is_break = matches!(byte, b'\n' | b'\r');
        line += u64::from(byte == b'\n');
        place = match place {
            Place::Quoted if byte == b'"' => Place::AfterQuote,
            Place::Quoted => Place::Quoted,
            Place::AfterQuote if byte == b'"' => Place::Quoted,
            Place::Start if byte == b'"' => {
                opened = line;
                Place::Quoted
            }
            _ if byte == delimiter || is_break => Place::Start,
            // A byte order mark in front of the first cell.
            Place::Start if matches!(byte, 0xEF | 0xBB | 0xBF) => Place::Start,
            _ => Place::Unquoted,
        };
    }
    Ok((place == Place::Quoted).then_some(opened))
}

/// The columns of a table.
struct Columns {
    /// Their names in the header row.
    names: Vec<String>,
    /// The field of each; `None` if the name is not that of a field.
    fields: Vec<Option<&'static str>>,
    /// Whether one of them is a title or a text.
    has_text: bool,
    /// The position of the column that has the titles, if no column is the field `title`.
    title: Option<usize>,
}

/// The position of the column `name`, or else `subject`; `None` if a column is the field `title`.
fn title_column(names: &[String], fields: &[Option<&str>]) -> Option<usize> {
    if fields.contains(&Some("title")) {
        return None;
    }
    ["name", "subject"].iter().find_map(|title| names.iter().position(|name| name == title))
}

fn note(row: &csv::ByteRecord, columns: &Columns, import: &Import<'_>) -> Result<ParsedNote> {
    let Columns { names, fields: known, has_text, title } = columns;
    if row.len() > names.len() {
        return Err(Error::invalid(format!(
            "the row has {} cells, but the header has {}",
            row.len(),
            names.len()
        ))
        .hint("put a cell that contains the delimiter into double quotes"));
    }
    let mut fields = Map::new();
    let mut lines = Vec::new();
    for (position, ((cell, name), field)) in row.iter().zip(names).zip(known).enumerate() {
        let cell = std::str::from_utf8(cell).map_err(|_| {
            Error::invalid(format!("the column `{name}` is not UTF-8")).hint("save the table as UTF-8")
        })?;
        let cell = cell.trim();
        if cell.is_empty() {
            continue;
        }
        let is_title = *title == Some(position);
        if is_title {
            fields.insert("title".to_owned(), cell.into());
        }
        match field {
            Some(field) if *has_text => drop(fields.insert((*field).to_owned(), value(field, cell))),
            None if *has_text && is_title => {}
            None if *has_text => drop(fields.insert(name.clone(), cell.into())),
            _ => lines.push(format!("{name}: {cell}")),
        }
    }
    let body = lines.join("\n");
    let mut note = ForeignNote::read(fields, Some(&body), None, import.options, import.provenance())?;
    if title.is_some() {
        // Earlier releases made the titles from the texts.
        note.draft.former_title = former_title_of(note.draft.body.as_deref().unwrap_or_default());
    }
    Ok(ParsedNote::Foreign(Box::new(note)))
}

/// A cell as the JSON value of a field. CSV has no types, so numbers are parsed from text.
fn value(field: &str, cell: &str) -> Value {
    match field {
        "weight" | "emotion" => cell.parse::<f64>().map_or_else(|_| cell.into(), Value::from),
        "created" | "modified" | "expires" => cell.parse::<i64>().map_or_else(|_| cell.into(), Value::from),
        _ => cell.into(),
    }
}

fn name_of(header: &[u8]) -> String {
    let name = String::from_utf8_lossy(header);
    name.trim_start_matches('\u{FEFF}').trim().to_lowercase()
}

fn wrong(error: &csv::Error) -> Error {
    Error::invalid(format!("the table cannot be read: {error}"))
}
