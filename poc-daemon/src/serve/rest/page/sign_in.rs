//! Starts and ends sessions.

use super::super::answer::HttpError;
use super::super::token::TokenRole;
use super::super::{RestContext, body, caller, csrf, session_cookie};
use super::{assets, policy, shell};
use crate::sessions::{SessionAccess, SessionGrant};
use crate::sign_in_file;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request};
use axum::http::header::{AUTHORIZATION, HOST, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{DOCTYPE, html};
use poc_graph::Tuple;
use poc_graph::error::Result;
use std::sync::Arc;

/// The path prefix of links that sign a browser in, before the code.
pub(crate) const SIGN_IN_PATH: &str = "/sign-in/";

/// Maximum size of a form in bytes; a form has one token.
const MAX_FORM_BYTES: usize = 4096;

/// Adds the paths of sessions to a router.
pub(super) fn add(router: Router, rest: &Arc<RestContext>) -> Router {
    let (with_code, with_token, end) = (rest.clone(), rest.clone(), rest.clone());
    router
        .route(
            "/sign-in/{code}",
            get(move |method: Method, headers: HeaderMap, Path(code): Path<String>| async move {
                // Programs that show previews of links send HEAD, which must not use up the code.
                if method == Method::HEAD {
                    return StatusCode::NO_CONTENT.into_response();
                }
                redeem(&with_code, &headers, &code)
                    .unwrap_or_else(|error| HttpError::from(error).into_response())
            }),
        )
        .route(
            "/sign-in",
            get(async |request: Request| ask(request.headers(), None)).post(
                move |request: Request| async move {
                    let (head, body) = request.into_parts();
                    with_token_form(&with_token, &head, body)
                        .await
                        .unwrap_or_else(IntoResponse::into_response)
                },
            ),
        )
        .route(
            "/sign-out",
            post(move |request: Request| async move {
                let (head, body) = request.into_parts();
                sign_out(&end, &head, body).await.unwrap_or_else(IntoResponse::into_response)
            }),
        )
}

/// Starts the session of a link.
fn redeem(rest: &RestContext, headers: &HeaderMap, code: &str) -> Result<Response> {
    match rest.state.sessions.redeem(code, rest.state.memory.now()) {
        Some(grant) => {
            sign_in_file::delete_with_code(&rest.state.memory.paths.sign_in_file(), code);
            start(rest, headers, grant)
        }
        None => Ok(ask(headers, Some("This link was used already, or is older than a minute."))),
    }
}

/// Starts the session of a token. Tokens belong to programs, so no token grants the rights of a person.
async fn with_token_form(rest: &RestContext, head: &Parts, mut body: Body) -> Result<Response, HttpError> {
    let token = form_field(rest, &mut body, "token").await?;
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(&format!("Bearer {}", token.trim())) {
        headers.insert(AUTHORIZATION, value);
    }
    let scope = match rest.tokens.role(&headers) {
        Ok(TokenRole::ReadOnly) => SessionAccess::ReadOnly,
        Ok(TokenRole::Full) => SessionAccess::Full,
        Ok(TokenRole::Model) => {
            return Ok(ask(&head.headers, Some("This token is for models. The page is for people.")));
        }
        Err(_) => return Ok(ask(&head.headers, Some("This is not a token of this memory."))),
    };
    Ok(start(rest, &head.headers, SessionGrant { scope, tenant: Tuple::default() })?)
}

/// Ends a session.
async fn sign_out(rest: &RestContext, head: &Parts, mut body: Body) -> Result<Response, HttpError> {
    let token = form_field(rest, &mut body, "csrf").await?;
    if let Some(session) = caller::session(rest, &head.headers) {
        csrf::check_csrf_token(&session, Some(token.as_bytes()))?;
        if let Some(secret) = session_cookie::read(rest, &head.headers) {
            rest.state.sessions.close(secret)?;
        }
    }
    let cookie = session_cookie::clear(rest, &head.headers)?;
    Ok((StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, HeaderValue::from_static("/sign-in"))])
        .into_response())
}

/// A field of a form, which may be empty.
async fn form_field(rest: &RestContext, body: &mut Body, name: &str) -> Result<String, HttpError> {
    // Anybody may send a form, so it has no more time than the headers of a request.
    let timeout = rest.config().header_timeout.std();
    let bytes = body::read(body, MAX_FORM_BYTES, timeout, timeout, rest.state.stopped()).await?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let fields = text.split('&').filter_map(|pair| pair.split_once('='));
    let value = fields.filter(|(known, _)| *known == name).map(|(_, value)| value).next().unwrap_or_default();
    let value = value.replace('+', " ");
    Ok(percent_encoding::percent_decode_str(&value).decode_utf8_lossy().into_owned())
}

/// Starts a session and opens the first screen with a document instead of a redirect: after a link in another
/// program, the browser treats the redirected request as one of a foreign page and sends no cookie.
fn start(rest: &RestContext, headers: &HeaderMap, grant: SessionGrant) -> Result<Response> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let lifetime = rest.state.memory.config.page.session_lifetime;
    let secret = rest.state.sessions.open(grant, host, rest.state.memory.now(), lifetime)?;
    let cookie = session_cookie::set(rest, headers, &secret, lifetime)?;
    let mut response = policy::document(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="refresh" content="0;url=/";
                link rel="icon" href={ (assets::PATH) "icon.svg" } type="image/svg+xml";
                title { "poc-memory" }
            }
            body { p { a href="/" { "Go on" } } }
        }
    });
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// The document for a browser that is not signed in.
pub(super) fn ask(headers: &HeaderMap, problem: Option<&str>) -> Response {
    let has_tls = headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let needs_tls = !session_cookie::is_loopback(headers) && !has_tls;
    let content = html! {
        h1 { "poc-memory" }
        @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
        p { "Run this command on the machine of the memory. It opens this page, signed in as you." }
        pre tabindex="0" { code { "poc-memory page" } }
        @if needs_tls {
            p.problem { "You reach this server from another machine. It has no TLS of its own, and browsers "
                "keep this session only with TLS: put a proxy in front of it." }
        }
        details open[problem.is_some()] {
            summary { "Sign in with a token" }
            p { "The tokens are in the files " code { "token-read" } " (for reading) and " code { "token" }
                " beside config.toml. Proposals are decided only after " code { "poc-memory page" } "." }
            form method="post" action="/sign-in" {
                label for="token" { "Token" }
                input id="token" name="token" type="password" autocomplete="off" required;
                button.primary { "Sign in" }
            }
        }
    };
    shell::without_navigation(StatusCode::UNAUTHORIZED, "Sign in", &content)
}
