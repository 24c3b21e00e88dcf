//! The state of a running import.

use super::ParsedNote;
use super::imported_notes::ImportedNotes;
use super::location::SourceLocation;
use super::note_link::NoteLink;
use super::options::ImportOptions;
use super::skipped::SkippedCounts;
use super::stored::{StoreOutcome, StoredNote};
use crate::Memory;
use crate::batch::Chunk;
use crate::interchange::NoteEdge;
use crate::secrets::SecretCounts;
use poc_graph::NodeId;
use poc_graph::error::Error;
use poc_graph::time::Timestamp;
use poc_store::Cause;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

/// Prefix of the provenance of imported notes; the name of the file follows.
pub(crate) const PROVENANCE: &str = "import:";

/// The op of imports in the log.
pub(crate) const IMPORT_OP: &str = "import";

/// The op of captures in the log.
pub(super) const CAPTURE_OP: &str = "capture";

/// The note of an import that used a key first.
pub(super) struct KeyUse {
    pub(super) location: SourceLocation,
    /// The key that its source gives it, which may be a former key of the note.
    pub(super) key: String,
    /// The hash of its content; `None` for a note that export wrote.
    pub(super) content: Option<[u8; 32]>,
}

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// New nodes.
    pub inserted: u64,
    /// Nodes with a new version.
    pub updated: u64,
    /// Notes that existed already.
    pub duplicates: u64,
    /// The duplicates that are not stored under their own key, with the key of the note that has their content.
    pub same_content: Vec<(SourceLocation, String)>,
    /// New edges that the notes name.
    pub edges: u64,
    /// Edges created to notes that share a keyword.
    pub keyword_edges: u64,
    /// Edges created to notes of similar meaning.
    pub semantic_edges: u64,
    /// Notes, or edges of notes, that could not be imported, with the errors.
    pub failed: Vec<(SourceLocation, Error)>,
    /// Links to missing notes.
    pub unresolved: Vec<UnresolvedImportLink>,
    /// Parts of imported notes that were left out: fields because of their values, all but the last of several equal
    /// properties, or a text because the note was changed in the memory but not in its source. Also files that changed the
    /// note of a file of another import.
    pub warnings: Vec<(SourceLocation, Error)>,
    /// Unknown fields, and the number of notes that had them.
    pub ignored: BTreeMap<String, u64>,
    /// Notes of other tools that are past `expires` and were skipped.
    pub expired: Vec<SourceLocation>,
    /// The formats that were read, and the number of files of each.
    pub formats: BTreeMap<String, u64>,
    /// Documents in a folder with Markdown or the data of a program, which were not imported, with their
    /// formats.
    pub left_out: Vec<(String, &'static str)>,
    /// Content that was left out on purpose, by kind.
    pub skipped: SkippedCounts,
    /// The secrets that were replaced.
    pub secrets: SecretCounts,
    /// The node of each note, in the order of the source.
    pub nodes: Vec<(SourceLocation, NodeId)>,
}

/// A link to a missing note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedImportLink {
    /// The note with the link.
    pub place: SourceLocation,
    /// The link, as written.
    pub link: String,
    /// Keys of notes that it may mean: several in different folders have the name, or one has it as its title.
    pub candidates: Vec<String>,
}

impl UnresolvedImportLink {
    pub(super) fn new(place: SourceLocation, link: String) -> UnresolvedImportLink {
        UnresolvedImportLink { place, link, candidates: Vec::new() }
    }
}

/// A running import.
pub(super) struct Import<'a> {
    pub(super) memory: &'a Memory,
    pub(super) options: &'a ImportOptions,
    pub(super) cause: Cause,
    pub(super) report: ImportReport,
    /// Notes that wait to be stored together.
    pub(super) chunk: Chunk<(SourceLocation, ParsedNote)>,
    /// Files with the keys of notes of other files or with texts of stored notes, each with its size in bytes. They are
    /// added after all others.
    pub(super) deferred: Vec<(SourceLocation, usize, ParsedNote)>,
    /// Number of notes that were read so far.
    pub(super) done: u64,
    /// Total number of notes in the source, if known.
    pub(super) total: Option<u64>,
    pub(super) progress: &'a dyn Fn(u64, Option<u64>),
    /// Edges to create after all notes are stored.
    pub(super) pending: Vec<(SourceLocation, PendingEdges)>,
    /// The notes of each session, in the order of the source.
    pub(super) sessions: BTreeMap<String, Vec<SessionNote>>,
    /// The files of the folder.
    pub(super) files: HashSet<String>,
    /// The subfolders that cannot be read.
    pub(super) unread_folders: Vec<PathBuf>,
    /// The path of the source below a folder that was imported before; empty if there is none.
    pub(super) below: PathBuf,
    /// The notes of earlier imports of the source, once a file with rows is read.
    pub(super) imported_notes: Option<ImportedNotes>,
    /// Keys of notes that are no longer part of their session.
    pub(super) detached: Vec<String>,
    /// Maps ids of the source to node ids, for nodes that got another id.
    pub(super) ids: HashMap<NodeId, NodeId>,
    /// The first note of the source with each key.
    pub(super) locations: HashMap<String, KeyUse>,
    /// The id of the first turn of the source with each key that shows a part of the id.
    pub(super) turns: HashMap<String, String>,
}

/// Edges whose targets are not resolved yet.
pub(super) enum PendingEdges {
    /// The edges of a note that export wrote.
    Exported {
        /// Its id in the source.
        id: NodeId,
        /// The edges that start at the note.
        edges: Vec<NoteEdge>,
    },
    /// The links of any other note.
    Foreign {
        /// The node that the note became.
        src: Option<NodeId>,
        /// Names that links may use for it, and that no other note has.
        names: Vec<String>,
        /// Names that other notes may have, too.
        aliases: Vec<String>,
        /// Its links.
        links: Vec<NoteLink>,
        /// Whether links of an older version may have to be deleted.
        replaces: bool,
    },
}

impl PendingEdges {
    pub(super) fn foreign(names: Vec<String>, aliases: Vec<String>, links: Vec<NoteLink>) -> PendingEdges {
        PendingEdges::Foreign { src: None, names, aliases, links, replaces: false }
    }

    /// Records where the note is stored. Returns its id in the source, if it has one.
    pub(super) fn stored(&mut self, stored: &StoredNote) -> Option<NodeId> {
        match self {
            PendingEdges::Exported { id, .. } => Some(*id),
            PendingEdges::Foreign { src, names, replaces, .. } => {
                *src = Some(stored.id);
                *replaces = stored.outcome == StoreOutcome::Updated;
                names.push(stored.key.clone());
                None
            }
        }
    }
}

/// A note of a session.
pub(super) struct SessionNote {
    pub(super) id: NodeId,
    pub(super) location: SourceLocation,
    pub(super) created: Timestamp,
    /// Its number in the session, if the source has one.
    pub(super) position: Option<f64>,
}

impl Import<'_> {
    /// Number of edges created in one transaction.
    pub(super) fn chunk_of_edges(&self) -> usize {
        self.memory.config.import.chunk.max(1) * 4
    }

    /// The cause of the next transaction.
    pub(super) fn cause(&self) -> Cause {
        self.cause.part(self.memory.now())
    }
}
