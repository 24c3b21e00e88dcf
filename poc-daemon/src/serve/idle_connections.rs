//! The connections without a request in progress. When all connections are in use, the one that has been idle longest is
//! closed, so that clients that never leave cannot keep others out.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The idle connections of a server.
#[derive(Default)]
pub(super) struct IdleConnections {
    idle: Mutex<Idle>,
    changed: Notify,
}

#[derive(Default)]
struct Idle {
    // By the order in which they became idle.
    closing: BTreeMap<u64, Arc<Notify>>,
    next: u64,
}

/// A connection that is idle as long as this lives.
pub(super) struct IdleConnection {
    connections: Arc<IdleConnections>,
    number: u64,
    closing: Arc<Notify>,
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
        IdleConnection { connections: self.clone(), number, closing }
    }

    /// Waits for a free slot. If there is none, the connection that has been idle longest is closed.
    pub(super) async fn free_slot(&self, slots: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        if let Ok(slot) = slots.clone().try_acquire_owned() {
            return Some(slot);
        }
        let mut slot = pin!(slots.clone().acquire_owned());
        tokio::select! {
            // A connection may also end by itself.
            slot = slot.as_mut() => slot.ok(),
            () = self.close_oldest() => slot.await.ok(),
        }
    }

    /// Closes the connection that has been idle longest; waits until there is one.
    pub(super) async fn close_oldest(&self) {
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
    /// Waits until the connection is to be closed.
    pub(super) async fn closed(&self) {
        self.closing.notified().await;
    }
}

/// Waits until an idle connection is to be closed; for ever if it is not idle.
pub(super) async fn until_closed(idle: Option<&IdleConnection>) {
    match idle {
        Some(idle) => idle.closed().await,
        None => std::future::pending().await,
    }
}

impl Drop for IdleConnection {
    fn drop(&mut self) {
        self.connections.idle.lock().closing.remove(&self.number);
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
}
