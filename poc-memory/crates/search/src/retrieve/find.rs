//! Finds the best nodes for a text with the configured fusion method.

use super::hit::Retrieval;
use super::retriever::Retriever;
use super::{ranks, scores};
use poc_config::Fusion;
use poc_graph::Visibility;
use poc_graph::error::Result;

impl Retriever<'_> {
    /// The best `wanted` visible nodes for a text, with the configured fusion method: by scores ([`poc_rank::fusion`],
    /// [`poc_rank::propagation`]) or by ranks ([`poc_rank::rrf`]).
    ///
    /// While the vector index compares all vectors, every note gets a vector score and a text score, and the result is
    /// exact. When the index uses HNSW, the mean and the deviation of the cosines are estimated, and the candidates are
    /// the 128 nearest notes (more if more are wanted) and the best 1,000 by text score. Score is propagated along the
    /// structure only from the best 128 candidates. Few notes ([`Retriever::within`]) are always compared exactly.
    ///
    /// # Errors
    /// Those of [`Retriever::find_near`], and errors of the embedder.
    pub fn find(&self, text: &str, wanted: usize, visibility: Visibility) -> Result<Retrieval> {
        self.find_near(text, &self.embedder.embed_question(text)?, wanted, visibility)
    }

    /// Like [`Retriever::find`], for a text whose vector is known.
    ///
    /// # Errors
    /// `invalid_argument` if the vector does not have the store's number of dimensions.
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
