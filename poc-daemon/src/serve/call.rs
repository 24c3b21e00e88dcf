//! An op that a surface asks for, run where it may wait.

use crate::shared::Shared;
use poc_memory::error::{Error, Result};
use poc_memory::ops::{Actor, Ctx, OpDef, Progress};
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

/// Runs an op on a thread of its own and counts it. `surface` is where it was asked: `socket`, `rest`.
pub(super) async fn call(
    shared: Arc<Shared>,
    surface: &'static str,
    actor: Actor,
    op: &'static OpDef,
    args: Value,
    progress: impl Fn(Progress) + Send + 'static,
) -> Result<Value> {
    let started = Instant::now();
    let work = {
        let shared = shared.clone();
        move || {
            (op.run)(&Ctx { memory: &shared.memory, host: shared.as_ref(), actor, progress: &progress }, args)
        }
    };
    let result = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        tracing::error!("the op `{}` failed unexpectedly: {error}", op.name);
        Err(Error::internal(format!("the op `{}` failed unexpectedly", op.name))
            .hint("look at `poc-memory daemon log`"))
    });
    let outcome = result.as_ref().map_or_else(|error| error.code.name(), |_| "ok");
    shared.metrics.called(op.name, surface, outcome, started.elapsed());
    result
}
