//! Checks that the configured cross-encoder scores a text.

use super::{CheckResult, CheckState};
use poc_config::Config;
use poc_embed::Reranker;

const CHECK: &str = "reranker";

pub(crate) fn check(config: &Config) -> Option<CheckResult> {
    let reranker = Reranker::from_config(&config.rerank)?;
    let (model, top) = (&config.rerank.model, config.rerank.top);
    Some(match reranker.likelihoods("a question", &["a note"]) {
        Ok(_) => CheckResult::new(CHECK, CheckState::Ok, format!("`{model}` judges the best {top} notes")),
        Err(error) => CheckResult::of(CHECK, CheckState::Failed, &error),
    })
}
