//! Cancels work whose result is no longer needed.
//!
//! A [`CancellationToken`] reaches running code in two ways. A call that blocks (on a model or in a queue) takes the
//! token as an argument and waits on it. A computation does not take the token: it runs inside a [`scope`] of the
//! token, which is bound to the thread, so no formula and no stage needs an extra parameter. Long computations call
//! [`check`] in their loops. A function that cannot fail calls [`is_requested`] and returns early with an incomplete
//! result; its caller must call [`check`] before it uses or stores that result. Outside of any scope, computations are
//! never cancelled.
//!
//! Three events cancel a token: its client disconnects, its time limit passes, or the daemon shuts down.

use crate::error::{Code, Error, Result};
use parking_lot::{Condvar, Mutex};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Maximum duration of a wait. It keeps a huge timeout in an agent file from overflowing an [`Instant`].
pub const LONGEST_WAIT: Duration = Duration::from_secs(7 * 86_400);

/// Cancels the calls that it was passed to and the computations in its scopes. Clones share one state.
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

/// How [`CancellationToken::wait`] ended.
#[derive(Debug, PartialEq, Eq)]
pub enum WaitOutcome<T> {
    /// The condition was met and returned this value.
    Ready(T),
    /// The token was cancelled first.
    Cancelled,
    /// The time limit passed first.
    TimedOut,
}

thread_local! {
    static SCOPES: RefCell<Vec<CancellationToken>> = const { RefCell::new(Vec::new()) };
}

impl CancellationToken {
    /// Creates a token that is not cancelled.
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

    /// Whether the token was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Makes every waiting call check its condition again.
    pub fn wake(&self) {
        // Taking the lock first prevents a wake between a check and its wait.
        drop(self.0.waits.lock());
        self.0.changed.notify_all();
    }

    /// Blocks until `look` returns a value, the token is cancelled, or `limit` passes. `look` is called once at the
    /// start and again after every [`CancellationToken::wake`].
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

/// Cancels its token when dropped, because the owner no longer waits for the result.
#[derive(Debug)]
pub struct CancelOnDrop(pub CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs `work` in a scope of `token`. The work is cancelled by this token and by those of the enclosing scopes.
pub fn scope<T>(token: &CancellationToken, work: impl FnOnce() -> T) -> T {
    SCOPES.with_borrow_mut(|scopes| scopes.push(token.clone()));
    let _guard = ScopeGuard;
    work()
}

/// Whether the computation on this thread should stop.
pub fn is_requested() -> bool {
    SCOPES.with_borrow(|scopes| scopes.iter().any(CancellationToken::is_cancelled))
}

/// The message of the error of [`check`].
const CANCELLED: &str = "the request was cancelled: the client disconnected, or the daemon is stopping";

/// Fails if the computation on this thread should stop.
///
/// # Errors
/// `unavailable` if the token of any enclosing scope was cancelled.
pub fn check() -> Result<()> {
    if is_requested() { Err(Error::unavailable(CANCELLED)) } else { Ok(()) }
}

/// Whether an error is that of [`check`]. The work then ended at a check, so the outcome of everything before it is
/// known.
pub fn is_cancellation(error: &Error) -> bool {
    error.code == Code::Unavailable && error.message == CANCELLED
}

/// Leaves the innermost scope on drop, so also when its work panics.
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
            let error = check().unwrap_err();
            assert!(error.code == Code::Unavailable && is_cancellation(&error));
            assert!(!is_cancellation(&Error::unavailable("the answer is lost")));
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
