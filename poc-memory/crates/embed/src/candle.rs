//! Runs a sentence model in this process, on all cores.

use super::Embedder;
use super::bert::Bert;
use super::core_pool::CorePool;
use poc_graph::error::Result;
use std::path::Path;

/// The embedder `candle`.
pub struct CandleEmbedder {
    name: String,
    model: Bert,
    pool: CorePool,
}

impl CandleEmbedder {
    /// Opens the model in a folder.
    pub fn open(folder: &Path) -> Result<CandleEmbedder> {
        let model = Bert::open(folder)?;
        let name = format!("candle-{}-{}", model.dimensions, model.revision);
        Ok(CandleEmbedder { name, model, pool: CorePool::new()? })
    }
}

impl Embedder for CandleEmbedder {
    fn name(&self) -> &str {
        &self.name
    }
    fn dimensions(&self) -> usize {
        self.model.dimensions
    }
    fn contextual(&self) -> bool {
        true
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut vectors = vec![vec![0.0; self.model.dimensions]; texts.len()];
        // The vector of a blank text is zero.
        let with_text: Vec<(&mut Vec<f32>, &str)> = vectors
            .iter_mut()
            .zip(texts.iter().copied())
            .filter(|(_, text)| !text.trim().is_empty())
            .collect();
        let tokens =
            with_text.iter().map(|(_, text)| self.model.tokens(text)).collect::<Result<Vec<Vec<u32>>>>()?;
        let made = self.pool.map_batches(&tokens, Vec::len, |batch| {
            self.model.vectors(&batch.iter().map(|tokens| tokens.as_slice()).collect::<Vec<_>>())
        })?;
        for ((vector, _), made) in with_text.into_iter().zip(made) {
            *vector = made;
        }
        Ok(vectors)
    }
}
