//! Stopping a call that is under way.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// No wait is longer: what an agent file asks for must not overflow an [`Instant`].
pub(super) const LONGEST: Duration = Duration::from_secs(7 * 86_400);

/// A handle that stops the calls it was given to. Copies of it are the same handle.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    stopped: Mutex<bool>,
    changed: Condvar,
}

/// How a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Waited<T> {
    /// What was waited for came.
    Came(T),
    /// The call was stopped.
    Stopped,
    /// Neither, in the time allowed.
    TimedOut,
}

impl Stop {
    /// A handle that nothing has stopped yet.
    pub fn new() -> Self {
        Stop::default()
    }

    /// Ends every wait of the calls that hold this handle, now and later.
    pub fn stop(&self) {
        *self.0.stopped.lock() = true;
        self.0.changed.notify_all();
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        *self.0.stopped.lock()
    }

    /// Makes every wait look again.
    pub(super) fn wake(&self) {
        // Taking the lock first keeps the wake from falling between a look and its wait.
        drop(self.0.stopped.lock());
        self.0.changed.notify_all();
    }

    /// Waits until `look` finds something; it looks again after every [`Stop::wake`].
    pub(super) fn wait<T>(&self, limit: Duration, mut look: impl FnMut() -> Option<T>) -> Waited<T> {
        let deadline = Instant::now() + limit.min(LONGEST);
        let mut stopped = self.0.stopped.lock();
        loop {
            if let Some(found) = look() {
                return Waited::Came(found);
            }
            if *stopped {
                return Waited::Stopped;
            }
            if self.0.changed.wait_until(&mut stopped, deadline).timed_out() {
                return look().map_or(Waited::TimedOut, Waited::Came);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_by_what_happens_first() {
        let stop = Stop::new();
        assert_eq!(stop.wait(Duration::ZERO, || Some(7)), Waited::Came(7));
        assert_eq!(stop.wait(Duration::from_millis(1), || None::<()>), Waited::TimedOut);

        let found = Arc::new(Mutex::new(None));
        let (theirs, handle) = (found.clone(), stop.clone());
        let worker = std::thread::spawn(move || {
            *theirs.lock() = Some("done");
            handle.wake();
        });
        assert_eq!(stop.wait(Duration::from_secs(60), || found.lock().take()), Waited::Came("done"));
        worker.join().unwrap();

        let handle = stop.clone();
        let stopper = std::thread::spawn(move || handle.stop());
        assert_eq!(stop.wait(Duration::MAX, || None::<()>), Waited::Stopped);
        stopper.join().unwrap();
        assert!(stop.is_stopped());
    }
}
