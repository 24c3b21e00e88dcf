//! The texts of an erasure, and the search for their copies.

use crate::{Memory, key};
use poc_graph::error::Result;
use poc_graph::{Message, Node, NodeId};
use poc_store::{LoggedChangeKind, LoggedTransaction, Record, Table};
use serde_json::Value;

/// Minimum length of a line of a text that identifies a copy; shorter lines are too common.
const MIN_LINE_CHARS: usize = 16;

/// The erased texts, as the strings that identify copies of them. White space is compared as single spaces,
/// because prompts indent and wrap texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasedTexts(Vec<String>);

impl ErasedTexts {
    /// Adds a note, with those of its keys that were made from its title.
    pub fn add_note(&mut self, node: &Node) {
        self.add(&node.title);
        self.add(&node.body);
        let slug = key::slug(&node.title);
        let of_title = |key: &&String| key.strip_prefix(&slug).is_some_and(is_number_suffix);
        let keys = std::iter::once(&node.key).chain(&node.aliases);
        self.0.extend(keys.filter(of_title).cloned());
    }

    /// Adds a message.
    pub fn add_message(&mut self, message: &Message) {
        self.add(&message.text);
    }

    /// Adds all texts that a note has had since the history begins.
    pub fn add_history(&mut self, memory: &Memory, id: NodeId) -> Result<()> {
        for change in memory.store.history(id)? {
            match change.kind {
                LoggedChangeKind::Created(_) => {}
                LoggedChangeKind::Changed { before, after } => {
                    self.add_note(&before);
                    self.add_note(&after);
                }
                LoggedChangeKind::Deleted(before) => self.add_note(&before),
            }
        }
        Ok(())
    }

    pub(super) fn add(&mut self, text: &str) {
        let lines = text.lines().map(with_single_spaces);
        self.0.extend(lines.filter(|line| line.chars().count() >= MIN_LINE_CHARS));
        let whole = with_single_spaces(text);
        if !whole.is_empty() {
            self.0.push(whole);
        }
    }

    /// Adds other texts.
    pub(crate) fn append(&mut self, mut other: ErasedTexts) {
        self.0.append(&mut other.0);
    }

    pub(super) fn are_in(&self, text: &str) -> bool {
        let text = with_single_spaces(text);
        self.0.iter().any(|known| text.contains(known.as_str()))
    }

    pub(super) fn are_in_note(&self, node: &Node) -> bool {
        self.are_in(&node.title) || self.are_in(&node.body)
    }

    pub(super) fn are_in_transaction(&self, txn: &LoggedTransaction) -> bool {
        txn.writes.iter().any(|write| {
            let mut images = [&write.before, &write.after].into_iter().flatten();
            images.any(|image| self.are_in_record(write.table, image))
        })
    }

    pub(super) fn are_in_record(&self, table: Table, bytes: &[u8]) -> bool {
        let decoded = match table {
            Table::Nodes => Node::decode(bytes).ok().map(|node| self.are_in_note(&node)),
            Table::Messages => Message::decode(bytes).ok().map(|message| self.are_in(&message.text)),
            _ => None,
        };
        decoded.unwrap_or_else(|| self.are_in_bytes(bytes))
    }

    /// Whether the content of a file of a run, which is JSON, contains one of the texts.
    pub(super) fn are_in_file(&self, bytes: &[u8]) -> bool {
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => self.are_in_json(&value),
            Err(_) => self.are_in_bytes(bytes),
        }
    }

    pub(super) fn are_in_bytes(&self, bytes: &[u8]) -> bool {
        self.are_in(&String::from_utf8_lossy(bytes))
    }

    fn are_in_json(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.are_in(text),
            Value::Array(items) => items.iter().any(|item| self.are_in_json(item)),
            Value::Object(fields) => {
                fields.iter().any(|(name, value)| self.are_in(name) || self.are_in_json(value))
            }
            _ => false,
        }
    }
}

/// Whether a text is a suffix that [`key::unique`] appends to a slug: nothing, or `-2` and so on.
fn is_number_suffix(suffix: &str) -> bool {
    suffix.is_empty() || suffix.strip_prefix('-').is_some_and(|number| number.parse::<u64>().is_ok())
}

fn with_single_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
