//! The cross-encoder, where the settings name one: whether it judges a text.

use super::{Finding, State};
use poc_config::Config;
use poc_embed::Reranker;

const CHECK: &str = "reranker";

pub(super) fn check(config: &Config) -> Option<Finding> {
    let reranker = Reranker::of(&config.rerank)?;
    let (model, top) = (&config.rerank.model, config.rerank.top);
    Some(match reranker.likelihoods("a question", &["a note"]) {
        Ok(_) => Finding::new(CHECK, State::Ok, format!("`{model}` judges the best {top} notes")),
        Err(error) => Finding::of(CHECK, State::Failed, &error),
    })
}
