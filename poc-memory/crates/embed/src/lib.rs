//! Embedders, which turn texts into vectors.

mod bert;
mod call_limiter;
mod candle;
mod core_pool;
mod corpus;
mod cross_encoder;
mod distill;
mod error;
mod fit;
mod hash;
mod http;
mod hub_cache;
mod hub_client;
mod panics;
mod static_table;
mod table;
mod unavailable_embedder;
mod word_weight;
mod wordpiece;

pub use candle::CandleEmbedder;
pub use corpus::read_corpus;
pub use cross_encoder::{CrossEncoder, Reranker};
pub use distill::{DEFAULT_COMMON_RANK, DistillOptions, DistillStage, DistilledTable, distill};
use error::EmbedderError;
pub use hash::HashEmbedder;
pub use http::HttpEmbedder;
pub use hub_cache::{HubCache, HubName};
pub use hub_client::{FetchedModel, HubClient};
pub use panics::catch_panics;
use poc_config::paths;
use poc_graph::error::Result;
pub use static_table::StaticEmbedder;
use std::path::PathBuf;
use std::sync::Arc;
pub use unavailable_embedder::UnavailableEmbedder;

/// Turns texts into unit vectors of the same length.
pub trait Embedder: Send + Sync {
    /// The name of the embedder, including its dimensions and its revision (`hash-256-1`). It is recorded in the store;
    /// vectors from embedders with different names are never compared.
    fn name(&self) -> &str;

    /// The number of dimensions of a vector.
    fn dimensions(&self) -> usize;

    /// One unit vector per text, in order. The vector of a text without content is zero.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// Whether the model reads a text as a whole, so that similar vectors mean similar texts. If a vector is only a sum
    /// over words or character n-grams, similarity only means shared words, which text search already counts.
    fn contextual(&self) -> bool;

    /// Whether texts can be embedded at all; `false` only for [`UnavailableEmbedder`].
    fn is_available(&self) -> bool {
        true
    }

    /// The vector of a question. Without an available embedder it is zero, which is similar to nothing, so that the
    /// question is answered by words alone.
    fn embed_question(&self, text: &str) -> Result<Vec<f32>> {
        if self.is_available() { self.embed_one(text) } else { Ok(vec![0.0; self.dimensions()]) }
    }

    /// The vector of one text.
    fn embed_one(&self, text: &str) -> Result<Vec<f32>> {
        Ok(self.embed(&[text])?.pop().ok_or(EmbedderError::NoVector)?)
    }
}

/// Opens the configured embedder.
pub fn open(config: &poc_config::EmbedderConfig) -> Result<Arc<dyn Embedder>> {
    match config.kind.as_str() {
        _ if has_bundled_table(config) => Ok(Arc::new(StaticEmbedder::bundled()?)),
        "static" => Ok(Arc::new(StaticEmbedder::open(&path(config)?)?)),
        "candle" => Ok(Arc::new(CandleEmbedder::open(&hub_cache::locate(
            &config.model,
            "embedder.model",
            &variable,
        )?)?)),
        "http" => Ok(Arc::new(HttpEmbedder::new(config, &variable)?)),
        "hash" => Ok(Arc::new(HashEmbedder::new(config.dimensions)?)),
        other => Err(EmbedderError::Unknown(other.to_owned()).into()),
    }
}

/// Whether the settings name the embedder `static` with the built-in table.
fn has_bundled_table(config: &poc_config::EmbedderConfig) -> bool {
    config.kind == "static" && config.model.is_empty()
}

/// Whether the settings name the embedder `static` with the built-in table, and `name` is that of this embedder in an
/// earlier release, which had another table.
pub fn replaces_bundled_table(config: &poc_config::EmbedderConfig, name: &str) -> bool {
    has_bundled_table(config) && static_table::FORMER_NAMES.contains(&name)
}

/// The path of the file in `embedder.model`.
fn path(config: &poc_config::EmbedderConfig) -> Result<PathBuf> {
    Ok(paths::named(&config.model, variable("HOME").as_deref()).map_err(EmbedderError::ModelPath)?)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bundled_table_replaces_a_former_one() {
        let bundled = poc_config::Config::defaults().unwrap().embedder;
        let own = poc_config::EmbedderConfig { model: "own.table".into(), ..bundled.clone() };
        let hash = poc_config::EmbedderConfig { kind: "hash".into(), ..bundled.clone() };
        let former = static_table::FORMER_NAMES[0];
        assert!(replaces_bundled_table(&bundled, former));
        assert!(!replaces_bundled_table(&bundled, "static-256-00000000"), "a table of a person");
        assert!(!replaces_bundled_table(&own, former));
        assert!(!replaces_bundled_table(&hash, former));
    }
}
