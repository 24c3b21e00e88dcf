//! Parsers for the fuzz targets, with the properties that must hold for any input; see `fuzz/` at the root of the
//! repository.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a violated property is a panic, which the fuzzer reports"
)]

use crate::query::{Names, Pipeline, complete};
use poc_config::Config;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static NAMES: LazyLock<Names> = LazyLock::new(|| Names::of(&Config::defaults().unwrap()));

/// Parses a pipeline. Its printed text must parse to the same pipeline, and completion must work at every position.
pub fn pipeline(text: &str) {
    for at in [text.len() / 2, text.len()] {
        let completions = complete(text, at, &NAMES, &["linker"]);
        assert!(text.get(completions.offset..completions.offset + completions.length).is_some());
    }
    let parsed = Pipeline::parse(text, &NAMES);
    let template = Pipeline::template(text, &NAMES);
    let parameters = Pipeline::parameters(text);
    let values: BTreeMap<String, String> =
        parameters.into_iter().map(|name| (name, "a | b: \"c\"".to_owned())).collect();
    let with_values = Pipeline::with_values(text, &NAMES, &values);
    check(Pipeline::from_parts(&["two".into(), "words".into()], &[text.to_owned()], &NAMES));
    // Most texts have no parameters and are no templates. What is equal is checked once.
    [template, with_values].into_iter().filter(|other| *other != parsed).for_each(check);
    check(parsed);
}

fn check(parsed: poc_graph::error::Result<Pipeline>) {
    match parsed {
        Ok(pipeline) => {
            let printed = pipeline.to_string();
            let again = Pipeline::parse(&printed, &NAMES);
            assert_eq!(again.as_ref(), Ok(&pipeline), "{printed}");
            assert_eq!(again.unwrap().to_string(), printed);
            assert_eq!(pipeline.outline().is_empty(), printed.is_empty());
        }
        Err(error) => assert!(!error.line().is_empty()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_properties_hold_for_the_corpus() {
        for bytes in poc_graph::testing::corpus("pipeline") {
            std::str::from_utf8(&bytes).iter().for_each(|text| super::pipeline(text));
        }
    }
}
