//! The embedder: whether it turns a text into a vector.

use super::{Finding, State};
use crate::config::Config;
use crate::embed;

const CHECK: &str = "embedder";

pub(super) fn check(config: &Config) -> Vec<Finding> {
    let tried = embed::open(&config.embedder).and_then(|embedder| {
        let vector = embedder.embed_one("a note")?;
        Ok((embedder.name().to_owned(), vector.len()))
    });
    vec![match tried {
        Ok((name, dimensions)) => {
            Finding::new(CHECK, State::Ok, format!("`{name}` makes vectors of {dimensions} numbers"))
        }
        Err(error) => Finding::of(CHECK, State::Failed, &error),
    }]
}
