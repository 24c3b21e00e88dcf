//! Ops on agents and their runs.

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

pub(crate) use apply::AgentApply;
pub(crate) use check::AgentCheck;
pub(crate) use diff::AgentDiff;
pub(crate) use explain::AgentExplain;
pub(crate) use history::AgentHistory;
pub(crate) use inspect::AgentInspect;
pub(crate) use list::AgentList;
pub(crate) use pause::AgentPause;
pub(crate) use reject::AgentReject;
pub(crate) use reload::AgentReload;
pub(crate) use resume::AgentResume;
pub(crate) use review::AgentReview;
pub(crate) use run::AgentRun;
pub(crate) use schema::AgentSchema;
pub(crate) use show::AgentShow;
pub(crate) use test::AgentTest;
pub(crate) use undo::AgentUndo;
