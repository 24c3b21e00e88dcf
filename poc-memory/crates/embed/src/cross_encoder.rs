//! A cross-encoder that runs in this process. The model reads a question and a text together and returns the likelihood
//! that the text answers the question (Nogueira and Cho 2019).
//!
//! The folder must contain a `BertForSequenceClassification` with one label: the encoder, a pooler on its first token,
//! and a linear layer on the pooler.

use super::bert::{Bert, Head};
use super::core_pool::CorePool;
use super::hub_cache;
use parking_lot::Mutex;
use poc_graph::error::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// A loaded cross-encoder.
pub struct CrossEncoder {
    model: Bert,
    head: Head,
    pool: CorePool,
}

impl CrossEncoder {
    /// Opens the model in a folder.
    ///
    /// # Errors
    /// `invalid_config` if the folder contains no such model.
    pub fn open(folder: &Path) -> Result<CrossEncoder> {
        let (model, head) = Bert::open_with_head(folder)?;
        Ok(CrossEncoder { model, head, pool: CorePool::new()? })
    }

    /// The likelihood, 0–1, that each text answers the question: the sigmoid of the model's output for `[CLS] question
    /// [SEP] text [SEP]`. If a pair is too long for the model, the longer text is truncated first.
    ///
    /// # Errors
    /// `internal` if the model fails to run.
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

/// The configured cross-encoder. It is loaded on first use, because most commands do not need it.
pub struct Reranker {
    config: poc_config::RerankConfig,
    model: Mutex<Option<Arc<CrossEncoder>>>,
}

impl Reranker {
    /// Creates the configured reranker; `None` if no model is configured.
    pub fn from_config(config: &poc_config::RerankConfig) -> Option<Reranker> {
        (!config.model.is_empty()).then(|| Reranker { config: config.clone(), model: Mutex::default() })
    }

    /// The settings of the reranker.
    pub fn config(&self) -> &poc_config::RerankConfig {
        &self.config
    }

    /// The likelihood, 0–1, that each text answers the question; see [`CrossEncoder::likelihoods`]. The first call
    /// loads the model.
    ///
    /// # Errors
    /// `invalid_config` if the configured model cannot be read, and `internal` if it fails to run.
    pub fn likelihoods(&self, question: &str, texts: &[&str]) -> Result<Vec<f64>> {
        self.model()?.likelihoods(question, texts)
    }

    fn model(&self) -> Result<Arc<CrossEncoder>> {
        let mut model = self.model.lock();
        if let Some(model) = model.as_ref() {
            return Ok(model.clone());
        }
        let folder = hub_cache::locate(&self.config.model, "rerank.model", &super::variable)?;
        let opened = CrossEncoder::open(&folder).map_err(|error: Error| error.field("rerank.model"))?;
        Ok(model.insert(Arc::new(opened)).clone())
    }
}

#[cfg(test)]
mod tests;
