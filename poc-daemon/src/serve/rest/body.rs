//! The body of a request, within bounds.
//!
//! A client that is still sending when the connection is closed loses the answer, as a rule. So what
//! is refused is read to its end and thrown away, as long as that end is not too far.

use super::answer::Refusal;
use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::EXPECT;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use poc_graph::error::Error;
use std::time::Duration;

/// What is thrown away at the most, as a multiple of what would have been taken.
const PATIENCE: usize = 8;

/// Reads a body of at most `limit` bytes that arrives within `timeout`.
pub(super) async fn read(body: &mut Body, limit: usize, timeout: Duration) -> Result<Vec<u8>, Refusal> {
    // One that says so beforehand is not asked for.
    if body.size_hint().lower() > limit as u64 {
        return Err(Refusal::too_long(limit));
    }
    let reading = async {
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Error::invalid("the body ends too early"))?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > limit {
                return Err(Refusal::too_long(limit));
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes)
    };
    tokio::time::timeout(timeout, reading).await.unwrap_or_else(|_| Err(Refusal::too_slow()))
}

/// The answer to a request that is refused, given when what is left of its body has been thrown away.
pub(super) async fn refuse(
    refusal: Refusal,
    config: &poc_config::Rest,
    headers: &HeaderMap,
    body: Body,
) -> Response {
    discard(headers, body, config.max_body_bytes, config.header_timeout.std()).await;
    refusal.into_response()
}

/// Throws away what is left of a body. A client that waits to be asked for it is not asked.
async fn discard(headers: &HeaderMap, mut body: Body, limit: usize, timeout: Duration) {
    if headers.contains_key(EXPECT) {
        return;
    }
    let reading = async {
        let mut left = limit.saturating_mul(PATIENCE);
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, |data| data.len()));
            if left == 0 {
                return;
            }
        }
    };
    // Who is too slow or sends too much is answered all the same, and may not see it.
    let _ = tokio::time::timeout(timeout, reading).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, StatusCode};
    use axum::response::IntoResponse;

    const SOON: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_body_is_taken_up_to_the_limit_and_not_beyond() {
        let check = async |length: usize, expected: Result<usize, StatusCode>| {
            let mut body = Body::from(vec![b'x'; length]);
            let read = read(&mut body, 10, SOON).await;
            let read = read.map(|bytes| bytes.len()).map_err(|refusal| refusal.into_response().status());
            assert_eq!(read, expected);
        };
        check(0, Ok(0)).await;
        check(10, Ok(10)).await;
        check(11, Err(StatusCode::PAYLOAD_TOO_LARGE)).await;
    }

    #[tokio::test]
    async fn who_waits_to_be_asked_is_not_read() {
        let mut headers = HeaderMap::new();
        discard(&headers, Body::from("x"), 10, SOON).await;
        headers.insert(EXPECT, HeaderValue::from_static("100-continue"));
        // It would never end.
        discard(&headers, Body::new(Silent), 10, SOON).await;
    }

    /// A body of which nothing comes.
    struct Silent;

    impl hyper::body::Body for Silent {
        type Data = hyper::body::Bytes;
        type Error = std::convert::Infallible;
        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
            panic!("nobody may ask");
        }
    }
}
