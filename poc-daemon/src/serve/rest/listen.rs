//! Accepts and serves HTTP connections.

use super::mcp::Mcp;
use super::origin_guard::OriginGuard;
use super::token::Tokens;
use super::{RestContext, routes};
use crate::shared::Shared;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use poc_graph::error::{Error, Result};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

/// Limit on the bytes of a request's headers.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// A bound address with the router of what is served there.
pub(crate) struct HttpListener {
    listener: TcpListener,
    router: Router,
    mcp: Option<Arc<Mcp>>,
}

/// Binds the address. `None` when neither REST nor MCP is served over HTTP.
///
/// # Errors
/// `unavailable` when the address cannot be bound, `invalid_config` when a token cannot be used.
pub(crate) async fn bind(shared: &Arc<Shared>) -> Result<Option<HttpListener>> {
    let config = &shared.memory.config.rest;
    let over_http = shared.memory.config.mcp.http;
    if !config.enabled && !over_http {
        return Ok(None);
    }
    let tokens = Tokens::load(&shared.memory.paths)?;
    let failed = |error: std::io::Error| {
        Error::unavailable(format!("the daemon cannot listen at `{}`: {error}", config.address))
            .hint("choose another `address` under `[rest]` in config.toml; port 0 selects a free one")
    };
    let listener = TcpListener::bind(config.address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let origin_guard = OriginGuard::new(address, config);
    let rest = Arc::new(RestContext { shared: shared.clone(), origin_guard, tokens });
    let mcp = over_http.then(|| Arc::new(Mcp::new(shared)));
    let router = routes::router(&rest, mcp.as_ref())?;
    let _ = shared.http.set(address);
    tracing::info!(%address, rest = config.enabled, mcp = over_http, "HTTP");
    Ok(Some(HttpListener { listener, router, mcp }))
}

/// Serves connections until the daemon stops and every request is answered.
pub(crate) async fn run(shared: Arc<Shared>, bound: Option<HttpListener>) {
    let Some(HttpListener { listener, router, mcp }) = bound else { return };
    let slots = Arc::new(Semaphore::new(shared.memory.config.rest.max_connections));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shared.stopped() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            stream = accept(&listener, &slots) => {
                let Some((stream, slot)) = stream else { continue };
                let (shared, router) = (shared.clone(), router.clone());
                connections.spawn(async move {
                    serve(&shared, stream, router).await;
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

/// Waits for a free slot, then for the next connection.
async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, slot)),
        Err(error) => {
            tracing::warn!("a connection could not be accepted: {error}");
            // The usual cause is a lack of file descriptors: without a pause, this loop would spin.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

/// Serves one connection. `axum::serve` would wait forever for the rest of a half-sent request.
async fn serve(shared: &Shared, stream: TcpStream, router: Router) {
    // Responses are written in one piece, so delaying small packets gains nothing.
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.memory.config.rest.header_timeout.std())
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shared.stopped() => {
            // A running request is answered; an idle connection is closed.
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("an HTTP connection failed: {error}");
    }
}
