//! A placeholder for the embedder of a store that cannot be opened any more.

use super::Embedder;
use super::error::EmbedderError;
use poc_graph::error::Result;

/// Has a name but cannot embed. Questions are answered by words, and everything else that needs no new vector works.
pub struct UnavailableEmbedder {
    name: String,
    dimensions: usize,
}

impl UnavailableEmbedder {
    /// Creates a placeholder with the name and dimensions that the store has recorded.
    pub fn new(name: String, dimensions: usize) -> UnavailableEmbedder {
        UnavailableEmbedder { name, dimensions }
    }
}

impl Embedder for UnavailableEmbedder {
    fn name(&self) -> &str {
        &self.name
    }
    fn dimensions(&self) -> usize {
        self.dimensions
    }
    fn contextual(&self) -> bool {
        false
    }
    fn is_available(&self) -> bool {
        false
    }
    fn embed(&self, _texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Err(EmbedderError::Unavailable(self.name.clone()).into())
    }
}
