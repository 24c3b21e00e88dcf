//! The Model Context Protocol over HTTP, implemented with the official SDK. Protocol versions before
//! 2026-07-28 use sessions; later versions treat every request separately.
//!
//! The read-only token has its own server with its own sessions. That server has no tools that write and
//! cannot use sessions of the other server.
//!
//! The URL may name a tenant, to which its sessions are bound.

use super::answer::HttpError;
use super::event_stream::EventStream;
use super::mcp_tenant::SessionTenants;
use super::op_route::declares_json;
use super::token::TokenRole;
use super::tracked_body::TrackedBody;
use super::{RestContext, body, mcp_tenant, min_seq};
use crate::serve::call::{self, CallOrigin};
use crate::state::DaemonState;
use crate::surface::Surface;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use poc_config::{TenantSchema, ToolSet};
use poc_graph::cancellation::{self, CancellationToken};
use poc_graph::error::Result;
use poc_memory::mcp::{OpExecutor, Server, repeated_field};
use poc_memory::ops::{Access, OpDef, Principal};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcError};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

/// The path at which MCP is served.
pub(crate) const PATH: &str = "/mcp";

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// The servers with and without tools that write.
pub(super) struct Mcp {
    full: McpService,
    read_only: McpService,
    // Sessions start one at a time, so that the limit on their number holds.
    starting: Mutex<()>,
    responses: TaskTracker,
    ended: tokio_util::sync::CancellationToken,
}

/// An MCP server over HTTP with its sessions.
struct McpService {
    http: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    tenants: SessionTenants,
}

impl Mcp {
    pub(super) fn new(state: &Arc<DaemonState>) -> Mcp {
        let ended = tokio_util::sync::CancellationToken::new();
        let service = |may_write| McpService::new(state, may_write, &ended);
        let (full, read_only) = (service(true), service(false));
        Mcp { full, read_only, starting: Mutex::default(), responses: TaskTracker::new(), ended }
    }

    /// Waits until every response is sent, then ends all sessions. No request may arrive after this call.
    pub(super) async fn end(&self) {
        self.responses.close();
        self.responses.wait().await;
        self.ended.cancel();
    }

    async fn answer(&self, rest: &RestContext, request: Request) -> Response {
        let (head, mut body) = request.into_parts();
        match self.try_answer(rest, &head, &mut body).await {
            Ok(response) => response,
            Err(error) => body::refuse(rest, error, &head.headers, body).await,
        }
    }

    async fn try_answer(
        &self,
        rest: &RestContext,
        head: &Parts,
        body: &mut Body,
    ) -> Result<Response, HttpError> {
        if ![Method::GET, Method::POST, Method::DELETE].contains(&head.method) {
            return Err(HttpError::wrong_method(head.method.as_str(), "GET, POST, DELETE"));
        }
        // Every MCP client acts for a model, even with the full token.
        let service = match rest.tokens.role(&head.headers)? {
            TokenRole::Full | TokenRole::Model => &self.full,
            TokenRole::ReadOnly => &self.read_only,
        };
        let schema = &rest.state.memory.config.tenant_schema;
        let tenant = mcp_tenant::of_query(head.uri.query().unwrap_or_default(), schema)?;
        if head.method == Method::DELETE {
            return service.end_session(head, tenant.as_ref()).await;
        }
        if head.method == Method::GET {
            service.check_tenant(head, tenant.as_ref()).await?;
            let mut response = service.http.handle(with_body(head, Vec::new())).await.into_response();
            response.extensions_mut().insert(EventStream);
            return Ok(response);
        }
        if !declares_json(&head.headers) {
            return Err(HttpError::not_json());
        }
        let config = rest.config();
        let (pause, timeout) = (config.header_timeout.std(), config.request_timeout.std());
        let bytes = body::read(body, config.max_body_bytes, pause, timeout, rest.state.stopped()).await?;
        let token = self.responses.token();
        let kind = match parse(&bytes) {
            Ok(kind) => kind,
            Err(error) => return Ok(malformed(&error)),
        };
        let bytes = min_seq::add_to_message(&head.headers, bytes)?;
        let bytes = mcp_tenant::add_to_message(tenant.clone(), bytes)?;
        let response = match kind {
            MessageKind::Initialize => {
                let _one_at_a_time = self.starting.lock().await;
                self.check_session_limit(rest).await?;
                let response = service.http.handle(with_body(head, bytes)).await;
                let open = service.sessions.sessions.read().await;
                if let Some(session) = session_in(response.headers()) {
                    service.tenants.insert(session, tenant, |session| open.contains_key(session));
                }
                response
            }
            // The server compares the tenant, so that the error has the id of the request.
            MessageKind::Request => service.http.handle(with_body(head, bytes)).await,
            MessageKind::Unanswered => {
                service.check_tenant(head, tenant.as_ref()).await?;
                service.http.handle(with_body(head, bytes)).await
            }
        };
        Ok(response.map(|body| Body::new(TrackedBody::new(Body::new(body), token))))
    }

    /// Returns an error if the maximum number of sessions is open.
    async fn check_session_limit(&self, rest: &RestContext) -> Result<(), HttpError> {
        let limit = rest.state.memory.config.mcp.max_sessions;
        let open = self.full.sessions.sessions.read().await.len()
            + self.read_only.sessions.sessions.read().await.len();
        if open < limit {
            return Ok(());
        }
        let hint = "end one with `DELETE`, or raise `max-sessions` under `[mcp]` in config.toml";
        Err(HttpError::too_many(format!("all {open} sessions are in use"), hint))
    }
}

impl McpService {
    fn new(
        state: &Arc<DaemonState>,
        may_write: bool,
        ended: &tokio_util::sync::CancellationToken,
    ) -> McpService {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(state.memory.config.mcp.session_timeout.std());
        let sessions = Arc::new(sessions);
        // The origin guard has checked `Host` and `Origin` already, more strictly than the SDK would, and
        // the body was read up to our own limit.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::MAX)
            .with_json_response(true)
            .with_cancellation_token(ended.clone());
        let caller = Arc::new(DaemonOpExecutor { state: state.clone(), may_write });
        // Each session has a server of its own, which remembers its searches.
        let server = move || Ok(Server::new(caller.clone()));
        let http = StreamableHttpService::new(server, sessions.clone(), config);
        McpService { http, sessions, tenants: SessionTenants::default() }
    }

    /// Checks that the session that a request names was started with the tenant of the request's URL. The SDK refuses
    /// a session that does not exist.
    async fn check_tenant(&self, head: &Parts, tenant: Option<&Value>) -> Result<()> {
        match session_in(&head.headers) {
            Some(session) if self.is_open(session).await => self.tenants.check(session, tenant),
            _ => Ok(()),
        }
    }

    async fn is_open(&self, session: &str) -> bool {
        self.sessions.sessions.read().await.contains_key(session)
    }

    /// Ends a session. The SDK responds with 202 even if the session does not exist, and clients treat 202 as
    /// a failure.
    async fn end_session(&self, head: &Parts, tenant: Option<&Value>) -> Result<Response, HttpError> {
        if let Some(session) = session_in(&head.headers)
            && !self.is_open(session).await
        {
            return Err(HttpError::no_session());
        }
        self.check_tenant(head, tenant).await?;
        let response = self.http.handle(with_body(head, Vec::new())).await;
        Ok(match response.status() {
            StatusCode::ACCEPTED => StatusCode::NO_CONTENT.into_response(),
            _ => response.into_response(),
        })
    }
}

/// Calls ops on the memory that is open in this process.
struct DaemonOpExecutor {
    state: Arc<DaemonState>,
    may_write: bool,
}

impl OpExecutor for DaemonOpExecutor {
    fn call(&self, op: &'static OpDef, request: Value) -> Result<Value> {
        let origin = CallOrigin { surface: Surface::Mcp, actor: Principal::Model, may_write: self.may_write };
        call::run(&self.state, origin, op, request, &|_| {})
    }

    fn spawn_blocking(&self, op: Option<&'static OpDef>, work: Box<dyn FnOnce() + Send>) {
        let state = self.state.clone();
        let token = CancellationToken::default();
        let stop = token.clone();
        tokio::spawn(async move {
            let mut running = pin!(call::pool(&state, op).run(move || cancellation::scope(&token, work)));
            let limit = state.memory.config.rest.request_timeout;
            let ended = tokio::select! {
                ended = running.as_mut() => ended,
                () = tokio::time::sleep(limit.std()) => {
                    stop.cancel();
                    running.await
                }
            };
            if let Err(error) = ended {
                tracing::error!("a request over MCP failed unexpectedly: {error}");
            }
        });
    }

    fn offers(&self, access: Access) -> bool {
        let may_call = self.may_write || access == Access::Read;
        may_call && access.allows_models(&self.state.settings.load().mcp)
    }

    fn tool_set(&self) -> ToolSet {
        self.state.settings.load().mcp.tools
    }

    fn tenants(&self) -> Option<&TenantSchema> {
        Some(&self.state.memory.config.tenant_schema)
    }

    fn shares_log(&self) -> bool {
        !self.state.memory.config.store.log.is_empty()
    }
}

/// Adds MCP to a router.
pub(super) fn add(router: Router, rest: &Arc<RestContext>, mcp: &Arc<Mcp>) -> Router {
    let (rest, mcp) = (rest.clone(), mcp.clone());
    router.route(
        PATH,
        any(move |request: Request| {
            let (rest, mcp) = (rest.clone(), mcp.clone());
            async move { mcp.answer(&rest, request).await }
        }),
    )
}

/// The session that the headers of a request or a response name.
fn session_in(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION).and_then(|value| value.to_str().ok())
}

/// A request whose body was already read.
fn with_body(head: &Parts, body: Vec<u8>) -> Request {
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = head.uri.clone();
    *request.headers_mut() = head.headers.clone();
    request
}

/// The kinds of messages that are treated differently here.
enum MessageKind {
    /// Starts a session.
    Initialize,
    /// Any other request.
    Request,
    /// A notification, or an answer of the client.
    Unanswered,
}

/// Parses a message to find its kind. For a malformed message, the SDK would respond with a bare status
/// instead of a JSON-RPC error.
fn parse(bytes: &[u8]) -> Result<MessageKind, Box<JsonRpcError>> {
    let fail = |id, error| Err(Box::new(JsonRpcError::new(id, error)));
    if let Some(refusal) = repeated_field::refusal(bytes) {
        return Err(Box::new(refusal));
    }
    match serde_json::from_slice(bytes) {
        Ok(ClientJsonRpcMessage::Request(request)) => match request.request {
            ClientRequest::InitializeRequest(_) => Ok(MessageKind::Initialize),
            _ => Ok(MessageKind::Request),
        },
        Ok(_) => Ok(MessageKind::Unanswered),
        Err(_) => match serde_json::from_slice::<Value>(bytes) {
            Err(error) => fail(None, ErrorData::parse_error(format!("the body is not JSON: {error}"), None)),
            Ok(value) => {
                let id = repeated_field::id_of(&value);
                fail(id, ErrorData::invalid_request("the body is not a message of JSON-RPC 2.0", None))
            }
        },
    }
}

/// The response to a malformed message.
fn malformed(error: &JsonRpcError) -> Response {
    (StatusCode::BAD_REQUEST, super::answer::json(error)).into_response()
}
