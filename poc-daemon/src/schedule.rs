//! Runs the agents that are due.
//!
//! A heartbeat wakes the loop. Each time, [`Scheduler::needs_poll`] compares the clock with the next time at which an
//! agent can be due, which is cheap. When that time has come, [`Scheduler::poll`] reads the ledger, calls the pure
//! function [`plan`](poc_agent::due_slots::plan), which decides what is due, records skipped slots and returns the
//! runs to start.

mod heartbeat;
mod runs;
#[cfg(test)]
#[path = "../../tests/support/slow_agent.rs"]
mod slow_agent;
#[cfg(test)]
mod tests;

use crate::state::DaemonState;
use heartbeat::ScheduleHeartbeat;
use parking_lot::Mutex;
use poc_agent::Catalog;
use poc_agent::due_slots::{DueRun, Tick};
use poc_agent::idle_tenants::IdleTenants;
use poc_agent::ledger;
use poc_agent::schedule::local_zone;
use poc_agent::scheduler::Scheduler;
use poc_graph::error::Result;
use poc_store::PEER_HEARTBEAT;
use runs::Runs;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of periods without a heartbeat after which the heartbeat is restarted. tokio-cron-scheduler follows
/// the wall clock and stops when the clock jumps; the loop then wakes by its own timeout.
const LOST_AFTER: u32 = 3;

/// How late a heartbeat may be.
const TOLERANCE: Duration = Duration::from_millis(600);

/// Name, in logs, of the task that saves which tenants are idle.
const SAVING: &str = "saving the idle tenants";

/// How long a run may take to end after it was cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// Starts due runs until the daemon stops. Returns when the last run has ended or the shutdown grace is
/// over.
pub(crate) async fn run(state: Arc<DaemonState>) {
    let grace = state.memory.config.daemon.shutdown_grace.std();
    // An async block, because its timer starts only when it is first polled.
    let wait = async |duration| tokio::time::sleep(duration).await;
    run_until(state, wait(grace), wait(CANCEL_TIMEOUT)).await;
}

/// Like [`run`], with the waits of the shutdown as arguments: how long runs may continue, and how long they may take to
/// end after they are cancelled. The wait for a future begins when it is first polled.
async fn run_until(
    state: Arc<DaemonState>,
    grace: impl Future<Output = ()>,
    cancelled: impl Future<Output = ()>,
) {
    if state.memory.store.damage().is_some() {
        // No run could be recorded.
        state.stopped().await;
        return;
    }
    recover(&state).await;
    let mut recovered = Instant::now();
    let mut heartbeat = ScheduleHeartbeat::start(&state).await;
    let (period, mut silent) = (heartbeat::period(&state) + TOLERANCE, 0);
    let idle_tenants = load_idle_tenants(&state).await;
    let mut runs = Runs::new(&state, idle_tenants.clone());
    let scheduler = Arc::new(Mutex::new(Scheduler::default()));
    loop {
        tokio::select! {
            () = state.stopped() => break,
            agent = runs.ended() => agent.into_iter().for_each(|agent| scheduler.lock().slot_ended(&agent)),
            () = state.wake.notified() => silent = 0,
            // tokio's clock is monotonic, so it does not jump.
            () = tokio::time::sleep(period) => silent += 1,
        }
        if silent >= LOST_AFTER {
            silent = 0;
            heartbeat.stop().await;
            heartbeat = ScheduleHeartbeat::start(&state).await;
        }
        if state.memory.config.daemon.runs_agents.is_empty() {
            continue;
        }
        if state.memory.store.read_only().is_some() {
            // No run could be recorded. The next heartbeat checks whether the disk accepts writes again.
            continue;
        }
        if state.memory.store.shared_log().is_some() && recovered.elapsed() >= PEER_HEARTBEAT {
            recovered = Instant::now();
            let agents = tokio::select! {
                agents = recover(&state) => agents,
                // A database may take long to answer, so the stop is awaited as well.
                () = state.stopped() => break,
            };
            agents.iter().for_each(|agent| scheduler.lock().slot_ended(agent));
        }
        let catalog = state.catalog.load_full();
        if !scheduler.lock().needs_poll(&state.memory, &catalog) {
            continue;
        }
        let due = poll(&state, &scheduler, catalog, runs.pending()).await;
        due.into_iter().for_each(|due| runs.start(due));
    }
    heartbeat.stop().await;
    // At the same time, because a database may take long to answer.
    tokio::join!(write_skipped_slots(&state, &scheduler), runs.drain(grace, cancelled));
    let saving = state.clone();
    blocking(&state, SAVING, move || idle_tenants.save(&saving.memory, &saving.catalog.load())).await;
}

/// The tenants that were idle when the daemon last ended.
async fn load_idle_tenants(state: &Arc<DaemonState>) -> IdleTenants {
    let loading = state.clone();
    let loaded = blocking(state, "reading the idle tenants", move || Ok(IdleTenants::load(&loading.memory)));
    loaded.await.unwrap_or_default()
}

/// Records skipped slots and returns the runs to start. `pending` are the runs that have not ended.
async fn poll(
    state: &Arc<DaemonState>,
    scheduler: &Arc<Mutex<Scheduler>>,
    catalog: Arc<Catalog>,
    pending: BTreeMap<String, DueRun>,
) -> Vec<DueRun> {
    let (polling, scheduler) = (state.clone(), scheduler.clone());
    let due = blocking(state, "the search for due agents", move || {
        let tick = Tick::now(&polling.memory, local_zone());
        Ok(scheduler.lock().poll(&polling.memory, catalog, tick, &pending))
    });
    due.await.unwrap_or_default()
}

/// Writes the rows of skipped slots that are not written yet.
async fn write_skipped_slots(state: &Arc<DaemonState>, scheduler: &Arc<Mutex<Scheduler>>) {
    let (writing, scheduler) = (state.clone(), scheduler.clone());
    blocking(state, "the recording of skipped slots", move || {
        scheduler.lock().write_skipped_slots(&writing.memory);
        Ok(())
    })
    .await;
}

/// Runs blocking work in the background and logs its errors.
async fn blocking<T: Send + 'static>(
    state: &DaemonState,
    name: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Option<T> {
    match state.pools.background.run(work).await {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => tracing::error!("{name} failed: {error}"),
        Err(error) => tracing::error!("{name} failed: {error}"),
    }
    None
}

/// Marks runs that dead processes left unfinished as interrupted. Returns the agents that have something to repeat.
async fn recover(state: &Arc<DaemonState>) -> Vec<String> {
    let recovering = state.clone();
    let agents = blocking(state, "recovery of interrupted runs", move || interrupt_orphaned(&recovering));
    agents.await.unwrap_or_default()
}

fn interrupt_orphaned(state: &DaemonState) -> Result<Vec<String>> {
    if state.memory.config.daemon.runs_agents.is_empty() {
        return Ok(Vec::new());
    }
    for row in ledger::interrupt_orphaned(&state.memory)? {
        tracing::warn!(agent = row.agent, run = %row.id, "a run was interrupted by the end of its process");
    }
    ledger::agents_to_repeat(&state.memory)
}
