//! Screens for which the daemon renders only the frame. Their scripts load everything else from the ops.

use super::super::{RestContext, caller};
use super::shell::{self, Screen};
use super::sign_in;
use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use maud::html;
use std::sync::Arc;

/// Adds the screens to a router.
pub(super) fn add(router: Router, rest: &Arc<RestContext>) -> Router {
    shell::SCREENS.iter().flat_map(|screen| screen.paths.iter().map(move |path| (path, screen))).fold(
        router,
        |router, (path, screen)| {
            let rest = rest.clone();
            router.route(path, get(move |request: Request| async move { show(&rest, screen, &request) }))
        },
    )
}

fn show(rest: &RestContext, screen: &'static Screen, request: &Request) -> axum::response::Response {
    match caller::session(rest, request.headers()) {
        Some(session) => shell::screen(rest, &session, screen, screen.name, &html! {}),
        None => sign_in::ask(request.headers(), None),
    }
}
