//! Limits the number of concurrent calls to a server.

use parking_lot::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// A counting semaphore for calls.
pub(super) struct CallLimiter {
    max: usize,
    timeout: Duration,
    calls: Mutex<Calls>,
    changed: Condvar,
}

#[derive(Default)]
struct Calls {
    running: usize,
    succeeded: u64,
}

/// The permit for one call. Dropping it ends the call.
pub(super) struct CallPermit<'a> {
    limiter: &'a CallLimiter,
    has_succeeded: bool,
}

impl CallLimiter {
    /// Allows at most `max` concurrent calls. Further calls wait, as long as at least one call succeeds within each
    /// `timeout`.
    pub(super) fn new(max: usize, timeout: Duration) -> CallLimiter {
        CallLimiter { max, timeout, calls: Mutex::default(), changed: Condvar::new() }
    }

    /// The maximum number of concurrent calls.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// The number of calls that have succeeded.
    #[cfg(test)]
    pub(super) fn succeeded(&self) -> u64 {
        self.calls.lock().succeeded
    }

    /// Waits for a permit. `None` if all permits are taken and no call has succeeded within the timeout.
    pub(super) fn acquire(&self) -> Option<CallPermit<'_>> {
        let mut calls = self.calls.lock();
        let mut succeeded = calls.succeeded;
        let mut deadline = Instant::now() + self.timeout;
        while calls.running >= self.max {
            let timed_out = self.changed.wait_until(&mut calls, deadline).timed_out();
            if calls.succeeded != succeeded {
                succeeded = calls.succeeded;
                deadline = Instant::now() + self.timeout;
            } else if timed_out && calls.running >= self.max {
                return None;
            }
        }
        calls.running += 1;
        Some(CallPermit { limiter: self, has_succeeded: false })
    }
}

impl CallPermit<'_> {
    /// Ends a call as successful, which lets waiting calls wait longer.
    pub(super) fn succeed(mut self) {
        self.has_succeeded = true;
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        let mut calls = self.limiter.calls.lock();
        calls.running -= 1;
        calls.succeeded += u64::from(self.has_succeeded);
        drop(calls);
        // Notifies all waiting calls, because each must see that a call has succeeded.
        self.limiter.changed.notify_all();
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
    fn a_waiting_call_gets_the_permit_of_a_call_that_ends() {
        let limiter = CallLimiter::new(1, Duration::from_secs(60));
        for has_succeeded in [false, true] {
            std::thread::scope(|scope| {
                let first = limiter.acquire().unwrap();
                let waiting = scope.spawn(|| limiter.acquire().is_some());
                // `notify_one` is true once the other call waits.
                while !limiter.changed.notify_one() {
                    assert!(!waiting.is_finished(), "the call did not wait");
                    std::thread::yield_now();
                }
                if has_succeeded {
                    first.succeed()
                } else {
                    drop(first)
                }
                assert!(waiting.join().unwrap());
            });
        }
    }
}
