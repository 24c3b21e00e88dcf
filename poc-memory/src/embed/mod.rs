//! Turning text into vectors.

mod bert;
mod candle;
mod distill;
mod guard;
mod hash;
mod http;
mod lost;
mod static_table;
mod table;
mod wordpiece;
mod words;

pub use candle::CandleEmbedder;
pub use distill::{COMMON, Made, Wish, distill};
pub use guard::guarded;
pub use hash::HashEmbedder;
pub use http::HttpEmbedder;
pub use lost::LostEmbedder;
pub use static_table::StaticEmbedder;

use crate::config;
use crate::error::{Error, Result};
use crate::paths;
use std::path::PathBuf;
use std::sync::Arc;

/// Something that turns texts into unit vectors of one length.
pub trait Embedder: Send + Sync {
    /// Names the embedder, its dimensions and its revision (`hash-256-1`). Recorded in the store:
    /// vectors of different names are never compared.
    fn name(&self) -> &str;

    /// Length of a vector.
    fn dimensions(&self) -> usize;

    /// One unit vector per text, in order. A text without any content gives the zero vector.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// The vector of one text.
    fn embed_one(&self, text: &str) -> Result<Vec<f32>> {
        self.embed(&[text])?.pop().ok_or_else(|| Error::internal("the embedder gave no vector"))
    }
}

/// The embedder the configuration names.
pub fn open(config: &config::Embedder) -> Result<Arc<dyn Embedder>> {
    match config.kind.as_str() {
        "static" if config.model.is_empty() => Ok(Arc::new(StaticEmbedder::bundled()?)),
        "static" => Ok(Arc::new(StaticEmbedder::open(&path(config)?)?)),
        "candle" => Ok(Arc::new(CandleEmbedder::open(&path(config)?)?)),
        "http" => Ok(Arc::new(HttpEmbedder::new(config, &|name| std::env::var(name).ok())?)),
        "hash" => Ok(Arc::new(HashEmbedder::new(config.dimensions)?)),
        other => Err(Error::config(format!("unknown embedder `{other}`"))
            .hint("the embedders of this release are `static`, `candle`, `http` and `hash`")
            .field("embedder.kind")),
    }
}

/// The file or folder that `embedder.model` names.
fn path(config: &config::Embedder) -> Result<PathBuf> {
    let home = std::env::var("HOME").ok();
    paths::named(&config.model, home.as_deref())
        .map_err(|problem| Error::config(problem).field("embedder.model"))
}
