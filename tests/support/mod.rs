//! What the stories share: a world of its own for each, and a reader of console transcripts.

pub mod transcript;
pub mod world;

pub use world::{PATIENCE, World};
