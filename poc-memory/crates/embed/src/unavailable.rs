//! The embedder of a store whose vectors nobody here can make more of.

use super::Embedder;
use poc_graph::error::{Error, Result};

/// Knows its name and can embed nothing: what needs no new vector goes on.
pub struct UnavailableEmbedder {
    name: String,
    dimensions: usize,
}

impl UnavailableEmbedder {
    /// With the name and the dimensions that the store has recorded.
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
        .hint("`poc-memory embed migrate` makes them anew with the embedder of the settings")
        .field("embedder"))
    }
}
