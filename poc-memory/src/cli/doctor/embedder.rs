//! The embedder: whether it turns a text into a vector.

use super::{Finding, State};
use poc_config::Config;
use poc_notes::recorded_embedder;
use std::path::Path;

const CHECK: &str = "embedder";

pub(super) fn check(config: &Config, store: &Path) -> Vec<Finding> {
    let tried = poc_embed::open(&config.embedder).and_then(|embedder| {
        let vector = embedder.embed_one("a note")?;
        Ok((embedder.name().to_owned(), vector.len()))
    });
    let theirs = recorded_embedder(store).ok().flatten();
    vec![match tried {
        Ok((name, dimensions)) => match theirs.filter(|theirs| *theirs != name) {
            None => Finding::new(CHECK, State::Ok, format!("`{name}` makes vectors of {dimensions} numbers")),
            Some(theirs) => Finding::new(
                CHECK,
                State::Warning,
                format!("the vectors of the store are those of `{theirs}`, the settings name `{name}`"),
            )
            .hint("`poc-memory embed migrate` makes them anew"),
        },
        Err(error) => Finding::of(CHECK, State::Failed, &error),
    }]
}
