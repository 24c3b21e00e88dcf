//! Bounds the calls of a server that run at the same time.

use parking_lot::{Condvar, Mutex};
use std::time::Duration;

/// Permits for a number of calls at a time.
pub(super) struct CallLimiter {
    most: usize,
    patience: Duration,
    calls: Mutex<Calls>,
    ended: Condvar,
}

#[derive(Default)]
struct Calls {
    running: usize,
    ended: u64,
}

/// The permit of one call, which ends when it is dropped.
pub(super) struct CallPermit<'a>(&'a CallLimiter);

impl CallLimiter {
    /// At most `most` calls at a time. Further calls wait for as long as calls end: within each `patience` at least
    /// one.
    pub(super) fn new(most: usize, patience: Duration) -> CallLimiter {
        CallLimiter { most, patience, calls: Mutex::default(), ended: Condvar::new() }
    }

    /// The number of calls at a time.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// A permit; `None` when all are taken and no call ended while this one waited.
    pub(super) fn acquire(&self) -> Option<CallPermit<'_>> {
        let mut calls = self.calls.lock();
        while calls.running >= self.most {
            let before = calls.ended;
            let timed_out = self.ended.wait_for(&mut calls, self.patience).timed_out();
            if timed_out && calls.ended == before {
                return None;
            }
        }
        calls.running += 1;
        Some(CallPermit(self))
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        let mut calls = self.0.calls.lock();
        calls.running -= 1;
        calls.ended += 1;
        drop(calls);
        // All, because each that waits must see that a call has ended.
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_beyond_the_limit_gets_no_permit_until_another_ends() {
        let limiter = CallLimiter::new(2, Duration::ZERO);
        let (first, second) = (limiter.acquire(), limiter.acquire());
        assert!(first.is_some() && second.is_some() && limiter.acquire().is_none());
        drop(first);
        assert!(limiter.acquire().is_some());
    }

    #[test]
    fn a_call_waits_while_other_calls_end() {
        let limiter = CallLimiter::new(1, Duration::from_secs(60));
        std::thread::scope(|scope| {
            let first = limiter.acquire();
            let waiting = scope.spawn(|| limiter.acquire().is_some());
            drop(first);
            assert!(waiting.join().unwrap());
        });
    }
}
