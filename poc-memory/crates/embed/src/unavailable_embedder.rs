//! A placeholder for the embedder of a store that does not match the settings.

use super::Embedder;
use poc_graph::error::{Error, Result};

/// Has a name but cannot embed. Everything that needs no new vector still works.
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
    fn embed(&self, _texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Err(Error::config(format!(
            "the vectors of this store were made by `{}`, which the settings no longer describe",
            self.name
        ))
        .hint("`poc-memory embed migrate` computes them again with the embedder of the settings")
        .field("embedder"))
    }
}
