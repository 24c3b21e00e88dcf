//! A response body that reports when the response has been sent.

use axum::body::Body;
use hyper::body::{Bytes, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A body with a token that is dropped when the body has been read to its end or is dropped itself.
pub(super) struct TrackedBody<T> {
    body: Body,
    _token: T,
}

impl<T> TrackedBody<T> {
    /// The body with its token.
    pub(super) fn new(body: Body, token: T) -> TrackedBody<T> {
        TrackedBody { body, _token: token }
    }
}

impl<T: Unpin> hyper::body::Body for TrackedBody<T> {
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
