//! Runs the op that a request names, in the pool for its kind of work.

use crate::pools::Pool;
use crate::state::DaemonState;
use crate::surface::Surface;
use poc_graph::cancellation::{self, CancellationToken};
use poc_graph::error::{Error, Result};
use poc_memory::ops::{Ctx, OpDef, Principal, Progress};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// The caller of an op, and the server it uses.
#[derive(Clone, Copy)]
pub(super) struct CallOrigin {
    pub(super) surface: Surface,
    pub(super) actor: Principal,
    pub(super) may_write: bool,
}

/// The pool for an op; without an op, the pool for other requests. Ops that may wait long for a model have
/// their own pool, so that they never delay other requests.
pub(super) fn pool<'a>(state: &'a DaemonState, op: Option<&OpDef>) -> &'a Pool {
    match op {
        Some(op) if op.long_running => &state.pools.long_running,
        _ => &state.pools.requests,
    }
}

/// Runs an op in its pool and counts the call. `cancellation` stops it, unless it outlives its caller.
pub(super) async fn call(
    state: Arc<DaemonState>,
    origin: CallOrigin,
    op: &'static OpDef,
    args: Value,
    cancellation: CancellationToken,
    progress: impl Fn(Progress) + Send + 'static,
) -> Result<Value> {
    let running = state.clone();
    let work = move || match op.outlives_caller {
        true => run(&running, origin, op, args, &progress),
        false => cancellation::scope(&cancellation, || run(&running, origin, op, args, &progress)),
    };
    tokio::select! {
        result = pool(&state, Some(op)).run(work) => result.unwrap_or_else(|_| Err(failed(op))),
        () = state.abandoned(), if !op.outlives_caller => {
            tracing::warn!("the op `{}` did not finish in time; the daemon stops without waiting for it", op.name);
            Err(Error::unavailable(format!("the daemon stopped before `{}` was done", op.name)))
        }
    }
}

/// Runs an op on this thread and counts the call. It may block, so it must not run on a thread of the
/// async runtime.
pub(super) fn run(
    state: &DaemonState,
    origin: CallOrigin,
    op: &OpDef,
    args: Value,
    progress: &dyn Fn(Progress),
) -> Result<Value> {
    let started = Instant::now();
    let CallOrigin { surface, actor, may_write } = origin;
    state.metrics.count_call_start(op.name, surface);
    let changed = state.memory_in_effect();
    let memory = changed.as_ref().unwrap_or(&state.memory);
    let ctx = Ctx { memory, host: state, actor, may_write, progress };
    let work = || match op.uses_shutdown_grace {
        true => op.run(&ctx, args),
        false => cancellation::scope(&state.cancellation, || op.run(&ctx, args)),
    };
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        tracing::error!("the op `{}` failed unexpectedly", op.name);
        Err(failed(op))
    });
    let outcome = result.as_ref().map_or_else(|error| error.code.name(), |_| "ok");
    state.metrics.count_call_end(op.name, surface, outcome, started.elapsed());
    result
}

fn failed(op: &OpDef) -> Error {
    Error::internal(format!("the op `{}` failed unexpectedly", op.name))
        .hint("`poc-memory daemon log` shows the cause")
}
