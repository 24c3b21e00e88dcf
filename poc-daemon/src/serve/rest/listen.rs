//! The connections of HTTP.

use super::door::Door;
use super::mcp::Mcp;
use super::token::Tokens;
use super::{Rest, routes};
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

/// Bytes the headers of a request may have.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// A listener with what it serves.
pub(crate) struct Bound {
    listener: TcpListener,
    router: Router,
    mcp: Option<Arc<Mcp>>,
}

/// Takes the address; `None` when REST is switched off and MCP is not served over HTTP.
pub(crate) async fn bind(shared: &Arc<Shared>) -> Result<Option<Bound>> {
    let config = &shared.memory.config.rest;
    let over_http = shared.memory.config.mcp.http;
    if !config.enabled && !over_http {
        return Ok(None);
    }
    let tokens = Tokens::load(&shared.memory.paths)?;
    let failed = |error: std::io::Error| {
        Error::unavailable(format!("the daemon cannot listen at `{}`: {error}", config.address))
            .hint("choose another `address` under `[rest]` in config.toml; port 0 takes any that is free")
    };
    let listener = TcpListener::bind(config.address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let rest = Arc::new(Rest { shared: shared.clone(), door: Door::new(address, config), tokens });
    let mcp = over_http.then(|| Arc::new(Mcp::new(shared)));
    let router = routes::router(&rest, mcp.as_ref())?;
    let _ = shared.http.set(address);
    tracing::info!(%address, rest = config.enabled, mcp = over_http, "HTTP");
    Ok(Some(Bound { listener, router, mcp }))
}

/// Answers until the daemon is to stop and every request is answered.
pub(crate) async fn run(shared: Arc<Shared>, bound: Option<Bound>) {
    let Some(Bound { listener, router, mcp }) = bound else { return };
    let room = Arc::new(Semaphore::new(shared.memory.config.rest.max_connections));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shared.stopped() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            stream = accept(&listener, &room) => {
                let Some((stream, room)) = stream else { continue };
                let (shared, router) = (shared.clone(), router.clone());
                connections.spawn(async move {
                    hold(&shared, stream, router).await;
                    drop(room);
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

/// The next connection, once there is room for it.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let room = room.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, room)),
        Err(error) => {
            tracing::warn!("a connection could not be accepted: {error}");
            // Out of file descriptors, as a rule: trying again at once would spin.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

/// Serves one connection. `axum::serve` would wait for ever for the rest of a half-sent request.
async fn hold(shared: &Shared, stream: TcpStream, router: Router) {
    // Answers are written whole: nothing is gained by waiting for more.
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
            // What is under way is answered; whoever asks nothing is let go.
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection of HTTP ended badly: {error}");
    }
}
