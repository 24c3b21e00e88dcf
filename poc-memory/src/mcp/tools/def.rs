//! The trait that declares a default tool, and its type-erased form.

use crate::mcp::recent_searches::{FoundNote, RecentSearches};
use crate::mcp::{OpExecutor, arguments};
use crate::ops::schema_cache::SchemaCache;
use crate::ops::{self, Access, FormerText, ToolEffect, min_seq, request, tenancy};
use poc_graph::error::{Error, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The schemas of arguments that were needed so far.
static ARGUMENT_SCHEMAS: SchemaCache = SchemaCache::new();

/// A tool that every model sees by default. The implementing type has its arguments. Its doc comments are
/// what the model reads, so they state bounds and defaults in words, because some clients drop them from
/// schemas.
pub(super) trait DefaultTool: DeserializeOwned + JsonSchema + 'static {
    /// Its name.
    const NAME: &'static str;
    /// Its name for a person.
    const TITLE: &'static str;
    /// The ops that it runs, the first one by default.
    const OPS: &'static [&'static str];
    /// Who may call it.
    const ACCESS: Access;
    /// The effect of a call.
    const EFFECT: ToolEffect;
    /// Other names under which the argument `text` is accepted.
    const FORMER_TEXT: &'static [FormerText] = &[];

    /// Runs it.
    fn run(self, ops: &OpCalls<'_>) -> Result<Value>;
}

/// Calls ops for one call of a tool, all of them for the same tenant.
pub(super) struct OpCalls<'a> {
    caller: &'a dyn OpExecutor,
    tenant: Option<Value>,
    /// The change that the answer must include. It is not in the schema, because models do not know it; programs do.
    min_seq: Option<Value>,
    searches: &'a RecentSearches,
}

impl OpCalls<'_> {
    /// Runs an op.
    pub(super) fn call(&self, op: &str, mut request: Map<String, Value>) -> Result<Value> {
        if let Some(tenant) = &self.tenant {
            request.insert(tenancy::FIELD.into(), tenant.clone());
        }
        if let Some(seq) = &self.min_seq {
            request.insert(min_seq::FIELD.into(), seq.clone());
        }
        let op = ops::find(op).ok_or_else(|| Error::internal(format!("there is no op `{op}`")))?;
        self.caller.call(op, request.into())
    }

    /// Remembers a search of this session with the notes that it found.
    pub(super) fn remember_search(&self, text: &str, found: Vec<FoundNote>) {
        self.searches.add(self.tenant.as_ref(), text, found);
    }

    /// The search of this session that a note answered. `name` is its key or its id.
    pub(super) fn question_for(&self, name: &str) -> Option<String> {
        self.searches.question_for(self.tenant.as_ref(), name)
    }
}

/// A [`DefaultTool`] with its types erased.
pub(in crate::mcp) struct DefaultToolDef {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) ops: &'static [&'static str],
    pub(super) access: Access,
    pub(super) effect: ToolEffect,
    pub(super) arguments_schema: fn() -> Arc<Value>,
    pub(super) run: fn(&dyn OpExecutor, &RecentSearches, Map<String, Value>) -> Result<Value>,
}

impl DefaultToolDef {
    pub(super) const fn of<T: DefaultTool>() -> DefaultToolDef {
        DefaultToolDef {
            name: T::NAME,
            title: T::TITLE,
            ops: T::OPS,
            access: T::ACCESS,
            effect: T::EFFECT,
            arguments_schema: arguments_schema::<T>,
            run: |caller, searches, mut given| {
                let tenant = given.shift_remove(tenancy::FIELD);
                let min_seq = given.shift_remove(min_seq::FIELD);
                for former in T::FORMER_TEXT {
                    request::rename_text(*former, &mut given)?;
                }
                let schema = arguments_schema::<T>();
                arguments::refuse_unknown(&given, &schema)?;
                let tool: T = request::decode(&request::lenient(given.into(), &schema))?;
                tool.run(&OpCalls { caller, tenant, min_seq, searches })
            },
        }
    }
}

fn arguments_schema<T: DefaultTool>() -> Arc<Value> {
    ARGUMENT_SCHEMAS.schema_of::<T>(|| ops::schema::<T>().to_value())
}

/// The fields of an object; empty for any other value.
pub(super) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The limit that a model asks for, from 1 to `max`, or else the default.
pub(super) fn limit(given: Option<u64>, default: u64, max: u64) -> Result<u64> {
    match given {
        Some(limit) if (1..=max).contains(&limit) => Ok(limit),
        Some(limit) => Err(Error::invalid(format!("{limit} is out of range"))
            .hint(format!("give a number from 1 to {max}"))
            .field("limit")),
        None => Ok(default),
    }
}
