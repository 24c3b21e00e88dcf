//! Runs the agents that are due.
//!
//! A heartbeat wakes the loop. Each time it compares the clock with the next instant anything can
//! be due, which costs nothing; only then it asks the ledger and the pure
//! [`due`](poc_agent::due::due), writes the rows of what is not run and hands the rest to
//! the executor.

mod executor;
mod heartbeat;

use crate::shared::Shared;
use executor::Executor;
use parking_lot::Mutex;
use poc_agent::agenda::Agenda;
use poc_agent::due::Moment;
use poc_agent::ledger;
use poc_agent::schedule::local_zone;
use poc_graph::error::Result;
use std::sync::Arc;
use std::time::Duration;

/// The heartbeat goes by the time of day and stands still while a clock that was set back catches
/// up with it. This wakes the loop all the same.
const WATCHDOG: Duration = Duration::from_secs(60);

/// Starts what is due until the daemon is to stop; returns when the last run it started has ended
/// or its grace is over.
pub(crate) async fn run(shared: Arc<Shared>) {
    let recovering = shared.clone();
    blocking("recovery of interrupted runs", move || recover(&recovering)).await;
    let Some(mut heartbeat) = heartbeat::start(&shared).await else {
        shared.stop();
        return;
    };
    let mut executor = Executor::new(&shared);
    let agenda = Arc::new(Mutex::new(Agenda::default()));
    loop {
        tokio::select! {
            () = shared.stopped() => break,
            agent = executor.ended() => agent.into_iter().for_each(|agent| agenda.lock().ended(&agent)),
            () = shared.wake.notified() => {}
            () = tokio::time::sleep(WATCHDOG) => {}
        }
        let catalog = shared.catalog.load_full();
        if !agenda.lock().asks(&shared.memory, &catalog) {
            continue;
        }
        let (asking, looking, pending) = (shared.clone(), agenda.clone(), executor.pending());
        let looked = blocking("a look at what is due", move || {
            let moment = Moment::now(&asking.memory, local_zone());
            Ok(looking.lock().look(&asking.memory, catalog, moment, &pending))
        });
        looked.await.unwrap_or_default().into_iter().for_each(|slot| executor.start(slot));
    }
    heartbeat::stop(&mut heartbeat).await;
    executor.drain().await;
}

/// Runs blocking work beside the loop; what goes wrong is logged.
async fn blocking<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => tracing::error!("{what} failed: {error}"),
        Err(error) => tracing::error!("{what} failed: {error}"),
    }
    None
}

/// Ends the rows of runs that another process left in the middle.
fn recover(shared: &Shared) -> Result<()> {
    for row in ledger::interrupt_others(&shared.memory)? {
        tracing::warn!(agent = row.agent, run = %row.id, "a run was interrupted by the end of its process");
    }
    Ok(())
}
