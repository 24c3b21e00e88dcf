//! Wakes the readers of a store after an append.
//!
//! A notification waits for a lock of the whole server. It has a thread and a connection of its own, so that no append
//! waits for it. While one is sent, those of further appends become one. A notification that fails is not sent later,
//! because readers also query the head at intervals.
//!
//! Most stores are used by one process, which appends faster without notifications. None is sent while the
//! [`Listener`](crate::listener::Listener) of this process knows of no other one. The listener of a process that starts
//! greets the others, and the last notification that was skipped is then sent. If the greeting is lost, the process is
//! known from the next announcement on, at most a heartbeat later. Until then, it finds new records only when it
//! queries the head.

use crate::database_client::DatabaseClient;
use crate::error::{DatabaseError, failure, supported};
use crate::location::LogLocation;
use crate::statements::NOTIFY;
use crate::store_row;
use parking_lot::{Condvar, Mutex};
use poc_graph::error::{Code, Result};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio_postgres::Statement;

/// Maximum time that the end of a writer waits for its last notification.
const LAST_TIMEOUT: Duration = Duration::from_secs(1);
/// Time between a failure and the next notification. Without it, a database that has no connection left would get a
/// request for one after every append.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Notifies the readers of a store.
#[derive(Default)]
pub(crate) struct Notifier {
    state: Mutex<NotifierState>,
}

#[derive(Default)]
struct NotifierState {
    /// The thread that sends notifications; `None` before the first one.
    thread: Option<Arc<NotifierThread>>,
    /// Whether no other process is known to use the store.
    is_alone: bool,
    /// The number of the store and its head of the last notification that was skipped.
    skipped: Option<(i64, u64)>,
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
    /// Whether a notification is being sent.
    is_sending: bool,
    is_closed: bool,
}

impl Notifier {
    /// Notifies the readers of the store with a number of a new head, unless there are none. Does not wait.
    pub(crate) fn notify(&self, location: &LogLocation, store: i64, head: u64) {
        let mut state = self.state.lock();
        if state.is_alone {
            state.skipped = Some((store, head));
        } else {
            state.send(location, store, head);
        }
    }

    /// Sets whether no other process is known to use the store, which is unknown at first. If there may be one, it is
    /// notified of what was skipped.
    pub(crate) fn set_alone(&self, location: &LogLocation, is_alone: bool) {
        let mut state = self.state.lock();
        state.is_alone = is_alone;
        if !is_alone && let Some((store, head)) = state.skipped.take() {
            state.send(location, store, head);
        }
    }
}

impl NotifierState {
    /// Gives a notification to the thread, and starts it first if necessary.
    fn send(&mut self, location: &LogLocation, store: i64, head: u64) {
        if self.thread.is_none() {
            let started = NotifierThread::start(location.clone());
            self.thread =
                started.inspect_err(|error| tracing::debug!("readers are not notified: {error}")).ok();
        }
        if let Some(thread) = self.thread.as_ref() {
            thread.work.lock().pending = Some((store, head));
            thread.changed.notify_all();
        }
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        let Some(thread) = self.state.get_mut().thread.take() else { return };
        {
            let is_busy = |work: &mut NotifierWork| work.pending.is_some() || work.is_sending;
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
                work.is_sending = true;
                pending
            };
            let sent = send(&mut connection, location, store, head);
            let mut work = self.work.lock();
            work.is_sending = false;
            self.changed.notify_all();
            if let Err(error) = sent {
                tracing::debug!("readers were not notified of record {head}: {error}");
                self.changed.wait_while_for(&mut work, |work| !work.is_closed, RETRY_DELAY);
            }
        }
    }
}

/// Sends a notification on a connection, which is opened if necessary.
fn send(kept: &mut Option<NotifierConnection>, location: &LogLocation, store: i64, head: u64) -> Result<()> {
    if let Some(connection) = kept.take_if(|connection| !connection.client.is_closed()) {
        match send_on(connection, kept, location, store, head) {
            // The connection may have ended while it was not used.
            Err(error) if error.code == Code::Unavailable => {}
            sent => return sent,
        }
    }
    send_on(NotifierConnection::open(location)?, kept, location, store, head)
}

/// Sends a notification on a connection, and keeps it unless it is of no use any more.
fn send_on(
    mut connection: NotifierConnection,
    kept: &mut Option<NotifierConnection>,
    location: &LogLocation,
    store: i64,
    head: u64,
) -> Result<()> {
    connection.client.limit_calls(location.time_limit());
    let sent = connection.send(store, head).map_err(|error| failure(location, &error));
    // The database may also refuse a notification, for example because its queue is full.
    let is_usable = !matches!(&sent, Err(error) if error.code == Code::Unavailable);
    *kept = is_usable.then_some(connection);
    sent
}

/// A connection that sends notifications.
struct NotifierConnection {
    client: DatabaseClient,
    /// `None` if the database does not support notifications.
    notify: Option<Statement>,
}

impl NotifierConnection {
    fn open(location: &LogLocation) -> Result<NotifierConnection> {
        let mut client = location.connect()?;
        let found = client.query("SELECT 1 FROM pg_proc WHERE proname = 'pg_notify'", &[]);
        let has_notify = supported(found, location)?.is_some_and(|rows| !rows.is_empty());
        let notify = if has_notify { supported(client.prepare(NOTIFY), location)? } else { None };
        Ok(NotifierConnection { client, notify })
    }

    fn send(&mut self, store: i64, head: u64) -> Result<(), DatabaseError> {
        let Some(notify) = &self.notify else { return Ok(()) };
        let (channel, head) = (store_row::channel(store), head.to_string());
        self.client.execute(notify, &[&channel, &head])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::LogSettings;
    use crate::testing::{Cut, CutPoint, CuttingProxy, TestServer};
    use crate::tests::settings_without_address;

    /// Otherwise a connection that was cut would count as one to a database without notifications, and the client
    /// library does not say that it is closed.
    #[test]
    fn a_connection_that_is_cut_while_it_is_opened_is_not_kept() {
        let Some(server) = TestServer::start() else { return };
        let mut cuts = (1..).flat_map(|message| CutPoint::ALL.map(|point| Cut { message, point }));
        let uncut = cuts.find(|cut| {
            // A proxy of its own, which does not count the last messages of the previous connection.
            let proxy = CuttingProxy::start(&server);
            proxy.plan(Some(*cut));
            let settings = LogSettings { address: proxy.address(), ..settings_without_address("a") };
            let location = LogLocation::new(settings).unwrap();
            let opened = NotifierConnection::open(&location);
            match &opened {
                Ok(connection) => assert!(connection.notify.is_some(), "{cut:?}"),
                Err(error) => assert_eq!(error.code, Code::Unavailable, "{cut:?}: {error}"),
            }
            proxy.is_pending()
        });
        assert!(uncut.is_some_and(|cut| cut.message > 10));
    }
}
