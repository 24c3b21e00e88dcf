//! Finding the best nodes for a text, by the kind of fusion that the settings choose.

use super::hit::Retrieval;
use super::retriever::Retriever;
use super::{ranks, scores};
use poc_config::Fusion;
use poc_graph::Visibility;
use poc_graph::error::Result;

impl Retriever<'_> {
    /// The best `wanted` nodes that are seen for a text, fused as the settings say: by scores
    /// ([`poc_rank::fusion`], [`poc_rank::propagation`]) or by ranks ([`poc_rank::rrf`]).
    ///
    /// Up to the switch-over of the vector index to HNSW every note is compared with the text by meaning
    /// and by words, and what comes out is what a comparison with all of them gives. Above it mean and
    /// deviation of the cosines are estimated, and candidates are the nearest 128 (more when more are
    /// wanted) and the best 1,000 by words. The step along the structure begins at the best 128; among them
    /// alone notes are compared with each other.
    ///
    /// # Errors
    /// As [`Retriever::find_near`]; what the embedder fails with.
    pub fn find(&self, text: &str, wanted: usize, visibility: Visibility) -> Result<Retrieval> {
        self.find_near(text, &self.embedder.embed_one(text)?, wanted, visibility)
    }

    /// As [`Retriever::find`] for a text whose vector is known.
    ///
    /// # Errors
    /// `invalid_argument` when the vector is none of this store.
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
