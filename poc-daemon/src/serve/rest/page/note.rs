//! The screen of a note. The daemon renders the text, so that Markdown needs no script.

use super::super::{RestContext, caller};
use super::{markdown, shell, sign_in};
use crate::serve::call::{self, CallOrigin};
use crate::sessions::{Session, SessionAccess};
use crate::surface::Surface;
use axum::Router;
use axum::extract::{Path, Request};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use percent_encoding::percent_decode_str;
use poc_graph::cancellation::{CancelOnDrop, CancellationToken};
use poc_graph::error::{Error, Result};
use poc_memory::ops::{self, Principal, tenancy};
use serde_json::{Value, json};
use std::sync::Arc;

/// Adds the screen to a router.
pub(super) fn add(router: Router, rest: &Arc<RestContext>) -> Router {
    let rest = rest.clone();
    let show = move |Path(node): Path<String>, request: Request| async move {
        match caller::session(&rest, request.headers()) {
            Some(session) => show(&rest, &session, &node, moment(request.uri())).await,
            None => sign_in::ask(request.headers(), None),
        }
    };
    shell::NOTE.paths.iter().fold(router, |router, path| router.route(path, get(show.clone())))
}

/// The past instant in `?at=`, at which the note is shown.
fn moment(uri: &Uri) -> Option<String> {
    let mut pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    let (_, text) = pairs.find(|(name, text)| *name == "at" && !text.is_empty())?;
    Some(percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned())
}

async fn show(rest: &Arc<RestContext>, session: &Session, node: &str, at: Option<String>) -> Response {
    match read(rest, session, node, at.as_deref()).await {
        Ok(note) => {
            let text = |name: &str| note.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            shell::screen(rest, session, &shell::NOTE, &text("title"), &article(&note, at.as_deref()))
        }
        Err(error) => {
            let content = html! {
                h1 { @if at.is_some() { "No such note at that time" } @else { "No such note" } }
                p.problem role="alert" { (with_code_elements(&error.message)) }
                @if let Some(hint) = &error.hint { p { (with_code_elements(hint)) } }
                @if at.is_none() {
                    p { "It may have been deleted, or its creation undone. " a href="/activity" { "Activity" }
                        " lists the changes of notes, where that can be undone." }
                }
                // The same address without `?at=` shows the current note.
                @if at.is_some() { p { a href="?" { "Show it as it is now" } } }
            };
            let mut response = shell::screen(rest, session, &shell::NOTE, "No such note", &content);
            *response.status_mut() =
                StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::NOT_FOUND);
            response
        }
    }
}

/// The answer of the op `get`.
async fn read(rest: &Arc<RestContext>, session: &Session, node: &str, at: Option<&str>) -> Result<Value> {
    let op = ops::find("get").ok_or_else(|| Error::internal("there is no op `get`"))?;
    let may_write = session.scope != SessionAccess::ReadOnly;
    let origin = CallOrigin { surface: Surface::Page, actor: Principal::Person, may_write };
    let waiting = CancelOnDrop(CancellationToken::default());
    let token = waiting.0.clone();
    let mut args = json!({ "node": node, "at": at });
    if let Value::Object(args) = &mut args {
        tenancy::bind(args, &session.tenant)?;
    }
    let limit = rest.config().request_timeout;
    let called = call::call(rest.state.clone(), origin, op, args, token, |_| {});
    tokio::time::timeout(limit.std(), called).await.unwrap_or_else(|_| {
        Err(Error::unavailable(format!("`{}` has not finished within {limit}; it is stopped", op.name)))
    })
}

/// The content of a note for browsers without scripts.
fn article(note: &Value, at: Option<&str>) -> Markup {
    let text = |name: &str| note.get(name).and_then(Value::as_str).unwrap_or_default();
    html! {
        article data-node=(text("id")) data-at=[at] {
            h1 { bdi { (text("title")) } }
            div.prose { (markdown::render(without_title(text("body"), text("title")))) }
        }
    }
}

/// A message with its backticks as code elements.
fn with_code_elements(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A text without its first heading if that repeats the title, as in most files of Markdown.
fn without_title<'a>(body: &'a str, title: &str) -> &'a str {
    let heading = body.trim_start().strip_prefix("# ").and_then(|rest| rest.trim_start().strip_prefix(title));
    heading.filter(|rest| rest.is_empty() || rest.starts_with(['\n', '\r'])).unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_that_repeats_the_title_is_left_out() {
        assert_eq!(without_title("# A b\n\nText", "A b"), "\n\nText");
        assert_eq!(without_title("# A b", "A b"), "");
        for kept in ["# A bc\n", "## A b\n", "A b\n", "# Other\n\n# A b"] {
            assert_eq!(without_title(kept, "A b"), kept);
        }
    }
}
