//! The page: the user interface in the browser.
//!
//! The daemon serves the frame of every screen as HTML, and the text of notes in it. The scripts in `page/`
//! fill the frame with answers of the ops, over the same routes that every client uses.

mod assets;
mod events;
mod markdown;
pub(super) mod not_found;
mod note;
mod policy;
mod screens;
mod shell;
mod sign_in;

pub(crate) use sign_in::SIGN_IN_PATH;

use super::RestContext;
use axum::Router;
use axum::http::{Method, Uri};
use std::sync::Arc;

/// Whether a request opens a link that signs a browser in.
pub(super) fn is_sign_in_link(method: &Method, uri: &Uri) -> bool {
    method == Method::GET && uri.path().starts_with(SIGN_IN_PATH)
}

/// Adds the page to a router.
pub(super) fn add(router: Router, rest: &Arc<RestContext>) -> Router {
    events::add(sign_in::add(note::add(screens::add(assets::add(router, rest), rest), rest), rest), rest)
}
