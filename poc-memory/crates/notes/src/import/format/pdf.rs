//! The text of PDF documents.

use super::{FolderRole, Format};
use crate::import::document::Document;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use poc_graph::error::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// PDF.
pub(super) struct Pdf;

impl Format for Pdf {
    fn name(&self) -> &'static str {
        "pdf"
    }

    fn about(&self) -> &'static str {
        "PDF documents with text"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Document
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        sample.bytes.starts_with(b"%PDF-")
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        let bytes = file.bytes(import.max_document_bytes())?;
        // The library panics on some damaged documents.
        let text = catch_unwind(AssertUnwindSafe(|| pdf_extract::extract_text_from_mem(&bytes)));
        let text = match text {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => return Err(damaged(&error.to_string())),
            Err(_) => return Err(damaged("its structure is broken")),
        };
        if text.trim().is_empty() {
            return Err(Error::invalid("the document has no text").hint(
                "it may consist of pictures: recognise their text first, for example with `ocrmypdf`",
            ));
        }
        import.take_document(file, Document { title: None, text: joined(&text) })
    }
}

fn damaged(reason: &str) -> Error {
    Error::invalid(format!("the document cannot be read: {reason}"))
        .hint("open it in a viewer and print it into a new file")
}

/// The text with the lines of each paragraph joined, because a PDF breaks lines at the width of the page.
fn joined(text: &str) -> String {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().map(str::trim) {
        match paragraphs.last_mut() {
            _ if line.is_empty() => {
                open = false;
                continue;
            }
            Some(last) if open => {
                last.push(' ');
                last.push_str(line);
            }
            _ => paragraphs.push(line.to_owned()),
        }
        open = true;
    }
    paragraphs.join("\n\n")
}
