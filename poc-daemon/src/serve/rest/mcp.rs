//! The Model Context Protocol over HTTP, as the SDK speaks it: sessions before 2026-07-28, every request
//! by itself from then on. What is asked runs on the memory that is open here.
//!
//! Each token has a server and sessions of its own: to whoever shows the one for reading there are no
//! tools that write, and a session of the other is unknown.

use super::answer::Refusal;
use super::endpoint::says_json;
use super::token::Power;
use super::{Rest, body};
use crate::serve::call::{self, Asked};
use crate::shared::Shared;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use hyper::body::{Bytes, Frame, SizeHint};
use poc_config::TenantSchema;
use poc_graph::error::Result;
use poc_memory::mcp::{Caller, Server};
use poc_memory::ops::{Access, Actor, OpDef};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcError, RequestId};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Where it is served.
pub(crate) const PATH: &str = "/mcp";

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// The protocol at its path.
pub(super) struct Mcp {
    all: Service,
    read: Service,
    // One initialisation after the other: what is counted is then what is there.
    entering: Mutex<()>,
    answering: TaskTracker,
    ended: CancellationToken,
}

struct Service {
    http: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
}

impl Mcp {
    pub(super) fn new(shared: &Arc<Shared>) -> Mcp {
        let ended = CancellationToken::new();
        let service = |may_write| Service::new(shared, may_write, &ended);
        let (all, read) = (service(true), service(false));
        Mcp { all, read, entering: Mutex::default(), answering: TaskTracker::new(), ended }
    }

    /// Waits until what was asked is answered, then ends all sessions. Nothing more may come in.
    pub(super) async fn end(&self) {
        self.answering.close();
        self.answering.wait().await;
        self.ended.cancel();
    }

    async fn answer(&self, rest: &Rest, request: Request) -> Response {
        let (head, mut body) = request.into_parts();
        match self.try_answer(rest, &head, &mut body).await {
            Ok(response) => response,
            Err(refusal) => body::refuse(refusal, rest.config(), &head.headers, body).await,
        }
    }

    async fn try_answer(&self, rest: &Rest, head: &Parts, body: &mut Body) -> Result<Response, Refusal> {
        if ![Method::GET, Method::POST, Method::DELETE].contains(&head.method) {
            return Err(Refusal::wrong_method(head.method.as_str(), "GET, POST, DELETE"));
        }
        let service = match rest.tokens.shown(&head.headers)? {
            Power::All => &self.all,
            Power::Read => &self.read,
        };
        if head.method == Method::DELETE {
            return service.end_session(head).await;
        }
        if head.method == Method::GET {
            return Ok(service.http.handle(whole(head, Vec::new())).await.into_response());
        }
        if !says_json(&head.headers) {
            return Err(Refusal::not_json());
        }
        let config = rest.config();
        let bytes = body::read(body, config.max_body_bytes, config.request_timeout.std()).await?;
        let answering = self.answering.token();
        let response = match message(&bytes) {
            Ok(Opens::Session) => {
                let _one_at_a_time = self.entering.lock().await;
                self.check_room(rest).await?;
                service.http.handle(whole(head, bytes)).await
            }
            Ok(Opens::Nothing) => service.http.handle(whole(head, bytes)).await,
            Err(wrong) => return Ok(malformed(&wrong)),
        };
        Ok(response.map(|body| Body::new(Answering { body: Body::new(body), _counted: answering })))
    }

    async fn check_room(&self, rest: &Rest) -> Result<(), Refusal> {
        let most = rest.shared.memory.config.mcp.max_sessions;
        let open =
            self.all.sessions.sessions.read().await.len() + self.read.sessions.sessions.read().await.len();
        if open < most {
            return Ok(());
        }
        let hint = "end one with `DELETE`, or raise `max-sessions` under `[mcp]` in config.toml";
        Err(Refusal::too_many(format!("there are {open} sessions, and no more are allowed"), hint))
    }
}

impl Service {
    fn new(shared: &Arc<Shared>, may_write: bool, ended: &CancellationToken) -> Service {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(shared.memory.config.mcp.session_timeout.std());
        let sessions = Arc::new(sessions);
        // The door has looked at `Host` and `Origin` already, more closely than the SDK would, and a
        // body has been read within our bounds.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::MAX)
            .with_json_response(true)
            .with_cancellation_token(ended.clone());
        let server = Server::new(Arc::new(Here { shared: shared.clone(), may_write }));
        let http = StreamableHttpService::new(move || Ok(server.clone()), sessions.clone(), config);
        Service { http, sessions }
    }
}

impl Service {
    /// Ends a session. The SDK answers 202, also where there is none: clients take that for a failure.
    async fn end_session(&self, head: &Parts) -> Result<Response, Refusal> {
        let session = head.headers.get(SESSION).and_then(|value| value.to_str().ok());
        if let Some(session) = session
            && !self.sessions.sessions.read().await.contains_key(session)
        {
            return Err(Refusal::no_session());
        }
        let response = self.http.handle(whole(head, Vec::new())).await;
        Ok(match response.status() {
            StatusCode::ACCEPTED => StatusCode::NO_CONTENT.into_response(),
            _ => response.into_response(),
        })
    }
}

/// The memory that is open in this process.
struct Here {
    shared: Arc<Shared>,
    may_write: bool,
}

impl Caller for Here {
    fn call(&self, op: &'static OpDef, request: Value) -> Result<Value> {
        let asked = Asked { surface: "mcp", actor: Actor::Model, may_write: self.may_write };
        call::run(&self.shared, asked, op, request, &|_| {})
    }

    fn offers(&self, access: Access) -> bool {
        match access {
            Access::Read => true,
            Access::Write | Access::Retract => self.may_write,
            Access::Destroy => self.may_write && self.shared.memory.config.mcp.delete,
            Access::Person => false,
        }
    }

    fn tenants(&self) -> Option<&TenantSchema> {
        Some(&self.shared.memory.config.tenant_schema)
    }
}

/// Adds it to what is served.
pub(super) fn add(router: Router, rest: &Arc<Rest>, mcp: &Arc<Mcp>) -> Router {
    let (rest, mcp) = (rest.clone(), mcp.clone());
    router.route(
        PATH,
        any(move |request: Request| {
            let (rest, mcp) = (rest.clone(), mcp.clone());
            async move { mcp.answer(&rest, request).await }
        }),
    )
}

/// A request with its body as it was read.
fn whole(head: &Parts, body: Vec<u8>) -> Request {
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = head.uri.clone();
    *request.headers_mut() = head.headers.clone();
    request
}

/// What a message begins.
enum Opens {
    Session,
    Nothing,
}

/// Reads a message as far as it must be known here. The SDK would answer what is no message with a
/// status that says nothing, and not as JSON-RPC does.
fn message(bytes: &[u8]) -> Result<Opens, Box<JsonRpcError>> {
    let wrong = |id, error| Err(Box::new(JsonRpcError::new(id, error)));
    match serde_json::from_slice(bytes) {
        Ok(ClientJsonRpcMessage::Request(request)) => match request.request {
            ClientRequest::InitializeRequest(_) => Ok(Opens::Session),
            _ => Ok(Opens::Nothing),
        },
        Ok(_) => Ok(Opens::Nothing),
        Err(_) => match serde_json::from_slice::<Value>(bytes) {
            Err(error) => wrong(None, ErrorData::parse_error(format!("the body is not JSON: {error}"), None)),
            Ok(value) => {
                let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
                wrong(id, ErrorData::invalid_request("the body is not a message of JSON-RPC 2.0", None))
            }
        },
    }
}

fn malformed(error: &JsonRpcError) -> Response {
    (StatusCode::BAD_REQUEST, super::answer::json(error)).into_response()
}

/// The body of an answer, counted until it is sent.
struct Answering {
    body: Body,
    _counted: TaskTrackerToken,
}

impl hyper::body::Body for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
