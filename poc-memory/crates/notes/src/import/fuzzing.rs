//! Parsers for the fuzz targets, with properties that must hold for any input: see `fuzz/` at the root of the
//! repository.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a violated property is a panic, which the fuzzer reports"
)]

use super::format::FORMATS;
use super::run::Import;
use super::source_file::SourceFile;
use super::{ImportOptions, ParsedNote, read_vault_note};
use crate::front_matter;
use crate::testing::TestMemory;
use poc_config::Config;
use std::path::PathBuf;

/// A memory that is never written to, and a file to read.
pub struct Fuzzed {
    memory: TestMemory,
    file: PathBuf,
}

impl Default for Fuzzed {
    fn default() -> Fuzzed {
        let mut config = Config::defaults().unwrap();
        // No chunk becomes full, so nothing is stored.
        config.import.chunk = usize::MAX;
        let memory = TestMemory::with(config);
        let file = memory.folder().join("note");
        std::fs::write(&file, "").unwrap();
        Fuzzed { memory, file }
    }
}

impl Fuzzed {
    /// Reads a file of the format that the first line names, up to the notes that would be stored. Other inputs are
    /// ignored.
    pub fn import(&self, bytes: &[u8]) {
        let named = split_name(bytes).filter(|(name, _)| FORMATS.iter().any(|known| known.name() == *name));
        if let Some((format, bytes)) = named {
            self.import_as(format, bytes);
        }
    }

    /// Reads a file of a format, up to the notes that would be stored.
    ///
    /// # Panics
    /// If there is no such format.
    pub fn import_as(&self, format: &str, bytes: &[u8]) {
        let Some(format) = FORMATS.iter().find(|known| known.name() == format) else {
            panic!("there is no format `{format}`");
        };
        std::fs::write(&self.file, bytes).unwrap();
        let options = ImportOptions::default();
        let mut import = Import::new(&self.memory, "import:notes", &options, &|_, _| {});
        let file = SourceFile::at(&self.file, format!("notes/note.{}", extension(format.name()))).unwrap();
        let sample = file.sample().unwrap();
        for known in FORMATS {
            known.recognizes(&sample);
        }
        if let Err(error) = format.read(&file, &mut import) {
            assert!(!error.line().is_empty());
        }
        for (_, note) in import.chunk.take() {
            if let ParsedNote::Foreign(note) = note {
                let _ = note.draft.checked(&self.memory.config, self.memory.now());
            }
        }
    }

    /// Reads the text of a file of a vault, and its front matter. The file itself only has to exist.
    pub fn vault_note(&self, text: &str) {
        let parts = front_matter::split(text);
        assert!(parts.front.len() + parts.body.len() <= text.len());
        if !parts.front.is_empty() {
            let _ = front_matter::parse::<serde_json::Value>(parts.front);
        }
        for name in ["notes/note.md", "notes/drawing.canvas"] {
            let _ = read_vault_note(&self.memory, &self.file, name, text, "vault:notes");
        }
    }
}

/// The first line, and what follows it.
fn split_name(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (name, rest) = bytes.split_at_checked(end)?;
    Some((std::str::from_utf8(name).ok()?, rest.get(1..)?))
}

fn extension(format: &str) -> &str {
    match format {
        "canvas" | "csv" | "html" | "pdf" => format,
        "markdown" | "basic-memory" => "md",
        "text" => "txt",
        _ => "json",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing::corpus;

    #[test]
    fn the_properties_hold_for_the_corpora() {
        let fuzzed = Fuzzed::default();
        let inputs = corpus("import");
        inputs.iter().for_each(|bytes| fuzzed.import(bytes));
        for format in FORMATS.iter().map(|format| format.name()) {
            let is_of = |bytes: &Vec<u8>| split_name(bytes).is_some_and(|(name, _)| name == format);
            assert!(inputs.iter().any(is_of), "no input is of the format `{format}`");
        }
        for bytes in corpus("vault_note") {
            std::str::from_utf8(&bytes).iter().for_each(|text| fuzzed.vault_note(text));
        }
    }
}
