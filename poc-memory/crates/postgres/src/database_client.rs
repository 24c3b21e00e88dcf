//! A client of a database whose calls block, and end when their time is over.
//!
//! The client library is asynchronous and sets no limit: if a server is suspended, or a network confirms packets and
//! drops them, a call never ends. Each client here has a runtime without threads. A call runs it on the calling thread
//! until the answer has arrived or the time is over, so that no call waits for another thread. Only a call on a thread
//! that belongs to another runtime starts a thread.

use crate::error::DatabaseError;
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout_at;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, Row, Socket, Statement, ToStatement};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Maximum time for telling the server that a connection ends.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Minimum time of a wait for notifications. A shorter one ends before the runtime has looked at the socket.
const MIN_WAIT: Duration = Duration::from_millis(1);

/// A connection to a database and its client.
///
/// After a call without an answer, it is unknown what the server has done, and the connection is of no use any more. A
/// connection that is dropped is closed.
pub(crate) struct DatabaseClient {
    // Dropped first: the channel ends its connection when there is no client any more.
    client: Client,
    channel: Channel,
}

impl DatabaseClient {
    /// Connects to a database. Looking up the host, the handshake of TLS and the login together take at most `limit`.
    /// The following calls have what is left of it; see [`DatabaseClient::limit_calls`].
    pub(crate) fn connect(
        config: &Config,
        tls: MakeRustlsConnect,
        limit: Duration,
    ) -> Result<DatabaseClient, DatabaseError> {
        let (runtime, limit) = (CallRuntime::new()?, CallLimit::from_now(limit));
        let (client, connection) = runtime.block_on(limit, config.connect(tls))??;
        let (connection, notifications) = (Some(connection), Vec::new());
        let channel = Channel { connection, notifications, runtime, limit, is_unanswered: false };
        Ok(DatabaseClient { client, channel })
    }

    /// Limits the time of the following calls, all together.
    pub(crate) fn limit_calls(&mut self, limit: Duration) {
        self.channel.limit = CallLimit::from_now(limit);
    }

    /// Whether the connection is known to have ended. The server may have closed it after the last call.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Prepares a statement.
    pub(crate) fn prepare(&mut self, statement: &str) -> Result<Statement, DatabaseError> {
        self.channel.complete(self.client.prepare(statement))
    }

    /// Runs a statement, and returns the number of rows that it has changed.
    pub(crate) fn execute<T: ToStatement + Sync + ?Sized>(
        &mut self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, DatabaseError> {
        self.channel.complete(self.client.execute(statement, parameters))
    }

    /// Runs a statement, and returns its rows.
    pub(crate) fn query<T: ToStatement + Sync + ?Sized>(
        &mut self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, DatabaseError> {
        self.channel.complete(self.client.query(statement, parameters))
    }

    /// Runs a statement that has one row.
    pub(crate) fn query_one<T: ToStatement + Sync + ?Sized>(
        &mut self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, DatabaseError> {
        self.channel.complete(self.client.query_one(statement, parameters))
    }

    /// Runs a statement that has at most one row.
    pub(crate) fn query_opt<T: ToStatement + Sync + ?Sized>(
        &mut self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, DatabaseError> {
        self.channel.complete(self.client.query_opt(statement, parameters))
    }

    /// Runs several statements without parameters, which are separated by semicolons.
    pub(crate) fn batch_execute(&mut self, statements: &str) -> Result<(), DatabaseError> {
        self.channel.complete(self.client.batch_execute(statements))
    }

    /// Waits until there are notifications that were not taken, at most for `wait`, or until the connection ends.
    pub(crate) fn wait_for_notifications(&mut self, wait: Duration) -> Result<(), DatabaseError> {
        self.channel.wait_for_notifications(wait)
    }

    /// Takes the texts of the notifications that have arrived. They are only received during calls, and kept until they
    /// are taken.
    pub(crate) fn take_notifications(&mut self) -> Vec<String> {
        std::mem::take(&mut self.channel.notifications)
    }
}

/// A connection of the client library, with the TLS of this crate or without TLS.
type TlsConnection = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// Sends what the client asks and receives the answers, but only during calls.
struct Channel {
    /// `None` after the end of the connection.
    connection: Option<TlsConnection>,
    /// The texts of the notifications that were not taken.
    notifications: Vec<String>,
    runtime: CallRuntime,
    limit: CallLimit,
    /// Whether a call has received no answer in time.
    is_unanswered: bool,
}

impl Channel {
    /// Runs a call of the client until it has its answer.
    fn complete<T: Send>(
        &mut self,
        call: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, DatabaseError> {
        let Channel { connection, notifications, runtime, limit, is_unanswered } = self;
        let mut call = pin!(call);
        let answer = poll_fn(|context| {
            let exchanged = exchange(connection, notifications, context);
            match (call.as_mut().poll(context), exchanged) {
                (Poll::Pending, Err(reason)) => Poll::Ready(Err(reason)),
                // The client only knows that the connection has ended, and not why.
                (Poll::Ready(Err(error)), Err(reason)) if error.is_closed() => Poll::Ready(Err(reason)),
                // An answer counts even if the connection ended after it, and so does an error of the database.
                (polled, _) => polled,
            }
        });
        let answer = runtime.block_on(*limit, answer).inspect_err(|_| *is_unanswered = true)?;
        Ok(answer?)
    }

    /// Waits until there are notifications, at most for `wait`, or until the connection ends.
    fn wait_for_notifications(&mut self, wait: Duration) -> Result<(), DatabaseError> {
        let Channel { connection, notifications, runtime, .. } = self;
        if !notifications.is_empty() {
            return Ok(());
        }
        let arrival = poll_fn(|context| match exchange(connection, notifications, context) {
            Ok(()) if notifications.is_empty() && connection.is_some() => Poll::Pending,
            // The next call finds that the connection has ended.
            Err(_) if !notifications.is_empty() => Poll::Ready(Ok(())),
            exchanged => Poll::Ready(exchanged),
        });
        match runtime.block_on(CallLimit::from_now(wait.max(MIN_WAIT)), arrival) {
            Err(DatabaseError::NoAnswer(_)) => Ok(()),
            arrived => Ok(arrived??),
        }
    }
}

impl Drop for Channel {
    /// Tells the server that the connection ends, so that it does not log a lost connection.
    fn drop(&mut self) {
        let Channel { connection, notifications, runtime, is_unanswered, .. } = self;
        if *is_unanswered || connection.is_none() {
            return;
        }
        let end = poll_fn(|context| match exchange(connection, notifications, context) {
            Ok(()) if connection.is_some() => Poll::Pending,
            _ => Poll::Ready(()),
        });
        if let Err(error) = runtime.block_on(CallLimit::from_now(END_TIMEOUT), end) {
            tracing::debug!("a connection to the database was not closed: {error:?}");
        }
    }
}

/// Sends and receives what is possible without waiting. If the connection ends now and this side has not closed it,
/// returns why.
fn exchange(
    kept: &mut Option<TlsConnection>,
    notifications: &mut Vec<String>,
    context: &mut Context<'_>,
) -> Result<(), Error> {
    while let Some(connection) = kept {
        match connection.poll_message(context) {
            Poll::Pending => break,
            Poll::Ready(Some(Ok(AsyncMessage::Notification(notification)))) => {
                notifications.push(notification.payload().to_owned());
            }
            // A message for people, such as a warning.
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(Some(Err(reason))) => {
                *kept = None;
                return Err(reason);
            }
            Poll::Ready(None) => *kept = None,
        }
    }
    Ok(())
}

/// The time that calls may take.
#[derive(Clone, Copy)]
struct CallLimit {
    duration: Duration,
    end: Instant,
}

impl CallLimit {
    fn from_now(duration: Duration) -> CallLimit {
        CallLimit { duration, end: Instant::now() + duration }
    }
}

/// A runtime without threads. It is `None` only while it is dropped.
struct CallRuntime(Option<Runtime>);

impl CallRuntime {
    fn new() -> Result<CallRuntime, DatabaseError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(DatabaseError::System)?;
        Ok(CallRuntime(Some(runtime)))
    }

    /// Runs a future on the calling thread until it ends.
    ///
    /// # Errors
    /// [`DatabaseError::NoAnswer`] after the end of the limit.
    fn block_on<T: Send>(
        &self,
        limit: CallLimit,
        future: impl Future<Output = T> + Send,
    ) -> Result<T, DatabaseError> {
        let no_answer = DatabaseError::NoAnswer(limit.duration);
        let Some(runtime) = &self.0 else { return Err(no_answer) };
        let limited = async { timeout_at(limit.end.into(), future).await };
        let ended = if Handle::try_current().is_err() {
            runtime.block_on(limited)
        } else {
            // A runtime cannot run on a thread that runs another one, and this thread may do so.
            let ended = thread::scope(|scope| {
                let thread = thread::Builder::new().name("postgres".into());
                thread.spawn_scoped(scope, || runtime.block_on(limited)).map(|started| started.join())
            });
            match ended.map_err(DatabaseError::System)? {
                Ok(ended) => ended,
                Err(panic) => resume_unwind(panic),
            }
        };
        ended.map_err(|_| no_answer)
    }
}

impl Drop for CallRuntime {
    /// Leaves a look-up of a host to itself if it does not end.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
