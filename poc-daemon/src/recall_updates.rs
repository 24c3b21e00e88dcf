//! Stores the updates of recalls once a minute.

use crate::state::DaemonState;
use poc_notes::recall;
use std::sync::Arc;
use std::time::Duration;

/// The updates of this period are stored in one transaction. They are lost if the daemon is killed before that.
const INTERVAL: Duration = Duration::from_secs(60);

/// Stores pending updates until the daemon stops. The shutdown stores the last ones.
pub(crate) async fn run(state: Arc<DaemonState>) {
    loop {
        tokio::select! {
            () = state.stopped() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
        let store = |state: &DaemonState| recall::flush(&state.memory_now());
        state.in_background("the updates of recalls were not saved", store).await;
    }
}
