//! Search: the retriever and the pipeline language.
//!
//! Both read a [`View`](poc_graph::View) and, through read-only traits, the indexes. The store is not among the
//! dependencies of this crate, so neither can write or take a lock.

pub mod query;
pub mod retrieve;
