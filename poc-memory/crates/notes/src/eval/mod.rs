//! How well a memory with these settings finds what it should: documents, questions and which
//! documents answer them are read from a folder, stored in a memory that is thrown away, and asked
//! one after another.
//!
//! Documents go in by the import everybody uses, so that what it makes of sessions, dates, speakers and
//! the order of lines counts. Where documents have a group, each group is a tenant, and a question is
//! asked within its own. Documents that the memory takes for the same note are one.

pub mod calibrate;
pub mod compare;
mod measure;
pub mod report;
pub mod set;
#[cfg(test)]
mod tests;

pub use measure::{EvalPhase, run};
