//! Ages with which a pipeline compares exactly.

use poc_search::query::Pipeline;

/// The problems of a pipeline with a filter such as `age:7d`, which hardly a note passes: a comparison is meant.
pub(super) fn problems(pipeline: &Pipeline) -> Vec<String> {
    let problem = |stage: String| {
        let (word, age) = stage.split_once(':')?;
        Some(format!("`{stage}` keeps only notes of exactly this age; did you mean `{word}:<{age}`?"))
    };
    pipeline.exact_ages().filter_map(problem).collect()
}
