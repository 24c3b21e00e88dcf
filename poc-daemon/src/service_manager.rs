//! Notifies systemd that the daemon is ready, alive or stopping, if systemd started it as a service of type
//! `notify`.

use crate::state::DaemonState;
use sd_notify::NotifyState;
use std::sync::Arc;
use std::time::Duration;

/// How long the daemon may need to stop beyond `[daemon] shutdown-grace`: it records interrupted work and saves the
/// store.
const CLOSE_TIME: Duration = Duration::from_secs(15);

/// Reports that the daemon answers requests from now on.
pub(crate) fn ready() {
    notify(&[NotifyState::Ready]);
}

/// Reports that the daemon is alive, twice in each watchdog interval, until it stops. If the store does not
/// answer a read, nothing is reported, and systemd restarts the daemon.
pub(crate) async fn run(state: Arc<DaemonState>) {
    let watchdog = sd_notify::watchdog_enabled();
    loop {
        let interval = async {
            match watchdog {
                Some(interval) => tokio::time::sleep(interval / 2).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // A program that starts again is still the same service.
            () = state.stopped() => {
                if !state.is_restarting() {
                    // Otherwise systemd would kill it after the `TimeoutStopSec` of its unit.
                    let time = state.memory.config.daemon.shutdown_grace.std().saturating_add(CLOSE_TIME);
                    let micros = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
                    notify(&[NotifyState::Stopping, NotifyState::ExtendTimeoutUsec(micros)]);
                }
                return;
            }
            () = interval => {
                let reading = state.clone();
                if state.pools.requests.run(move || reading.memory.store.view().seq).await.is_ok() {
                    notify(&[NotifyState::Watchdog]);
                }
            }
        }
    }
}

/// Sends a notification; does nothing without a service manager.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!("the service manager was not notified: {error}");
    }
}
