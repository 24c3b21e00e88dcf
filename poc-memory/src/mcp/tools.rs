//! The tools that a server offers: the default tools, and ops under names derived from theirs.

mod def;
mod feedback;
mod get;
mod history;
mod link;
mod remember;
mod search;

use super::recent_searches::RecentSearches;
use super::{OpExecutor, arguments, schema};
use crate::ops::{self, Access, OPS, OpDef, TenantScope, ToolEffect};
use def::DefaultToolDef;
use poc_config::{TenantSchema, ToolSet};
use poc_graph::error::Result;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// The tools that every model sees by default.
const DEFAULT_TOOLS: &[DefaultToolDef] = &[
    DefaultToolDef::of::<search::MemorySearch>(),
    DefaultToolDef::of::<get::MemoryGet>(),
    DefaultToolDef::of::<remember::MemoryRemember>(),
    DefaultToolDef::of::<link::MemoryLink>(),
    DefaultToolDef::of::<feedback::MemoryFeedback>(),
    DefaultToolDef::of::<history::MemoryHistory>(),
];

/// The tools of the set `seed`, with the ops that they are.
const SEED: &[(&str, &str)] = &[
    ("graft_insert", "insert"),
    ("graft_query", "query"),
    ("graft_retrieve", "retrieve"),
    ("graft_explore", "explore"),
    ("graft_classify", "classify"),
    ("graft_get", "get"),
    ("graft_delete", "delete"),
    ("graft_stats", "stats"),
];

/// A tool that is offered.
pub(super) struct OfferedTool {
    pub(super) name: Cow<'static, str>,
    source: ToolSource,
    /// Whether the caller may write. If not, nothing is counted either.
    may_write: bool,
}

#[derive(Clone, Copy)]
enum ToolSource {
    Default(&'static DefaultToolDef),
    Op(&'static OpDef, ToolEffect),
}

/// The tools that a caller offers to models.
pub(super) fn offered(caller: &dyn OpExecutor) -> Vec<OfferedTool> {
    let default_tools = DEFAULT_TOOLS.iter().map(|tool| (Cow::from(tool.name), ToolSource::Default(tool)));
    let op = |name: Cow<'static, str>, op: &'static OpDef| Some((name, ToolSource::Op(op, op.tool?)));
    let others = OPS.iter().filter(|op| DEFAULT_TOOLS.iter().all(|tool| !tool.ops.contains(&op.name)));
    let tools: Vec<_> = match caller.tool_set() {
        ToolSet::Default => default_tools.collect(),
        ToolSet::All => {
            let others = others.filter_map(|found| op(format!("memory_{}", found.name).into(), found));
            default_tools.chain(others).collect()
        }
        ToolSet::Seed => SEED.iter().filter_map(|(name, of)| op(Cow::from(*name), ops::find(of)?)).collect(),
    };
    let may_write = caller.offers(Access::Write);
    tools
        .into_iter()
        .map(|(name, source)| OfferedTool { name, source, may_write })
        .filter(|tool| tool.access() != Access::Person && caller.offers(tool.access()))
        .collect()
}

/// The name of the first tool that runs an op.
pub(super) fn running<'a>(tools: &'a [OfferedTool], op: &str) -> Option<&'a str> {
    tools.iter().find(|tool| tool.runs(op)).map(|tool| tool.name.as_ref())
}

impl OfferedTool {
    fn access(&self) -> Access {
        match self.source {
            ToolSource::Default(tool) => tool.access,
            ToolSource::Op(op, _) => op.access,
        }
    }

    /// Whether it runs an op.
    fn runs(&self, name: &str) -> bool {
        match self.source {
            ToolSource::Default(tool) => tool.ops.contains(&name),
            ToolSource::Op(op, _) => op.name == name,
        }
    }

    /// The op that determines the pool in which it runs.
    pub(super) fn op(&self) -> Option<&'static OpDef> {
        match self.source {
            ToolSource::Default(tool) => tool.ops.first().and_then(|name| ops::find(name)),
            ToolSource::Op(op, _) => Some(op),
        }
    }

    /// Its MCP definition. It has no schema of the answer, which would make the list three times as long and which
    /// models do not need for a call.
    pub(super) fn definition(&self, tenants: Option<&TenantSchema>) -> Tool {
        let mut input = self.input(tenants);
        let (title, effect) = match self.source {
            ToolSource::Default(tool) => (tool.title.to_owned(), tool.effect),
            ToolSource::Op(op, effect) => (capitalized(op.name), effect),
        };
        // Calls of a read-only caller do not even change use counts.
        let read_only = effect == ToolEffect::ReadOnly || !self.may_write;
        // Changes by other tools are not destructive, because the history keeps them and `undo` restores the
        // old state.
        let destructive = matches!(self.access(), Access::Retract | Access::Destroy);
        let annotations = ToolAnnotations::with_title(title)
            .read_only(read_only)
            .destructive(destructive)
            .idempotent(read_only || effect == ToolEffect::Idempotent)
            .open_world(false);
        // The schema need not repeat it.
        let description = input.shift_remove("description").unwrap_or_default();
        let description = description.as_str().unwrap_or_default().to_owned();
        Tool::new(self.name.clone(), description, Arc::new(input)).with_annotations(annotations)
    }

    /// The JSON Schema of its arguments.
    pub(super) fn input(&self, tenants: Option<&TenantSchema>) -> Map<String, Value> {
        match self.source {
            ToolSource::Default(tool) => {
                let mut schema =
                    schema::without_defaults(schema::strict(Value::clone(&(tool.arguments_schema)())));
                if let Some(tenants) = tenants {
                    ops::tenancy::describe(&mut schema, tenants, TenantScope::One);
                }
                schema
            }
            ToolSource::Op(op, _) => schema::input(op, tenants),
        }
    }

    /// Runs it and blocks until it is done.
    pub(super) fn call(
        &self,
        caller: &dyn OpExecutor,
        searches: &RecentSearches,
        given: Map<String, Value>,
    ) -> Result<Value> {
        let given = arguments::prepared(given, &self.input(caller.tenants()));
        match self.source {
            ToolSource::Default(tool) => (tool.run)(caller, searches, given),
            ToolSource::Op(op, _) => caller.call(op, given.into()),
        }
    }
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
