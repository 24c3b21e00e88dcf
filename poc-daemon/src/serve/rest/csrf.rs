//! The token that requests of the page must carry when they write, against cross-site request forgery.

use super::answer::HttpError;
use crate::sessions::Session;
use axum::http::HeaderName;
use subtle::ConstantTimeEq;

/// The header in which requests of the page that write carry the token of their session.
pub(super) const CSRF_HEADER: HeaderName = HeaderName::from_static("x-csrf-token");

/// Refuses a request that writes and does not carry the token of its session.
pub(super) fn check_csrf_token(session: &Session, token: Option<&[u8]>) -> Result<(), HttpError> {
    if token.is_some_and(|token| bool::from(token.ct_eq(session.csrf_token.as_bytes()))) {
        return Ok(());
    }
    Err(HttpError::forbidden("the CSRF token is missing or wrong", "load the page again"))
}
