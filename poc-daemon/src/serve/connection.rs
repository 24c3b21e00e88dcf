//! One connection: both sides send `hello`, then the client sends requests. Several requests run at the
//! same time; each answer carries the id of its request.

use super::call::{CallOrigin, call};
use crate::shared::Shared;
use poc_graph::error::{Error, Result};
use poc_memory::ops::{self, Actor};
use poc_memory::wire::{self, CONNECTION, Frame, Header, Hello};
use serde_json::Value;
use std::io::ErrorKind;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Serves a connection until the client closes it, or until the daemon stops and every request is
/// answered. In the second case it returns the connection, still open.
pub(super) async fn serve(shared: Arc<Shared>, stream: UnixStream) -> Option<UnixStream> {
    let daemon = &shared.memory.config.daemon;
    let (limit, in_flight) = (daemon.max_frame_bytes, daemon.max_in_flight);
    let (mut from, to) = stream.into_split();
    let (answers, outgoing) = mpsc::channel(in_flight);
    let writer = tokio::spawn(write_all(to, outgoing, limit));
    let greeting = tokio::time::timeout(daemon.handshake_timeout.std(), greet(&mut from, &answers, limit));
    let result = match greeting.await {
        Ok(Ok(())) => listen(&shared, &mut from, &answers, limit, in_flight).await,
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::unavailable("the client sent no `hello` in time")),
    };
    let open = match result {
        Ok(end) => end == End::Stopping,
        Err(error) => {
            tracing::debug!("a connection is closed: {error}");
            let _ = answers.send(Frame::Err { id: CONNECTION, err: error }).await;
            false
        }
    };
    drop(answers);
    let to = writer.await.ok().flatten()?;
    if open { from.reunite(to).ok() } else { None }
}

#[derive(PartialEq)]
enum End {
    /// The client closed its side.
    Closed,
    /// The daemon stops.
    Stopping,
}

async fn greet(from: &mut OwnedReadHalf, answers: &mpsc::Sender<Frame>, limit: usize) -> Result<()> {
    let Some(frame) = read(from, limit).await? else { return Ok(()) };
    // The client learns our version even if the versions do not fit.
    let _ = answers.send(Frame::Hello { hello: Hello::current() }).await;
    match frame {
        Frame::Hello { hello } => hello.check("the client"),
        _ => Err(Error::invalid("the first frame is not `hello`")),
    }
}

/// Reads requests and starts them. While `in_flight` requests run, it reads no more.
async fn listen(
    shared: &Arc<Shared>,
    from: &mut OwnedReadHalf,
    answers: &mpsc::Sender<Frame>,
    limit: usize,
    in_flight: usize,
) -> Result<End> {
    let mut requests = JoinSet::new();
    let end = loop {
        if requests.len() >= in_flight {
            requests.join_next().await;
            continue;
        }
        let frame = tokio::select! {
            () = shared.stopped() => break Ok(End::Stopping),
            frame = read(from, limit) => frame,
        };
        match frame {
            Ok(Some(Frame::Request { id, op, args, actor })) if id != CONNECTION => {
                requests.spawn(answer(shared.clone(), id, op, args, actor, answers.clone()));
            }
            Ok(Some(_)) => {
                break Err(Error::invalid("a request has the fields `id` (1 or more), `op` and `args`"));
            }
            Ok(None) => break Ok(End::Closed),
            Err(error) => break Err(error),
        }
        while requests.try_join_next().is_some() {}
    };
    while requests.join_next().await.is_some() {}
    end
}

/// Runs one request and sends its answer.
async fn answer(
    shared: Arc<Shared>,
    id: u64,
    op: String,
    args: Value,
    actor: Actor,
    answers: mpsc::Sender<Frame>,
) {
    let progress = answers.clone();
    // A client that reads slowly misses some progress frames: work never waits for it.
    let progress = move |state| drop(progress.try_send(Frame::Progress { id, progress: state }));
    let result = match ops::find(&op) {
        Some(def) => {
            let origin = CallOrigin { surface: "socket", actor, may_write: true };
            call(shared, origin, def, args, progress).await
        }
        None => Err(unknown(&op)),
    };
    let frame = match result {
        Ok(ok) => Frame::Ok { id, ok },
        Err(err) => Frame::Err { id, err },
    };
    let _ = answers.send(frame).await;
}

fn unknown(op: &str) -> Error {
    Error::invalid(format!("there is no op `{op}`"))
        .hint("use `poc-memory` and `poc-daemon` of the same version")
        .field("op")
}

/// Writes frames until the channel ends or the client is gone.
async fn write_all(
    mut to: OwnedWriteHalf,
    mut outgoing: mpsc::Receiver<Frame>,
    limit: usize,
) -> Option<OwnedWriteHalf> {
    while let Some(frame) = outgoing.recv().await {
        let bytes = match (wire::encode(&frame, limit), frame) {
            (Ok(bytes), _) => bytes,
            (Err(err), Frame::Ok { id, .. }) => wire::encode(&Frame::Err { id, err }, limit).ok()?,
            (Err(_), _) => return None,
        };
        to.write_all(&bytes).await.ok()?;
    }
    Some(to)
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
