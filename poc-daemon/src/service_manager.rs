//! Notifies systemd that the daemon is ready, alive or stopping, if systemd started it as a service of type
//! `notify`.

use crate::state::DaemonState;
use sd_notify::NotifyState;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How long the daemon may need to stop beyond `[daemon] shutdown-grace`: it records interrupted work and saves the
/// store.
const CLOSE_TIME: Duration = Duration::from_secs(15);

/// Reports that the daemon answers requests from now on.
pub(crate) fn ready() {
    notify(&[NotifyState::Ready]);
}

/// Reports that the daemon is alive, twice in each watchdog interval. If the store does not answer a read, nothing is
/// reported, and systemd restarts the daemon. Never returns: a daemon is alive while running work ends, too, and
/// systemd watches one that starts again all the time.
pub(crate) async fn alive(state: Arc<DaemonState>) {
    let Some(watchdog) = sd_notify::watchdog_enabled() else { return std::future::pending().await };
    loop {
        tokio::time::sleep(watchdog / 2).await;
        let reading = state.clone();
        if state.pools.requests.run(move || reading.memory.store.view().seq).await.is_ok() {
            notify(&[NotifyState::Watchdog]);
        }
    }
}

/// Reports that the daemon stops, once it is asked to. A program that starts again is still the same service.
pub(crate) async fn stopping(state: Arc<DaemonState>) {
    state.stopped().await;
    if !state.is_restarting() {
        // Otherwise systemd would kill it after the `TimeoutStopSec` of its unit.
        let time = state.memory.config.daemon.shutdown_grace.std().saturating_add(CLOSE_TIME);
        let micros = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        notify(&[NotifyState::Stopping, NotifyState::ExtendTimeoutUsec(micros)]);
    }
}

/// Closes the store with `close`, and reports until it returns that the daemon is alive and needs [`CLOSE_TIME`] more:
/// the files of thousands of tenants take minutes on a slow disk, and systemd would kill the daemon meanwhile.
pub(crate) fn while_closing<T>(close: impl FnOnce() -> T) -> T {
    let micros = u32::try_from(CLOSE_TIME.as_micros()).unwrap_or(u32::MAX);
    let report = || notify(&[NotifyState::Watchdog, NotifyState::ExtendTimeoutUsec(micros)]);
    repeat_during(CLOSE_TIME / 3, report, close)
}

/// Runs `work`, and calls `repeat` in another thread after each interval until `work` has returned.
fn repeat_during<T>(interval: Duration, repeat: impl Fn() + Send, work: impl FnOnce() -> T) -> T {
    let (working, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                repeat();
            }
        });
        let result = work();
        drop(working);
        result
    })
}

/// Sends a notification; does nothing without a service manager.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!("the service manager was not notified: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_close_is_reported_again_and_again_until_it_ends() {
        let (report, reports) = mpsc::channel();
        let repeat = move || {
            let _ = report.send(());
        };
        let waits_for_three = || (0..3).map(|_| reports.recv()).collect::<Result<Vec<()>, _>>().is_ok();
        // It returns because the thread that reports has ended, too.
        assert!(repeat_during(Duration::from_millis(1), repeat, waits_for_three));
    }
}
