//! Checks every few seconds that no other program has deleted or truncated the files of the log. If one has,
//! the memory accepts no more writes, because they would be lost when the process is killed.

use crate::shared::Shared;
use std::sync::Arc;
use std::time::Duration;

/// The time between two checks. A check reads only the lengths of files.
const INTERVAL: Duration = Duration::from_secs(5);

/// Checks the files until the daemon stops.
pub(crate) async fn run(shared: Arc<Shared>) {
    loop {
        tokio::select! {
            () = shared.stopped() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
        let checking = shared.pools.background.run({
            let shared = shared.clone();
            move || shared.memory.store.check_log_files()
        });
        if let Err(error) = checking.await {
            tracing::error!("the files of the log were not checked: {error}");
        }
    }
}
