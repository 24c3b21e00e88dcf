//! Cancels work whose result nobody waits for any more.
//!
//! There are two ways to ask a [`CancellationToken`]. A call that waits, for a model or for a place in a queue, is passed
//! the token and waits on it. A computation is not passed the token: it runs in a [`scope`] of it, which belongs to the
//! thread, so that no formula and no stage needs a parameter for it. Long computations call [`check`] in their loops. A
//! function that cannot fail asks [`is_requested`] and ends early; its caller calls [`check`] before it uses or keeps the
//! result. Outside of a scope no computation is cancelled.
//!
//! A token is cancelled by a client that disconnects, a time limit, or the shutdown of the daemon.

use crate::error::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Maximum duration of a wait, so that a timeout of an agent file cannot overflow an [`Instant`].
pub const LONGEST_WAIT: Duration = Duration::from_secs(7 * 86_400);

/// A token that cancels the calls it was passed to and the computations in its scopes. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct CancellationToken(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    // Computations read it in their loops, so it is not behind the mutex.
    cancelled: AtomicBool,
    // Held to set `cancelled` and between a check and its wait.
    waits: Mutex<()>,
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

thread_local! {
    static SCOPES: RefCell<Vec<CancellationToken>> = const { RefCell::new(Vec::new()) };
}

impl CancellationToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        CancellationToken::default()
    }

    /// Cancels all current and future waits on this token, and the computations in its scopes.
    pub fn cancel(&self) {
        let waits = self.0.waits.lock();
        self.0.cancelled.store(true, Ordering::Relaxed);
        drop(waits);
        self.0.changed.notify_all();
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Makes every wait check its condition again.
    pub fn wake(&self) {
        // Taking the lock first prevents a wake between a check and its wait.
        drop(self.0.waits.lock());
        self.0.changed.notify_all();
    }

    /// Waits until `look` returns a value; it is called again after every [`CancellationToken::wake`].
    pub fn wait<T>(&self, limit: Duration, mut look: impl FnMut() -> Option<T>) -> WaitOutcome<T> {
        let deadline = Instant::now() + limit.min(LONGEST_WAIT);
        let mut waits = self.0.waits.lock();
        loop {
            if let Some(found) = look() {
                return WaitOutcome::Ready(found);
            }
            if self.is_cancelled() {
                return WaitOutcome::Cancelled;
            }
            if self.0.changed.wait_until(&mut waits, deadline).timed_out() {
                return look().map_or(WaitOutcome::TimedOut, WaitOutcome::Ready);
            }
        }
    }
}

/// Cancels a token when it is dropped: its owner no longer waits.
#[derive(Debug)]
pub struct CancelOnDrop(pub CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs `work` so that the token cancels it, and so do those of the scopes around it.
pub fn scope<T>(token: &CancellationToken, work: impl FnOnce() -> T) -> T {
    SCOPES.with_borrow_mut(|scopes| scopes.push(token.clone()));
    let _guard = ScopeGuard;
    work()
}

/// Whether the computation of this thread is to stop.
pub fn is_requested() -> bool {
    SCOPES.with_borrow(|scopes| scopes.iter().any(CancellationToken::is_cancelled))
}

/// Fails if the computation of this thread is to stop.
///
/// # Errors
/// `unavailable`.
pub fn check() -> Result<()> {
    if !is_requested() {
        return Ok(());
    }
    Err(Error::unavailable("the request was cancelled: the client disconnected, or the daemon is stopping"))
}

/// Leaves the innermost scope, also when its work panics.
struct ScopeGuard;

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        SCOPES.with_borrow_mut(|scopes| drop(scopes.pop()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_cancels_the_work_in_its_scopes_and_no_other() {
        let (outer, inner) = (CancellationToken::default(), CancellationToken::default());
        assert!(check().is_ok());
        scope(&outer, || {
            assert!(!is_requested());
            scope(&inner, || {
                outer.cancel();
                assert!(is_requested(), "an outer token cancels inner work");
            });
            assert_eq!(check().unwrap_err().code, crate::error::Code::Unavailable);
        });
        assert!(!is_requested());
        scope(&inner, || assert!(!is_requested()));
        scope(&outer, || assert!(is_requested(), "it stays cancelled"));
        let work = std::panic::AssertUnwindSafe(|| scope(&outer, || panic!("boom")));
        let panicked = std::panic::catch_unwind(work);
        assert!(panicked.is_err() && !is_requested());
    }

    #[test]
    fn other_threads_are_not_cancelled() {
        let token = CancellationToken::default();
        token.cancel();
        scope(&token, || std::thread::spawn(|| assert!(!is_requested())).join().unwrap());
    }

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
