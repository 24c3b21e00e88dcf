//! Canvas files of Obsidian (JSON Canvas): cards with texts, files and addresses, and arrows between them.
//!
//! A canvas becomes one note: its text is that of its cards, and it links to the files that it shows. An arrow between
//! two files becomes a link between their notes.

use super::{FolderRole, Format};
use crate::front_matter::BOM;
use crate::import::ParsedNote;
use crate::import::foreign::ForeignNote;
use crate::import::note_link::NoteLink;
use crate::import::references::without_extension;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use poc_graph::error::{Error, Result};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use serde_json::Map;
use std::collections::HashMap;
use std::path::Path;

/// Obsidian's canvas.
pub(super) struct Canvas;

/// A file of the format.
#[derive(Deserialize)]
struct CanvasFile {
    #[serde(default)]
    nodes: Vec<Card>,
    #[serde(default)]
    edges: Vec<Arrow>,
}

/// A card.
#[derive(Deserialize)]
struct Card {
    id: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    file: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    label: String,
}

/// An arrow from one card to another.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arrow {
    from_node: String,
    to_node: String,
    #[serde(default)]
    label: String,
}

impl CanvasFile {
    /// Reads a file.
    fn parse(text: &str) -> Result<CanvasFile> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        // A new canvas is an empty file.
        let text = if text.trim().is_empty() { "{}" } else { text };
        serde_json::from_str(text).map_err(|error| {
            Error::invalid(format!("it is not a canvas: {error}"))
                .hint("open it in its editor and save it again")
        })
    }

    /// The arrows, each with the two files that it connects, if both of its cards show one.
    fn arrows(&self) -> impl Iterator<Item = (&Arrow, Option<(&str, &str)>)> {
        let files: HashMap<&str, &str> = self
            .nodes
            .iter()
            .filter(|card| !card.file.is_empty())
            .map(|card| (card.id.as_str(), without_extension(&card.file)))
            .collect();
        self.edges.iter().map(move |arrow| {
            let file = |card: &str| files.get(card).copied();
            (arrow, file(&arrow.from_node).zip(file(&arrow.to_node)))
        })
    }
}

impl Format for Canvas {
    fn name(&self) -> &'static str {
        "canvas"
    }

    fn about(&self) -> &'static str {
        "canvas files of Obsidian"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Markdown
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        sample.extension == "canvas"
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        let text = file.text(import.max_note_bytes())?;
        let canvas = CanvasFile::parse(&text);
        for (arrow, ends) in canvas.iter().flat_map(CanvasFile::arrows) {
            if ends.is_none() {
                import.report.skipped.add("arrows between cards", arrow.label.len());
            }
        }
        let note = canvas.and_then(|canvas| note_of(&canvas, file, import));
        import.add_note(file.location(), text.len(), note)
    }
}

/// The note of a canvas.
pub(super) fn read_canvas(text: &str, file: &SourceFile<'_>, import: &Import<'_>) -> Result<ParsedNote> {
    note_of(&CanvasFile::parse(text)?, file, import)
}

fn note_of(canvas: &CanvasFile, file: &SourceFile<'_>, import: &Import<'_>) -> Result<ParsedNote> {
    let paragraphs = canvas.nodes.iter().flat_map(|card| {
        let file = if card.file.is_empty() {
            String::new()
        } else {
            format!("[[{}]]", without_extension(&card.file))
        };
        [card.label.clone(), card.text.clone(), card.url.clone(), file]
    });
    let body: Vec<String> = paragraphs.filter(|text| !text.trim().is_empty()).collect();
    let name = Path::new(&file.name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let key = file.key().map(|key| format!("{key}.canvas"));
    let (body, provenance) = (body.join("\n\n"), import.provenance());
    let fields = Map::from_iter([("title".to_owned(), name.clone().into())]);
    let mut note = ForeignNote::read(fields, Some(&body), key, import.options, provenance)?;
    note.draft.file_modified = file.modified();
    super::markdown::add_references(&mut note, &body);
    let mut known: FxHashSet<NoteLink> = note.links.iter().cloned().collect();
    for (arrow, ends) in canvas.arrows() {
        if let Some((from, to)) = ends {
            let reason = if arrow.label.is_empty() { format!("canvas {name}") } else { arrow.label.clone() };
            let link = NoteLink { reason, from: Some(from.to_owned()), ..NoteLink::from(to.to_owned()) };
            if known.insert(link.clone()) {
                note.links.push(link);
            }
        }
    }
    Ok(ParsedNote::Foreign(Box::new(note)))
}
