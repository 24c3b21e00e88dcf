//! The pipeline language. It reads a [`View`](poc_graph::View) and, through read-only traits ([`Indexes`]),
//! the indexes. It has no access to the store, so it can neither write nor take a lock.

mod arguments;
mod ast;
mod binding;
mod complete;
mod context;
mod correction;
mod diagnostic;
mod example;
mod explain;
mod field;
mod glob;
mod keyword_filter;
mod lex;
mod names;
mod outline;
mod param;
mod parse;
mod pass;
mod plan;
mod properties;
mod saved_pipelines;
mod scan;
mod set;
mod sources;
mod stage;
mod stage_error;
mod stage_word;
#[cfg(test)]
mod tests;
mod top;
mod value;
mod visit_rule;

pub use ast::Pipeline;
pub use complete::{Completion, Completions, complete};
pub use example::Example;
pub use explain::{Explanation, StageReport};
pub use field::{FIELDS, Field, Unit};
pub use names::Names;
pub use outline::{Argument, Outline};
pub use param::{Param, ParamPosition, ParamType, Presence};
pub use set::{InterferencePair, ResultSet, ScoredNode};
pub use sources::{AbsentName, Indexes, PastNames, Sources};
pub use stage::{STAGES, StageDef, StageKind, is_generated, is_id, vocabulary};
pub use visit_rule::{VisitRule, VisitRules};
