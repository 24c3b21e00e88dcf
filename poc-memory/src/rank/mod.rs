//! Formulas, one a file, each with its law and its source.

pub mod activation;
pub mod beam;
pub mod bm25;
pub mod confluence;
pub mod cosine;
pub mod dampening;
pub mod decay;
pub mod fade;
pub mod gate;
pub mod geodesic;
pub mod histogram;
pub mod jaccard;
pub mod manifold;
pub mod mmr;
pub mod priority;
pub mod reach;
pub mod recollection;
pub mod rrf;
pub mod spectral;
mod sums;
pub mod top;
