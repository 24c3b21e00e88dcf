//! The op table: every verb, one a file, and the one declaration all surfaces are derived from.

mod actor;
mod agent;
mod answer;
mod argument;
mod calibrate;
mod changes;
mod classify;
mod consolidate;
mod daemon;
mod def;
mod delete;
mod demote;
mod described;
mod explore;
mod export;
mod forget;
mod get;
mod history;
mod host;
mod import;
mod insert;
mod link;
mod mark;
mod migrate;
mod pipeline;
mod profile;
mod query;
mod recall;
mod reinforce;
mod retrieve;
mod search;
mod stats;
mod supersede;
pub mod tenancy;
#[cfg(test)]
mod tests;
mod text;
mod undo;
mod view;
mod visit;
mod weight;
mod wording;
mod write;

pub use actor::Actor;
pub use answer::{SCHEMA_VERSION, versioned, versioned_schema};
pub use def::{Access, Method, Op, OpDef, Route};
pub use host::{Daemon, DaemonStatus, Host, Progress};
pub(crate) use text::{counted, table};

use poc_graph::error::Result;
use poc_graph::{Node, Sight};
use poc_notes::{Memory, resolve};
use poc_store::{Cause, Tx};

/// What an op runs with.
pub struct Ctx<'a> {
    /// The open memory.
    pub memory: &'a Memory,
    /// The process around it: agents and, in the daemon, the daemon itself.
    pub host: &'a dyn Host,
    /// On whose behalf.
    pub actor: Actor,
    /// Whether anything may be written. Without it ops that write are refused, and one that reads
    /// leaves no trace: not even that a note was used.
    pub may_write: bool,
    /// Told how far a long op has come.
    pub progress: &'a dyn Fn(Progress),
}

impl Ctx<'_> {
    /// What the caller sees: a person everything, a model what is quarantined only when it asks for it.
    fn sight(&self, quarantined: bool) -> Sight {
        Sight { now: self.memory.now(), quarantined: quarantined || self.actor == Actor::Person }
    }

    /// That the caller may write over a node that a field names, or make it count for more or less: a
    /// model does so with none that it is not shown.
    fn allow(&self, node: &Node, field: &str) -> Result<()> {
        if self.sight(false).admits(node.trust) {
            return Ok(());
        }
        Err(resolve::quarantined().hint("a person decides about it").field(field))
    }

    /// The node that a field names, if the caller may move it.
    fn named(&self, tx: &Tx<'_>, name: &str, field: &str) -> Result<Node> {
        let node = resolve::named(tx, name, field)?;
        self.allow(&node, field)?;
        Ok(node)
    }

    /// The cause of the transaction an op makes.
    fn cause(&self, op: &str) -> Cause {
        self.memory.cause(self.actor.name(), op)
    }
}

/// Every op, in the order help lists them.
pub const OPS: &[OpDef] = &[
    OpDef::of::<insert::Insert>(),
    OpDef::of::<import::Import>(),
    OpDef::of::<export::Export>(),
    OpDef::of::<search::Search>(),
    OpDef::of::<query::Query>(),
    OpDef::of::<calibrate::Calibrate>(),
    OpDef::of::<retrieve::Retrieve>(),
    OpDef::of::<explore::Explore>(),
    OpDef::of::<classify::Classify>(),
    OpDef::of::<get::Get>(),
    OpDef::of::<write::Write>(),
    OpDef::of::<recall::Recall>(),
    OpDef::of::<forget::Forget>(),
    OpDef::of::<link::Link>(),
    OpDef::of::<weight::Weight>(),
    OpDef::of::<reinforce::Reinforce>(),
    OpDef::of::<demote::Demote>(),
    OpDef::of::<mark::Mark>(),
    OpDef::of::<supersede::Supersede>(),
    OpDef::of::<delete::Delete>(),
    OpDef::of::<visit::Visit>(),
    OpDef::of::<history::History>(),
    OpDef::of::<changes::Changes>(),
    OpDef::of::<undo::Undo>(),
    OpDef::of::<stats::Stats>(),
    OpDef::of::<consolidate::Consolidate>(),
    OpDef::of::<migrate::EmbedMigrate>(),
    OpDef::of::<profile::Bind>(),
    OpDef::of::<profile::Status>(),
    OpDef::of::<profile::RemoteSync>(),
    OpDef::of::<profile::Detach>(),
    OpDef::of::<view::View>(),
    OpDef::of::<pipeline::Check>(),
    OpDef::of::<pipeline::Explain>(),
    OpDef::of::<pipeline::List>(),
    OpDef::of::<agent::List>(),
    OpDef::of::<agent::Show>(),
    OpDef::of::<agent::Explain>(),
    OpDef::of::<agent::Check>(),
    OpDef::of::<agent::Test>(),
    OpDef::of::<agent::RunAgent>(),
    OpDef::of::<agent::History>(),
    OpDef::of::<agent::Inspect>(),
    OpDef::of::<agent::Diff>(),
    OpDef::of::<agent::Review>(),
    OpDef::of::<agent::Apply>(),
    OpDef::of::<agent::Reject>(),
    OpDef::of::<agent::Undo>(),
    OpDef::of::<agent::Pause>(),
    OpDef::of::<agent::Resume>(),
    OpDef::of::<agent::Reload>(),
    OpDef::of::<agent::Schema>(),
    OpDef::of::<daemon::Status>(),
    OpDef::of::<daemon::Stop>(),
];

/// The op with a name.
pub fn find(name: &str) -> Option<&'static OpDef> {
    OPS.iter().find(|op| op.name == name)
}
