//! The client side of the daemon's socket.

use crate::ops::{Principal, Progress};
use crate::wire::{self, CONNECTION, Frame, Hello};
use poc_graph::cancellation;
use poc_graph::error::{Error, Result};
use poc_graph::time::Span;
use serde_json::Value;
use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Interval at which a waiting read checks whether the call was cancelled.
const CANCELLATION_CHECK: Span = Span(50);

/// A connection to a daemon, after the handshake.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    limit: usize,
    last: u64,
    actor: Principal,
}

impl Client {
    /// Connects to a socket; `None` when no process listens. Frames have at most `limit` bytes, and the handshake
    /// must complete within `timeout`.
    pub fn connect(socket: &Path, limit: usize, timeout: Span) -> Result<Option<Client>> {
        let stream = match UnixStream::connect(socket) {
            Ok(stream) => stream,
            Err(error) => {
                return match error.kind() {
                    // `InvalidInput` means that the path is too long for a socket, so no daemon can serve it
                    // either.
                    ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::InvalidInput => Ok(None),
                    _ => Err(unopened(socket, &error)),
                };
            }
        };
        stream.set_read_timeout(Some(timeout.std())).map_err(wire::broken)?;
        let client = Client { stream, limit, last: CONNECTION, actor: Principal::Person };
        client.handshake(timeout)
    }

    fn handshake(mut self, timeout: Span) -> Result<Option<Client>> {
        let sent = wire::write(&mut self.stream, &Frame::Hello { hello: Hello::current() }, self.limit);
        // A daemon that refuses this user does not wait for the greeting, and may have closed the connection.
        match self.receive() {
            Ok(Some(Frame::Hello { hello })) => {
                hello.check("the daemon")?;
                self.stream.set_read_timeout(None).map_err(wire::broken)?;
                Ok(Some(self))
            }
            Ok(Some(Frame::Err { err, .. })) => Err(err),
            Ok(Some(_)) => Err(Error::unavailable("the daemon did not send its greeting first")),
            // The daemon was about to exit.
            Ok(None) => Ok(None),
            Err(_) if sent.is_err() => Ok(None),
            Err(error) => Err(Error::unavailable(format!(
                "the daemon did not send its greeting within {timeout}: {error}"
            ))
            .hint("`poc-memory daemon log` shows why")),
        }
    }

    /// Sets on whose behalf requests are sent; the default is a person.
    pub fn act_for(&mut self, actor: Principal) {
        self.actor = actor;
    }

    /// Runs an op in the daemon and waits for the answer; `progress` is called as it advances.
    ///
    /// # Errors
    /// `unavailable` when the call is cancelled in its [`cancellation::scope`]. The answer may still arrive,
    /// so the connection must be dropped, which also tells the daemon that nobody waits for the answer.
    pub fn call(&mut self, op: &str, args: Value, progress: &dyn Fn(Progress)) -> Result<Value> {
        self.last += 1;
        let request_id = self.last;
        let request = Frame::Request { id: request_id, op: op.into(), args, actor: self.actor };
        wire::write(&mut self.stream, &request, self.limit)?;
        self.stream.set_read_timeout(Some(CANCELLATION_CHECK.std())).map_err(wire::broken)?;
        loop {
            let answer = wire::read(&mut CancellableReader(&self.stream), self.limit);
            cancellation::check()?;
            match answer? {
                Some(Frame::Progress { id, progress: how_far }) if id == request_id => progress(how_far),
                Some(Frame::Ok { id, ok }) if id == request_id => return Ok(ok),
                Some(Frame::Err { id, err }) if id == request_id || id == CONNECTION => return Err(err),
                Some(_) => {
                    return Err(Error::unavailable("the daemon answered a request that was not sent"));
                }
                None => {
                    return Err(Error::unavailable("the daemon ended before it answered")
                        .hint("`poc-memory daemon log` shows why; acknowledged writes are kept"));
                }
            }
        }
    }

    /// Waits until the daemon has closed its store and exited.
    pub fn wait_for_end(mut self) {
        // This wait cannot be cancelled. If the timeout cannot be removed, the wait ends early.
        let _ = self.stream.set_read_timeout(None);
        // The wait ends however the connection ends.
        while let Ok(Some(_)) = self.receive() {}
    }

    fn receive(&mut self) -> Result<Option<Frame>> {
        wire::read(&mut self.stream, self.limit)
    }
}

/// The error for a socket that exists and cannot be opened.
fn unopened(socket: &Path, error: &io::Error) -> Error {
    let message = format!("the daemon's socket `{}` cannot be opened: {error}", socket.display());
    match error.kind() {
        ErrorKind::PermissionDenied => {
            Error::unavailable(message).hint("run the command as the user of the daemon")
        }
        _ => Error::unavailable(message),
    }
}

/// Reads from a stream with a read timeout, and retries until bytes arrive or the call is cancelled.
struct CancellableReader<'a>(&'a UnixStream);

impl Read for CancellableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if cancellation::is_requested() {
                        return Err(error);
                    }
                }
                result => return result,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::cancellation::CancellationToken;
    use serde_json::json;
    use std::os::unix::net::UnixListener;

    const LIMIT: usize = 1 << 16;

    /// A daemon that answers the requests of one connection with `answer`; without an answer, it waits until the client
    /// has left. Returns how many requests it read.
    fn daemon(listener: &UnixListener, answer: impl Fn() -> Option<Value>) -> usize {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(wire::read(&mut stream, LIMIT).unwrap().is_some());
        wire::write(&mut stream, &Frame::Hello { hello: Hello::current() }, LIMIT).unwrap();
        let mut requests = 0;
        while let Some(frame) = wire::read(&mut stream, LIMIT).unwrap() {
            let Frame::Request { id, .. } = frame else { panic!("{frame:?}") };
            requests += 1;
            if let Some(ok) = answer() {
                wire::write(&mut stream, &Frame::Ok { id, ok }, LIMIT).unwrap();
            }
        }
        requests
    }

    #[test]
    fn a_cancelled_call_leaves_the_daemon_and_the_next_connection_works() {
        let folder = poc_graph::testing::folder();
        let socket = folder.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let token = CancellationToken::new();
        let cancelling = token.clone();
        let server = std::thread::spawn(move || {
            // The client waits for the answer to the first request when it is cancelled.
            let first = daemon(&listener, || {
                cancelling.cancel();
                None
            });
            (first, daemon(&listener, || Some(json!("done"))))
        });
        let connect = || Client::connect(&socket, LIMIT, Span::MINUTE).unwrap().unwrap();
        let mut client = connect();
        let cancelled = cancellation::scope(&token, || client.call("stats", json!({}), &|_| {}));
        assert!(cancelled.unwrap_err().message.contains("cancelled"));
        drop(client);
        let mut client = connect();
        assert_eq!(client.call("stats", json!({}), &|_| {}).unwrap(), "done");
        assert_eq!(client.call("stats", json!({}), &|_| {}).unwrap(), "done");
        drop(client);
        assert_eq!(server.join().unwrap(), (1, 2));
    }
}
