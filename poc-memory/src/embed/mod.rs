//! Turning text into vectors.

mod hash;
mod words;

pub use hash::HashEmbedder;

use crate::config;
use crate::error::{Error, Result};
use std::sync::Arc;

/// Something that turns texts into unit vectors of one length.
pub trait Embedder: Send + Sync {
    /// Names the embedder, its dimensions and its revision (`hash-256-1`). Recorded in the store:
    /// vectors of different names are never compared.
    fn name(&self) -> &str;

    /// Length of a vector.
    fn dimensions(&self) -> usize;

    /// One unit vector per text, in order. A text without any content gives the zero vector.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// The vector of one text.
    fn embed_one(&self, text: &str) -> Result<Vec<f32>> {
        self.embed(&[text])?.pop().ok_or_else(|| Error::internal("the embedder gave no vector"))
    }
}

/// The embedder the configuration names.
pub fn open(config: &config::Embedder) -> Result<Arc<dyn Embedder>> {
    match config.kind.as_str() {
        "hash" => Ok(Arc::new(HashEmbedder::new(config.dimensions)?)),
        other => Err(Error::config(format!("unknown embedder `{other}`"))
            .hint("the embedder of this release is `hash`")
            .field("embedder.kind")),
    }
}
