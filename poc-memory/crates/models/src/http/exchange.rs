//! One HTTP request and its response.

use super::HttpRequest;
use parking_lot::Mutex;
use poc_config::CallsConfig;
use poc_config::endpoint;
use poc_graph::cancellation::{CancellationToken, LONGEST_WAIT, WaitOutcome};
use reqwest::blocking::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Url, header};
use std::error::Error as _;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A response with any status.
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Why there is no response.
pub(super) enum ExchangeError {
    /// The call was cancelled.
    Stopped,
    /// The deadline has passed.
    TimedOut,
    /// The body is longer than `calls.max-answer-bytes`.
    TooLong,
    /// No connection could be made, so the request was not sent.
    Connect(String),
    /// The connection broke after the request was sent, or no data arrived for `calls.read-timeout`.
    ConnectionLost(String),
    /// The request cannot be made on this machine.
    Setup(String),
}

/// Sends the request on its own thread, so that cancellation or the deadline ends the wait at once. A response that
/// arrives later is dropped.
pub(super) fn exchange(
    message: &HttpRequest,
    calls: &CallsConfig,
    remaining: Duration,
    cancellation: &CancellationToken,
) -> Result<HttpResponse, ExchangeError> {
    let shared = Arc::new(Mutex::new(SharedResponse::default()));
    let (written, waker) = (shared.clone(), cancellation.clone());
    let (url, headers, body) = (message.url.clone(), message.headers.clone(), message.body.clone());
    let (connect, limit) = (calls.connect_timeout.std().min(remaining), calls.max_answer_bytes);
    let work = move || {
        let received = || written.lock().last = Some(Instant::now());
        let answer = send(url, headers, body, connect, remaining, limit, &received);
        written.lock().answer = Some(answer);
        waker.wake();
    };
    std::thread::Builder::new()
        .name("model-call".into())
        .spawn(work)
        .map_err(|error| ExchangeError::Setup(format!("no thread can be started for the call: {error}")))?;
    let (until, silence) = (Instant::now() + remaining.min(LONGEST_WAIT), calls.read_timeout.std());
    loop {
        let time_left = until.saturating_duration_since(Instant::now());
        // The read timeout starts with the first bytes, because a model may take long before its response
        // begins.
        let silence_left = shared.lock().last.map(|last| silence.saturating_sub(last.elapsed()));
        match cancellation
            .wait(time_left.min(silence_left.unwrap_or(silence)), || shared.lock().answer.take())
        {
            WaitOutcome::Ready(answer) => return answer,
            WaitOutcome::Cancelled => return Err(ExchangeError::Stopped),
            WaitOutcome::TimedOut if until <= Instant::now() => return Err(ExchangeError::TimedOut),
            WaitOutcome::TimedOut => {
                if shared.lock().last.is_some_and(|last| last.elapsed() >= silence) {
                    let why = format!("its response stalled for {}", calls.read_timeout);
                    return Err(ExchangeError::ConnectionLost(why));
                }
            }
        }
    }
}

/// The state that the thread of a request shares with the caller.
#[derive(Default)]
struct SharedResponse {
    answer: Option<Result<HttpResponse, ExchangeError>>,
    /// When bytes of the response last arrived.
    last: Option<Instant>,
}

/// Sends a request and reads the response. Calls `received` whenever bytes of it arrive.
fn send(
    url: Url,
    headers: Vec<(header::HeaderName, header::HeaderValue)>,
    body: Option<Vec<u8>>,
    connect: Duration,
    remaining: Duration,
    limit: usize,
    received: &dyn Fn(),
) -> Result<HttpResponse, ExchangeError> {
    let client =
        endpoint::client(&url).connect_timeout(connect).timeout(remaining).build().map_err(|error| {
            ExchangeError::Setup(format!("the HTTP client cannot be created: {}", root_cause(&error)))
        })?;
    let mut request = match body {
        Some(body) => client.post(url).header(CONTENT_TYPE, "application/json").body(body),
        None => client.get(url),
    };
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let response = request.send().map_err(exchange_error)?;
    received();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Ok(HttpResponse { status, headers, body: read(response, limit, received)? })
}

/// Reads a body of at most `limit` bytes.
fn read(response: Response, limit: usize, received: &dyn Fn()) -> Result<Vec<u8>, ExchangeError> {
    let mut body = Vec::new();
    let mut reader = ProgressReader { response, received };
    reader.by_ref().take(limit as u64 + 1).read_to_end(&mut body).map_err(|error| {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>()) {
            Some(inner) if inner.is_timeout() => ExchangeError::TimedOut,
            Some(inner) => ExchangeError::ConnectionLost(root_cause(inner)),
            None if error.kind() == std::io::ErrorKind::TimedOut => ExchangeError::TimedOut,
            None => ExchangeError::ConnectionLost(error.to_string()),
        }
    })?;
    if body.len() > limit { Err(ExchangeError::TooLong) } else { Ok(body) }
}

/// A body that calls `received` after each read.
struct ProgressReader<'a> {
    response: Response,
    received: &'a dyn Fn(),
}

impl Read for ProgressReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.response.read(buffer)?;
        (self.received)();
        Ok(read)
    }
}

fn exchange_error(error: reqwest::Error) -> ExchangeError {
    if error.is_timeout() && !error.is_connect() {
        return ExchangeError::TimedOut;
    }
    let is_unreachable = error.is_connect();
    let why = root_cause(&error.without_url());
    if is_unreachable { ExchangeError::Connect(why) } else { ExchangeError::ConnectionLost(why) }
}

/// The innermost cause: the outer errors only repeat the address.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    if error.source().is_none() {
        return error.to_string();
    }
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
