//! A semaphore with priorities: limits concurrent calls of a provider and concurrent runs of agents.

use parking_lot::Mutex;
use poc_graph::cancellation::{CancellationToken, LONGEST_WAIT, WaitOutcome};
use std::collections::VecDeque;
use std::sync::Arc;

/// A counting semaphore with priorities. Waiters of the same [`Priority`] are served in order of arrival.
#[derive(Default)]
pub struct PrioritySemaphore(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    inside: usize,
    tickets: u64,
    waiting: VecDeque<Waiter>,
}

struct Waiter {
    ticket: u64,
    cancellation: CancellationToken,
    priority: Priority,
}

/// Priority of a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A person is waiting.
    Interactive,
    /// Automatic work.
    Background,
}

/// A permit, released when dropped.
pub struct SemaphorePermit(Arc<PrioritySemaphore>);

impl PrioritySemaphore {
    /// Waits for one of `max` permits; `None` when cancelled first. The wait needs no timeout, because calls
    /// that hold permits have their own.
    pub fn enter(
        self: &Arc<PrioritySemaphore>,
        max: usize,
        priority: Priority,
        cancellation: &CancellationToken,
    ) -> Option<SemaphorePermit> {
        let ticket = {
            let mut queue = self.0.lock();
            queue.tickets += 1;
            let ticket = queue.tickets;
            let at = queue.waiting.partition_point(|before| before.priority <= priority);
            queue.waiting.insert(at, Waiter { ticket, cancellation: cancellation.clone(), priority });
            ticket
        };
        match cancellation.wait(LONGEST_WAIT, || self.admit(ticket, max)) {
            WaitOutcome::Ready(place) => {
                // The next waiter may have looked while this one was still before it.
                self.wake();
                Some(place)
            }
            WaitOutcome::Cancelled | WaitOutcome::TimedOut => {
                self.0.lock().waiting.retain(|waiting| waiting.ticket != ticket);
                self.wake();
                None
            }
        }
    }

    fn admit(self: &Arc<PrioritySemaphore>, ticket: u64, max: usize) -> Option<SemaphorePermit> {
        let mut queue = self.0.lock();
        if queue.inside >= max || queue.waiting.front().is_none_or(|first| first.ticket != ticket) {
            return None;
        }
        queue.waiting.pop_front();
        queue.inside += 1;
        Some(SemaphorePermit(self.clone()))
    }

    /// Wakes all waiters: more than one permit may be free.
    fn wake(&self) {
        let waiting: Vec<CancellationToken> =
            self.0.lock().waiting.iter().map(|waiting| waiting.cancellation.clone()).collect();
        waiting.iter().for_each(CancellationToken::wake);
    }
}

impl Drop for SemaphorePermit {
    fn drop(&mut self) {
        self.0.0.lock().inside -= 1;
        self.0.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    #[test]
    fn concurrent_permits_never_exceed_the_limit() {
        for max in [1, 3] {
            let (gate, inside, seen) =
                (Arc::<PrioritySemaphore>::default(), AtomicUsize::new(0), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for _ in 0..16 {
                    scope.spawn(|| {
                        for _ in 0..50 {
                            let place =
                                gate.enter(max, Priority::Background, &CancellationToken::new()).unwrap();
                            let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                            seen.fetch_max(now, Ordering::SeqCst);
                            std::thread::yield_now();
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(place);
                        }
                    });
                }
            });
            assert!((1..=max).contains(&seen.load(Ordering::SeqCst)), "{seen:?} of {max}");
            assert!(gate.0.lock().waiting.is_empty() && gate.0.lock().inside == 0);
        }
    }

    /// Long enough for any machine.
    const WAIT_LIMIT: Duration = Duration::from_secs(60);

    /// Two callers arrive at the same time, and the later one may look first.
    #[test]
    fn no_caller_waits_while_a_permit_is_free() {
        let (gate, inside, late) =
            (Arc::<PrioritySemaphore>::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        let (cancellation, both) = (CancellationToken::new(), Barrier::new(2));
        let enter_often = || {
            for round in 1..=2000 {
                both.wait();
                let place = gate.enter(2, Priority::Background, &cancellation);
                inside.fetch_add(1, Ordering::SeqCst);
                let deadline = Instant::now() + WAIT_LIMIT;
                while inside.load(Ordering::SeqCst) < 2 * round && late.load(Ordering::SeqCst) == 0 {
                    late.fetch_add(usize::from(Instant::now() > deadline), Ordering::SeqCst);
                    std::thread::yield_now();
                }
                drop(place);
                both.wait();
                if late.load(Ordering::SeqCst) > 0 {
                    break;
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(enter_often);
            scope.spawn(enter_often);
        });
        assert_eq!(late.into_inner(), 0, "a caller waited although a permit was free");
    }

    #[test]
    fn a_cancelled_waiter_leaves_the_queue() {
        let gate = Arc::<PrioritySemaphore>::default();
        let inside = gate.enter(1, Priority::Background, &CancellationToken::new()).unwrap();
        let (first, second) = (CancellationToken::new(), CancellationToken::new());
        std::thread::scope(|scope| {
            let stopped = scope.spawn(|| gate.enter(1, Priority::Background, &first).is_none());
            while gate.0.lock().waiting.is_empty() {
                std::thread::yield_now();
            }
            let waiting = scope.spawn(|| gate.enter(1, Priority::Background, &second).is_some());
            first.cancel();
            assert!(stopped.join().unwrap());
            drop(inside);
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn interactive_waiters_go_before_background_ones() {
        let gate = Arc::<PrioritySemaphore>::default();
        let (order, inside) =
            (Mutex::new(Vec::new()), gate.enter(1, Priority::Background, &CancellationToken::new()));
        std::thread::scope(|scope| {
            for (name, priority) in [
                ("slot", Priority::Background),
                ("another", Priority::Background),
                ("person", Priority::Interactive),
                ("guest", Priority::Interactive),
            ] {
                let (gate, order) = (&gate, &order);
                let waiting = gate.0.lock().waiting.len();
                scope.spawn(move || {
                    let place = gate.enter(1, priority, &CancellationToken::new());
                    order.lock().push(name);
                    drop(place);
                });
                while gate.0.lock().waiting.len() == waiting {
                    std::thread::yield_now();
                }
            }
            drop(inside);
        });
        assert_eq!(order.into_inner(), ["person", "guest", "slot", "another"]);
    }
}
