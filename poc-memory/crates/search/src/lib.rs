//! Search: the retriever and the pipeline language.
//!
//! Both read a [`View`](poc_graph::View) and, through read-only traits, the indexes. This crate does not depend on the
//! store, so it can neither write nor lock it.

#[cfg(any(fuzzing, test))]
pub mod fuzzing;
pub mod query;
pub mod retrieve;
