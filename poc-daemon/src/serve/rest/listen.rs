//! Accepts and serves HTTP connections.

use super::event_stream::EventStream;
use super::mcp::Mcp;
use super::origin_guard::OriginGuard;
use super::token::Tokens;
use super::tracked_body::TrackedBody;
use super::{RestContext, note_path, router};
use crate::serve::CLOSE_TIMEOUT;
use crate::serve::idle_connections::{IdleConnections, until_closed};
use crate::state::DaemonState;
use axum::Router;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use poc_graph::error::{Error, Result};
use rustix::net::RecvFlags;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Sleep;

/// Limit on the bytes of a request's headers.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// A bound address with the router that serves it.
pub(crate) struct HttpListener {
    listener: TcpListener,
    router: Router,
    mcp: Option<Arc<Mcp>>,
}

impl HttpListener {
    fn new(state: &Arc<DaemonState>, listener: std::net::TcpListener) -> Result<HttpListener> {
        let config = &state.memory.config;
        let unusable = |error| cannot_listen(config.rest.address, &error);
        listener.set_nonblocking(true).map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let listener = TcpListener::from_std(listener).map_err(unusable)?;
        let origin_guard = OriginGuard::new(address, &config.rest);
        let tokens = Tokens::load(&state.memory.paths)?;
        let rest = Arc::new(RestContext { state: state.clone(), origin_guard, tokens });
        let mcp = config.mcp.http.then(|| Arc::new(Mcp::new(state)));
        let router = router::router(&rest, mcp.as_ref())?;
        let _ = state.http.set(address);
        tracing::info!(%address, rest = config.rest.enabled, mcp = config.mcp.http, "HTTP");
        Ok(HttpListener { listener, router, mcp })
    }
}

/// Binds the address. `None` when neither REST nor MCP is served over HTTP, and no browser is signed in to the page.
///
/// # Errors
/// `unavailable` when the address cannot be bound, `invalid_config` when a token cannot be used.
pub(crate) fn bind(state: &Arc<DaemonState>) -> Result<Option<HttpListener>> {
    let config = &state.memory.config;
    if config.rest.enabled || config.mcp.http {
        Tokens::load(&state.memory.paths)?;
        return HttpListener::new(state, listen(config.rest.address)?).map(Some);
    }
    let open = state.sessions.port(state.memory.now()).filter(|_| config.page.enabled);
    let Some(port) = open else { return Ok(None) };
    // The settings may have changed since, and no longer allow the last address.
    match listen(SocketAddr::new(config.rest.address.ip(), port)) {
        Ok(listener) => HttpListener::new(state, listener).map(Some),
        Err(error) => {
            tracing::warn!("the page is not served until `poc-memory page`: {error}");
            Ok(None)
        }
    }
}

/// Serves the page if it is not served yet, and returns its address. Blocks.
///
/// # Errors
/// `unavailable` when the settings switch the page off or no address can be bound, `invalid_config` when a token cannot
/// be used.
pub(crate) fn listen_for_page(state: &DaemonState) -> Result<SocketAddr> {
    let config = &state.memory.config;
    if !config.page.enabled {
        return Err(Error::unavailable("the page is switched off")
            .hint("set `enabled = true` under `[page]` in config.toml, and restart the daemon"));
    }
    let mut late = state.late_listener.lock();
    let bound = match (state.http.get(), &*late) {
        (Some(address), _) => Ok(*address),
        (None, Some(listener)) => listener.local_addr(),
        (None, None) => {
            Tokens::load(&state.memory.paths)?;
            // Browsers get the address of the page from the sign-in link, so any free port will do.
            let free = SocketAddr::new(config.rest.address.ip(), 0);
            let listener = listen(config.rest.address).or_else(|_| listen(free))?;
            let address = listener.local_addr();
            *late = Some(listener);
            state.listen.notify_one();
            address
        }
    };
    let address = bound.map_err(|error| cannot_listen(config.rest.address, &error))?;
    state.sessions.set_address(address);
    Ok(address)
}

fn listen(address: SocketAddr) -> Result<std::net::TcpListener> {
    std::net::TcpListener::bind(address).map_err(|error| cannot_listen(address, &error))
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Error {
    Error::unavailable(format!("the daemon cannot listen at `{address}`: {error}"))
        .hint("choose another `address` under `[rest]` in config.toml; port 0 selects a free one")
}

/// Waits until the page is wanted. `None` when the daemon stops first.
async fn wait_for_page(state: &Arc<DaemonState>) -> Option<HttpListener> {
    loop {
        tokio::select! {
            () = state.stopped() => return None,
            () = state.listen.notified() => {}
        }
        let mut late = state.late_listener.lock();
        let listener = late.take()?;
        match HttpListener::new(state, listener) {
            Ok(bound) => return Some(bound),
            Err(error) => tracing::error!("the page cannot be served: {error}"),
        }
    }
}

/// Serves connections until the daemon stops and every request is answered.
pub(crate) async fn run(state: Arc<DaemonState>, bound: Option<HttpListener>) {
    let bound = match bound {
        Some(bound) => Some(bound),
        None => wait_for_page(&state).await,
    };
    let Some(HttpListener { listener, router, mcp }) = bound else { return };
    let slots = Arc::new(Semaphore::new(state.memory.config.rest.max_connections));
    let idle = Arc::new(IdleConnections::default());
    let mut connections = JoinSet::new();
    // A client that waits for a free slot. No other client is accepted until it has one.
    let mut waiting = None;
    loop {
        tokio::select! {
            () = state.stopped() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            stream = accept(&listener), if waiting.is_none() => waiting = stream,
            slot = idle.free_slot(&slots), if waiting.is_some() => {
                let (Some(stream), Some(slot)) = (waiting.take(), slot) else { continue };
                let (state, router, idle) = (state.clone(), router.clone(), idle.clone());
                connections.spawn(async move {
                    serve(&state, stream, router, &idle).await;
                    drop(slot);
                });
            }
        }
    }
    drop(listener);
    let ending = async {
        if let Some(mcp) = mcp {
            mcp.end().await;
        }
    };
    tokio::join!(connections.join_all(), ending);
}

/// Waits for the next connection.
async fn accept(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept().await {
        Ok((stream, _)) => Some(stream),
        Err(error) => {
            tracing::warn!("a connection could not be accepted: {error}");
            // The usual cause is a lack of file descriptors, and without a pause this loop would spin.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

/// The requests of a connection.
#[derive(Clone, Copy, Default)]
struct Requests {
    /// Number of received requests.
    received: usize,
    /// Number of requests whose responses have begun.
    responded: usize,
    /// Number of responses that were sent completely.
    answered: usize,
    /// Number of responses that wait for events.
    streams: usize,
}

impl Requests {
    fn is_idle(&self) -> bool {
        self.received == self.answered + self.streams
    }

    fn all_responses_have_begun(&self) -> bool {
        self.received == self.responded
    }
}

/// A request whose response is not sent yet.
struct PendingRequest {
    requests: Arc<watch::Sender<Requests>>,
    is_stream: bool,
}

impl PendingRequest {
    fn new(requests: &Arc<watch::Sender<Requests>>) -> PendingRequest {
        requests.send_modify(|requests| requests.received += 1);
        PendingRequest { requests: requests.clone(), is_stream: false }
    }

    fn begin_response(&mut self, response: &Response) {
        self.is_stream = response.extensions().get::<EventStream>().is_some();
        self.requests.send_modify(|requests| {
            requests.responded += 1;
            requests.streams += usize::from(self.is_stream);
        });
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        self.requests.send_modify(|requests| {
            requests.answered += 1;
            requests.streams -= usize::from(self.is_stream);
        });
    }
}

/// Waits for the first bytes of a connection or for its end. False if neither arrives before `timeout` ends, before the
/// daemon stops, and before the connection is closed because it is idle.
async fn receives_bytes(
    state: &DaemonState,
    stream: &TcpStream,
    timeout: Pin<&mut Sleep>,
    idle: &Arc<IdleConnections>,
) -> bool {
    let waiting = idle.add();
    tokio::select! {
        ready = stream.readable() => ready.is_ok(),
        () = state.stopped() => false,
        () = timeout => false,
        () = waiting.closed() => {
            // They may have arrived before the runtime has reported them.
            let peeked = rustix::net::recv(stream, &mut [0], RecvFlags::PEEK | RecvFlags::DONTWAIT);
            let has_bytes = peeked.is_ok_and(|(_, length)| length > 0);
            if has_bytes {
                idle.keep();
            }
            has_bytes
        }
    }
}

/// Waits, while the daemon stops, until a connection can be closed: until every request is answered or, after the daemon
/// has abandoned the remaining requests, until every response has begun. Work on such responses has ended by then, so
/// if one is not complete, the client does not read it.
async fn until_answered(state: &DaemonState, mut requests: watch::Receiver<Requests>) {
    let mut responses = requests.clone();
    let sent = async { drop(requests.wait_for(Requests::is_idle).await) };
    let unread = async {
        state.abandoned().await;
        drop(responses.wait_for(Requests::all_responses_have_begun).await);
    };
    tokio::select! {
        () = sent => {}
        () = unread => {}
    }
    tokio::time::sleep(CLOSE_TIMEOUT).await;
}

/// Serves one connection, until it is closed because it is idle and all connections are in use. `axum::serve`
/// would wait forever for the rest of a half-sent request.
async fn serve(state: &DaemonState, stream: TcpStream, router: Router, idle: &Arc<IdleConnections>) {
    // Responses are written in one piece, so delaying small packets (Nagle's algorithm) has no benefit.
    let _ = stream.set_nodelay(true);
    let timeout = state.memory.config.rest.header_timeout.std();
    // The first request has this time from the beginning of the connection, others from the end of the previous one.
    let mut first_timeout = pin!(tokio::time::sleep(timeout));
    if !receives_bytes(state, &stream, first_timeout.as_mut(), idle).await {
        return;
    }
    let router = TowerToHyperService::new(router);
    let requests = Arc::new(watch::Sender::new(Requests::default()));
    let mut changes = requests.subscribe();
    let service = service_fn(move |request| {
        let mut pending = PendingRequest::new(&requests);
        let answered = router.call(note_path::encode_key(request));
        async move {
            let response: Response = answered.await?;
            pending.begin_response(&response);
            Ok::<_, Infallible>(response.map(|body| TrackedBody::new(body, pending)))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeout)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut waiting = Some(idle.add());
    let mut has_request = false;
    let ended = loop {
        tokio::select! {
            // First, so that a request that has arrived is read before an idle connection is closed.
            biased;
            ended = connection.as_mut() => break ended,
            () = state.stopped() => {
                // A running request is answered; an idle connection is closed.
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection.as_mut() => break ended,
                    // The client does not read the rest of its last response.
                    () = until_answered(state, changes.clone()) => return,
                }
            }
            Ok(()) = changes.changed() => {
                let requests = *changes.borrow_and_update();
                has_request = requests.received > 0;
                waiting = requests.is_idle().then(|| idle.add());
            }
            () = first_timeout.as_mut(), if !has_request => return,
            () = until_closed(waiting.as_ref()) => {
                waiting = None;
                let requests = *changes.borrow_and_update();
                has_request = requests.received > 0;
                // Its first request is incomplete.
                if !has_request {
                    return;
                }
                if requests.is_idle() {
                    // The end of the last response may not be sent yet.
                    connection.as_mut().graceful_shutdown();
                    let _ = tokio::time::timeout(CLOSE_TIMEOUT, connection).await;
                    return;
                }
                // It has just received a request.
                idle.keep();
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!("an HTTP connection failed: {error}");
    }
}
