//! Where a note is in the source of an import.

use poc_graph::escape_line;

/// The location of a note in its source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceLocation {
    /// A line of a file that was named, from 1.
    Line(u64),
    /// A file, relative to the folder.
    File(String),
    /// A part of a file.
    Item {
        /// The file, relative to the folder.
        file: String,
        /// The kind of the part, for example `line` or `conversation`.
        kind: &'static str,
        /// The number of the part, from 1.
        number: u64,
    },
}

impl SourceLocation {
    /// Sort key: by file, then by number.
    pub(super) fn order(&self) -> (&str, u64) {
        match self {
            SourceLocation::Line(line) => ("", *line),
            SourceLocation::File(file) => (file, 0),
            SourceLocation::Item { file, number, .. } => (file, *number),
        }
    }
}

impl std::fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SourceLocation::Line(line) => write!(f, "line {line}"),
            SourceLocation::File(file) => write!(f, "`{}`", escape_line(file)),
            SourceLocation::Item { file, kind, number } => {
                write!(f, "`{}` {kind} {number}", escape_line(file))
            }
        }
    }
}
