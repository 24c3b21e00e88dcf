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
    #[expect(clippy::disallowed_methods, reason = "the process that is waited for sends no signal")]
    pub(crate) fn wait(&self, wrong: impl FnOnce() -> String) {
        assert!(Instant::now() < self.end, "not within {:?}: {}", self.within, wrong());
        std::thread::sleep(PAUSE);
    }
}
