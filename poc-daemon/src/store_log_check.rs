//! Checks every few seconds that no other program has deleted or truncated the files of the log. If one has,
//! the memory accepts no more writes, because they would be lost when the process is killed. Files that a compaction
//! replaced while they were being read are deleted.

use crate::state::DaemonState;
use std::sync::Arc;
use std::time::Duration;

/// The time between two checks. A check reads only the lengths of files.
const INTERVAL: Duration = Duration::from_secs(5);

/// Checks the files until the daemon stops.
pub(crate) async fn run(state: Arc<DaemonState>) {
    loop {
        tokio::select! {
            () = state.stopped() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
        let checking = state.pools.background.run({
            let state = state.clone();
            move || {
                let store = &state.memory.store;
                store.check_log_files();
                store.delete_replaced_segments();
            }
        });
        if let Err(error) = checking.await {
            tracing::error!("the files of the log were not checked: {error}");
        }
    }
}
