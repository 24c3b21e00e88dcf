//! Export as a folder of Markdown for editors such as Obsidian.
//!
//! A note that was imported from a Markdown file is written as that file: byte for byte if nothing has
//! changed, otherwise with the changes in its front matter, which keeps unknown properties. Other notes get
//! front matter with the properties that import reads.

use super::sessions::{self, SessionPlace};
use super::used_paths::UsedPaths;
use super::{ExportReport, write_folder};
use crate::Memory;
use crate::front_matter;
use crate::import::names_of_field;
use crate::interchange::Note;
use crate::markdown;
use crate::markdown_frame::{MarkdownFrame, Properties};
use poc_graph::error::Result;
use poc_graph::{EdgeKind, Node, NodeType, PROJECT_PREFIX, View, title_of};
use serde_norway::{Mapping, Value};
use std::path::{Component, Path, PathBuf};

/// The name that the property with the keywords gets.
const KEYWORDS: &str = "tags";
/// Maximum length of the name of a file or folder. Most file systems have this one.
const NAME_MAX_BYTES: usize = 255;
/// Maximum length of the path of a file within the folder. Linux allows 4,096 bytes, with the path of the folder.
const PATH_MAX_BYTES: usize = 2048;

/// Writes the live notes, except confirmed questions, into a new or empty folder, atomically. Files that were imported
/// keep their paths; the others are named after keys. Calls `progress` with the number of written notes and the total.
///
/// # Errors
/// Those of the store, and errors when the folder is not empty or cannot be written.
pub fn vault(memory: &Memory, folder: &Path, progress: &dyn Fn(u64, u64)) -> Result<ExportReport> {
    let mut names = UsedPaths::default();
    let view = memory.store.view();
    let sessions = sessions::places(memory, &view)?;
    write_folder(memory, folder, progress, |note| {
        // A note of this type that was written by hand is a note like any other.
        let is_pointer = view.find(note.id).is_some_and(|ix| view.is_pointer(ix));
        if !note.state.is_live() || is_pointer {
            return Ok(Vec::new());
        }
        let frames = &note.frames;
        let node = note.node(memory.store.tenant());
        let links = added_links(memory, &view, note)?;
        let mut files = Vec::new();
        for frame in frames {
            let path = path_inside(&frame.path).filter(|path| names.reserve(path));
            let path = path.unwrap_or_else(|| names.path(&note.key));
            files.push((path, file_of_frame(&node, frame, &links)?));
        }
        if frames.is_empty() {
            let keys: Vec<String> = links.iter().filter_map(|names| names.first().cloned()).collect();
            files.push((names.path(&note.key), new_file(&node, &keys, sessions.get(&note.id))?));
        }
        Ok(files)
    })
}

/// The path of a file, if it stays within its folder and a file can have it. An import of an export may have stored any
/// text as a path.
fn path_inside(path: &str) -> Option<PathBuf> {
    if path.len() > PATH_MAX_BYTES || path.contains('\0') {
        return None;
    }
    let name = |part| match part {
        Component::Normal(name) if name.len() <= NAME_MAX_BYTES => Some(name),
        _ => None,
    };
    let path: PathBuf = Path::new(path).components().map(name).collect::<Option<_>>()?;
    path.extension().is_some().then_some(path)
}

/// The notes that a note is linked to by people and agents, but not by its text, each with its key and its former keys.
fn added_links(memory: &Memory, view: &View, note: &Note) -> Result<Vec<Vec<String>>> {
    let mut links: Vec<Vec<String>> = Vec::new();
    for edge in note.edges.iter().filter(|edge| edge.kind == EdgeKind::Link) {
        let is_live = view.find(edge.to).is_some_and(|ix| view.is_live(ix));
        if is_live
            && !edge.provenance.starts_with("import:")
            && let Some(target) = memory.store.node(edge.to)?
        {
            links.push(target.names().map(str::to_owned).collect());
        }
    }
    links.sort();
    Ok(links)
}

/// The text of an imported file with the current contents of its note.
fn file_of_frame(note: &Node, frame: &MarkdownFrame, links: &[Vec<String>]) -> Result<String> {
    let front = if links.is_empty() { Mapping::new() } else { mapping(frame.front()) };
    let links = links.iter().filter(|names| !names.iter().any(|name| has_link(&front, name)));
    let links: Vec<String> = links.filter_map(|names| names.first().cloned()).collect();
    let changes = changes(&Properties::of(note), &frame.imported, &links);
    if changes.is_empty() {
        return Ok(frame.file(&note.body));
    }
    let mut front = mapping(frame.front());
    for (name, change) in changes {
        let value = match change {
            Change::Set(value) => {
                // An import joins the keywords under all names, and reads the last one of other properties, so the
                // other names would bring the former value back. `date` and `timestamp` may be the time of something
                // else.
                let others = names_of_field(name).iter().filter(|other| **other != name);
                for other in others.filter(|other| !matches!(**other, "date" | "timestamp")) {
                    front.shift_remove(*other);
                }
                value
            }
            Change::Add(items) => {
                let mut all = match front.get(name).cloned() {
                    Some(Value::Sequence(all)) => all,
                    Some(Value::String(all)) => all.split(',').map(|item| item.trim().into()).collect(),
                    _ => Vec::new(),
                };
                all.extend(
                    items.into_iter().map(Value::from).filter(|item| !all.contains(item)).collect::<Vec<_>>(),
                );
                Value::Sequence(all)
            }
        };
        front.insert(name.into(), value);
    }
    let bom = if frame.before.starts_with(front_matter::BOM) { front_matter::BOM } else { "" };
    let between = match front_matter::front_range(&frame.before) {
        // The lines between the front matter and the text are kept.
        Some(front) => {
            let closed = frame.before.get(front.end..).and_then(|closing| closing.split_once('\n'));
            closed.map_or_else(String::new, |(_, between)| between.to_owned())
        }
        None => format!("\n{}", frame.before.trim_start_matches(front_matter::BOM)),
    };
    let before = format!("{bom}---\n{}---\n{between}", markdown::yaml(&front)?);
    Ok(MarkdownFrame { before, ..frame.clone() }.file(&note.body))
}

/// Whether a property of front matter is a link to a name, or a list with one, such as those that write-back adds.
fn has_link(front: &Mapping, name: &str) -> bool {
    let link = format!("[[{name}]]");
    let is_link = |value: &Value| value.as_str() == Some(link.as_str());
    front
        .values()
        .any(|value| is_link(value) || value.as_sequence().is_some_and(|all| all.iter().any(is_link)))
}

/// The properties of front matter. If a property is repeated, the last value counts, as in an import.
fn mapping(front: &str) -> Mapping {
    let unique = front_matter::parse::<Option<Mapping>>(front);
    // Parsing a mapping fails if a property is repeated, and parsing a JSON value does not.
    let last = |_| {
        let object = front_matter::parse::<Option<serde_json::Value>>(front).ok()?;
        match serde_norway::to_value(object).ok()? {
            Value::Mapping(front) => Some(front),
            _ => None,
        }
    };
    unique.unwrap_or_else(last).unwrap_or_default()
}

/// A change of a property.
enum Change {
    Set(Value),
    /// Items are added to a list.
    Add(Vec<String>),
}

/// The properties that differ from those that were imported.
fn changes(now: &Properties, imported: &Properties, links: &[String]) -> Vec<(&'static str, Change)> {
    let mut changes: Vec<(&'static str, Change)> = Vec::new();
    let mut set = |name, value: Value| changes.push((name, Change::Set(value)));
    if now.title != imported.title {
        set("title", now.title.clone().into());
    }
    if now.node_type != imported.node_type {
        set("type", now.node_type.clone().into());
    }
    if now.keywords != imported.keywords {
        set(KEYWORDS, list(now.keywords.iter().filter(|word| !word.starts_with(PROJECT_PREFIX))));
    }
    for (name, now, imported) in
        [("author", &now.author, &imported.author), ("source", &now.source, &imported.source)]
    {
        if now != imported {
            set(name, now.clone().unwrap_or_default().into());
        }
    }
    if now.created != imported.created {
        set("created", now.created.to_string().into());
    }
    if now.expires != imported.expires {
        // An empty text is not a time.
        set("expires", now.expires.map_or(Value::Null, |at| at.to_string().into()));
    }
    let names: Vec<String> =
        now.names.iter().filter(|name| !imported.names.contains(name)).cloned().collect();
    if !names.is_empty() {
        changes.push(("aliases", Change::Add(names)));
    }
    if !links.is_empty() {
        changes.push(("links", Change::Add(links.iter().map(|link| format!("[[{link}]]")).collect())));
    }
    changes
}

/// The file of a note that was not imported from a file, with the properties that import reads.
fn new_file(note: &Node, links: &[String], session: Option<&SessionPlace>) -> Result<String> {
    let mut front = Mapping::new();
    let mut set = |name: &str, value: Value| front.insert(name.into(), value);
    if title_of(&note.body).as_ref() != Some(&note.title) {
        set("title", note.title.clone().into());
    }
    // Without a type, a note of a session is episodic.
    if note.node_type != NodeType::default() || session.is_some() {
        set("type", note.node_type.0.clone().into());
    }
    if !note.keywords.is_empty() {
        set(KEYWORDS, list(&note.keywords));
    }
    let aliases: Vec<&String> = note.aliases.iter().chain(&note.other_names).collect();
    if !aliases.is_empty() {
        set("aliases", list(aliases));
    }
    set("created", note.created.to_string().into());
    if note.modified != note.created {
        set("modified", note.modified.to_string().into());
    }
    if let Some(author) = &note.author {
        set("author", author.clone().into());
    }
    if let Some(SessionPlace { name, position }) = session {
        set("session", name.clone().into());
        set("session-position", (*position as u64).into());
    }
    // An import derives this source from the session.
    let by_session = session.map(SessionPlace::source);
    if let Some(source) = note.source.as_ref().filter(|source| by_session.as_ref() != Some(*source)) {
        set("source", source.clone().into());
    }
    if let Some(expires) = note.expires {
        set("expires", expires.to_string().into());
    }
    if !links.is_empty() {
        set("links", list(links.iter().map(|link| format!("[[{link}]]"))));
    }
    Ok(format!("---\n{}---\n\n{}\n", markdown::yaml(&front)?, note.body))
}

fn list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> Value {
    Value::Sequence(items.into_iter().map(|item| item.as_ref().into()).collect())
}

#[cfg(test)]
mod tests;
