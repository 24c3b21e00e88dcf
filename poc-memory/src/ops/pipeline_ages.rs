//! Warns of filters that keep only notes of exactly one age.

use poc_search::query::Pipeline;

/// The problems of a pipeline with a filter such as `age:7d`. Hardly any note passes it, so a comparison such as
/// `age:<7d` is probably meant.
pub(super) fn problems(pipeline: &Pipeline) -> Vec<String> {
    let problem = |stage: String| {
        let (word, age) = stage.split_once(':')?;
        Some(format!("`{stage}` keeps only notes of exactly this age; did you mean `{word}:<{age}`?"))
    };
    pipeline.exact_ages().filter_map(problem).collect()
}
