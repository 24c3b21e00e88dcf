//! Pure values of the graph and the immutable [`View`] everything reads.
//!
//! Nothing here touches a disk, a clock or a lock.

pub mod rng;
mod column;
mod delta;
mod edge;
pub mod error;
mod id;
mod key;
mod closest_key;
mod lists;
mod message;
mod node;
mod pages;
pub mod retry;
pub mod similar;
mod structure;
mod tenant;
#[doc(hidden)]
pub mod testing;
pub mod time;
mod title;
mod view;
mod visit;

pub use column::{Column, Cursor};
pub use delta::Delta;
pub use edge::{Edge, EdgeKind};
pub use id::{MessageId, IdGenerator, NodeId, RunId};
pub use key::{KEY_MAX_BYTES, normal_key};
pub use closest_key::closest_key;
pub use message::{ChunkRef, Message};
pub use node::{Activity, Category, Node, NodeType, Origin, State, Trust, content_hash};
pub use structure::{
    Communities, Embedding, Health, Layout, Outliers, PowerLaw, StructureOptions, SavedStructure, StructureSource, clustering,
};
pub use tenant::{Tenant, Tuple};
pub use title::{DERIVED_TITLE_CHARS, one_line, title_of};
pub use view::{Builder, Ix, OptionalTimestampCursor, Neighbor, Visibility, MergedEdge, View};
pub use visit::{Visit, VisitOutcome};
