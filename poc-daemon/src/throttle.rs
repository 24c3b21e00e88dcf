//! Throttles background work that should wait until the memory is quiet.

use std::time::{Duration, Instant};

/// The pause after a piece of work, as a multiple of its duration, so that work uses at most about 1/20 of a
/// core.
const PAUSE_FACTOR: u32 = 20;

/// How often the memory is polled within the time that it must be quiet.
const POLLS_PER_QUIET: u32 = 4;

/// The result of one poll of the memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poll {
    /// A number that grows with every change.
    pub(crate) generation: i64,
    /// Whether there is nothing to do.
    pub(crate) done: bool,
    /// Whether the work must not wait until the memory is quiet.
    pub(crate) urgent: bool,
}

/// Decides when to start work. Time is an argument.
#[derive(Debug)]
pub(crate) struct Throttle {
    quiet: Duration,
    /// The generation of the last poll, and when it was first seen.
    seen: (i64, Instant),
    /// When the last work started.
    started: Instant,
    paused_until: Instant,
}

impl Throttle {
    /// A throttle that starts with a pause, because other work has priority right after a start.
    pub(crate) fn new(quiet: Duration, now: Instant) -> Throttle {
        Throttle { quiet, seen: (i64::MIN, now), started: now, paused_until: now + quiet }
    }

    /// The time from one poll to the next.
    pub(crate) fn interval(&self) -> Duration {
        // Without a lower limit, a tiny `quiet` would cause a busy loop.
        (self.quiet / POLLS_PER_QUIET).max(Duration::from_millis(10))
    }

    /// Whether work must start now. If so, it counts as started.
    pub(crate) fn start(&mut self, poll: Poll, now: Instant) -> bool {
        if poll.generation != self.seen.0 {
            self.seen = (poll.generation, now);
        }
        let is_quiet = now.duration_since(self.seen.1) >= self.quiet;
        let due = !poll.done && now >= self.paused_until && (is_quiet || poll.urgent);
        if due {
            self.started = now;
        }
        due
    }

    /// Records that the work has ended.
    pub(crate) fn end(&mut self, now: Instant) {
        self.paused_until = now + (now.duration_since(self.started) * PAUSE_FACTOR).max(self.quiet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_secs(10);

    /// A throttle, and a function from seconds after its start to an instant.
    fn throttle() -> (Throttle, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        (Throttle::new(QUIET, start), move |seconds| start + Duration::from_secs(seconds))
    }

    fn changed(generation: i64) -> Poll {
        Poll { generation, done: false, urgent: false }
    }

    #[test]
    fn work_starts_once_when_the_memory_is_quiet() {
        let (mut throttle, at) = throttle();
        assert!(!throttle.start(changed(1), at(3)));
        assert!(!throttle.start(changed(1), at(12)), "quiet for nine seconds");
        assert!(throttle.start(changed(1), at(13)));
        throttle.end(at(14));
        assert!(!throttle.start(Poll { done: true, ..changed(1) }, at(60)));
        assert!(!throttle.start(changed(2), at(61)));
        assert!(!throttle.start(changed(3), at(70)), "changed again");
        assert!(throttle.start(changed(3), at(80)));
    }

    #[test]
    fn urgent_work_does_not_wait_for_quiet() {
        let (mut throttle, at) = throttle();
        let urgent = |generation| Poll { urgent: true, ..changed(generation) };
        assert!(!throttle.start(urgent(1), at(9)), "the daemon has just started");
        assert!(throttle.start(urgent(2), at(11)));
        // It took two seconds, so the pause is forty.
        throttle.end(at(13));
        assert!(!throttle.start(urgent(900), at(52)));
        assert!(throttle.start(urgent(901), at(53)));
    }

    #[test]
    fn work_that_ends_at_once_without_effect_is_not_repeated_at_once() {
        let (mut throttle, at) = throttle();
        throttle.start(changed(1), at(0));
        assert!(throttle.start(changed(1), at(10)));
        throttle.end(at(10));
        assert!(!throttle.start(changed(1), at(19)));
        assert!(throttle.start(changed(1), at(20)));
    }
}
