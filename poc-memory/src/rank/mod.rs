//! Formulas, one a file, each with its law and its source.

pub mod decay;
