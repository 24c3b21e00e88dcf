//! Stores what recalls taught, once a minute.

use crate::shared::Shared;
use poc_notes::recall;
use std::sync::Arc;
use std::time::Duration;

/// What was learned within this time is stored in one transaction, and is lost if the daemon is killed.
const INTERVAL: Duration = Duration::from_secs(60);

/// Stores pending lessons until the daemon stops, which stores the last ones.
pub(crate) async fn run(shared: Arc<Shared>) {
    loop {
        tokio::select! {
            () = shared.stopped() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
        let storing = shared.pools.background.run({
            let shared = shared.clone();
            move || recall::flush(&shared.memory)
        });
        match storing.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("what recalls taught was not saved: {error}"),
            Err(error) => tracing::error!("what recalls taught was not saved: {error}"),
        }
    }
}
