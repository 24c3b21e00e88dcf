//! Debounces file events: when to scan the files after events, and when to scan again.

use poc_config::DaemonConfig;
use std::time::{Duration, Instant};

/// A file that is missing for this long counts as deleted and not as being replaced.
const GRACE: Duration = Duration::from_millis(poc_agent::GRACE.0.unsigned_abs());

/// Delay of the second scan that must confirm a new error, because the first one may have read a half-written
/// file.
pub(crate) const CONFIRM_AFTER: Duration = Duration::from_millis(250);

/// The unconfirmed observations of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// A new error needs a second scan.
    pub(crate) error: bool,
    /// A file is missing, and its grace period is not over.
    pub(crate) missing: bool,
}

/// The delays of the settings.
#[derive(Clone, Copy, Debug)]
struct Delays {
    quiet: Duration,
    latest: Duration,
    poll: Duration,
}

/// Turns events into the time of the next scan. Time is an argument.
#[derive(Debug)]
pub(crate) struct Debounce {
    delays: Delays,
    /// The first and the last event since the last scan.
    events: Option<(Instant, Instant)>,
    poll: Instant,
    confirm: Option<Instant>,
    grace: Option<Instant>,
}

impl Debounce {
    /// A debouncer without events.
    pub(crate) fn new(config: &DaemonConfig, now: Instant) -> Debounce {
        let delays = Delays {
            quiet: config.reload_quiet.std(),
            latest: config.reload_latest.std(),
            poll: config.reload_poll.std(),
        };
        Debounce { delays, events: None, poll: now + delays.poll, confirm: None, grace: None }
    }

    /// Records an event.
    pub(crate) fn event(&mut self, now: Instant) {
        let first = self.events.map_or(now, |(first, _)| first);
        self.events = Some((first, now));
    }

    /// Whether there was an event since the last scan.
    pub(crate) fn has_events(&self) -> bool {
        self.events.is_some()
    }

    /// When to scan next.
    pub(crate) fn deadline(&self) -> Instant {
        let quiet =
            self.events.map(|(first, last)| (last + self.delays.quiet).min(first + self.delays.latest));
        [quiet, self.confirm, self.grace].into_iter().flatten().fold(self.poll, Instant::min)
    }

    /// Records that a scan starts. Later events request another scan.
    pub(crate) fn begin(&mut self) {
        self.events = None;
    }

    /// Records the end of a scan and its pending observations.
    pub(crate) fn end(&mut self, now: Instant, pending: Pending) {
        self.poll = now + self.delays.poll;
        // A pending scan keeps its first deadline: further events do not delay it.
        let keep = |due: Option<Instant>, pending: bool, wait: Duration| {
            pending.then(|| due.filter(|due| *due > now).unwrap_or(now + wait))
        };
        self.confirm = keep(self.confirm, pending.error, CONFIRM_AFTER);
        self.grace = keep(self.grace, pending.missing, GRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;
    use proptest::prelude::*;

    /// The times of the scans in milliseconds, given the times of the events. Every scan before
    /// `resolved` leaves `pending` pending.
    fn scans(events: &[u64], pending: Pending, resolved: u64, until: u64) -> Vec<u64> {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut debounce = Debounce::new(&Config::defaults().unwrap().daemon, start);
        let mut events = events.iter().copied().peekable();
        let mut scans = Vec::new();
        loop {
            let deadline = debounce.deadline();
            match events.next_if(|event| at(*event) <= deadline) {
                Some(event) => debounce.event(at(event)),
                None if deadline > at(until) => return scans,
                None => {
                    let now = (deadline - start).as_millis() as u64;
                    debounce.begin();
                    debounce.end(deadline, if now < resolved { pending } else { Pending::default() });
                    scans.push(now);
                }
            }
        }
    }

    fn nothing_pending(events: &[u64], until: u64) -> Vec<u64> {
        scans(events, Pending::default(), 0, until)
    }

    #[test]
    fn a_scan_starts_when_events_stop() {
        assert_eq!(nothing_pending(&[1000], 20_000), [1300]);
        assert_eq!(nothing_pending(&[1000, 1200, 1450], 20_000), [1750]);
        assert_eq!(nothing_pending(&[1000, 1400], 20_000), [1300, 1700]);
    }

    #[test]
    fn a_storm_of_events_delays_a_scan_for_a_limited_time() {
        let storm: Vec<u64> = (0..60).map(|index| 1000 + index * 100).collect();
        assert_eq!(nothing_pending(&storm, 20_000), [3000, 5100, 7200]);
    }

    #[test]
    fn scans_happen_without_events() {
        assert_eq!(nothing_pending(&[], 95_000), [30_000, 60_000, 90_000]);
        assert_eq!(nothing_pending(&[20_000], 60_000), [20_300, 50_300]);
    }

    #[test]
    fn an_error_gets_a_second_scan() {
        let error = Pending { error: true, missing: false };
        assert_eq!(scans(&[1000], error, 1301, 20_000), [1300, 1550]);
    }

    #[test]
    fn a_missing_file_gets_its_grace_period() {
        let missing = Pending { error: false, missing: true };
        assert_eq!(scans(&[1000], missing, 1301, 20_000), [1300, 3300]);
        // Other events do not delay it.
        assert_eq!(scans(&[1000, 2000, 3000], missing, 3000, 20_000), [1300, 2300, 3300]);
    }

    poc_laws::laws! {
        #[test]
        fn every_event_is_followed_by_a_scan_in_time(
            mut events in proptest::collection::vec(0u64..60_000, 0..200)
        ) {
            events.sort();
            let scans = nothing_pending(&events, 100_000);
            for event in events {
                let next = scans.iter().find(|scan| **scan >= event).unwrap();
                prop_assert!(next - event <= 2000);
            }
        }

        #[test]
        fn scans_keep_their_distance_however_many_events_there_are(
            mut events in proptest::collection::vec(0u64..10_000, 0..2000)
        ) {
            events.sort();
            let scans = nothing_pending(&events, 100_000);
            prop_assert!(scans.windows(2).all(|pair| pair[1] - pair[0] >= 300));
        }
    }
}
