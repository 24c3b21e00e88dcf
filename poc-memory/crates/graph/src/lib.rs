//! The data model of the graph and the immutable [`View`] that all readers share.
//!
//! Nothing in this crate reads or writes files.

pub mod cancellation;
mod closest_name;
mod column;
mod counting_sort;
mod delta;
pub mod diagnostic;
mod edge;
pub mod error;
mod escape;
mod history_point;
mod id;
mod inline_markup;
pub mod json;
mod key;
mod keyword;
mod lists;
mod message;
mod node;
mod note_set;
mod pages;
mod plural;
mod project;
pub mod provenance;
pub mod retry;
pub mod rng;
pub mod similar;
mod structure;
mod tenant;
#[doc(hidden)]
pub mod testing;
pub mod time;
mod title;
mod title_line;
mod view;
mod visit;

pub use closest_name::closest_name;
pub use column::{Column, Cursor};
pub use delta::Delta;
pub use edge::{Edge, EdgeId, EdgeKind};
pub use escape::{escape_line, escape_text};
pub use history_point::HistoryPoint;
pub use id::{IdGenerator, MessageId, NodeId, RunId};
pub use key::{KEY_MAX_BYTES, MAX_ALIASES, normal_key};
pub use keyword::normal_keyword;
pub use message::{ChunkRef, Message};
pub use node::{
    Activity, Category, Node, NodeType, Origin, State, Trust, content_hash, quotation_key, quotation_title,
};
pub use note_set::NoteSet;
pub use plural::plural;
pub use project::{PROJECT_PREFIX, is_project, is_project_label, project_name};
pub use structure::{
    Communities, GraphMetrics, Layout, Outliers, PowerLaw, SavedStructure, SpectralEmbedding,
    StructureOptions, StructureSource, clustering,
};
pub use tenant::{Tenant, Tuple};
pub use title::{DERIVED_TITLE_CHARS, former_title_of, is_title_of, title_of};
pub use title_line::one_line;
pub use view::{
    Builder, Ix, MergedEdge, Neighbor, OptionalTimestampCursor, Representation, View, Visibility,
};
pub use visit::{Visit, VisitOutcome};
