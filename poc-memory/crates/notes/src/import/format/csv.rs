//! Tables with a header row: each row is a note. The columns have the names of the fields of JSON Lines; if none of
//! them is a text, the text of a note lists its columns, unless they are a title and other fields. Without a column of
//! titles, names or subjects are the titles.

use super::{FolderRole, Format};
use crate::import::ParsedNote;
use crate::import::foreign::{self, ForeignNote};
use crate::import::rows::RowCallback;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use poc_graph::error::{Error, Result};
use poc_graph::former_title_of;
use serde_json::{Map, Value};
use std::io::{BufRead, Read};

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
        let table = CsvTable::of(file)?;
        // An unclosed quote would make the rest of the file one cell and hide the rows in it.
        if let Some(line) = unclosed_quote(file, table.delimiter)? {
            let error = Error::invalid("a quote in this row is not closed")
                .hint("close it, or write a quote inside a cell twice; no row was imported");
            return import.add_note(file.line(line), 0, Err(error));
        }
        import.add_rows(file, !table.has_fields, &|import, each| table.each_note(file, import, each))
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
    for byte in file.open_text()?.bytes() {
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
            _ => Place::Unquoted,
        };
    }
    Ok((place == Place::Quoted).then_some(opened))
}

/// A table.
struct CsvTable {
    delimiter: u8,
    /// The names of its columns in the header row.
    names: Vec<String>,
    /// The field of each column; `None` if the name is not that of a field.
    fields: Vec<Option<&'static str>>,
    /// Whether one of them is a title or a text. Other tables are not written for notes, so only their columns `key`
    /// and `id` are fields.
    has_fields: bool,
    /// Whether the text of a note lists the columns, because none of them is a text, and not all of them are fields.
    is_listed: bool,
    /// The position of the column that has the titles, if no column is the field `title`.
    title: Option<usize>,
}

impl CsvTable {
    fn of(file: &SourceFile<'_>) -> Result<CsvTable> {
        let sample = file.sample()?;
        let header = sample.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let count = |delimiter: &u8| header.iter().filter(|byte| *byte == delimiter).count();
        // `max_by_key` returns the last of several maxima, so a comma wins a tie.
        let delimiter = [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',');
        let mut rows = rows_of(file, delimiter)?;
        let names = rows.byte_headers().map_err(|error| wrong(&error))?;
        let names: Vec<String> = names.iter().map(name_of).collect();
        if names.iter().all(String::is_empty) {
            return Err(Error::invalid("the table has no header row")
                .hint("write the names of the columns into the first row, for example `title,body`"));
        }
        let fields: Vec<_> = names.iter().map(|name| foreign::field_of(name)).collect();
        let (has_title, has_body) = (fields.contains(&Some("title")), fields.contains(&Some("body")));
        let is_listed = !has_body && (!has_title || fields.contains(&None));
        let title = if has_title { None } else { title_column(&names) };
        Ok(CsvTable { delimiter, names, fields, has_fields: has_title || has_body, is_listed, title })
    }

    /// Calls `each` with the notes of all rows.
    fn each_note<'i>(
        &self,
        file: &SourceFile<'_>,
        import: &mut Import<'i>,
        each: &mut RowCallback<'_, 'i>,
    ) -> Result<()> {
        let mut rows = rows_of(file, self.delimiter)?;
        rows.byte_headers().map_err(|error| wrong(&error))?;
        let mut row = csv::ByteRecord::new();
        loop {
            let line = rows.position().line();
            match rows.read_byte_record(&mut row) {
                Ok(false) => return Ok(()),
                Ok(true) => {
                    let line = row.position().map_or(line, csv::Position::line);
                    let note = self.note(&row, import);
                    each(import, file.line(line), row.as_slice().len(), note)?;
                }
                Err(error) => {
                    if error.is_io_error() {
                        return Err(wrong(&error));
                    }
                    each(import, file.line(line), 0, Err(wrong(&error)))?;
                }
            }
        }
    }

    fn note(&self, row: &csv::ByteRecord, import: &Import<'_>) -> Result<ParsedNote> {
        let CsvTable { names, fields: known, has_fields, is_listed, title, .. } = self;
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
                Some(field @ ("key" | "id")) => drop(fields.insert((*field).to_owned(), cell.into())),
                // By the name of its column, because several columns may be the same field.
                Some(field) if *has_fields => drop(fields.insert(name.clone(), value(field, cell))),
                // In a list, only a link is more than text.
                None if *has_fields && !is_title && (!is_listed || foreign::is_link(name, &cell.into())) => {
                    fields.insert(name.clone(), cell.into());
                }
                _ => {}
            }
            if *is_listed {
                lines.push(format!("{name}: {cell}"));
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
}

/// The rows of a file.
fn rows_of<'a>(file: &SourceFile<'a>, delimiter: u8) -> Result<csv::Reader<Box<dyn BufRead + 'a>>> {
    Ok(csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(file.open_text()?))
}

/// The position of the column that has the titles if none is the field `title`: `name`, or else `subject`.
fn title_column(names: &[String]) -> Option<usize> {
    ["name", "subject"].iter().find_map(|title| names.iter().position(|name| name == title))
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
    String::from_utf8_lossy(header).trim().to_lowercase()
}

fn wrong(error: &csv::Error) -> Error {
    Error::invalid(format!("the table cannot be read: {error}"))
}
