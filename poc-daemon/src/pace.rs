//! When to do work that is put off until the memory is quiet, and how often.

use std::time::{Duration, Instant};

/// After work it rests so many times as long as that took: at most a twentieth of a core.
const REST: u32 = 20;

/// Looks within the time that must be quiet.
const LOOKS: u32 = 4;

/// What one look at the memory shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Goes up with every change.
    pub(crate) generation: i64,
    /// Whether there is nothing to do.
    pub(crate) done: bool,
    /// Whether it is not to wait for quiet.
    pub(crate) urgent: bool,
}

/// Says when to work. Time is an argument.
#[derive(Debug)]
pub(crate) struct Pace {
    quiet: Duration,
    /// The generation last seen, and since when.
    seen: (i64, Instant),
    /// When the last work began.
    begun: Instant,
    rest_until: Instant,
}

impl Pace {
    /// The first moments belong to whoever has started the daemon.
    pub(crate) fn new(quiet: Duration, now: Instant) -> Pace {
        Pace { quiet, seen: (i64::MIN, now), begun: now, rest_until: now + quiet }
    }

    /// The time from one look to the next.
    pub(crate) fn interval(&self) -> Duration {
        // One that is over at once would leave no time for anything else.
        (self.quiet / LOOKS).max(Duration::from_millis(10))
    }

    /// Whether work is to begin now.
    pub(crate) fn due(&mut self, look: Look, now: Instant) -> bool {
        if look.generation != self.seen.0 {
            self.seen = (look.generation, now);
        }
        let is_quiet = now.duration_since(self.seen.1) >= self.quiet;
        let due = !look.done && now >= self.rest_until && (is_quiet || look.urgent);
        if due {
            self.begun = now;
        }
        due
    }

    /// The work that was due has ended.
    pub(crate) fn done(&mut self, now: Instant) {
        self.rest_until = now + (now.duration_since(self.begun) * REST).max(self.quiet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_secs(10);

    /// A pace, and an instant so many seconds after its start.
    fn pace() -> (Pace, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        (Pace::new(QUIET, start), move |seconds| start + Duration::from_secs(seconds))
    }

    fn changed(generation: i64) -> Look {
        Look { generation, done: false, urgent: false }
    }

    #[test]
    fn what_is_quiet_is_worked_on_once() {
        let (mut pace, at) = pace();
        assert!(!pace.due(changed(1), at(3)));
        assert!(!pace.due(changed(1), at(12)), "quiet for nine seconds");
        assert!(pace.due(changed(1), at(13)));
        pace.done(at(14));
        assert!(!pace.due(Look { done: true, ..changed(1) }, at(60)));
        assert!(!pace.due(changed(2), at(61)));
        assert!(!pace.due(changed(3), at(70)), "changed again");
        assert!(pace.due(changed(3), at(80)));
    }

    #[test]
    fn what_is_urgent_is_not_waited_for() {
        let (mut pace, at) = pace();
        let urgent = |generation| Look { urgent: true, ..changed(generation) };
        assert!(!pace.due(urgent(1), at(9)), "the daemon has just started");
        assert!(pace.due(urgent(2), at(11)));
        // It took two seconds, so it rests for forty.
        pace.done(at(13));
        assert!(!pace.due(urgent(900), at(52)));
        assert!(pace.due(urgent(901), at(53)));
    }

    #[test]
    fn work_that_is_over_at_once_and_was_in_vain_is_not_done_again_at_once() {
        let (mut pace, at) = pace();
        pace.due(changed(1), at(0));
        assert!(pace.due(changed(1), at(10)));
        pace.done(at(10));
        assert!(!pace.due(changed(1), at(19)));
        assert!(pace.due(changed(1), at(20)));
    }
}
