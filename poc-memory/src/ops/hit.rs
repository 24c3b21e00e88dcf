//! The fields of a note that every answer with hits includes.

use super::snippet::snippet;
use super::terminal::Terminal;
use super::text::{day, one_line};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Ix, Node, NodeId, View, cancellation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Indent of the second line of a hit, in columns.
const DETAIL_INDENT: usize = 9;

/// The note of a hit, with a snippet of its text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in crate::ops) struct NoteRow {
    pub(in crate::ops) id: NodeId,
    pub(in crate::ops) key: String,
    pub(in crate::ops) title: String,
    #[serde(rename = "type")]
    pub(in crate::ops) node_type: String,
    /// The part of its text that matches the question best, otherwise its beginning, on one line of at most
    /// 300 characters. `…` marks where it was cut.
    #[serde(default)]
    pub(in crate::ops) snippet: String,
    /// When its text or state last changed.
    #[serde(default = "epoch")]
    pub(in crate::ops) date: Timestamp,
}

/// A note that was derived from a hit and led to it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in crate::ops) struct DerivedNote {
    pub(in crate::ops) key: String,
    pub(in crate::ops) title: String,
}

impl From<Node> for DerivedNote {
    fn from(node: Node) -> DerivedNote {
        DerivedNote { key: node.key, title: node.title }
    }
}

impl DerivedNote {
    /// The line of text output below the hit.
    pub(in crate::ops) fn line(&self) -> String {
        format!("{}found through {}: {}\n", " ".repeat(DETAIL_INDENT), self.key, one_line(&self.title))
    }
}

fn epoch() -> Timestamp {
    Timestamp(0)
}

impl NoteRow {
    /// Describes a note of a view. `node` is its record; a note deleted since the view was taken has none, and
    /// then neither a title nor a snippet. `passage` is the passage that was found, if it is known, and
    /// `question` the text that was searched for, if any.
    ///
    /// # Errors
    /// `unavailable` if nobody waits for the answer any more: there may be a thousand hits with long texts.
    pub(in crate::ops) fn new(
        view: &View,
        ix: Ix,
        node: Option<&Node>,
        passage: Option<&str>,
        question: Option<&str>,
    ) -> Result<NoteRow> {
        cancellation::check()?;
        let id = view.id(ix).ok_or_else(missing_note)?;
        Ok(NoteRow {
            id,
            key: view.key(ix).to_owned(),
            title: node.map(|node| node.title.clone()).unwrap_or_default(),
            node_type: view.type_name(ix).to_owned(),
            snippet: node
                .map(|node| snippet(without_title(passage.unwrap_or(&node.body), &node.title), question))
                .unwrap_or_default(),
            date: view.modified(ix),
        })
    }

    /// Its date and snippet as lines of text output, indented below the hit.
    pub(in crate::ops) fn detail(&self, terminal: &Terminal) -> String {
        terminal.wrapped(format!("{}  {}", day(self.date), self.snippet).trim(), DETAIL_INDENT)
    }
}

/// The error for a result whose note is not in the view that the result comes from.
pub(in crate::ops) fn missing_note() -> Error {
    Error::internal("the note of a result does not exist")
}

/// A text without its first line if that repeats the title, as in many Markdown files. A text that has no other line is
/// unchanged.
fn without_title<'a>(text: &'a str, title: &str) -> &'a str {
    match text.trim_start().split_once('\n') {
        Some((first, rest)) if first.trim_start_matches('#').trim() == title && !rest.trim().is_empty() => {
            rest
        }
        _ => text,
    }
}

/// The beginning of a text, at most `max` characters, and how many characters were left out.
pub(in crate::ops) fn truncated(text: &str, max: usize) -> (&str, usize) {
    match text.char_indices().nth(max) {
        None => (text, 0),
        Some((end, _)) => match text.split_at_checked(end) {
            Some((shown, rest)) => (shown, rest.chars().count()),
            None => (text, 0),
        },
    }
}

/// Whether nothing was left out.
pub(crate) fn is_zero<N: Default + PartialEq>(count: &N) -> bool {
    *count == N::default()
}

#[cfg(test)]
mod tests {
    use super::{DerivedNote, without_title};

    #[test]
    fn a_title_with_line_breaks_does_not_break_a_row() {
        // A store of an earlier release, an export or a remote may contain it.
        let note =
            DerivedNote { key: "fact".to_owned(), title: "One\r\n0.99  fake  Two\u{2028}x".to_owned() };
        assert_eq!(note.line().trim(), "found through fact: One 0.99 fake Two x");
        assert_eq!(note.line().lines().count(), 1);
    }

    #[test]
    fn a_snippet_does_not_repeat_the_title() {
        let check = |text: &str, expected: &str| assert_eq!(without_title(text, "A split").trim(), expected);
        check("# A split\n\nIt writes two pages.", "It writes two pages.");
        check("A split\nIt writes two pages.", "It writes two pages.");
        check("# A split", "# A split");
        check("# Another split\nIt writes.", "# Another split\nIt writes.");
    }
}
