//! A limit on how long a call to the database takes.
//!
//! The client library has no such limit: if a server is suspended, or a network confirms packets and drops them, a call
//! never ends.

use crate::error::unreachable;
use poc_graph::error::{Error, Result};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Maximum number of calls of one log that run at the same time. Only calls that have exceeded their limits accumulate;
/// each has a thread and a connection.
const MAX_CALLS: usize = 16;

/// Counts the calls that have not ended.
#[derive(Clone, Default)]
pub(crate) struct CallCount(Arc<AtomicUsize>);

/// Counts one call until it is dropped.
pub(crate) struct CountedCall(CallCount);

impl CallCount {
    /// Counts a further call; `None` if there are already [`MAX_CALLS`].
    pub(crate) fn start(&self) -> Option<CountedCall> {
        let call = CountedCall(self.clone());
        (self.0.fetch_add(1, Ordering::Relaxed) < MAX_CALLS).then_some(call)
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs work on a thread of its own, and waits at most for `limit` for its result. `location` names the database in
/// errors, and `calls` counts its calls. It is unknown whether work that takes longer succeeds; its thread ends when
/// the database answers or the connection breaks.
///
/// # Errors
/// `unavailable` if there is no result in time, or if too many earlier calls have not ended.
pub(crate) fn within<T: Send + 'static>(
    location: &impl Display,
    calls: &CallCount,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let unreachable = |why: String| unreachable(location, why);
    let Some(call) = calls.start() else {
        return Err(unreachable(format!("{MAX_CALLS} earlier calls have received no answer")));
    };
    let (sender, receiver) = mpsc::channel();
    let started = thread::Builder::new().name("postgres".into()).spawn(move || {
        let _call = call;
        // After a timeout, the receiver no longer exists.
        let _ = sender.send(work());
    });
    started.map_err(|error| unreachable(format!("no thread can be started: {error}")))?;
    receiver.recv_timeout(limit).map_err(|error| match error {
        mpsc::RecvTimeoutError::Timeout => unreachable(format!("no answer within {limit:?}")),
        mpsc::RecvTimeoutError::Disconnected => Error::internal("a call to the database has failed"),
    })
}
