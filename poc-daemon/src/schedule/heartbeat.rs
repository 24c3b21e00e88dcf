//! The heartbeat: a repeated job of tokio-cron-scheduler that wakes the loop.

use crate::state::DaemonState;
use poc_graph::time::{Span, Timestamp};
use std::time::Duration;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

/// The time between two heartbeats, at least a second, because the scheduler counts in whole seconds.
pub(super) fn period(state: &DaemonState) -> Duration {
    state.memory.config.daemon.heartbeat.max(Span::SECOND).std()
}

/// The heartbeat. If it could not start, as while the clock is before 1970, which the scheduler does not support, it is
/// missing: the loop then wakes by its own timeout and tries to start it again.
pub(super) struct ScheduleHeartbeat(Option<JobScheduler>);

impl ScheduleHeartbeat {
    /// Starts the heartbeat. Errors are logged.
    pub(super) async fn start(state: &DaemonState) -> ScheduleHeartbeat {
        if state.memory.now() < Timestamp(0) {
            tracing::debug!("the clock is before 1970: the schedule has no heartbeat until it is set");
            return ScheduleHeartbeat(None);
        }
        let started = try_start(state).await;
        if let Err(error) = &started {
            tracing::error!("the heartbeat of the scheduler cannot start: {error}");
        }
        ScheduleHeartbeat(started.ok())
    }

    /// Stops the heartbeat.
    pub(super) async fn stop(&mut self) {
        let Some(scheduler) = &mut self.0 else { return };
        if let Err(error) = scheduler.shutdown().await {
            tracing::warn!("the heartbeat of the scheduler did not stop: {error}");
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
