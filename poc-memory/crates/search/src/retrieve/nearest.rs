//! The notes nearest to a vector, each represented by its nearest part.

use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_index::VectorReader;
use poc_rank::cosine::cosine;
use std::sync::Arc;

/// A note and its part that is nearest to the query.
#[derive(Clone, Debug)]
pub struct NearestPart {
    /// The id of the note.
    pub id: NodeId,
    /// The cosine of that part with the query, −1 to 1.
    pub cosine: f64,
    /// The unit vector of that part.
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
) -> Result<Vec<NearestPart>> {
    let part_of =
        |id, part| vectors.of(id).into_iter().find(|(own, _)| *own == part).map(|(_, vector)| vector);
    let hits = vectors.search(vector, k, keep)?.into_iter();
    Ok(hits
        .filter_map(|hit| {
            Some(NearestPart { id: hit.id, cosine: hit.cosine, vector: part_of(hit.id, hit.part)? })
        })
        .collect())
}

/// The part of a note that is nearest to a vector; `None` if the note has no vector.
pub fn nearest_part(vectors: &dyn VectorReader, vector: &[f32], id: NodeId) -> Option<NearestPart> {
    let parts = vectors.of(id).into_iter();
    parts
        .map(|(_, part)| NearestPart { id, cosine: cosine(vector, &part), vector: part })
        .max_by(|a, b| a.cosine.total_cmp(&b.cosine))
}
