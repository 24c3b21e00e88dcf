//! The indexes of all tenants.

use poc_config::Config;
use poc_embed::Embedder;
use poc_graph::error::Result;
use poc_index::{MentionIndex, PerTenant, TextIndex, VectorIndex};
use poc_store::DerivedIndex;
use std::path::Path;
use std::sync::Arc;

/// The folders of the indexes in the folder of a store. Missing ones are rebuilt from the log.
pub const INDEX_FOLDERS: [&str; 3] = ["text", "vectors", "mentions"];

/// The three kinds of indexes. The store loads them while it opens.
pub(super) struct PerTenantIndexes {
    pub(super) text: Arc<PerTenant<TextIndex>>,
    pub(super) vectors: Arc<PerTenant<VectorIndex>>,
    pub(super) mentions: Arc<PerTenant<MentionIndex>>,
}

impl PerTenantIndexes {
    /// The indexes in the folder of a store, not loaded yet.
    pub(super) fn closed(
        directory: &Path,
        config: &Config,
        embedder: &dyn Embedder,
    ) -> Result<PerTenantIndexes> {
        let [text, vectors, mentions] = INDEX_FOLDERS.map(|folder| directory.join(folder));
        let text_index = TextIndex::closed(&text, &config.text)?;
        let vector_index =
            VectorIndex::closed(&vectors, &config.vectors, embedder.name(), embedder.dimensions())?;
        Ok(PerTenantIndexes {
            text: Arc::new(PerTenant::new(text_index, &text)),
            vectors: Arc::new(PerTenant::new(vector_index, &vectors)),
            mentions: Arc::new(PerTenant::new(MentionIndex::closed(&mentions), &mentions)),
        })
    }

    /// The indexes in the form that a store keeps up to date.
    pub(super) fn for_store(&self) -> Vec<Arc<dyn DerivedIndex>> {
        vec![self.text.clone(), self.vectors.clone(), self.mentions.clone()]
    }
}
