//! Waiting for another process, which sends no signal.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The time between the first two tries. Each pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// The longest time between two tries. Most tries start a program, which takes time from the process that is waited for.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// A moment until which something must happen.
pub(crate) struct Deadline {
    within: Duration,
    end: Instant,
    next_pause: Cell<Duration>,
}

impl Deadline {
    pub(crate) fn after(within: Duration) -> Deadline {
        Deadline { within, end: Instant::now() + within, next_pause: Cell::new(FIRST_PAUSE) }
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
            let pause = self.next_pause.get();
            std::thread::sleep(pause);
            self.next_pause.set((2 * pause).min(LONGEST_PAUSE));
        }
        is_left
    }
}
