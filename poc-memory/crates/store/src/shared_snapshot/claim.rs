//! The claim to write a snapshot. A thread renews it as long as the work takes, so that it can be short: after the end of
//! a process, others wait only for the rest of it.

use crate::shared_log::PEER_HEARTBEAT;
use crate::shared_log_copy::SharedLogCopy;
use crate::watchdog;
use poc_graph::error::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the claim of a writer that has terminated prevents others from writing a snapshot.
pub(super) const DURATION: Duration = Duration::from_secs(30);
/// How often the claim is renewed. Every part of a snapshot that is stored extends it, too.
pub(super) const RENEWAL: Duration = PEER_HEARTBEAT;

/// A claim that is renewed until this is dropped. It is then released.
pub(super) struct SnapshotClaim {
    copy: Arc<SharedLogCopy>,
    is_lost: Arc<AtomicBool>,
    /// The thread that renews the claim ends when this is dropped.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SnapshotClaim {
    /// Claims the right to write a snapshot, and renews the claim at an interval. `None` if another writer has it.
    pub(super) fn take(copy: &Arc<SharedLogCopy>, every: Duration) -> Result<Option<SnapshotClaim>> {
        if !copy.snapshots(|snapshots| snapshots.claim(DURATION))? {
            return Ok(None);
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let is_lost = Arc::new(AtomicBool::new(false));
        let mut claim =
            SnapshotClaim { copy: copy.clone(), is_lost: is_lost.clone(), stop: Some(stop), thread: None };
        let copy = copy.clone();
        let renewing = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(every) {
                match copy.shared().snapshots().renew(DURATION) {
                    Ok(is_renewed) => is_lost.store(!is_renewed, Ordering::Relaxed),
                    // The work fails at its own next call. If it has none meanwhile, the next renewal may succeed.
                    Err(error) => tracing::debug!("the claim to write a snapshot was not renewed: {error}"),
                }
            }
        };
        claim.thread = Some(watchdog::spawn("snapshot-claim", renewing)?);
        Ok(Some(claim))
    }

    /// Whether another writer may have taken over the claim.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}

impl Drop for SnapshotClaim {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // Its panics would only end the renewal.
            let _ = thread.join();
        }
        if let Err(error) = self.copy.snapshots(|snapshots| snapshots.release()) {
            tracing::debug!("the claim to make a snapshot cannot be released: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Log;
    use crate::testing::MemoryLog;

    #[test]
    fn a_claim_is_renewed_until_it_ends_and_its_loss_is_noticed() {
        let (folder, log) = (poc_graph::testing::folder(), Arc::new(MemoryLog::default()));
        let copy = || Arc::new(SharedLogCopy::new(log.writer(), Arc::new(Log::empty(folder.path()))));
        let (first, second) = (copy(), copy());
        let claim = SnapshotClaim::take(&first, Duration::from_millis(1)).unwrap().unwrap();
        assert!(SnapshotClaim::take(&second, RENEWAL).unwrap().is_none());
        let renewals = log.renewals();
        while log.renewals() < renewals + 3 {
            std::thread::yield_now();
        }
        assert!(!claim.is_lost());
        log.expire_claim();
        let taken = SnapshotClaim::take(&second, RENEWAL).unwrap().unwrap();
        while !claim.is_lost() {
            std::thread::yield_now();
        }
        drop(claim);
        assert!(log.is_claimed(), "the claim of another writer stays");
        drop(taken);
        assert!(!log.is_claimed());
    }
}
