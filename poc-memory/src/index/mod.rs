//! Indexes derived from the log: text and vectors.

mod gate;
mod passages;
pub mod structure;
mod tenants;
#[cfg(test)]
pub mod testing;
mod text;
mod vectors;

pub use passages::passages;
pub use tenants::{Index, PerTenant};
pub use text::{TextField, TextHit, TextIndex};
pub use vectors::{VectorHit, VectorIndex};
