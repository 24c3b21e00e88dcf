//! Ops on pipelines. They read the settings rather than the notes.

mod check;
mod complete;
mod explain;
mod list;

pub(crate) use check::PipelineCheck;
pub(crate) use complete::PipelineComplete;
pub(crate) use explain::PipelineExplain;
pub(crate) use list::PipelineList;
