//! The notes nearest to a vector, each represented by its nearest passage.

use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_index::VectorReader;
use poc_rank::cosine::cosine;
use std::sync::Arc;

/// A note and its passage that is nearest to the query.
#[derive(Clone, Debug)]
pub struct NearestNote {
    /// The id of the note.
    pub id: NodeId,
    /// The cosine of that passage with the query, −1 to 1.
    pub cosine: f64,
    /// The unit vector of that passage.
    pub vector: Arc<[f32]>,
}

/// The `k` nearest notes that `keep` accepts, best first. Equal cosines are ordered by id.
///
/// # Errors
/// Those of [`VectorReader::search`].
pub fn nearest(
    vectors: &dyn VectorReader,
    vector: &[f32],
    k: usize,
    keep: &dyn Fn(NodeId) -> bool,
) -> Result<Vec<NearestNote>> {
    let vector_of =
        |id, passage| vectors.of(id).into_iter().find(|(own, _)| *own == passage).map(|(_, vector)| vector);
    let hits = vectors.search(vector, k, keep)?.into_iter();
    Ok(hits
        .filter_map(|hit| {
            Some(NearestNote { id: hit.id, cosine: hit.cosine, vector: vector_of(hit.id, hit.passage)? })
        })
        .collect())
}

/// The passage of a note that is nearest to a vector; `None` if the note has no vector.
pub fn nearest_passage(vectors: &dyn VectorReader, vector: &[f32], id: NodeId) -> Option<NearestNote> {
    let passages = vectors.of(id).into_iter();
    passages
        .map(|(_, passage)| NearestNote { id, cosine: cosine(vector, &passage), vector: passage })
        .max_by(|a, b| a.cosine.total_cmp(&b.cosine))
}
