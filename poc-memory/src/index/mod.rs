//! Indexes derived from the log: text and vectors.

mod text;
mod vectors;

pub use text::{TextField, TextHit, TextIndex};
pub use vectors::{VectorHit, VectorIndex};
