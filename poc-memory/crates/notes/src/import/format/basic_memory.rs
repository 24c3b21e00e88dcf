//! Notes of basic-memory: Markdown with a `permalink`, observations (`- [category] text #tag (context)`) and relations
//! (`- relation [[Target]] (context)`).

use super::markdown::read_parts;
use super::{FolderRole, Format, json};
use crate::front_matter;
use crate::import::ParsedNote;
use crate::import::note_link::NoteLink;
use crate::import::run::Import;
use crate::import::source_file::{Sample, SourceFile};
use crate::import::{references, wikilinks};
use poc_graph::error::Result;
use rustc_hash::FxHashMap;
use serde_json::Value;

/// basic-memory.
pub(super) struct BasicMemory;

impl Format for BasicMemory {
    fn name(&self) -> &'static str {
        "basic-memory"
    }

    fn about(&self) -> &'static str {
        "Markdown of basic-memory, with observations and relations"
    }

    fn folder_role(&self) -> FolderRole {
        FolderRole::Markdown
    }

    fn recognizes(&self, sample: &Sample) -> bool {
        references::is_markdown(&sample.extension) && sample.text().is_some_and(is_permalinked)
    }

    fn read(&self, file: &SourceFile<'_>, import: &mut Import<'_>) -> Result<()> {
        let text = file.text(import.max_note_bytes())?;
        // Assistants wrote most of it.
        let text = import.scrubbed(&text);
        let note = read_note(&text, file, import);
        import.add_note(file.location(), text.len(), note)
    }
}

/// Whether a text has the property `permalink`.
pub(super) fn is_permalinked(text: &str) -> bool {
    front_matter::split(text).front.lines().any(|line| line.starts_with("permalink:"))
}

/// The note of a file.
pub(super) fn read_note(text: &str, file: &SourceFile<'_>, import: &Import<'_>) -> Result<ParsedNote> {
    read_parts(text, file, import).map(|mut note| {
        if let ParsedNote::Foreign(foreign) = &mut note {
            let front_matter::MarkdownParts { front, body } = front_matter::split(text);
            let properties: Value = front_matter::parse(front).unwrap_or_default();
            if let Some(permalink) = json::text(&properties, "permalink") {
                foreign.ignored.retain(|field| field != "permalink");
                foreign.draft.key = Some(permalink.to_owned());
            }
            let tags = body.lines().flat_map(observation_tags);
            foreign.draft.keywords.get_or_insert_default().extend(tags);
            let mut indices: FxHashMap<String, usize> = FxHashMap::default();
            for (index, link) in foreign.links.iter().enumerate() {
                indices.entry(link.target.clone()).or_insert(index);
            }
            for relation in body.lines().filter_map(relation) {
                let index = indices.get(&relation.target);
                if let Some(link) = index.and_then(|index| foreign.links.get_mut(*index)) {
                    link.reason = relation.reason;
                }
            }
            // Relations name their targets by title or by file name.
            foreign.names.extend(foreign.draft.title.clone());
            foreign.names.extend(file.key());
            // Types of basic-memory, such as `note`, are not types of this memory.
            if foreign.draft.node_type.as_deref().is_some_and(|name| import.known_type(name).is_err()) {
                foreign.draft.node_type = import.options.node_type.clone();
            }
        }
        note
    })
}

/// The tags of an observation.
fn observation_tags(line: &str) -> Vec<String> {
    let Some((_, text)) = line.trim().strip_prefix("- [").and_then(|rest| rest.split_once(']')) else {
        return Vec::new();
    };
    let words = text.split_whitespace().filter_map(|word| word.strip_prefix('#'));
    let is_tag = |tag: &&str| tag.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '/'));
    words.filter(is_tag).filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
}

/// The relation of a line, with its kind and context as the reason.
fn relation(line: &str) -> Option<NoteLink> {
    let item = line.trim().strip_prefix("- ")?;
    let (kind, rest) = item.split_once("[[")?;
    let (target, context) = rest.split_once("]]")?;
    if kind.starts_with('[') {
        return None;
    }
    let reason = format!("{} {}", kind.trim(), context.trim()).trim().to_owned();
    let target = wikilinks::target(target);
    (!wikilinks::is_within_note(&target)).then(|| NoteLink { target, reason, ..NoteLink::default() })
}
