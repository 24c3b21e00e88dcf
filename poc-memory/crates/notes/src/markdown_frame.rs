//! The frame of a note: everything in its Markdown file around the text, such as front matter, blank lines
//! and line ends.
//!
//! The text of a note is stored without its frame. An export uses the frame to write the file as it was.

use super::draft;
use super::front_matter;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Node, NodeId};
use poc_store::{Record, Records, Table, Transaction};
use serde::{Deserialize, Serialize};

/// Everything in a Markdown file around the text of its note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkdownFrame {
    /// The path of the file within its folder.
    pub path: String,
    /// The provenance of the import that read it.
    pub provenance: String,
    /// Everything before the text, with `\n` as line end.
    pub before: String,
    /// Everything after the text, with `\n` as line end.
    pub after: String,
    /// How the lines of the file end.
    pub line_ends: LineEnds,
    /// The properties that the note got from the file. Properties that differ now were changed in the memory.
    pub imported: Properties,
}

/// The properties of a note that front matter shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Properties {
    /// Key, then former keys.
    pub names: Vec<String>,
    /// Title of the note.
    pub title: String,
    /// Type of the note.
    pub node_type: String,
    /// Keywords of the note.
    pub keywords: Vec<String>,
    /// Who wrote or said the text.
    pub author: Option<String>,
    /// Where the text comes from.
    pub source: Option<String>,
    /// When the note was first written.
    pub created: Timestamp,
    /// When the note expires; `None` if never.
    pub expires: Option<Timestamp>,
}

impl Properties {
    /// The properties of a node.
    pub fn of(node: &Node) -> Properties {
        Properties {
            names: node.names().map(str::to_owned).collect(),
            title: node.title.clone(),
            node_type: node.node_type.0.clone(),
            keywords: node.keywords.clone(),
            author: node.author.clone(),
            source: node.source.clone(),
            created: node.created,
            expires: node.expires,
        }
    }
}

/// How the lines of a file end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LineEnds {
    /// With `\n`.
    Unix,
    /// With `\r\n`.
    Windows,
    /// Both kinds of line ends. Contains the whole file, because the line ends cannot be derived otherwise.
    Mixed(String),
}

impl Record for MarkdownFrame {
    const TABLE: Table = Table::Frames;
}

impl MarkdownFrame {
    /// The frame of a file with this content; the note has no properties yet.
    pub fn of(content: &str, path: String, provenance: String) -> MarkdownFrame {
        let returns = content.matches("\r\n").count();
        let line_ends = match returns {
            0 => LineEnds::Unix,
            _ if returns == content.matches('\n').count() => LineEnds::Windows,
            _ => LineEnds::Mixed(content.to_owned()),
        };
        let content = content.replace("\r\n", "\n");
        let body = draft::tidy(front_matter::split(&content).body);
        let (before, after) = match content.rfind(&body).filter(|_| !body.is_empty()) {
            Some(start) => content.split_at(start),
            None => (content.as_str(), ""),
        };
        let after = after.get(body.len()..).unwrap_or_default();
        MarkdownFrame {
            path,
            provenance,
            before: before.to_owned(),
            after: after.to_owned(),
            line_ends,
            imported: Properties::default(),
        }
    }

    /// The front matter, without the lines around it.
    pub fn front(&self) -> &str {
        front_matter::split(&self.before).front
    }

    /// The file with another text in it.
    pub fn file(&self, body: &str) -> String {
        let file = format!("{}{body}{}", self.before, self.after);
        match &self.line_ends {
            LineEnds::Unix => file,
            LineEnds::Windows => file.replace('\n', "\r\n"),
            LineEnds::Mixed(content) if content.replace("\r\n", "\n") == file => content.clone(),
            LineEnds::Mixed(_) => file,
        }
    }

    /// Stores it for a note.
    pub fn put(&self, tx: &mut Transaction<'_>, id: NodeId) -> Result<()> {
        tx.put(&key(id, &self.path), self)
    }

    /// Deletes it.
    pub fn delete(&self, tx: &mut Transaction<'_>, id: NodeId) -> Result<()> {
        MarkdownFrame::delete_of_file(tx, id, &self.path)
    }

    /// Deletes the frame of a note in a file, if there is one.
    pub fn delete_of_file(tx: &mut Transaction<'_>, id: NodeId, path: &str) -> Result<()> {
        tx.delete::<MarkdownFrame>(&key(id, path))
    }

    /// The frames of a note, by path: one for each file with its text.
    pub fn all<R: Records + ?Sized>(records: &R, id: NodeId) -> Result<Vec<MarkdownFrame>> {
        let frames: Vec<(_, MarkdownFrame)> = records.range(id.as_bytes())?;
        Ok(frames.into_iter().map(|(_, frame)| frame).collect())
    }
}

/// Key of the frame of a note in a file.
fn key(id: NodeId, path: &str) -> Vec<u8> {
    [id.as_bytes().as_slice(), path.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn a_file_is_its_frame_around_its_text(
            front in proptest::option::of("([a-z]{1,5}: [a-z\\[\\], é]{0,9}\r?\n){0,3}"),
            body in "([a-z#é -]{0,9}\r?\n){0,4}[a-z]{0,9}\n{0,2}",
            bom in any::<bool>(),
        ) {
            let front = front.map(|front| format!("---\n{front}---\n")).unwrap_or_default();
            for content in [format!("{front}{body}"), format!("{front}{body}").replace("\r\n", "\n").replace('\n', "\r\n")] {
                let content = format!("{}{content}", if bom { "\u{FEFF}" } else { "" });
                let frame = MarkdownFrame::of(&content, "a.md".into(), "import:x".into());
                let body = draft::tidy(front_matter::split(&content).body);
                prop_assert_eq!(frame.file(&body), content);
            }
        }
    }
}
