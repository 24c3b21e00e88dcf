//! Markdown with optional front matter, as Obsidian and similar editors write it, and as export does.

use super::{FolderRole, Format};
use crate::front_matter;
use crate::import::ParsedNote;
use crate::import::foreign::{ForeignNote, field_of};
use crate::import::note_link::NoteLink;
use crate::import::references::{self, References};
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use crate::interchange::Note;
use crate::markdown_frame::MarkdownFrame;
use poc_graph::NodeType;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

/// Markdown.
pub(super) struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn about(&self) -> &'static str {
        "Markdown files with or without front matter, as in an Obsidian vault"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Markdown
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        references::is_markdown(&sample.extension)
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        let text = file.text(import.max_note_bytes())?;
        // Editors create an empty file for a note that nobody has written yet.
        if file.is_in_folder() && text.trim().is_empty() {
            import.report.skipped.add("empty files", 0);
            return Ok(());
        }
        let note = read_parts(&text, file, import);
        import.add_note(file.location(), text.len(), note)
    }
}

/// The note of a Markdown file.
pub(super) fn read_parts(text: &str, file: &SourceFile<'_>, import: &Import<'_>) -> Result<ParsedNote> {
    let parts = front_matter::split(text);
    let (front, warning) = front_matter::parse_with_warning(parts.front)?;
    let mut fields = match front {
        None => Map::new(),
        Some(Value::Object(fields)) => fields,
        Some(_) => {
            return Err(Error::invalid("the front matter is not a list of `name: value`")
                .hint("write one property per line, for example `title: Journal`"));
        }
    };
    if super::json_lines::is_exported(&fields)? {
        let mut note: Note = front_matter::parse(parts.front)?;
        note.body = parts.body.to_owned();
        return Ok(ParsedNote::Exported(Box::new(note)));
    }
    let key = file.key();
    let is_file = key.is_some();
    let is_text = |(name, value): (&String, &Value)| {
        matches!(field_of(name), Some("title" | "body")) && !value.is_null()
    };
    // Editors show a file that has only properties under its name.
    if let Some(name) = key.as_deref().and_then(|key| key.rsplit('/').next())
        && parts.body.trim().is_empty()
        && !fields.is_empty()
        && !fields.iter().any(is_text)
    {
        fields.insert("title".to_owned(), name.into());
    }
    let mut note =
        ForeignNote::read(fields, Some(parts.body), key.clone(), import.options, import.provenance())?;
    note.warnings.extend(warning.or_else(|| front_matter::unclosed_warning(text)));
    add_references(&mut note, parts.body);
    if let Some(key) = key {
        add_date(&mut note, &key);
        note.draft.file_modified = file.modified();
        // Links use the name of the file even if the front matter has another key.
        note.names.push(key);
    }
    // The frame only fits if the text comes from the body of the file and not from its front matter.
    if is_file && note.draft.body.as_deref() == Some(parts.body) {
        note.frame = Some(MarkdownFrame::of(text, file.name.clone(), import.provenance().to_owned()));
    }
    Ok(ParsedNote::Foreign(Box::new(note)))
}

/// Adds links that are no `[[links]]`, and tags of the text as keywords.
pub(super) fn add_references(note: &mut ForeignNote, body: &str) {
    let References { links, tags } = references::in_body(body);
    let name = |link: &NoteLink| (link.target.clone(), link.is_path);
    let known: FxHashSet<(String, bool)> = note.links.iter().map(name).collect();
    note.links.extend(links.into_iter().filter(|link| !known.contains(&name(link))));
    note.draft.keywords.get_or_insert_default().extend(tags);
}

/// Sets the creation time of a note whose name begins with a date. If the name is only a date, the note is
/// episodic, because it records an event.
fn add_date(note: &mut ForeignNote, key: &str) {
    let name = key.rsplit('/').next().unwrap_or_default();
    let Some((day, rest)) = date_in(name) else { return };
    note.draft.created.get_or_insert(day);
    if rest.is_empty() {
        note.draft.node_type.get_or_insert_with(|| NodeType::EPISODIC.to_owned());
    }
}

/// Forms of dates at the beginning of a name; `0` is any digit. Logseq writes the second one.
const FORMS: [&str; 4] = ["0000-00-00", "0000_00_00", "0000.00.00", "00000000"];

/// The date at the beginning of a name and the rest of the name. A date in words, such as `March 27th, 2023`, must be
/// the whole name.
fn date_in(name: &str) -> Option<(Timestamp, &str)> {
    let numeric = FORMS.iter().find_map(|form| {
        let (day, rest) = name.split_at_checked(form.len())?;
        let mut bytes = day.bytes().zip(form.bytes());
        let fits = bytes.all(|(byte, form)| if form == b'0' { byte.is_ascii_digit() } else { byte == form });
        let digits: String = day.chars().filter(char::is_ascii_digit).collect();
        // Eight digits may also be a number of something.
        let is_year = digits.len() < day.len() || digits.starts_with("19") || digits.starts_with("20");
        if !fits || !is_year || rest.starts_with(char::is_alphanumeric) {
            return None;
        }
        let (year, rest_of_day) = digits.split_at_checked(4)?;
        let (month, of_month) = rest_of_day.split_at_checked(2)?;
        Some((Timestamp::parse(&format!("{year}-{month}-{of_month}")).ok()?, rest))
    });
    numeric.or_else(|| Some((Timestamp::parse_written(name)?, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_daily_notes_are_dates() {
        let read = |name: &str| date_in(name).map(|(day, rest)| (day.to_string(), rest.to_owned()));
        let day = |rest: &str| Some(("2023-03-27T00:00:00.000Z".to_owned(), rest.to_owned()));
        for name in ["2023-03-27", "2023_03_27", "2023.03.27", "20230327", "March 27th, 2023", "27.03.2023"] {
            assert_eq!(read(name), day(""), "{name}");
        }
        assert_eq!(read("2023-03-27 Call"), day(" Call"));
        assert_eq!(read("2023_03_27-call"), day("-call"));
        for name in
            ["", "2023", "2023-03", "2023-13-27", "2023-03-271", "202303271310", "55512345", "May", "call"]
        {
            assert_eq!(read(name), None, "{name}");
        }
    }
}
