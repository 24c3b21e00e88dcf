//! Formulas, one a file, each with its law and its source.

pub mod activation;
pub mod bm25;
pub mod cosine;
pub mod decay;
pub mod mmr;
pub mod priority;
