//! The indexes derived from the log: text, vectors and mentions.

mod error;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod latch;
mod mentions;
mod packed_list;
mod passages;
mod per_tenant;
mod reader;
mod snapshotted;
pub mod structure;
#[doc(hidden)]
pub mod testing;
mod text;
mod vectors;

pub use mentions::MentionIndex;
pub use passages::passages;
pub use per_tenant::{Index, PerTenant, TenantIndex};
pub use reader::{MentionReader, TextReader, VectorReader};
pub use text::{
    ComparedNote, DifferingSubjects, JoinedScores, QueryTerms, TextField, TextHit, TextIndex, TextScores,
};
pub use text::{is_name, names, without_possessive};
pub use vectors::{CosineBounds, CosineScores, NoteCosines, VectorHit, VectorIndex};
