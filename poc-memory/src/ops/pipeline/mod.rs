//! Verbs about pipelines, which read the language and the settings rather than the notes.

mod check;
mod explain;
mod list;

pub(crate) use check::Check;
pub(crate) use explain::Explain;
pub(crate) use list::List;
