//! Determines the sender of a request: a program with a token, or a browser with a session.

use super::answer::HttpError;
use super::csrf::{CSRF_HEADER, check_csrf_token};
use super::token::TokenRole;
use super::{RestContext, session_cookie};
use crate::sessions::{Session, SessionAccess};
use crate::surface::Surface;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use poc_graph::Tuple;
use poc_memory::ops::{Access, OpDef, Principal};
use serde_json::Value;

/// The sender of an accepted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    /// [`Surface::Rest`] or [`Surface::Page`].
    pub(super) surface: Surface,
    pub(super) actor: Principal,
    pub(super) may_write: bool,
    /// Whether a person is signed in. A session that was started with a token does not count, because tokens
    /// belong to programs.
    pub(super) is_person: bool,
    /// The tenant of the session; a program names the tenant in each request.
    pub(super) tenant: Option<Tuple>,
}

/// The sender of a request, if it may use ops with this access.
pub(super) fn authorize(rest: &RestContext, head: &Parts, access: Access) -> Result<Caller, HttpError> {
    let headers = &head.headers;
    // A program never sends a cookie, and the page never sends a token.
    if let Some(session) = session(rest, headers).filter(|_| !headers.contains_key(AUTHORIZATION)) {
        return of_session(&session, head, access);
    }
    if !rest.config().enabled {
        return Err(HttpError::no_route(head.uri.path(), rest.config()));
    }
    if access == Access::Person {
        rest.tokens.role(headers)?;
        return Err(only_a_person("do this"));
    }
    let role = rest.tokens.check(headers, access)?;
    let actor = if role == TokenRole::Model { Principal::Model } else { Principal::Person };
    let may_write = role != TokenRole::ReadOnly;
    Ok(Caller { surface: Surface::Rest, actor, may_write, is_person: false, tenant: None })
}

/// Refuses what only a person may do.
fn only_a_person(may: &str) -> HttpError {
    HttpError::forbidden(
        format!("only a person may {may}, not a program with a token"),
        "use the page, which `poc-memory page` opens, or the command line",
    )
}

impl Caller {
    /// Refuses arguments that only a person may set. Everything but `false` counts as set, because ops also take `true`
    /// as text.
    pub(super) fn check_arguments(&self, op: &OpDef, args: &Value) -> Result<(), HttpError> {
        let is_set = |name: &&&str| !matches!(args.get(**name), None | Some(Value::Bool(false)));
        match op.person_arguments.iter().find(is_set) {
            Some(name) if !self.is_person => Err(only_a_person(&format!("set `{name}`"))),
            _ => Ok(()),
        }
    }
}

fn of_session(session: &Session, head: &Parts, access: Access) -> Result<Caller, HttpError> {
    // The settings may allow pages of other origins, but a session is only valid for the server's own page.
    let site = head.headers.get("sec-fetch-site").map(|site| site.as_bytes());
    if !matches!(site, None | Some(b"same-origin" | b"none")) {
        return Err(HttpError::forbidden("a session belongs to the page of this server", "use a token"));
    }
    if !matches!(head.method, Method::GET | Method::HEAD) {
        check_csrf_token(session, head.headers.get(CSRF_HEADER).map(|token| token.as_bytes()))?;
    }
    let allowed = match session.scope {
        SessionAccess::ReadOnly => access == Access::Read,
        SessionAccess::Full => access != Access::Person,
        SessionAccess::Person => true,
    };
    if !allowed {
        return Err(HttpError::forbidden(
            match session.scope {
                SessionAccess::ReadOnly => "this session is for reading only",
                _ => "only a person may do this, and this session was started with a token",
            },
            "sign in with `poc-memory page`",
        ));
    }
    let may_write = session.scope != SessionAccess::ReadOnly;
    let tenant = Some(session.tenant.clone());
    let is_person = session.scope == SessionAccess::Person;
    Ok(Caller { surface: Surface::Page, actor: Principal::Person, may_write, is_person, tenant })
}

/// The session that the cookie of a request belongs to.
pub(super) fn session(rest: &RestContext, headers: &HeaderMap) -> Option<Session> {
    let (state, host) = (&rest.state, headers.get(HOST)?.to_str().ok()?);
    if !state.memory.config.page.enabled {
        return None;
    }
    state.sessions.find(session_cookie::read(rest, headers)?, host, state.memory.now())
}
