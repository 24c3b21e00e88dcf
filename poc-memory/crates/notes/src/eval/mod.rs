//! Retrieval evaluation: reads documents, questions and relevance judgments from a folder, stores the documents
//! in a temporary memory, asks the questions one after another and measures the hits.
//!
//! Documents are stored by the regular import, so that its handling of sessions, dates, speakers and the order
//! of lines is measured, too. Each group of documents is a tenant, and a question is asked within its group.
//! Documents that become the same note count as one.

pub mod baselines;
pub mod calibrate;
pub mod compare;
mod confirm;
pub mod gates;
pub mod live;
mod measure;
pub mod report;
pub mod set;
#[cfg(test)]
mod tests;

pub use confirm::EvalHalves;
pub use measure::{EvalPhase, Evaluation, QuestionOp, run};
