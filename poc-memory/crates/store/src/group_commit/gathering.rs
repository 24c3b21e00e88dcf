//! How long the committer waits for more transactions before it appends to a shared log.
//!
//! Writers that have just got their answers often write again at once. Without a wait, an append begins with the
//! transactions that are queued at that moment, and the writers that return a moment later wait for the next one, so
//! that each append has only half of them.

use std::time::Duration;

/// The wait is at most this part of the time of the last append.
const PART_OF_APPEND: u32 = 4;
/// Maximum time of a wait.
const MAX_WAIT: Duration = Duration::from_millis(10);
/// Maximum number of appends without a wait after waits in vain.
const MAX_PAUSE: u32 = 16;

/// Decides from the last appends whether the next one waits.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// The number of transactions of the next append if all writers return.
    expected: usize,
    /// Maximum time to wait for them.
    limit: Duration,
    /// The number of next appends that do not wait.
    pause: u32,
    /// The number of appends that did not wait after the last wait in vain; 0 if the last wait was not in vain.
    last_pause: u32,
}

impl Gathering {
    /// For how many transactions the next append waits, and for how long at most; `None` if it does not wait.
    pub(super) fn next_wait(&mut self) -> Option<(usize, Duration)> {
        if self.pause > 0 {
            self.pause -= 1;
            return None;
        }
        (self.expected > 1).then_some((self.expected, self.limit))
    }

    /// Ends a wait. If the expected transactions did not come, the next waits are rarer.
    pub(super) fn end(&mut self, is_complete: bool) {
        self.last_pause = if is_complete { 0 } else { (self.last_pause * 2).clamp(1, MAX_PAUSE) };
        self.pause = self.last_pause;
    }

    /// Notes an append of `count` transactions that took `time`, while `others` were queued.
    pub(super) fn note_append(&mut self, count: usize, others: usize, time: Duration) {
        self.expected = count + others;
        self.limit = (time / PART_OF_APPEND).min(MAX_WAIT);
    }

    /// Notes an append that was lost to another writer of the log. Waiting would make this more likely.
    pub(super) fn note_loss(&mut self) {
        self.pause = MAX_PAUSE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit_outcome::OutcomeSender;
    use crate::group_commit::{CommitQueue, CommitterTask};
    use crate::logged_transaction::{Cause, LoggedTransaction};
    use crate::pending_transaction::PendingTransaction;
    use crate::tenant_views::TenantViews;
    use crate::views::Views;
    use poc_graph::Tenant;
    use poc_graph::time::Timestamp;
    use std::sync::{Arc, Weak};

    const TIME: Duration = Duration::from_millis(4);

    #[test]
    fn an_append_waits_for_writers_that_return() {
        let mut gathering = Gathering::default();
        assert_eq!(gathering.next_wait(), None);
        gathering.note_append(1, 0, TIME);
        assert_eq!(gathering.next_wait(), None, "a single writer never waits");
        gathering.note_append(3, 5, TIME);
        assert_eq!(gathering.next_wait(), Some((8, TIME / 4)));
        gathering.end(true);
        gathering.note_append(8, 0, Duration::from_secs(1));
        assert_eq!(gathering.next_wait(), Some((8, MAX_WAIT)));
    }

    #[test]
    fn waits_in_vain_become_rare() {
        let mut gathering = Gathering::default();
        let mut appends = 0;
        let waits = (0..1000).filter(|_| {
            appends += 1;
            gathering.note_append(2, 1, TIME);
            let waits = gathering.next_wait().is_some();
            if waits {
                gathering.end(false);
            }
            waits
        });
        assert!(waits.count() < 70);
        assert_eq!(appends, 1000);
        gathering.end(true);
        assert!(gathering.next_wait().is_some());
        gathering.note_loss();
        let next = (0..MAX_PAUSE).find_map(|_| gathering.next_wait());
        assert_eq!(next, None);
        assert!(gathering.next_wait().is_some());
    }

    fn pending(commits: &CommitQueue, seq: u64) -> PendingTransaction {
        let cause = Cause::new(Timestamp(7), "manual", "test");
        let txn = LoggedTransaction { seq, tenant: Tenant::default(), cause, base: None, writes: Vec::new() };
        PendingTransaction {
            txn: Arc::new(txn),
            record: Vec::new(),
            checksum: 0,
            deltas: Vec::new(),
            view: Weak::new(),
            _pin: commits.published.read().views.pin(Tenant::default()).unwrap(),
            outcome: OutcomeSender::new().0,
        }
    }

    /// The committer waits without an end here, so the test hangs if it is not woken.
    #[test]
    fn the_committer_is_woken_when_enough_transactions_wait() {
        let commits = CommitQueue::new(0, TenantViews::fixed(Views::default()), None, None);
        std::thread::scope(|scope| {
            let gathering = scope.spawn(|| {
                let mut batch = vec![pending(&commits, 1)];
                commits.gather(&mut batch, 3, Duration::from_secs(3600)) && batch.len() == 3
            });
            while commits.queue.lock().wanted != 2 {
                std::thread::yield_now();
            }
            (2..=3).for_each(|seq| commits.submit(pending(&commits, seq)));
            assert!(gathering.join().unwrap());
            // It does not gather now, so one is enough.
            let next = scope
                .spawn(|| matches!(commits.next(TIME), CommitterTask::Commit(batch) if batch.len() == 1));
            commits.submit(pending(&commits, 4));
            assert!(next.join().unwrap());
        });
    }
}
