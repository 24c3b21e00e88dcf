//! Runs work that may panic or hang, and turns both into errors.

use poc_graph::error::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Default for the maximum time between two heartbeats of the record engine.
pub(super) const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(60);

/// Why work on another thread gave no result.
#[derive(Debug, thiserror::Error)]
enum WatchdogError {
    #[error("no progress for {} s", .0.as_secs_f32())]
    Hang(Duration),
    #[error("its thread ended without a result")]
    ThreadEnded,
    #[error("the thread `{name}` cannot be started: {source}")]
    Spawn { name: String, source: std::io::Error },
    #[error("panic: {0}")]
    Panic(String),
}

impl From<WatchdogError> for Error {
    fn from(error: WatchdogError) -> Error {
        Error::internal(error.to_string())
    }
}

/// Lets watched work show that it makes progress.
pub(super) struct Heartbeat<T>(SyncSender<Option<Result<T>>>);

impl<T> Heartbeat<T> {
    /// Sends a heartbeat.
    pub(super) fn beat(&self) {
        // A full channel means that an earlier beat has not been read yet.
        let _ = self.0.try_send(None);
    }
}

/// Runs `work` on a separate thread and gives up if it sends no heartbeat for `heartbeat_timeout`. Both a panic and a
/// hang become errors. A hanging thread is abandoned.
pub(super) fn run_watched<T: Send + 'static>(
    heartbeat_timeout: Duration,
    work: impl FnOnce(&Heartbeat<T>) -> Result<T> + Send + 'static,
) -> Result<T> {
    run_watched_with(heartbeat_timeout, |receiver| receiver.recv_timeout(heartbeat_timeout), work)
}

/// Like [`run_watched`], with the function that waits for the next message as an argument.
fn run_watched_with<T: Send + 'static>(
    heartbeat_timeout: Duration,
    mut wait: impl FnMut(&Receiver<Option<Result<T>>>) -> WaitResult<T>,
    work: impl FnOnce(&Heartbeat<T>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    spawn("store-open", move || {
        let heartbeat = Heartbeat(sender);
        let result = catch_panic(|| work(&heartbeat));
        // After a timeout, the receiver no longer exists.
        let _ = heartbeat.0.send(Some(result));
    })?;
    loop {
        match wait(&receiver) {
            Ok(None) => {}
            Ok(Some(result)) => return result,
            Err(RecvTimeoutError::Timeout) => {
                return Err(WatchdogError::Hang(heartbeat_timeout).into());
            }
            Err(RecvTimeoutError::Disconnected) => return Err(WatchdogError::ThreadEnded.into()),
        }
    }
}

/// The outcome of one wait: a heartbeat, the result of the work, or a timeout.
type WaitResult<T> = std::result::Result<Option<Result<T>>, RecvTimeoutError>;

/// Runs `work` on a separate thread.
pub(super) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    let spawned = std::thread::Builder::new().name(name.into()).spawn(work);
    Ok(spawned.map_err(|source| WatchdogError::Spawn { name: name.to_owned(), source })?)
}

/// Runs `work` and turns a panic into an error.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(WatchdogError::Panic(panic_message(&*panic).to_owned()).into()))
}

/// The message of a panic.
pub(super) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc::TryRecvError;

    #[test]
    fn a_panic_becomes_an_error() {
        let result: Result<()> = run_watched(Duration::from_secs(60), |_| panic!("boom"));
        assert_eq!(result.unwrap_err().message, "panic: boom");
    }

    /// A clock in milliseconds that moves only when the work moves it.
    #[derive(Clone, Default)]
    struct TestClock {
        now: Arc<AtomicU64>,
        /// The number of heartbeats that the watchdog has received.
        received: Arc<AtomicU64>,
    }

    impl TestClock {
        fn advance(&self, millis: u64) {
            self.now.fetch_add(millis, Ordering::SeqCst);
        }

        fn wait_until_received(&self, count: u64) {
            while self.received.load(Ordering::SeqCst) < count {
                std::thread::yield_now();
            }
        }

        /// Waits like [`Receiver::recv_timeout`], but by this clock.
        fn recv_timeout<T>(
            &self,
            receiver: &Receiver<Option<Result<T>>>,
            heartbeat_timeout: Duration,
        ) -> WaitResult<T> {
            let started = self.now.load(Ordering::SeqCst);
            loop {
                match receiver.try_recv() {
                    Ok(message) => {
                        self.received.fetch_add(1, Ordering::SeqCst);
                        return Ok(message);
                    }
                    Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                    Err(TryRecvError::Empty) => {}
                }
                let waited = self.now.load(Ordering::SeqCst) - started;
                if Duration::from_millis(waited) >= heartbeat_timeout {
                    return Err(RecvTimeoutError::Timeout);
                }
                std::thread::yield_now();
            }
        }
    }

    fn run_watched_with_clock<T: Send + 'static>(
        heartbeat_timeout: Duration,
        clock: &TestClock,
        work: impl FnOnce(&Heartbeat<T>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        run_watched_with(heartbeat_timeout, |receiver| clock.recv_timeout(receiver, heartbeat_timeout), work)
    }

    #[test]
    fn a_hang_becomes_an_error() {
        let (_keep, never) = mpsc::channel::<()>();
        let clock = TestClock::default();
        let work_clock = clock.clone();
        let result: Result<()> =
            run_watched_with_clock(Duration::from_millis(10), &clock, move |heartbeat| {
                // For the wait that starts after this beat, the whole time passes.
                heartbeat.beat();
                work_clock.wait_until_received(1);
                work_clock.advance(5);
                heartbeat.beat();
                work_clock.wait_until_received(2);
                loop {
                    // Every later wait ends by the clock.
                    work_clock.advance(10);
                    if never.try_recv() == Err(TryRecvError::Disconnected) {
                        return Ok(());
                    }
                    std::thread::yield_now();
                }
            });
        assert_eq!(result.unwrap_err().message, "no progress for 0.01 s");
        assert_eq!(clock.received.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn heartbeats_extend_the_time_limit() {
        let clock = TestClock::default();
        let work_clock = clock.clone();
        let result = run_watched_with_clock(Duration::from_millis(200), &clock, move |heartbeat| {
            for count in 1..=30 {
                work_clock.advance(10);
                heartbeat.beat();
                work_clock.wait_until_received(count);
            }
            Ok(7)
        });
        assert_eq!(result.unwrap(), 7);
        assert_eq!(clock.now.load(Ordering::SeqCst), 300);
    }
}
