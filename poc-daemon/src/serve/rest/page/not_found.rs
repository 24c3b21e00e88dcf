//! The document for an address that the page does not have.

use super::shell;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::Response;
use maud::html;

/// Whether a browser asks for a document, and not a program for JSON.
pub(super) fn wants_document(method: &Method, headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    method == Method::GET
        && accepted.flat_map(|value| value.split(',')).any(|kind| kind.starts_with("text/html"))
}

/// Says that there is no such screen.
pub(super) fn document(uri: &Uri) -> Response {
    let content = html! {
        h1 { "No such screen" }
        p { "Nothing is at " code { (uri.path()) } "." }
        p { a href="/" { "Today" } " shows what agents did, " a href="/search" { "Search" } " finds notes." }
    };
    shell::without_navigation(StatusCode::NOT_FOUND, "No such screen", &content)
}
