//! Ops on pipelines. They read the settings rather than the notes.

mod check;
mod explain;
mod list;

pub(crate) use check::PipelineCheck;
pub(crate) use explain::PipelineExplain;
pub(crate) use list::PipelineList;
