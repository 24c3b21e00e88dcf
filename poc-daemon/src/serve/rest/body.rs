//! Reads the body of a request, up to a limit.
//!
//! A client that is still sending when the connection closes usually loses the response. The rest of a
//! refused body is therefore read and discarded, unless it is too long.

use super::RestContext;
use super::answer::HttpError;
use crate::serve::CLOSE_TIMEOUT;
use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::EXPECT;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use poc_graph::error::Error;
use std::time::Duration;

/// Maximum number of bytes of a refused body that are read and discarded, as a multiple of the limit.
const DISCARD_FACTOR: usize = 8;

/// Reads a body of at most `limit` bytes. It must arrive within `timeout`, without a pause longer than `pause`, and
/// before `stopped` is ready.
///
/// # Errors
/// 413 if the body is too long, 408 if it arrives too slowly, `invalid_argument` if it is incomplete, `unavailable` if
/// the daemon stops first.
pub(super) async fn read(
    body: &mut Body,
    limit: usize,
    pause: Duration,
    timeout: Duration,
    stopped: impl Future<Output = ()>,
) -> Result<Vec<u8>, HttpError> {
    // A body whose `Content-Length` is too large is not read at all.
    if body.size_hint().lower() > limit as u64 {
        return Err(HttpError::too_long(limit));
    }
    let reading = async {
        let mut bytes = Vec::new();
        loop {
            let next = tokio::time::timeout(pause, body.frame()).await;
            let Some(frame) = next.map_err(|_| HttpError::too_slow())? else { break };
            let frame = frame.map_err(|_| {
                Error::invalid("the body is incomplete").hint("send as many bytes as the request announces")
            })?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > limit {
                return Err(HttpError::too_long(limit));
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes)
    };
    tokio::select! {
        biased;
        bytes = reading => bytes,
        () = tokio::time::sleep(timeout) => Err(HttpError::too_slow()),
        () = stopped => Err(Error::unavailable("the daemon is stopping").into()),
    }
}

/// The response to a refused request, after the rest of its body was discarded.
pub(super) async fn refuse(
    rest: &RestContext,
    error: HttpError,
    headers: &HeaderMap,
    body: Body,
) -> Response {
    let config = rest.config();
    let stopped = async {
        rest.state.stopped().await;
        tokio::time::sleep(CLOSE_TIMEOUT).await;
    };
    tokio::select! {
        () = discard(headers, body, config.max_body_bytes, config.header_timeout.std()) => {}
        () = stopped => {}
    }
    error.into_response()
}

/// Discards the rest of a body. A client that waits for `100 Continue` sends none.
async fn discard(headers: &HeaderMap, mut body: Body, limit: usize, timeout: Duration) {
    if headers.contains_key(EXPECT) {
        return;
    }
    let reading = async {
        let mut left = limit.saturating_mul(DISCARD_FACTOR);
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, |data| data.len()));
            if left == 0 {
                return;
            }
        }
    };
    // A client that is too slow or sends too much is answered as well, but may lose the response.
    let _ = tokio::time::timeout(timeout, reading).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, StatusCode};
    use axum::response::IntoResponse;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_body_is_read_up_to_the_limit() {
        let check = async |length: usize, expected: Result<usize, StatusCode>| {
            let mut body = Body::from(vec![b'x'; length]);
            let read = read(&mut body, 10, TIMEOUT, TIMEOUT, std::future::pending()).await;
            let read = read.map(|bytes| bytes.len()).map_err(|error| error.into_response().status());
            assert_eq!(read, expected);
        };
        check(0, Ok(0)).await;
        check(10, Ok(10)).await;
        check(11, Err(StatusCode::PAYLOAD_TOO_LARGE)).await;
    }

    #[tokio::test]
    async fn a_body_that_is_incomplete_when_the_daemon_stops_is_an_error() {
        let check = async |mut body: Body, expected: Result<usize, &str>| {
            let read = read(&mut body, 10, TIMEOUT, TIMEOUT, std::future::ready(())).await;
            let read = read.map(|bytes| bytes.len()).map_err(|error| error.to_string());
            assert_eq!(read, expected.map_err(str::to_owned));
        };
        check(Body::from("all of it"), Ok(9)).await;
        check(Body::new(TestBody(|| Poll::Pending)), Err("the daemon is stopping")).await;
    }

    #[tokio::test]
    async fn the_body_of_a_client_that_waits_to_continue_is_not_read() {
        let mut headers = HeaderMap::new();
        discard(&headers, Body::from("x"), 10, TIMEOUT).await;
        headers.insert(EXPECT, HeaderValue::from_static("100-continue"));
        let unreadable = TestBody(|| panic!("the body was read"));
        discard(&headers, Body::new(unreadable), 10, TIMEOUT).await;
    }

    /// A body whose next frame is what the function returns.
    struct TestBody(fn() -> NextFrame);

    type NextFrame = Poll<Option<Result<hyper::body::Frame<hyper::body::Bytes>, Infallible>>>;

    impl hyper::body::Body for TestBody {
        type Data = hyper::body::Bytes;
        type Error = Infallible;
        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> NextFrame {
            (self.0)()
        }
    }
}
