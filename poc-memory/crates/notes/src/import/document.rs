//! Documents without notes of their own: a short one becomes one note, a long one several in their order.

use super::ParsedNote;
use super::foreign::ForeignNote;
use super::run::Import;
use super::source_file::SourceFile;
use poc_graph::error::{Error, Result};
use poc_graph::{former_title_of, title_of};
use serde_json::Map;

/// Maximum length of the text of one note in bytes. An embedding describes a section well, but a whole book
/// poorly.
const MAX_PART_BYTES: usize = 6_000;

/// Maximum length of a document in bytes.
const MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// Makes a title from a text, as this release or as earlier ones.
type TitleDerivation = fn(&str) -> Option<String>;

/// A document.
pub(super) struct Document {
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Markdown or plain text.
    pub text: String,
}

impl Import<'_> {
    /// Maximum number of bytes of a document.
    pub(super) fn max_document_bytes(&self) -> u64 {
        MAX_DOCUMENT_BYTES
    }

    /// Takes a document as one note, or as several that follow each other.
    pub(super) fn take_document(&mut self, file: &SourceFile<'_>, document: Document) -> Result<()> {
        let Document { title, text } = document;
        let parts = parts(&text, MAX_PART_BYTES);
        if parts.is_empty() {
            let error = Error::invalid("the document has no text").hint("leave it out");
            return self.add_note(file.location(), 0, Err(error));
        }
        let is_divided = parts.len() > 1;
        let named = |derive: TitleDerivation| {
            title.clone().or_else(|| derive(&text)).unwrap_or_else(|| file.name.clone())
        };
        let (name, former_name) = (named(title_of), named(former_title_of));
        for (number, part) in (1u64..).zip(&parts) {
            let key = file.key().map(|key| if is_divided { format!("{key}#{number}") } else { key });
            let mut note = ForeignNote::read(Map::new(), Some(part), key, self.options, self.provenance())?;
            let titled = |name: &str, derive: TitleDerivation| {
                let heading = part.starts_with('#').then(|| derive(part)).flatten();
                match heading.filter(|heading| is_divided && heading != name) {
                    Some(heading) => format!("{name}: {heading}"),
                    None if is_divided => format!("{name} ({number})"),
                    None => name.to_owned(),
                }
            };
            note.draft.title = Some(titled(&name, title_of));
            note.draft.former_title = Some(titled(&former_name, former_title_of));
            note.draft.source = Some(file.name.clone());
            note.draft.file_modified = file.modified();
            if is_divided {
                note.session = file.key().map(|key| format!("document: {key}"));
            }
            let place = if is_divided { file.item("part", number) } else { file.location() };
            self.add_note(place, part.len(), Ok(ParsedNote::Foreign(Box::new(note))))?;
        }
        Ok(())
    }
}

/// The text in parts of at most `max` bytes, which begin at headings or paragraphs where possible. The parts together
/// contain every character of the text except blank lines and spaces between them.
fn parts(text: &str, max: usize) -> Vec<String> {
    let text = text.replace("\r\n", "\n").replace('\0', "");
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    for paragraph in text.split("\n\n") {
        let paragraph = paragraph.trim_matches('\n').trim_end();
        if paragraph.trim().is_empty() {
            continue;
        }
        // A section that begins in the second half of a part begins a part of its own.
        let begins_section = paragraph.starts_with('#') && part.len() > max / 2;
        if !part.is_empty() && (part.len() + 2 + paragraph.len() > max || begins_section) {
            parts.push(std::mem::take(&mut part));
        }
        let mut rest = paragraph;
        while rest.len() > max {
            let (piece, remainder) = split_before(rest, max);
            if !piece.trim().is_empty() {
                parts.push(piece.to_owned());
            }
            rest = remainder;
        }
        if rest.trim().is_empty() {
            continue;
        }
        if !part.is_empty() {
            part.push_str("\n\n");
        }
        part.push_str(rest);
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// A text cut at the last line end, sentence or space before `max` bytes.
fn split_before(text: &str, max: usize) -> (&str, &str) {
    let end = text.floor_char_boundary(max);
    let head = text.get(..end).unwrap_or_default();
    let cut = ["\n", ". ", " "]
        .iter()
        .find_map(|mark| head.rfind(mark).filter(|at| *at > 0).map(|at| at + mark.len()));
    let (piece, rest) = text.split_at_checked(cut.unwrap_or(end)).unwrap_or((text, ""));
    (piece.trim_end(), rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        /// No word is lost, and no part is too long.
        #[test]
        fn parts_contain_every_word(text in "([a-zé#. ]{0,30}\n{0,3}){0,20}", max in 20usize..80) {
            let parts = parts(&text, max);
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&parts.concat()), letters(&text));
            prop_assert!(parts.iter().all(|part| part.len() <= max && !part.trim().is_empty()), "{:?}", parts);
        }
    }
}
