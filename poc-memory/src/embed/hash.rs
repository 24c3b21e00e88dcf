//! Hashed character n-grams: deterministic, needs no file.

use super::Embedder;
use crate::error::Result;

/// The embedder `hash`.
#[derive(Debug)]
pub struct HashEmbedder {
    name: String,
    dimensions: usize,
}

impl HashEmbedder {
    /// With vectors of this length.
    pub fn new(dimensions: usize) -> Result<Self> {
        Ok(HashEmbedder { name: format!("hash-{dimensions}-1"), dimensions })
    }
}

impl Embedder for HashEmbedder {
    fn name(&self) -> &str {
        &self.name
    }
    fn dimensions(&self) -> usize {
        self.dimensions
    }
    fn embed(&self, _texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        todo!()
    }
}
