//! Checks that the configured cross-encoder scores a text.

use super::{CheckResult, CheckState};
use crate::ops::text::plural;
use poc_config::Config;
use poc_embed::Reranker;

const CHECK: &str = "reranker";

pub(crate) fn check(config: &Config) -> Option<CheckResult> {
    let reranker = Reranker::from_config(&config.rerank)?;
    let (model, top) = (&config.rerank.model, config.rerank.top);
    Some(match reranker.likelihoods("a question", &["a note"]) {
        Ok(_) => {
            let notes = plural(top as u64, "note");
            CheckResult::new(CHECK, CheckState::Ok, format!("`{model}` judges the best {notes}"))
        }
        Err(error) => CheckResult::of(CHECK, CheckState::Failed, &error),
    })
}
