//! Example pipelines of the manual.

/// A pipeline with its result for the sample notes of the manual.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The text of the pipeline.
    pub pipeline: &'static str,
    /// The keys of the nodes it returns, in order.
    pub output: &'static [&'static str],
}
