//! Waiting for another process, which sends no signal.

use std::time::{Duration, Instant};

/// The time between two tries. Asking at full speed would take the processor from the process that is waited for.
const PAUSE: Duration = Duration::from_millis(25);

/// A moment until which something must happen.
pub(crate) struct Deadline {
    within: Duration,
    end: Instant,
}

impl Deadline {
    pub(crate) fn after(within: Duration) -> Deadline {
        Deadline { within, end: Instant::now() + within }
    }

    /// Waits before the next try.
    ///
    /// # Panics
    /// If the deadline has passed. The message says what is wrong.
    #[track_caller]
    pub(crate) fn wait(&self, wrong: impl FnOnce() -> String) {
        assert!(self.pause(), "not within {:?}: {}", self.within, wrong());
    }

    /// Waits before the next try. Returns `false`, without waiting, if the deadline has passed.
    #[expect(clippy::disallowed_methods, reason = "the process that is waited for sends no signal")]
    pub(crate) fn pause(&self) -> bool {
        let is_left = Instant::now() < self.end;
        if is_left {
            std::thread::sleep(PAUSE);
        }
        is_left
    }
}
