//! The op table: one file per op, and the declaration from which all surfaces are derived.

mod agent;
mod answer;
mod argument;
mod backlinks;
mod backup;
mod calibrate;
mod changes;
pub(crate) mod checks;
mod classify;
mod compact;
mod consolidate;
mod daemon;
mod def;
mod delete;
mod demote;
mod duplicates;
mod erasure;
mod eval_live;
mod explanation_text;
mod explore;
mod export;
mod forget;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod get;
mod growth;
mod history;
mod hit;
mod hook;
mod host;
mod import;
mod insert;
mod json_schema;
mod key_prefix;
mod link;
mod list;
mod mark;
mod measures;
mod migrate;
pub mod min_seq;
mod night;
mod page;
mod pipeline;
mod pipeline_agents;
mod pipeline_ages;
mod pipeline_keywords;
mod principal;
mod profile;
mod quarantine;
mod query;
mod recall;
mod reinforce;
mod rename;
pub(crate) mod request;
mod retrieve;
pub(crate) mod schema_cache;
mod schema_defaults;
mod search;
mod secret_check;
mod serde_message;
mod shared_log;
pub(crate) mod similar_field;
mod snippet;
mod stats;
mod supersede;
mod tags;
pub mod tenancy;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod undo;
mod undo_window;
mod vault;
mod verify;
mod view;
mod visit;
mod weight;
mod wrapped_table;
mod write;

pub use answer::{SCHEMA_VERSION, versioned, versioned_schema};
pub(crate) use argument::{history_point, path};
pub(crate) use backup::{Backup, BackupOutput};
pub(crate) use daemon::tail;
pub use def::{Access, IrreversibleFlag, Method, Op, OpDef, OpOutput, Route, ToolEffect};
pub(crate) use hit::is_zero;
pub use hook::followed_transcripts;
pub(crate) use hook::{Hook, HookEvent, HookOutput, forget_sessions};
pub use host::{Daemon, DaemonStatus, Host, Progress};
pub use json_schema::schema;
pub(crate) use key_prefix::keys_beginning_with;
pub(crate) use measures::{MeasureRow, differences_table, measures_table, with_bounds};
pub use page::PageLink;
pub use principal::Principal;
pub use request::FormerText;
pub(crate) use search::STAGE_KINDS;
pub use shared_log::{PeerOutput, SharedLogOutput};
pub use tenancy::TenantScope;
pub use terminal::{Emphasis, StyledText, Terminal};
pub(crate) use text::{plural, second, size, table};
pub(crate) use vault::lag;
pub(crate) use verify::VerifyOutput;

use poc_graph::error::{Code, Error, Result};
use poc_graph::{Node, Visibility};
use poc_notes::{Memory, resolve};
use poc_store::{Cause, Transaction};

/// The context in which an op runs.
pub struct Ctx<'a> {
    /// The open memory.
    pub memory: &'a Memory,
    /// The surrounding process: the agents and, in the daemon, the daemon itself.
    pub host: &'a dyn Host,
    /// The caller on whose behalf the op runs.
    pub actor: Principal,
    /// Whether the caller may write. If not, ops that write are refused, and ops that read leave no trace,
    /// not even a use count.
    pub may_write: bool,
    /// Called as a long op advances.
    pub progress: &'a dyn Fn(Progress),
}

impl Ctx<'_> {
    /// The visibility of notes for the caller: a person sees all notes, a model sees quarantined ones only on
    /// request.
    fn visibility(&self, quarantined: bool) -> Visibility {
        Visibility { now: self.memory.now(), quarantined: quarantined || self.actor == Principal::Person }
    }

    /// Refuses to change a node that the caller does not see: a model may not change quarantined nodes.
    fn require_visible(&self, node: &Node, field: &str) -> Result<()> {
        if self.visibility(false).admits(node.trust) {
            return Ok(());
        }
        Err(resolve::quarantined().hint("only a person can change it").field(field))
    }

    /// The node that a field names, if the caller may change it.
    fn find_writable(&self, tx: &Transaction<'_>, name: &str, field: &str) -> Result<Node> {
        let node = resolve::named(tx, name, field)?;
        self.require_visible(&node, field)?;
        Ok(node)
    }

    /// The error for the name of a note, with the note that has this name as its title if no name of a note is similar.
    fn with_titled_note(&self, error: Error, name: &str) -> Error {
        if error.code != Code::NotFound || resolve::similar_name(name, &self.memory.store.view()).is_some() {
            return error;
        }
        match resolve::key_of_title(self.memory, name, self.visibility(false)) {
            Ok(Some(key)) => error.hint(format!("`{key}` has this title")),
            // The name is unknown, whether or not there is a better hint.
            Ok(None) | Err(_) => error,
        }
    }

    /// The cause of an op's transaction.
    fn cause(&self, op: &str) -> Cause {
        self.memory.cause(self.actor.name(), op)
    }
}

/// All ops, in the order in which help lists them.
pub const OPS: &[OpDef] = &[
    OpDef::of::<insert::InsertRequest>(),
    OpDef::of::<import::Import>(),
    OpDef::of::<export::Export>(),
    OpDef::of::<backup::Backup>(),
    OpDef::of::<compact::Compact>(),
    OpDef::of::<verify::Verify>(),
    OpDef::of::<quarantine::QuarantineRestore>(),
    OpDef::of::<search::Search>(),
    OpDef::of::<query::Query>(),
    OpDef::of::<calibrate::Calibrate>(),
    OpDef::of::<eval_live::EvalLive>(),
    OpDef::of::<retrieve::Retrieve>(),
    OpDef::of::<explore::Explore>(),
    OpDef::of::<classify::Classify>(),
    OpDef::of::<get::Get>(),
    OpDef::of::<list::List>(),
    OpDef::of::<tags::Tags>(),
    OpDef::of::<backlinks::Backlinks>(),
    OpDef::of::<duplicates::Duplicates>(),
    OpDef::of::<write::WriteRequest>(),
    OpDef::of::<recall::Recall>(),
    OpDef::of::<forget::Forget>(),
    OpDef::of::<link::LinkRequest>(),
    OpDef::of::<weight::WeightRequest>(),
    OpDef::of::<reinforce::Reinforce>(),
    OpDef::of::<demote::Demote>(),
    OpDef::of::<mark::Mark>(),
    OpDef::of::<rename::Rename>(),
    OpDef::of::<supersede::SupersedeRequest>(),
    OpDef::of::<delete::Delete>(),
    OpDef::of::<visit::VisitRequest>(),
    OpDef::of::<history::HistoryRequest>(),
    OpDef::of::<changes::Changes>(),
    OpDef::of::<undo::Undo>(),
    OpDef::of::<night::Night>(),
    OpDef::of::<stats::StatsRequest>(),
    OpDef::of::<consolidate::Consolidate>(),
    OpDef::of::<migrate::EmbedMigrate>(),
    OpDef::of::<profile::RemoteBind>(),
    OpDef::of::<profile::RemoteStatus>(),
    OpDef::of::<profile::RemoteSync>(),
    OpDef::of::<profile::RemoteDetach>(),
    OpDef::of::<vault::VaultAdd>(),
    OpDef::of::<vault::VaultList>(),
    OpDef::of::<vault::VaultStatusRequest>(),
    OpDef::of::<vault::VaultSyncRequest>(),
    OpDef::of::<vault::VaultWriteBack>(),
    OpDef::of::<vault::VaultRemove>(),
    OpDef::of::<view::ViewRequest>(),
    OpDef::of::<hook::Hook>(),
    OpDef::of::<pipeline::PipelineCheck>(),
    OpDef::of::<pipeline::PipelineComplete>(),
    OpDef::of::<pipeline::PipelineExplain>(),
    OpDef::of::<pipeline::PipelineList>(),
    OpDef::of::<agent::AgentNew>(),
    OpDef::of::<agent::AgentList>(),
    OpDef::of::<agent::AgentShow>(),
    OpDef::of::<agent::AgentExplain>(),
    OpDef::of::<agent::AgentCheck>(),
    OpDef::of::<agent::AgentTestRequest>(),
    OpDef::of::<agent::AgentSave>(),
    OpDef::of::<agent::AgentRun>(),
    OpDef::of::<agent::AgentHistory>(),
    OpDef::of::<agent::AgentInspect>(),
    OpDef::of::<agent::AgentDiff>(),
    OpDef::of::<agent::AgentReview>(),
    OpDef::of::<agent::AgentApply>(),
    OpDef::of::<agent::AgentReject>(),
    OpDef::of::<agent::AgentReopen>(),
    OpDef::of::<agent::AgentUndo>(),
    OpDef::of::<agent::AgentPause>(),
    OpDef::of::<agent::AgentResume>(),
    OpDef::of::<agent::AgentReload>(),
    OpDef::of::<agent::AgentSchema>(),
    OpDef::of::<page::Page>(),
    OpDef::of::<daemon::DaemonStatusRequest>(),
    OpDef::of::<daemon::DaemonCheck>(),
    OpDef::of::<daemon::DaemonStop>(),
];

/// The op with the given name.
pub fn find(name: &str) -> Option<&'static OpDef> {
    OPS.iter().find(|op| op.name == name)
}

/// The command that runs the op with this name; the name itself if it is not that of an op.
fn command_of(name: &str) -> &str {
    find(name).map_or(name, |op| op.command)
}
