//! Notifies open pages of changes of the memory, and of whether the store accepts writes, with server-sent
//! events (the section of that name in the HTML standard). An event contains only the number of the last
//! change; the page asks the ops what has changed.

use super::super::answer::HttpError;
use super::super::event_stream::EventStream;
use super::super::{RestContext, caller};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use hyper::body::Frame;
use poc_graph::Tuple;
use poc_notes::answer_status;
use serde_json::json;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;

/// How often the memory is polled. A poll costs one pointer load per open page.
const POLL: Duration = Duration::from_millis(200);

/// Number of polls without a change after which a comment is sent. Only a write detects a closed connection,
/// and the session is checked at the same time.
const QUIET_POLLS: u32 = 50;

/// Maximum number of queued events for a slow browser. While the queue is full, polling waits; the next event
/// then has the latest state.
const WAITING: usize = 4;

/// Adds the stream to a router.
pub(super) fn add(router: Router, rest: &Arc<RestContext>) -> Router {
    let rest = rest.clone();
    router.route(
        "/events",
        get(move |request: Request| async move {
            match caller::session(&rest, request.headers()) {
                Some(session) => stream(&rest, request.headers(), session.tenant),
                None => HttpError::unauthorized("this browser is not signed in").into_response(),
            }
        }),
    )
}

fn stream(rest: &Arc<RestContext>, headers: &HeaderMap, tenant: Tuple) -> Response {
    let (events, waiting) = mpsc::channel(WAITING);
    tokio::spawn(send(rest.clone(), headers.clone(), tenant, events));
    let headers = [(CONTENT_TYPE, "text/event-stream")];
    (Extension(EventStream), headers, Body::new(Events(waiting))).into_response()
}

/// Sends events until the browser disconnects, the session ends or the daemon stops.
async fn send(rest: Arc<RestContext>, headers: HeaderMap, tenant: Tuple, events: mpsc::Sender<Bytes>) {
    let store = rest.state.memory.store.for_tenant(&tenant);
    let (mut known, mut known_store) = (None, None);
    let mut quiet = 0;
    loop {
        let read_only = answer_status::read_only(&rest.state.memory);
        if known_store.as_ref() != Some(&read_only) {
            let event = format!("event: store\ndata: {}\n\n", json!({ "read_only": read_only }));
            if events.send(event.into()).await.is_err() {
                return;
            }
            known_store = Some(read_only);
        }
        let seq = store.view().seq;
        quiet = if known == Some(seq) { quiet + 1 } else { 0 };
        let event = match quiet {
            0 => Some(format!("event: change\ndata: {seq}\n\n")),
            QUIET_POLLS => Some(":\n\n".to_owned()),
            _ => None,
        };
        if quiet == QUIET_POLLS {
            quiet = 1;
            if caller::session(&rest, &headers).is_none() {
                return;
            }
        }
        if let Some(event) = event
            && events.send(event.into()).await.is_err()
        {
            return;
        }
        known = Some(seq);
        tokio::select! {
            () = rest.state.stopped() => return,
            () = events.closed() => return,
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

/// A response body that ends when its channel is closed.
struct Events(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}
