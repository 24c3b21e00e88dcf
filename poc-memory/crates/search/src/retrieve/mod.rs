//! Finding by meaning and by words together. The indexes are seen through their read-only traits.

mod candidates;
pub mod explore;
mod find;
mod hit;
pub mod key;
pub mod nearest;
mod ranks;
mod retriever;
mod scores;
mod structure;
#[cfg(test)]
mod tests;

pub use hit::{Retrieval, RetrievalHit};
pub use retriever::Retriever;

/// Nodes an answer may have.
pub const MOST: usize = 256;
