//! Stores the updates of recalls every few minutes.

use crate::state::DaemonState;
use poc_notes::recall;
use std::sync::Arc;
use std::time::Duration;

/// How often the number of pending recalls is read.
const INTERVAL: Duration = Duration::from_secs(60);

/// At so many recalls, their updates are stored at the next interval. Alone, a recall takes three times the space that
/// it takes together with nine others about the same subjects.
const DUE_RECALLS: usize = 10;

/// After so many intervals, updates are stored however few they are. What is pending is lost if the daemon is killed.
const MAX_INTERVALS: u32 = 10;

/// Stores pending updates until the daemon stops. The shutdown stores the last ones.
pub(crate) async fn run(state: Arc<DaemonState>) {
    let mut waited = 0;
    loop {
        tokio::select! {
            () = state.stopped() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
        if !is_due(recall::pending_recalls(&state.memory), &mut waited) {
            continue;
        }
        let store = |state: &DaemonState| recall::flush(&state.memory_now());
        state.in_background("the updates of recalls were not saved", store).await;
    }
}

/// Whether the updates of so many recalls are to be stored at the end of an interval. `waited` counts the intervals with
/// pending recalls since they were last stored.
fn is_due(recalls: usize, waited: &mut u32) -> bool {
    *waited = if recalls == 0 { 0 } else { *waited + 1 };
    let due = recalls >= DUE_RECALLS || *waited >= MAX_INTERVALS;
    if due {
        *waited = 0;
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_recalls_wait_for_others_but_not_for_long() {
        let mut waited = 0;
        // The numbers of pending recalls at the end of each minute.
        let mut stored_at =
            |recalls: &[usize]| recalls.iter().position(|&recalls| is_due(recalls, &mut waited));
        assert_eq!(stored_at(&[0; 30]), None);
        assert_eq!(stored_at(&[300]), Some(0));
        assert_eq!(stored_at(&[0, 3, 6, 9, 12]), Some(4));
        assert_eq!(stored_at(&[0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]), Some(10));
        assert_eq!(stored_at(&[1, 0, 1, 1, 1, 1, 1, 1, 1, 1]), None, "stored by another op in between");
        assert_eq!(stored_at(&[1, 1]), Some(1));
    }
}
