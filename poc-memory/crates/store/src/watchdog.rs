//! Runs what may panic or hang where neither can take the caller along.

use poc_graph::error::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How guarded work shows that it is still going on.
pub(super) struct Pulse<T>(SyncSender<Option<Result<T>>>);

impl<T> Pulse<T> {
    /// A sign of life.
    pub(super) fn beat(&self) {
        // A full channel means that an earlier beat has not been looked at yet.
        let _ = self.0.try_send(None);
    }
}

/// Runs `work` on a thread of its own and gives it up when it shows no sign of life for `patience`.
/// A panic and a hang come back as errors; a thread that hangs is left behind.
pub(super) fn guarded<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce(&Pulse<T>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread("store-open", move || {
        let pulse = Pulse(sender);
        let result = caught(|| work(&pulse));
        // Nobody listens any more when patience ran out.
        let _ = pulse.0.send(Some(result));
    })?;
    loop {
        match receiver.recv_timeout(patience) {
            Ok(None) => {}
            Ok(Some(result)) => return result,
            Err(RecvTimeoutError::Timeout) => {
                return Err(Error::internal(format!("no sign of life for {} s", patience.as_secs_f32())));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("its thread is gone")),
        }
    }
}

/// Runs `work` on a thread of its own.
pub(super) fn thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    let spawned = std::thread::Builder::new().name(name.into()).spawn(work);
    spawned.map_err(|error| Error::internal(format!("the thread `{name}` cannot be started: {error}")))
}

/// Runs `work`; a panic is its error.
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(Error::internal(format!("panic: {}", message(&*panic)))))
}

/// What a panic said.
pub(super) fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let result: Result<()> = guarded(Duration::from_secs(60), |_| panic!("boom"));
        assert_eq!(result.unwrap_err().message, "panic: boom");
    }

    #[test]
    fn a_hang_becomes_an_error() {
        let (_keep, never) = mpsc::channel::<()>();
        let result = guarded(Duration::from_millis(10), move |_| {
            let _ = never.recv();
            Ok(())
        });
        assert_eq!(result.unwrap_err().message, "no sign of life for 0.01 s");
    }

    #[test]
    fn signs_of_life_buy_time() {
        let (sender, receiver) = mpsc::channel::<()>();
        let result = guarded(Duration::from_millis(200), move |pulse| {
            for _ in 0..30 {
                // Nobody ever sends: this waits its 10 ms.
                let _ = receiver.recv_timeout(Duration::from_millis(10));
                pulse.beat();
            }
            Ok(7)
        });
        drop(sender);
        assert_eq!(result.unwrap(), 7);
    }
}
