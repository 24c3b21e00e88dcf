//! Checks that the embedder embeds a text.

use super::{CheckResult, CheckState};
use poc_config::Config;
use poc_notes::recorded_embedder;
use std::path::Path;

const CHECK: &str = "embedder";

pub(crate) fn check(config: &Config, store: &Path) -> Vec<CheckResult> {
    let tried = poc_embed::open(&config.embedder).and_then(|embedder| {
        let vector = embedder.embed_one("a note")?;
        Ok((embedder.name().to_owned(), vector.len()))
    });
    let theirs = recorded_embedder(store).ok().flatten();
    vec![match tried {
        Ok((name, dimensions)) => match theirs.filter(|theirs| *theirs != name) {
            None => CheckResult::new(CHECK, CheckState::Ok, format!("`{name}`, {dimensions} dimensions")),
            Some(theirs) => CheckResult::new(
                CHECK,
                CheckState::Warning,
                format!(
                    "the vectors of the store were computed by `{theirs}`, but the settings name `{name}`"
                ),
            )
            .hint("`poc-memory embed migrate` computes them again"),
        },
        Err(error) => CheckResult::of(CHECK, CheckState::Failed, &error),
    }]
}
