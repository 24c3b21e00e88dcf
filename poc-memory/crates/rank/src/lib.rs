//! Ranking formulas, one per file. Each file names the source of its formula and tests the
//! properties it must have.

pub mod activation;
pub mod beam;
pub mod bm25;
pub mod bootstrap;
pub mod confluence;
pub mod cosine;
pub mod coverage;
pub mod dampening;
pub mod decay;
pub mod fade;
pub mod fusion;
pub mod gate;
pub mod geodesic;
pub mod histogram;
pub mod jaccard;
pub mod lookalike;
pub mod manifold;
pub mod mmr;
pub mod ndcg;
pub mod priority;
pub mod propagation;
pub mod quantile;
pub mod quantization;
pub mod recall_at;
pub mod recall_score;
pub mod reciprocal_rank;
pub mod rrf;
pub mod sign_test;
mod sparse_accumulator;
pub mod spectral;
pub mod standard_score;
pub mod strongest_paths;
pub mod top_k;
