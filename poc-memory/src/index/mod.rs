//! Indexes derived from the log: text and vectors.

mod gate;
mod passages;
pub mod structure;
#[cfg(test)]
pub mod testing;
mod text;
mod vectors;

pub use passages::passages;
pub use text::{TextField, TextHit, TextIndex};
pub use vectors::{VectorHit, VectorIndex};
