//! When to look at the files: after events, once it is quiet, and again where one look is not enough.

use poc_config::Daemon;
use std::time::{Duration, Instant};

/// A file that fails to read is read again after this before its error counts: it may be half
/// written.
pub(crate) const SECOND_LOOK: Duration = Duration::from_millis(250);

/// A file that is gone this long is deleted, not in the middle of being replaced.
pub(crate) const GRACE: Duration = Duration::from_millis(poc_agent::GRACE.0.unsigned_abs());

/// How long to wait for what.
#[derive(Clone, Copy, Debug)]
struct Waits {
    quiet: Duration,
    latest: Duration,
    poll: Duration,
}

/// What a look left open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Open {
    /// Something is newly wrong and wants a second look.
    pub(crate) doubt: bool,
    /// A file is gone, and its grace is not over.
    pub(crate) gone: bool,
}

/// Events in, the instant of the next look out. Time is an argument.
#[derive(Debug)]
pub(crate) struct Debounce {
    waits: Waits,
    /// The first and the last event since the last look.
    dirty: Option<(Instant, Instant)>,
    poll: Instant,
    second: Option<Instant>,
    grace: Option<Instant>,
}

impl Debounce {
    /// Nothing has happened yet.
    pub(crate) fn new(config: &Daemon, now: Instant) -> Debounce {
        let waits = Waits {
            quiet: config.reload_quiet.std(),
            latest: config.reload_latest.std(),
            poll: config.reload_poll.std(),
        };
        Debounce { waits, dirty: None, poll: now + waits.poll, second: None, grace: None }
    }

    /// Something changed.
    pub(crate) fn event(&mut self, now: Instant) {
        let first = self.dirty.map_or(now, |(first, _)| first);
        self.dirty = Some((first, now));
    }

    /// When to look next.
    pub(crate) fn deadline(&self) -> Instant {
        let quiet = self.dirty.map(|(first, last)| (last + self.waits.quiet).min(first + self.waits.latest));
        [quiet, self.second, self.grace].into_iter().flatten().fold(self.poll, Instant::min)
    }

    /// A look begins: events from here on ask for another.
    pub(crate) fn begin(&mut self) {
        self.dirty = None;
    }

    /// A look has ended and left something open or not.
    pub(crate) fn end(&mut self, now: Instant, open: Open) {
        self.poll = now + self.waits.poll;
        // What is open stays due at its first instant: further events do not put it off.
        let keep = |due: Option<Instant>, open: bool, wait: Duration| {
            open.then(|| due.filter(|due| *due > now).unwrap_or(now + wait))
        };
        self.second = keep(self.second, open.doubt, SECOND_LOOK);
        self.grace = keep(self.grace, open.gone, GRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;
    use proptest::prelude::*;

    /// Milliseconds at which it looks, given those of the events, when every look leaves `open`
    /// open until `settled`.
    fn looks(events: &[u64], open: Open, settled: u64, until: u64) -> Vec<u64> {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut debounce = Debounce::new(&Config::defaults().unwrap().daemon, start);
        let mut events = events.iter().copied().peekable();
        let mut looks = Vec::new();
        loop {
            let deadline = debounce.deadline();
            match events.next_if(|event| at(*event) <= deadline) {
                Some(event) => debounce.event(at(event)),
                None if deadline > at(until) => return looks,
                None => {
                    let now = (deadline - start).as_millis() as u64;
                    debounce.begin();
                    debounce.end(deadline, if now < settled { open } else { Open::default() });
                    looks.push(now);
                }
            }
        }
    }

    fn nothing_open(events: &[u64], until: u64) -> Vec<u64> {
        looks(events, Open::default(), 0, until)
    }

    #[test]
    fn it_looks_once_it_is_quiet() {
        assert_eq!(nothing_open(&[1000], 20_000), [1300]);
        assert_eq!(nothing_open(&[1000, 1200, 1450], 20_000), [1750]);
        assert_eq!(nothing_open(&[1000, 1400], 20_000), [1300, 1700]);
    }

    #[test]
    fn it_does_not_wait_for_ever() {
        let storm: Vec<u64> = (0..60).map(|index| 1000 + index * 100).collect();
        assert_eq!(nothing_open(&storm, 20_000), [3000, 5100, 7200]);
    }

    #[test]
    fn it_looks_without_any_event_too() {
        assert_eq!(nothing_open(&[], 95_000), [30_000, 60_000, 90_000]);
        assert_eq!(nothing_open(&[20_000], 60_000), [20_300, 50_300]);
    }

    #[test]
    fn an_error_gets_a_second_look() {
        let doubt = Open { doubt: true, gone: false };
        assert_eq!(looks(&[1000], doubt, 1301, 20_000), [1300, 1550]);
    }

    #[test]
    fn a_vanished_file_gets_its_grace() {
        let gone = Open { doubt: false, gone: true };
        assert_eq!(looks(&[1000], gone, 1301, 20_000), [1300, 3300]);
        // Other events do not put it off.
        assert_eq!(looks(&[1000, 2000, 3000], gone, 3000, 20_000), [1300, 2300, 3300]);
    }

    proptest! {
        #[test]
        fn every_event_is_followed_by_a_look_within_the_latest(
            mut events in proptest::collection::vec(0u64..60_000, 0..200)
        ) {
            events.sort();
            let looks = nothing_open(&events, 100_000);
            for event in events {
                let next = looks.iter().find(|look| **look >= event).unwrap();
                prop_assert!(next - event <= 2000);
            }
        }

        #[test]
        fn looks_are_apart_however_many_events_there_are(
            mut events in proptest::collection::vec(0u64..10_000, 0..2000)
        ) {
            events.sort();
            let looks = nothing_open(&events, 100_000);
            prop_assert!(looks.windows(2).all(|pair| pair[1] - pair[0] >= 300));
        }
    }
}
