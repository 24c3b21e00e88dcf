//! One connection: both sides send `hello`, then the client sends requests. Several requests run at the
//! same time; each answer carries the id of its request.

use super::CLOSE_TIMEOUT;
use super::call::{CallOrigin, call};
use super::idle_connections::{IdleConnections, until_closed};
use crate::state::DaemonState;
use crate::surface::Surface;
use poc_graph::cancellation::CancellationToken;
use poc_graph::error::{Code, Error, Result};
use poc_memory::ops::{self, Principal};
use poc_memory::wire::{self, CONNECTION, Frame, Header, Hello};
use serde_json::Value;
use std::io::ErrorKind;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
#[cfg(target_os = "linux")]
use tokio::io::Interest;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Serves a connection until the client closes it or is idle for too long, or until the daemon stops and
/// every request is answered. In the last case it returns the open connection.
pub(super) async fn serve(
    state: Arc<DaemonState>,
    stream: UnixStream,
    idle: &Arc<IdleConnections>,
) -> Option<UnixStream> {
    let daemon = &state.memory.config.daemon;
    let (limit, in_flight) = (daemon.max_frame_bytes, daemon.max_in_flight);
    let handshake_timeout = daemon.handshake_timeout;
    let (mut from, to) = stream.into_split();
    let (answers, outgoing) = mpsc::channel(in_flight);
    let (open, is_open) = watch::channel(());
    let writer = tokio::spawn(write_all(state.clone(), to, outgoing, limit, is_open));
    let waiting = idle.add();
    let stopped = async {
        state.stopped().await;
        tokio::time::sleep(CLOSE_TIMEOUT).await;
    };
    let greeted = tokio::select! {
        greeted = exchange_hello(&mut from, &answers, limit) => greeted,
        () = tokio::time::sleep(handshake_timeout.std()) => {
            Err(Error::unavailable(format!("the client sent no `hello` within {handshake_timeout}")))
        }
        () = waiting.closed() => Err(displaced()),
        () = stopped => Err(Error::unavailable("the daemon is stopping")),
    };
    drop(waiting);
    let result = match greeted {
        Ok(()) => {
            let mut requests = Requests::new(state.clone(), answers.clone());
            let end = listen(&mut requests, &mut from, limit, in_flight, idle).await;
            drop(open);
            let has_client = match &end {
                Ok(end) => *end == DisconnectReason::Stopping,
                // After a malformed frame, the client can still read the error.
                Err(error) => error.code != Code::Unavailable,
            };
            requests.finish(has_client).await;
            end
        }
        Err(error) => {
            drop(open);
            Err(error)
        }
    };
    let stays_open = match result {
        Ok(end) => end == DisconnectReason::Stopping,
        Err(error) => {
            tracing::debug!("a connection is closed: {error}");
            let _ = answers.send(Frame::Err { id: CONNECTION, err: error }).await;
            false
        }
    };
    drop(answers);
    let to = writer.await.ok().flatten()?;
    if stays_open { from.reunite(to).ok() } else { None }
}

/// Why no more requests are read from a connection.
#[derive(Clone, Copy, PartialEq)]
enum DisconnectReason {
    /// The client closed its side.
    Closed,
    /// The daemon is stopping.
    Stopping,
}

/// Sends the version of the daemon after the client has sent its own, and checks that they match.
async fn exchange_hello(from: &mut OwnedReadHalf, answers: &mpsc::Sender<Frame>, limit: usize) -> Result<()> {
    let Some(frame) = read(from, limit).await? else { return Ok(()) };
    // The client must learn our version even if the versions do not match.
    let _ = answers.send(Frame::Hello { hello: Hello::current() }).await;
    match frame {
        Frame::Hello { hello } => hello.check("the client"),
        _ => Err(Error::invalid("the first frame is not `hello`")),
    }
}

/// The requests of a connection that are in progress.
struct Requests {
    state: Arc<DaemonState>,
    answers: mpsc::Sender<Frame>,
    running: JoinSet<()>,
    /// Interrupts the requests when the client is gone.
    cancellation: CancellationToken,
}

impl Requests {
    fn new(state: Arc<DaemonState>, answers: mpsc::Sender<Frame>) -> Requests {
        Requests { state, answers, running: JoinSet::new(), cancellation: CancellationToken::default() }
    }

    /// Waits until any request ends.
    async fn next_end(&mut self) {
        self.running.join_next().await;
    }

    /// Waits until all requests have ended. If there is no client to receive the answers, they are
    /// interrupted.
    async fn finish(mut self, has_client: bool) {
        if !has_client {
            self.cancellation.cancel();
        }
        while self.running.join_next().await.is_some() {}
    }
}

/// Reads requests and starts them. While `in_flight` requests run, it reads no more, and only notices when the client
/// is gone.
async fn listen(
    requests: &mut Requests,
    from: &mut OwnedReadHalf,
    limit: usize,
    in_flight: usize,
    idle: &Arc<IdleConnections>,
) -> Result<DisconnectReason> {
    let state = requests.state.clone();
    let idle_timeout = state.memory.config.daemon.idle_timeout;
    loop {
        if requests.running.len() >= in_flight {
            tokio::select! {
                () = requests.next_end() => continue,
                () = until_disconnected(from) => return Ok(DisconnectReason::Closed),
            }
        }
        // A partly read frame must not be dropped, so the same read continues while requests end.
        let mut reading = pin!(read(from, limit));
        let frame = loop {
            let waiting = requests.running.is_empty().then(|| idle.add());
            let timeout = tokio::time::sleep(idle_timeout.std());
            tokio::select! {
                () = state.stopped() => return Ok(DisconnectReason::Stopping),
                frame = reading.as_mut() => break frame,
                () = requests.next_end(), if waiting.is_none() => {}
                () = timeout, if waiting.is_some() => {
                    return Err(Error::unavailable(format!("the connection was idle for {idle_timeout}"))
                        .hint("connect again"));
                }
                () = until_closed(waiting.as_ref()), if waiting.is_some() => return Err(displaced()),
            }
        };
        match frame {
            Ok(Some(Frame::Request { id, op, args, actor })) if id != CONNECTION => {
                let (answers, cancellation) = (requests.answers.clone(), requests.cancellation.clone());
                requests.running.spawn(answer(state.clone(), id, op, args, actor, cancellation, answers));
            }
            Ok(Some(_)) => {
                return Err(Error::invalid("the frame is not a request")
                    .hint("send a frame with `id` (1 or more), `op` and `args`"));
            }
            Ok(None) => return Ok(DisconnectReason::Closed),
            Err(error) => return Err(error),
        }
        while requests.running.try_join_next().is_some() {}
    }
}

/// Waits until the client has closed the connection, whether or not there are bytes to read.
#[cfg(target_os = "linux")]
async fn until_disconnected(from: &OwnedReadHalf) {
    // The interest in urgent bytes also reports a closed connection, but not ordinary bytes. Requests have no urgent
    // bytes; a client that sends some is noticed when it is read from again.
    match from.ready(Interest::PRIORITY).await {
        Ok(ready) if !ready.is_read_closed() => std::future::pending().await,
        _ => {}
    }
}

/// Other systems do not report a closed connection before its bytes are read.
#[cfg(not(target_os = "linux"))]
async fn until_disconnected(_: &OwnedReadHalf) {
    std::future::pending().await
}

/// The error for an idle client that is disconnected to make room for another.
fn displaced() -> Error {
    Error::unavailable("all connections were in use, and this one was idle")
        .hint("connect again, or raise `max-connections` under `[daemon]` in config.toml")
}

/// Runs one request and sends its answer.
async fn answer(
    state: Arc<DaemonState>,
    id: u64,
    op: String,
    args: Value,
    actor: Principal,
    cancellation: CancellationToken,
    answers: mpsc::Sender<Frame>,
) {
    // A request that is abandoned continues for a while, and the connection must not wait for it.
    let progress = answers.downgrade();
    let progress = move |report| {
        if let Some(answers) = progress.upgrade() {
            // A slow client misses some progress frames, because work must never wait for it.
            drop(answers.try_send(Frame::Progress { id, progress: report }));
        }
    };
    let result = match ops::find(&op) {
        Some(def) => {
            let origin = CallOrigin { surface: Surface::Socket, actor, may_write: true };
            call(state, origin, def, args, cancellation, progress).await
        }
        None => Err(unknown_op(&op)),
    };
    let frame = match result {
        Ok(ok) => Frame::Ok { id, ok },
        Err(err) => Frame::Err { id, err },
    };
    let _ = answers.send(frame).await;
}

fn unknown_op(op: &str) -> Error {
    Error::invalid(format!("there is no op `{op}`"))
        .hint("use `poc-memory` and `poc-daemon` of the same version")
        .field("op")
}

/// Writes frames until the channel ends or the client is gone. `open` ends when the connection is to be closed.
async fn write_all(
    state: Arc<DaemonState>,
    mut to: OwnedWriteHalf,
    mut outgoing: mpsc::Receiver<Frame>,
    limit: usize,
    mut open: watch::Receiver<()>,
) -> Option<OwnedWriteHalf> {
    let mut close_timeout = CLOSE_TIMEOUT;
    while let Some(frame) = outgoing.recv().await {
        let bytes = match (wire::encode(&frame, limit), frame) {
            (Ok(bytes), _) => bytes,
            (Err(err), Frame::Ok { id, .. }) => wire::encode(&Frame::Err { id, err }, limit).ok()?,
            (Err(_), _) => return None,
        };
        write(&state, &mut to, &bytes, &mut open, &mut close_timeout).await?;
    }
    Some(to)
}

/// Writes a frame. `None` when the client is gone, or takes longer to read it than a connection may be idle. Once the
/// connection is to be closed or the daemon stops, all frames together wait for the client for `close_timeout`, from
/// which each wait is subtracted. A slow client would otherwise keep its connection open and delay the stop.
async fn write(
    state: &DaemonState,
    to: &mut OwnedWriteHalf,
    mut bytes: &[u8],
    open: &mut watch::Receiver<()>,
    close_timeout: &mut Duration,
) -> Option<()> {
    let mut too_late = pin!(tokio::time::sleep(state.memory.config.daemon.idle_timeout.std()));
    while !bytes.is_empty() {
        let is_closing = state.is_stopping() || open.has_changed().is_err();
        let started = Instant::now();
        let closed = async {
            tokio::select! {
                () = state.stopped() => {}
                // Nothing is ever sent, so this is the end.
                _ = open.changed() => {}
            }
            tokio::time::sleep(*close_timeout).await;
        };
        let written = tokio::select! {
            biased;
            written = to.write(bytes) => written.ok()?,
            () = too_late.as_mut() => return None,
            () = closed => return None,
        };
        if is_closing {
            *close_timeout = close_timeout.saturating_sub(started.elapsed());
        }
        bytes = bytes.get(written..).filter(|_| written > 0)?;
    }
    Some(())
}

/// Reads a frame. `None` when the client closed the connection. The buffer grows with the bytes that
/// arrive, never with the announced length.
async fn read(from: &mut (impl AsyncRead + Unpin), limit: usize) -> Result<Option<Frame>> {
    let mut header = Header::default();
    match from.read_exact(&mut header).await {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(wire::broken(error)),
    }
    let length = wire::length(header, limit)?;
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes).await.map_err(wire::broken)?;
    wire::decode_whole(&bytes, length).map(Some)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_disconnected_client_is_noticed_before_its_bytes_are_read() {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"unread").await.unwrap();
        let (from, _to) = server.into_split();
        from.readable().await.unwrap();
        let mut disconnected = pin!(until_disconnected(&from));
        tokio::select! {
            biased;
            () = disconnected.as_mut() => panic!("the client is there"),
            () = tokio::task::yield_now() => {}
        }
        drop(client);
        disconnected.await;
    }
}
