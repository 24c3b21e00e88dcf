//! Plain text: each file is a note, or several if it is long.

use super::{FolderRole, Format};
use crate::front_matter::BOM;
use crate::import::document::Document;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use poc_graph::error::Result;

/// Plain text.
pub(super) struct Text;

impl Format for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn about(&self) -> &'static str {
        "plain text"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Document
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        matches!(sample.extension.as_str(), "txt" | "text" | "rst" | "org" | "adoc" | "log")
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        let text = file.text(import.max_document_bytes())?;
        let text = text.strip_prefix(BOM).unwrap_or(&text).to_owned();
        import.take_document(file, Document { title: None, text })
    }
}
