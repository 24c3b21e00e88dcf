//! Stops computations whose result nobody waits for any more.
//!
//! A request runs in the [`scope`] of an [`Interrupt`]. It is triggered when nobody waits any more: by a client that
//! disconnects, a time limit, or the shutdown of the daemon. Long computations call [`check`] in their loops. A function
//! that cannot fail asks [`is_requested`] and ends early; its caller calls [`check`] before it uses or keeps the result.
//!
//! The scope belongs to the thread, so that no formula and no stage needs a parameter for it. Outside of a scope nothing
//! is interrupted.

use crate::error::{Error, Result};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that stops the computations in its scopes. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

thread_local! {
    static SCOPES: RefCell<Vec<Interrupt>> = const { RefCell::new(Vec::new()) };
}

impl Interrupt {
    /// Stops the computations in its scopes, present and future ones.
    pub fn trigger(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was triggered.
    pub fn is_triggered(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Triggers an interrupt when it is dropped: its owner no longer waits.
#[derive(Debug)]
pub struct InterruptOnDrop(pub Interrupt);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.trigger();
    }
}

/// Runs `work` so that the interrupt stops it, and so do those of the scopes around it.
pub fn scope<T>(interrupt: &Interrupt, work: impl FnOnce() -> T) -> T {
    SCOPES.with_borrow_mut(|scopes| scopes.push(interrupt.clone()));
    let _leave = Leave;
    work()
}

/// Whether the computation of this thread is to stop.
pub fn is_requested() -> bool {
    SCOPES.with_borrow(|scopes| scopes.iter().any(Interrupt::is_triggered))
}

/// Fails if the computation of this thread is to stop.
///
/// # Errors
/// `unavailable`.
pub fn check() -> Result<()> {
    if !is_requested() {
        return Ok(());
    }
    Err(Error::unavailable("the request was cancelled: nobody waits for its answer, or the daemon stops"))
}

/// Leaves the innermost scope, also when its work panics.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        SCOPES.with_borrow_mut(|scopes| drop(scopes.pop()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_stops_the_work_in_its_scopes_and_no_other() {
        let (outer, inner) = (Interrupt::default(), Interrupt::default());
        assert!(check().is_ok());
        scope(&outer, || {
            assert!(!is_requested());
            scope(&inner, || {
                outer.trigger();
                assert!(is_requested(), "an outer interrupt stops inner work");
            });
            assert_eq!(check().unwrap_err().code, crate::error::Code::Unavailable);
        });
        assert!(!is_requested());
        scope(&inner, || assert!(!is_requested()));
        scope(&outer, || assert!(is_requested(), "it stays triggered"));
        let panicked = std::panic::catch_unwind(|| scope(&outer, || panic!("boom")));
        assert!(panicked.is_err() && !is_requested());
    }

    #[test]
    fn other_threads_are_not_stopped() {
        let interrupt = Interrupt::default();
        interrupt.trigger();
        scope(&interrupt, || std::thread::spawn(|| assert!(!is_requested())).join().unwrap());
    }
}
