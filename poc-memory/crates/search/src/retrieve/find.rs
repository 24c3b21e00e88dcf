//! Finds the best nodes for a text with the fusion method of the settings.

use super::hit::Retrieval;
use super::retriever::Retriever;
use super::{ranks, scores};
use poc_config::Fusion;
use poc_graph::Visibility;
use poc_graph::error::Result;

impl Retriever<'_> {
    /// The best `wanted` visible nodes for a text, fused with the method of the settings: by scores
    /// ([`poc_rank::fusion`], [`poc_rank::propagation`]) or by ranks ([`poc_rank::rrf`]).
    ///
    /// While the vector index compares all vectors, every note is scored by meaning and by words, and the
    /// result is exact. When it uses HNSW, the mean and the deviation of the cosines are estimated, and the
    /// candidates are the 128 nearest notes (more if more are wanted) and the best 1,000 by words. The step
    /// along the structure starts from the best 128. Only these are compared with each other.
    ///
    /// # Errors
    /// As for [`Retriever::find_near`], and the errors of the embedder.
    pub fn find(&self, text: &str, wanted: usize, visibility: Visibility) -> Result<Retrieval> {
        self.find_near(text, &self.embedder.embed_one(text)?, wanted, visibility)
    }

    /// Like [`Retriever::find`], for a text whose vector is known.
    ///
    /// # Errors
    /// `invalid_argument` when the vector does not have the dimensions of the store.
    pub fn find_near(
        &self,
        text: &str,
        vector: &[f32],
        wanted: usize,
        visibility: Visibility,
    ) -> Result<Retrieval> {
        match self.config.fusion {
            Fusion::Scores => scores::find(self, text, vector, wanted, visibility),
            Fusion::Rrf => ranks::find(self, text, vector, wanted, visibility),
        }
    }
}
