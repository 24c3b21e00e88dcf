//! A cross-encoder that runs in this process. The model reads the question and the text together and returns
//! how likely the text answers the question (Nogueira and Cho 2019).
//!
//! The folder is that of a `BertForSequenceClassification` with one label: the encoder, a pooler on its first
//! token, and a line on that.

use super::bert::{Bert, Head};
use super::core_pool::CorePool;
use super::hub_cache;
use parking_lot::Mutex;
use poc_graph::error::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// A model of pairs.
pub struct CrossEncoder {
    model: Bert,
    head: Head,
    pool: CorePool,
}

impl CrossEncoder {
    /// The model in a folder.
    ///
    /// # Errors
    /// `invalid_config` when the folder contains no such model.
    pub fn open(folder: &Path) -> Result<CrossEncoder> {
        let (model, head) = Bert::open_with_head(folder)?;
        Ok(CrossEncoder { model, head, pool: CorePool::new()? })
    }

    /// How likely each text answers the question, 0–1: the sigmoid of the model's output for
    /// `[CLS] question [SEP] text [SEP]`. A pair that is too long for the model is cut, the longer text first.
    ///
    /// # Errors
    /// `internal` when the model cannot be run.
    pub fn likelihoods(&self, question: &str, texts: &[&str]) -> Result<Vec<f64>> {
        let question = self.model.tokens(question)?;
        let pairs = texts.iter().map(|text| Ok(self.model.pair(&question, &self.model.tokens(text)?)));
        let pairs = pairs.collect::<Result<Vec<_>>>()?;
        self.pool.map_batches(
            &pairs,
            |pair| pair.ids.len(),
            |batch| self.model.likelihoods(batch, &self.head),
        )
    }
}

/// The cross-encoder of the settings. It is loaded at its first use, because most commands need none.
pub struct Reranker {
    config: poc_config::RerankConfig,
    model: Mutex<Option<Arc<CrossEncoder>>>,
}

impl Reranker {
    /// The reranker of the settings; `None` when they name no model.
    pub fn from_config(config: &poc_config::RerankConfig) -> Option<Reranker> {
        (!config.model.is_empty()).then(|| Reranker { config: config.clone(), model: Mutex::default() })
    }

    /// The settings.
    pub fn config(&self) -> &poc_config::RerankConfig {
        &self.config
    }

    /// How likely each text answers the question; see [`CrossEncoder::likelihoods`]. The first call loads the model.
    ///
    /// # Errors
    /// `invalid_config` when the model of the settings cannot be read, `internal` when it cannot be run.
    pub fn likelihoods(&self, question: &str, texts: &[&str]) -> Result<Vec<f64>> {
        self.model()?.likelihoods(question, texts)
    }

    fn model(&self) -> Result<Arc<CrossEncoder>> {
        let mut model = self.model.lock();
        if let Some(model) = model.as_ref() {
            return Ok(model.clone());
        }
        let folder = hub_cache::locate(&self.config.model, "rerank.model", &|name| std::env::var(name).ok())?;
        let opened = CrossEncoder::open(&folder).map_err(|error: Error| error.field("rerank.model"))?;
        Ok(model.insert(Arc::new(opened)).clone())
    }
}

#[cfg(test)]
mod tests;
