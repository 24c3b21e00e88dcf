//! Verbs about agents and their runs.

mod apply;
mod check;
mod diff;
mod explain;
mod history;
mod inspect;
mod list;
mod outcome;
mod pause;
mod reject;
mod reload;
mod resume;
mod review;
mod run;
mod schema;
mod show;
mod test;
pub(super) mod undo;

pub(crate) use apply::Apply;
pub(crate) use check::Check;
pub(crate) use diff::Diff;
pub(crate) use explain::Explain;
pub(crate) use history::History;
pub(crate) use inspect::Inspect;
pub(crate) use list::List;
pub(crate) use pause::Pause;
pub(crate) use reject::Reject;
pub(crate) use reload::Reload;
pub(crate) use resume::Resume;
pub(crate) use review::Review;
pub(crate) use run::RunAgent;
pub(crate) use schema::Schema;
pub(crate) use show::Show;
pub(crate) use test::Test;
pub(crate) use undo::Undo;
