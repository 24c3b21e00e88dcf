//! The connections without a request in progress. When all connections are in use, the one that has been idle
//! longest is closed, so that clients that never disconnect cannot block others.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The idle connections of a server.
#[derive(Default)]
pub(super) struct IdleConnections {
    idle: Mutex<Idle>,
    changed: Notify,
    // A connection that was to be closed has received a request.
    kept: Notify,
}

#[derive(Default)]
struct Idle {
    // In the order in which they became idle.
    closing: BTreeMap<u64, Arc<Notify>>,
    next: u64,
}

/// A connection that is idle as long as this lives.
pub(super) struct IdleConnection {
    connections: Arc<IdleConnections>,
    number: u64,
    closing: Arc<Notify>,
    is_notified: AtomicBool,
}

impl IdleConnections {
    /// Registers a connection that is idle from now on.
    pub(super) fn add(self: &Arc<Self>) -> IdleConnection {
        let closing = Arc::new(Notify::new());
        let mut idle = self.idle.lock();
        let number = idle.next;
        idle.next += 1;
        idle.closing.insert(number, closing.clone());
        drop(idle);
        self.changed.notify_one();
        IdleConnection { connections: self.clone(), number, closing, is_notified: AtomicBool::new(false) }
    }

    /// Waits for a free slot. If there is none, closes the connection that has been idle longest. If that one stays
    /// open, closes the next one.
    pub(super) async fn free_slot(&self, slots: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        if let Ok(slot) = slots.clone().try_acquire_owned() {
            return Some(slot);
        }
        let mut slot = pin!(slots.clone().acquire_owned());
        loop {
            // Registered before the close request, so that no answer of a connection is missed.
            let mut kept = pin!(self.kept.notified());
            kept.as_mut().enable();
            let closed = async {
                self.close_oldest().await;
                kept.await;
            };
            tokio::select! {
                // A connection may also end by itself.
                slot = slot.as_mut() => return slot.ok(),
                () = closed => {}
            }
        }
    }

    /// Reports that a connection that was to be closed has received a request and stays open, so another one
    /// must be closed if a slot is still needed.
    pub(super) fn keep(&self) {
        self.kept.notify_waiters();
    }

    /// Closes the connection that has been idle longest; waits until there is one.
    async fn close_oldest(&self) {
        loop {
            let oldest = self.idle.lock().closing.pop_first();
            if let Some((_, closing)) = oldest {
                return closing.notify_one();
            }
            self.changed.notified().await;
        }
    }
}

impl IdleConnection {
    /// Waits until the connection is to be closed. A caller that continues to use it calls [`IdleConnections::keep`].
    pub(super) async fn closed(&self) {
        self.closing.notified().await;
        self.is_notified.store(true, Ordering::Relaxed);
    }
}

/// Waits until an idle connection is to be closed; forever if it is not idle.
pub(super) async fn until_closed(idle: Option<&IdleConnection>) {
    match idle {
        Some(idle) => idle.closed().await,
        None => std::future::pending().await,
    }
}

impl Drop for IdleConnection {
    fn drop(&mut self) {
        let was_listed = self.connections.idle.lock().closing.remove(&self.number).is_some();
        // It was selected, but stopped being idle before it was notified.
        if !was_listed && !self.is_notified.load(Ordering::Relaxed) {
            self.connections.keep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a future is ready without waiting.
    async fn is_ready(future: impl Future<Output = ()>) -> bool {
        tokio::select! {
            biased;
            () = future => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn the_connection_that_is_idle_longest_is_closed_first() {
        let connections = Arc::new(IdleConnections::default());
        let (first, second, third) = (connections.add(), connections.add(), connections.add());
        drop(first);
        assert!(is_ready(connections.close_oldest()).await);
        assert!(is_ready(second.closed()).await && !is_ready(third.closed()).await);
        drop(second);
        assert!(is_ready(connections.close_oldest()).await);
        assert!(is_ready(third.closed()).await);
        // There is no other, so the next one that becomes idle is closed.
        let waiting = connections.clone();
        let closing = tokio::spawn(async move { waiting.close_oldest().await });
        let fourth = connections.add();
        closing.await.unwrap();
        assert!(is_ready(fourth.closed()).await);
    }

    #[tokio::test]
    async fn if_a_connection_is_kept_the_next_one_is_closed() {
        let connections = Arc::new(IdleConnections::default());
        let slots = Arc::new(Semaphore::new(3));
        let mut used = Vec::new();
        for _ in 0..3 {
            used.push(connections.free_slot(&slots).await.unwrap());
        }
        let (first, second, third) = (connections.add(), connections.add(), connections.add());
        let waiting = connections.clone();
        let accepting = tokio::spawn(async move { waiting.free_slot(&slots).await });
        first.closed().await;
        assert!(!is_ready(second.closed()).await);
        connections.keep();
        second.closed().await;
        used.pop();
        assert!(accepting.await.unwrap().is_some());
        // Nobody waits for a slot any more.
        connections.keep();
        assert!(!is_ready(third.closed()).await);
    }

    #[tokio::test]
    async fn a_connection_that_receives_a_request_before_it_is_closed_is_kept() {
        let connections = Arc::new(IdleConnections::default());
        let slots = Arc::new(Semaphore::new(2));
        let _used = [connections.free_slot(&slots).await, connections.free_slot(&slots).await];
        let (first, second) = (connections.add(), connections.add());
        let waiting = connections.clone();
        let _accepting = tokio::spawn(async move { waiting.free_slot(&slots).await });
        while connections.idle.lock().closing.len() == 2 {
            tokio::task::yield_now().await;
        }
        drop(first);
        second.closed().await;
    }
}
