//! Retrieval by vector search and text search together. It reads the indexes through read-only
//! traits.

mod candidates;
mod derived;
pub mod explore;
mod find;
mod hit;
pub mod key;
mod links;
pub mod nearest;
mod ranks;
mod retriever;
mod scores;
mod structure;
#[cfg(test)]
mod tests;
mod windows;

pub use hit::{Retrieval, RetrievalHit};
pub use retriever::Retriever;

/// The maximum number of nodes that a retrieval returns.
pub const MAX_HITS: usize = 256;
