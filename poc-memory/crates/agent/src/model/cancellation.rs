//! Cancellation of calls in progress.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum duration of a wait, so that a timeout of an agent file cannot overflow an [`Instant`].
pub const LONGEST_WAIT: Duration = Duration::from_secs(7 * 86_400);

/// A token that cancels the calls it was passed to. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct CancellationToken(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: Mutex<bool>,
    changed: Condvar,
}

/// How a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub enum WaitOutcome<T> {
    /// The value.
    Ready(T),
    /// The call was cancelled.
    Cancelled,
    /// The time limit passed.
    TimedOut,
}

impl CancellationToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        CancellationToken::default()
    }

    /// Cancels all current and future waits on this token.
    pub fn cancel(&self) {
        *self.0.cancelled.lock() = true;
        self.0.changed.notify_all();
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        *self.0.cancelled.lock()
    }

    /// Makes every wait check its condition again.
    pub fn wake(&self) {
        // Taking the lock first prevents a wake between a check and its wait.
        drop(self.0.cancelled.lock());
        self.0.changed.notify_all();
    }

    /// Waits until `look` returns a value; it is called again after every [`CancellationToken::wake`].
    pub fn wait<T>(&self, limit: Duration, mut look: impl FnMut() -> Option<T>) -> WaitOutcome<T> {
        let deadline = Instant::now() + limit.min(LONGEST_WAIT);
        let mut cancelled = self.0.cancelled.lock();
        loop {
            if let Some(found) = look() {
                return WaitOutcome::Ready(found);
            }
            if *cancelled {
                return WaitOutcome::Cancelled;
            }
            if self.0.changed.wait_until(&mut cancelled, deadline).timed_out() {
                return look().map_or(WaitOutcome::TimedOut, WaitOutcome::Ready);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_a_value_a_cancellation_or_the_timeout() {
        let token = CancellationToken::new();
        assert_eq!(token.wait(Duration::ZERO, || Some(7)), WaitOutcome::Ready(7));
        assert_eq!(token.wait(Duration::from_millis(1), || None::<()>), WaitOutcome::TimedOut);

        let found = Arc::new(Mutex::new(None));
        let (theirs, handle) = (found.clone(), token.clone());
        let worker = std::thread::spawn(move || {
            *theirs.lock() = Some("done");
            handle.wake();
        });
        assert_eq!(token.wait(Duration::from_secs(60), || found.lock().take()), WaitOutcome::Ready("done"));
        worker.join().unwrap();

        let handle = token.clone();
        let stopper = std::thread::spawn(move || handle.cancel());
        assert_eq!(token.wait(Duration::MAX, || None::<()>), WaitOutcome::Cancelled);
        stopper.join().unwrap();
        assert!(token.is_cancelled());
    }
}
