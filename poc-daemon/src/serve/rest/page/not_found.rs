//! The response for an address that the page does not have.

use super::shell;
use crate::serve::rest::accept;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::Response;
use maud::html;

/// The document for a browser that requests an unknown screen; `None` for a program, which accepts JSON.
pub(in crate::serve::rest) fn document(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
    if method != Method::GET || accept::quality(headers, "text/html") == 0.0 {
        return None;
    }
    let content = html! {
        h1 { "No such screen" }
        p { "Nothing is at " code { (uri.path()) } "." }
        p { a href="/" { "Today" } " shows what agents did, " a href="/search" { "Search" } " finds notes." }
    };
    Some(shell::without_navigation(StatusCode::NOT_FOUND, "No such screen", &content))
}
