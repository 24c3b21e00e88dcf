//! The formats that import reads, one per file.

mod basic_memory;
mod canvas;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod codex;
mod csv;
#[cfg(feature = "documents")]
mod html;
mod json;
pub(super) mod json_lines;
mod letta;
mod markdown;
mod mcp_memory;
mod mem0;
#[cfg(feature = "documents")]
mod pdf;
#[cfg(test)]
mod tests;
mod text;
pub(super) mod transcripts;

pub(super) use json::malformed;

use super::run::Import;
use super::source_file::{Sample, SourceFile};
use super::{ParsedNote, references};
use poc_graph::error::{Error, Result};
use poc_graph::similar;

/// A format.
pub(super) trait Format: Sync {
    /// Its name, for `--format`.
    fn name(&self) -> &'static str;

    /// Its description in a few words.
    fn about(&self) -> &'static str;

    /// How its files are treated in a folder with files of other formats.
    fn folder_role(&self) -> FolderRole;

    /// Whether a file with this beginning has the format.
    fn recognizes(&self, sample: &Sample) -> bool;

    /// Reads a file into an import. Errors of single notes are reported to the import.
    ///
    /// # Errors
    /// When the file as a whole cannot be read.
    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()>;
}

/// How the files of a format are treated in a folder with files of other formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FolderRole {
    /// The data of another program. Always imported.
    Records,
    /// Markdown. Always imported.
    Markdown,
    /// Other documents. Imported unless the folder also has Markdown or records; then they count as
    /// attachments.
    Document,
}

/// All formats. If several recognise a file, the first one reads it.
pub(super) const FORMATS: &[&dyn Format] = &[
    &transcripts::CLAUDE_CODE,
    &transcripts::CODEX,
    &chatgpt::ChatGpt,
    &claude_ai::ClaudeAi,
    &mcp_memory::McpMemory,
    &mem0::Mem0,
    &letta::Letta,
    &basic_memory::BasicMemory,
    &markdown::Markdown,
    &canvas::Canvas,
    &json_lines::JsonLines,
    &csv::Csv,
    #[cfg(feature = "documents")]
    &pdf::Pdf,
    #[cfg(feature = "documents")]
    &html::Html,
    &text::Text,
];

/// The note of a file of a vault with this text.
///
/// # Errors
/// `invalid_argument` if the file as a whole cannot be read.
pub(super) fn vault_note(text: &str, file: &SourceFile<'_>, import: &Import<'_>) -> Result<ParsedNote> {
    if file.name.to_lowercase().ends_with(".canvas") {
        return canvas::read_canvas(text, file, import);
    }
    match basic_memory::is_permalinked(text) {
        true => basic_memory::read_note(text, file, import),
        false => markdown::read_parts(text, file, import),
    }
}

/// The format of a file by its content. A file whose name says that it is Markdown is never read as the data of another
/// program, because a note may quote a line of such data.
pub(super) fn recognize(sample: &Sample) -> Option<&'static dyn Format> {
    let is_markdown = references::is_markdown(&sample.extension);
    let is_possible =
        |format: &&'static dyn Format| !is_markdown || format.folder_role() == FolderRole::Markdown;
    FORMATS.iter().copied().filter(is_possible).find(|format| format.recognizes(sample))
}

/// Like [`recognize`], for a file with this sample. A transcript may begin with a line that is longer than the sample.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn recognize_file(file: &SourceFile<'_>, sample: &Sample) -> Result<Option<&'static dyn Format>> {
    let may_be_transcript = sample.extension == "jsonl" && !sample.is_whole;
    match may_be_transcript.then(|| transcripts::assistant_of_file(file, sample)).transpose()?.flatten() {
        Some(assistant) => named(assistant.name()).map(Some),
        None => Ok(recognize(sample)),
    }
}

/// The feature of the build that is needed to read files with this extension, if this build lacks it.
pub(super) fn missing_feature(extension: &str) -> Option<&'static str> {
    let is_document = matches!(extension, "pdf" | "html" | "htm" | "xhtml");
    (is_document && !cfg!(feature = "documents")).then_some("documents")
}

/// The format with a name.
pub(super) fn named(name: &str) -> Result<&'static dyn Format> {
    let found = FORMATS.iter().copied().find(|format| format.name() == name);
    found.ok_or_else(|| {
        let hint = match similar::closest(name, FORMATS.iter().map(|format| format.name())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => known(),
        };
        Error::invalid(format!("unknown format `{name}`")).hint(hint).field("format")
    })
}

/// The names of all formats, as a hint.
pub(super) fn known() -> String {
    let names: Vec<String> = FORMATS.iter().map(|format| format!("`{}`", format.name())).collect();
    format!("the formats are {}; `poc-memory help import` describes them", names.join(", "))
}
