//! Finds nodes by their id, key or another name.

use super::Memory;
use poc_graph::error::{Code, Error, Result};
use poc_graph::{Ix, Node, NodeId, View, Visibility, closest_name, normal_key, one_line};
use poc_index::TextField;
use poc_search::retrieve::key::{notes_of_name, notes_of_name_or_id};
use poc_store::{DAMAGED_HINT, Records, Transaction};

/// Maximum number of notes that the error for an ambiguous name lists.
const SHOWN_NOTES: usize = 10;

/// The node with an id or a key in `records`, in any state. If there is none, the name is matched less
/// strictly in `view` ([`notes_of_name_or_id`]): first as names in questions are matched, that is, ignoring case,
/// file extension and folder, then as the beginning of an id.
///
/// # Errors
/// `not_found`, with a similar key as a hint; `invalid_argument` if several nodes have the name; `damaged` if the
/// record of the node is lost in a damaged store.
pub fn find<R: Records + ?Sized>(records: &R, view: &View, name: &str) -> Result<Node> {
    if let Some(node) = exact(records, name)? {
        return Ok(node);
    }
    match notes_of_name_or_id(view, name).as_slice() {
        [only] => {
            let node = view.id(*only).map(|id| records.node(id)).transpose()?.flatten();
            node.ok_or_else(|| match records.may_lack_records() {
                true => lost(name),
                false => unknown(name, view),
            })
        }
        [] => Err(unknown(name, view)),
        several => Err(ambiguous(name, several, view)),
    }
}

/// The error for a name that several notes have.
fn ambiguous(name: &str, notes: &[Ix], view: &View) -> Error {
    let keys: Vec<String> = notes.iter().take(SHOWN_NOTES).map(|&ix| format!("`{}`", view.key(ix))).collect();
    let mut hint = format!("name one of them: {}", keys.join(", "));
    let more = notes.len() - keys.len();
    if more > 0 {
        hint += &format!(" and {more} more");
        // The stage does not know the beginnings of ids, and takes some characters as wildcards.
        match notes_of_name(view, name).is_empty() {
            true => hint += "; a longer part of the id may be unique",
            false if name.contains(['"', '\\', '*', '?', '[', ']', '`']) => {}
            false => {
                let stage = quoted(&format!("key:\"{name}\""));
                hint += &format!(": `poc-memory search -p {stage}` lists all");
            }
        }
    }
    Error::invalid(format!("`{name}` is ambiguous: several notes match")).hint(hint)
}

/// The node with exactly this id, key or former key, in any state.
pub fn exact<R: Records + ?Sized>(records: &R, name: &str) -> Result<Option<Node>> {
    if let Ok(id) = name.parse::<NodeId>()
        && let Some(node) = records.node(id)?
    {
        return Ok(Some(node));
    }
    records.find_key(&normal_key(name))?.map_or(Ok(None), |id| records.node(id))
}

/// The node with exactly this id or key, in any state. Former keys do not count.
pub fn exact_key<R: Records + ?Sized>(records: &R, name: &str) -> Result<Option<Node>> {
    let has_name =
        |node: &Node| node.key == *normal_key(name) || name.parse::<NodeId>().is_ok_and(|id| id == node.id);
    Ok(exact(records, name)?.filter(has_name))
}

/// Like [`find`] in a transaction, for the value of a request's field.
///
/// # Errors
/// Those of [`find`], with the field.
pub fn named(tx: &Transaction<'_>, name: &str, field: &str) -> Result<Node> {
    find(tx, tx.view(), name).map_err(|error| error.field(field))
}

/// Checks that a node has the version that a request expects, if it expects one.
///
/// # Errors
/// `conflict` with the version that the node has.
pub fn check_version(node: &Node, expected: Option<u32>) -> Result<()> {
    match expected {
        Some(0) => Err(Error::conflict(format!(
            "`{}` already exists and has version {}, but the request expects that it does not exist",
            node.key, node.version
        ))
        .hint("read the note and repeat the change on its current text, or give another key")
        .version(node.version)
        .field("if_version")),
        Some(expected) if expected != node.version => Err(Error::conflict(format!(
            "`{}` has version {}, but the request expects {expected}",
            node.key, node.version
        ))
        .hint("read the note again and repeat the change on its current text")
        .version(node.version)
        .field("if_version")),
        _ => Ok(()),
    }
}

/// The node if it is visible, else an error.
pub fn require_visible_node(node: Node, visibility: Visibility) -> Result<Node> {
    if visibility.admits(node.trust) {
        return Ok(node);
    }
    Err(quarantined().hint("`quarantined` shows it; a person can approve it"))
}

/// The error for a node that is not visible.
pub fn quarantined() -> Error {
    Error::new(Code::Rejected, "the note is quarantined: no person has approved it")
}

/// The node with an id, or `not_found`.
pub fn expect(tx: &Transaction<'_>, id: NodeId) -> Result<Node> {
    tx.node(id)?.ok_or_else(|| Error::not_found(format!("there is no note `{id}`")))
}

/// The error for an unknown name, with the most similar key as a hint.
pub fn unknown(name: &str, view: &View) -> Error {
    let hint = match similar_name(name, view) {
        Some(near) => format!("did you mean `{near}`?"),
        // A search needs words.
        None if !name.contains(char::is_alphanumeric) => "`poc-memory list` shows the notes".to_owned(),
        None => format!("`poc-memory search {}` looks for it", operand(name)),
    };
    Error::not_found(format!("there is no note `{name}`")).hint(hint)
}

/// The name of a note that is most similar to an unknown one, if any is similar.
pub fn similar_name<'a>(name: &str, view: &'a View) -> Option<&'a str> {
    // The view may still have the name of a note that was just deleted or that the records have lost.
    closest_name(view, name).filter(|near| *near != &*normal_key(name))
}

/// The key of a visible note with this title, ignoring case. Call it outside of any transaction, because it reads the
/// text index.
///
/// # Errors
/// Those of the store.
pub fn key_of_title(memory: &Memory, title: &str, visibility: Visibility) -> Result<Option<String>> {
    // Number of titles with the same words that are compared.
    const DEPTH: usize = 10;
    let view = memory.store.view();
    let is_note = |ix| view.is_visible(ix, visibility) && !view.is_pointer(ix);
    let keep = |id: NodeId| view.find(id).is_some_and(is_note);
    let title = one_line(title).to_lowercase();
    for hit in memory.text.search(&title, TextField::Title, DEPTH, &keep) {
        if let Some(node) = memory.store.node(hit.id)?.filter(|node| node.title.to_lowercase() == title) {
            return Ok(Some(node.key));
        }
    }
    Ok(None)
}

/// The error for a note whose record is lost.
fn lost(name: &str) -> Error {
    Error::damaged(format!("the text of `{name}` is lost")).hint(DAMAGED_HINT)
}

/// A text quoted as the last word of a shell command line. A text that begins with `-` is kept from being an option.
pub fn operand(text: &str) -> String {
    let dashes = if text.starts_with('-') { "-- " } else { "" };
    format!("{dashes}{}", quoted(text))
}

/// A text quoted as one word of a shell command line.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '=');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
