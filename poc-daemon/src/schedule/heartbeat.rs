//! The heartbeat: a repeated job of tokio-cron-scheduler that wakes the loop.

use crate::state::DaemonState;
use poc_graph::time::Span;
use std::time::Duration;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

/// The time between two heartbeats, at least a second, because the scheduler counts in whole seconds.
pub(super) fn period(state: &DaemonState) -> Duration {
    state.memory.config.daemon.heartbeat.max(Span::SECOND).std()
}

/// Starts the heartbeat. Errors are logged.
pub(super) async fn start(state: &DaemonState) -> Option<JobScheduler> {
    match try_start(state).await {
        Ok(scheduler) => Some(scheduler),
        Err(error) => {
            tracing::error!("the heartbeat of the scheduler cannot start: {error}");
            None
        }
    }
}

async fn try_start(state: &DaemonState) -> Result<JobScheduler, JobSchedulerError> {
    let scheduler = JobScheduler::new().await?;
    let wake = state.wake.clone();
    scheduler.add(Job::new_repeated(period(state), move |_, _| wake.notify_one())?).await?;
    scheduler.start().await?;
    Ok(scheduler)
}

/// Stops the heartbeat.
pub(super) async fn stop(scheduler: &mut JobScheduler) {
    if let Err(error) = scheduler.shutdown().await {
        tracing::warn!("the heartbeat of the scheduler did not stop: {error}");
    }
}
