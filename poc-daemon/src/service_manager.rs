//! Tells systemd that the daemon is ready, alive and stopping, if systemd started it as a service that notifies.

use crate::shared::Shared;
use sd_notify::NotifyState;
use std::sync::Arc;

/// The daemon answers requests from now on.
pub(crate) fn ready() {
    notify(&[NotifyState::Ready]);
}

/// Says that the daemon is alive, twice in each interval of the watchdog, until it stops. A daemon whose store
/// answers no reader says nothing and is restarted.
pub(crate) async fn run(shared: Arc<Shared>) {
    let watchdog = sd_notify::watchdog_enabled();
    loop {
        let interval = async {
            match watchdog {
                Some(interval) => tokio::time::sleep(interval / 2).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = shared.stopped() => return notify(&[NotifyState::Stopping]),
            () = interval => {
                let reading = shared.clone();
                if shared.pools.requests.run(move || reading.memory.store.view().seq).await.is_ok() {
                    notify(&[NotifyState::Watchdog]);
                }
            }
        }
    }
}

/// Does nothing without a service manager.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!("the service manager was not notified: {error}");
    }
}
