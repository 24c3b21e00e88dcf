//! How many calls of a provider go on at once.

use super::Stop;
use super::stop::{LONGEST, Waited};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// The door of one provider, for the whole process. Who comes first goes first.
#[derive(Default)]
pub(super) struct Gate(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    inside: usize,
    tickets: u64,
    waiting: VecDeque<(u64, Stop)>,
}

/// A place inside; it is given back when this goes away.
pub(super) struct Place(Arc<Gate>);

impl Gate {
    /// Waits for a place among `most`; `None` when the call was stopped before there was one. Calls that
    /// are inside end by their own timeouts, so this wait needs none.
    pub(super) fn enter(self: &Arc<Gate>, most: usize, stop: &Stop) -> Option<Place> {
        let ticket = {
            let mut queue = self.0.lock();
            queue.tickets += 1;
            let ticket = queue.tickets;
            queue.waiting.push_back((ticket, stop.clone()));
            ticket
        };
        match stop.wait(LONGEST, || self.admit(ticket, most)) {
            Waited::Came(place) => Some(place),
            Waited::Stopped | Waited::TimedOut => {
                self.0.lock().waiting.retain(|(waiting, _)| *waiting != ticket);
                self.wake();
                None
            }
        }
    }

    fn admit(self: &Arc<Gate>, ticket: u64, most: usize) -> Option<Place> {
        let mut queue = self.0.lock();
        if queue.inside >= most || queue.waiting.front().is_none_or(|(first, _)| *first != ticket) {
            return None;
        }
        queue.waiting.pop_front();
        queue.inside += 1;
        Some(Place(self.clone()))
    }

    /// Lets everybody who waits look again: more than one place may be free.
    fn wake(&self) {
        let waiting: Vec<Stop> = self.0.lock().waiting.iter().map(|(_, stop)| stop.clone()).collect();
        waiting.iter().for_each(Stop::wake);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.lock().inside -= 1;
        self.0.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn no_more_than_so_many_are_inside() {
        for most in [1, 3] {
            let (gate, inside, seen) = (Arc::<Gate>::default(), AtomicUsize::new(0), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for _ in 0..16 {
                    scope.spawn(|| {
                        for _ in 0..50 {
                            let place = gate.enter(most, &Stop::new()).unwrap();
                            let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                            seen.fetch_max(now, Ordering::SeqCst);
                            std::thread::yield_now();
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(place);
                        }
                    });
                }
            });
            assert!((1..=most).contains(&seen.load(Ordering::SeqCst)), "{seen:?} of {most}");
            assert!(gate.0.lock().waiting.is_empty() && gate.0.lock().inside == 0);
        }
    }

    #[test]
    fn who_is_stopped_waits_no_longer_and_holds_nobody_up() {
        let gate = Arc::<Gate>::default();
        let inside = gate.enter(1, &Stop::new()).unwrap();
        let (first, second) = (Stop::new(), Stop::new());
        std::thread::scope(|scope| {
            let stopped = scope.spawn(|| gate.enter(1, &first).is_none());
            while gate.0.lock().waiting.is_empty() {
                std::thread::yield_now();
            }
            let waiting = scope.spawn(|| gate.enter(1, &second).is_some());
            first.stop();
            assert!(stopped.join().unwrap());
            drop(inside);
            assert!(waiting.join().unwrap());
        });
    }
}
