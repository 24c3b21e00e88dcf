//! A note as a Markdown file: front matter in YAML between two lines `---`, then the body.

use super::interchange::Note;
use poc_graph::error::{Error, Result};
use serde::Serialize;

/// The file of a note.
pub fn write(note: &Note) -> Result<String> {
    let mut front = note.clone();
    let body = std::mem::take(&mut front.body);
    Ok(format!("---\n{}---\n\n{body}\n", yaml(&front)?))
}

/// A value as YAML.
pub fn yaml<T: Serialize>(value: &T) -> Result<String> {
    serde_norway::to_string(value)
        .map_err(|error| Error::internal(format!("a note cannot be written as YAML: {error}")))
}
