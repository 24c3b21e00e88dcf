//! The client side of the daemon's socket.

use crate::ops::{Actor, Progress};
use crate::wire::{self, CONNECTION, Frame, Hello};
use poc_graph::error::{Error, Result};
use poc_graph::time::Span;
use serde_json::Value;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A connection to a daemon, after the handshake.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    limit: usize,
    last: u64,
    actor: Actor,
}

impl Client {
    /// Connects to a socket; `None` when no process listens. Frames have at most `limit` bytes, and the handshake
    /// must complete within `timeout`.
    pub fn connect(socket: &Path, limit: usize, timeout: Span) -> Result<Option<Client>> {
        let stream = match UnixStream::connect(socket) {
            Ok(stream) => stream,
            Err(error) => {
                return match error.kind() {
                    // `InvalidInput` is a path too long for a socket, which no daemon can serve either.
                    ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::InvalidInput => Ok(None),
                    _ => Err(Error::unavailable(format!(
                        "the daemon's socket `{}` cannot be opened: {error}",
                        socket.display()
                    ))),
                };
            }
        };
        stream.set_read_timeout(Some(timeout.std())).map_err(wire::broken)?;
        let client = Client { stream, limit, last: CONNECTION, actor: Actor::Person };
        client.handshake(timeout)
    }

    fn handshake(mut self, timeout: Span) -> Result<Option<Client>> {
        if wire::write(&mut self.stream, &Frame::Hello { hello: Hello::current() }, self.limit).is_err() {
            return Ok(None);
        }
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
            Err(error) => Err(Error::unavailable(format!(
                "the daemon did not send its greeting within {timeout}: {error}"
            ))
            .hint("`poc-memory daemon log` shows why")),
        }
    }

    /// Sets on whose behalf requests are sent; the default is a person.
    pub fn act_for(&mut self, actor: Actor) {
        self.actor = actor;
    }

    /// Runs an op in the daemon and waits for the answer; `progress` is called as it advances.
    pub fn call(&mut self, op: &str, args: Value, progress: &dyn Fn(Progress)) -> Result<Value> {
        self.last += 1;
        let request_id = self.last;
        let request = Frame::Request { id: request_id, op: op.into(), args, actor: self.actor };
        wire::write(&mut self.stream, &request, self.limit)?;
        loop {
            match self.receive()? {
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
        // Any end of the connection ends the wait.
        while let Ok(Some(_)) = self.receive() {}
    }

    fn receive(&mut self) -> Result<Option<Frame>> {
        wire::read(&mut self.stream, self.limit)
    }
}
