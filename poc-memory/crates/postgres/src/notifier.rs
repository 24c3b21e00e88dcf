//! Wakes the readers of a store after an append.
//!
//! A notification waits for a lock of the whole server. It has a thread and a connection of its own, so that no append
//! waits for it. While one is sent, those of further appends become one. A notification that fails is not sent later,
//! because readers also query the head at intervals.

use crate::error::failure;
use crate::location::LogLocation;
use crate::statements::NOTIFY;
use crate::store_row;
use parking_lot::{Condvar, Mutex};
use poc_graph::error::Result;
use postgres::{Client, Statement};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Maximum time that the end of a writer waits for its last notification.
const LAST_TIMEOUT: Duration = Duration::from_secs(1);

/// Notifies the readers of a store.
#[derive(Default)]
pub(crate) struct Notifier {
    /// The thread that sends notifications; `None` before the first append.
    thread: Mutex<Option<Arc<NotifierThread>>>,
}

/// The state that a [`Notifier`] shares with its thread.
#[derive(Default)]
struct NotifierThread {
    work: Mutex<NotifierWork>,
    changed: Condvar,
}

#[derive(Default)]
struct NotifierWork {
    /// The number of the store in the database and its new head, of which readers are not notified yet.
    pending: Option<(i64, u64)>,
    /// When the notification that is being sent was begun.
    sending: Option<Instant>,
    is_closed: bool,
}

impl NotifierWork {
    /// Whether a notification has taken longer than a statement may.
    fn hangs(&self, limit: Duration) -> bool {
        self.sending.is_some_and(|begun| begun.elapsed() > limit)
    }
}

impl Notifier {
    /// Notifies the readers of the store with a number of a new head. Does not wait.
    pub(crate) fn notify(&self, location: &LogLocation, store: i64, head: u64) {
        let mut thread = self.thread.lock();
        // A call that gets no answer is left to itself, and so is its connection.
        if let Some(hanging) = thread.take_if(|thread| thread.work.lock().hangs(location.time_limit())) {
            hanging.close();
        }
        if thread.is_none() {
            match NotifierThread::start(location.clone()) {
                Ok(started) => *thread = Some(started),
                Err(error) => tracing::debug!("readers are not notified: {error}"),
            }
        }
        if let Some(thread) = thread.as_ref() {
            thread.work.lock().pending = Some((store, head));
            thread.changed.notify_all();
        }
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        let Some(thread) = self.thread.get_mut().take() else { return };
        {
            let is_busy = |work: &mut NotifierWork| work.pending.is_some() || work.sending.is_some();
            thread.changed.wait_while_for(&mut thread.work.lock(), is_busy, LAST_TIMEOUT);
        }
        thread.close();
    }
}

impl NotifierThread {
    fn start(location: LogLocation) -> std::io::Result<Arc<NotifierThread>> {
        let shared = Arc::new(NotifierThread::default());
        let own = shared.clone();
        thread::Builder::new().name("notify".into()).spawn(move || own.run(&location))?;
        Ok(shared)
    }

    /// Makes the thread end as soon as its call does.
    fn close(&self) {
        self.work.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn run(&self, location: &LogLocation) {
        let mut connection = None;
        loop {
            let (store, head) = {
                let mut work = self.work.lock();
                self.changed.wait_while(&mut work, |work| work.pending.is_none() && !work.is_closed);
                let Some(pending) = work.pending.take().filter(|_| !work.is_closed) else { return };
                work.sending = Some(Instant::now());
                pending
            };
            if let Err(error) = send(&mut connection, location, store, head) {
                tracing::debug!("readers were not notified of record {head}: {error}");
            }
            self.work.lock().sending = None;
            self.changed.notify_all();
        }
    }
}

/// Sends a notification on a connection, which is opened if necessary.
fn send(kept: &mut Option<NotifierConnection>, location: &LogLocation, store: i64, head: u64) -> Result<()> {
    if let Some(mut connection) = kept.take().filter(|connection| !connection.client.is_closed())
        && connection.send(store, head).is_ok()
    {
        *kept = Some(connection);
        return Ok(());
    }
    // The connection may have ended while it was not used.
    let mut connection = NotifierConnection::open(location)?;
    connection.send(store, head).map_err(|error| failure(location, &error))?;
    *kept = Some(connection);
    Ok(())
}

/// A connection that sends notifications.
struct NotifierConnection {
    client: Client,
    /// `None` if the database does not support notifications.
    notify: Option<Statement>,
}

impl NotifierConnection {
    fn open(location: &LogLocation) -> Result<NotifierConnection> {
        let mut client = location.connect()?;
        let has_notify = client
            .query("SELECT 1 FROM pg_proc WHERE proname = 'pg_notify'", &[])
            .is_ok_and(|rows| !rows.is_empty());
        let notify = if has_notify { client.prepare(NOTIFY).ok() } else { None };
        Ok(NotifierConnection { client, notify })
    }

    fn send(&mut self, store: i64, head: u64) -> Result<(), postgres::Error> {
        let Some(notify) = &self.notify else { return Ok(()) };
        let (channel, head) = (store_row::channel(store), head.to_string());
        self.client.execute(notify, &[&channel, &head])?;
        Ok(())
    }
}
