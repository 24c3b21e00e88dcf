//! Web pages, converted to Markdown.

use super::{FolderRole, Format};
use crate::import::document::Document;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use htmd::HtmlToMarkdown;
use poc_graph::error::{Error, Result};

/// HTML.
pub(super) struct Html;

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn about(&self) -> &'static str {
        "web pages"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Document
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        let begins = |text: &str| {
            let start: String = text.trim_start().chars().take(15).collect::<String>().to_lowercase();
            start.starts_with("<!doctype html") || start.starts_with("<html")
        };
        matches!(sample.extension.as_str(), "html" | "htm" | "xhtml") || sample.text().is_some_and(begins)
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        let page = file.text(import.max_document_bytes())?;
        let converter = HtmlToMarkdown::builder()
            .skip_tags(vec!["head", "script", "style", "noscript", "template", "svg", "nav", "iframe"])
            .build();
        let text = converter.convert(&page).map_err(|error| {
            Error::invalid(format!("the page cannot be converted: {error}")).hint("save it as text")
        })?;
        import.take_document(file, Document { title: title(&page), text })
    }
}

/// The text between `<title>` and `</title>`.
fn title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower.get(start..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title>")?;
    // The converter also decodes the entities in a title.
    let title = htmd::convert(page.get(start..end)?).ok()?;
    Some(title.trim().to_owned()).filter(|title| !title.is_empty())
}
