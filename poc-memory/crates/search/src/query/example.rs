//! A pipeline with the answer it gives over the sample notes of the manual.

/// A pipeline with its answer.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The pipeline.
    pub pipeline: &'static str,
    /// Keys of the nodes that come out, in order.
    pub gives: &'static [&'static str],
}
