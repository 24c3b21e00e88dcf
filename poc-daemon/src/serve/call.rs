//! An op that a surface asks for, run where it may wait.

use crate::shared::Shared;
use poc_graph::error::{Error, Result};
use poc_memory::ops::{Actor, Ctx, OpDef, Progress};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// Who asks, and where.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// `socket`, `rest`, `mcp`.
    pub(super) surface: &'static str,
    pub(super) actor: Actor,
    pub(super) may_write: bool,
}

/// Runs an op on a thread of its own and counts it.
pub(super) async fn call(
    shared: Arc<Shared>,
    asked: Asked,
    op: &'static OpDef,
    args: Value,
    progress: impl Fn(Progress) + Send + 'static,
) -> Result<Value> {
    let work = move || run(&shared, asked, op, args, &progress);
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(failed(op)))
}

/// Runs an op here and counts it. Not for a thread that must not wait.
pub(super) fn run(
    shared: &Shared,
    asked: Asked,
    op: &OpDef,
    args: Value,
    progress: &dyn Fn(Progress),
) -> Result<Value> {
    let started = Instant::now();
    let Asked { surface, actor, may_write } = asked;
    let ctx = Ctx { memory: &shared.memory, host: shared, actor, may_write, progress };
    let result = catch_unwind(AssertUnwindSafe(|| (op.run)(&ctx, args))).unwrap_or_else(|_| {
        tracing::error!("the op `{}` failed unexpectedly", op.name);
        Err(failed(op))
    });
    let outcome = result.as_ref().map_or_else(|error| error.code.name(), |_| "ok");
    shared.metrics.called(op.name, surface, outcome, started.elapsed());
    result
}

fn failed(op: &OpDef) -> Error {
    Error::internal(format!("the op `{}` failed unexpectedly", op.name))
        .hint("look at `poc-memory daemon log`")
}
