//! One request and its answer.

use super::Message;
use parking_lot::Mutex;
use poc_agent::model::{CancellationToken, LONGEST_WAIT, WaitOutcome};
use poc_config::Calls;
use poc_config::server;
use reqwest::blocking::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Url, header};
use std::error::Error as _;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a server answered.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Why there is no answer.
pub(super) enum Broken {
    /// The call was stopped.
    Stopped,
    /// The time is over.
    TimedOut,
    /// The body is longer than allowed.
    TooLong,
    /// No connection: the request never went out.
    Unreached(String),
    /// The connection broke in the middle.
    Cut(String),
    /// This machine cannot make such a request.
    Setup(String),
}

/// Sends the request on a thread of its own, so that a stop or the deadline ends the wait at once.
/// An answer that comes after that goes into a slot nobody looks at any more.
pub(super) fn exchange(
    message: &Message,
    calls: &Calls,
    remaining: Duration,
    cancellation: &CancellationToken,
) -> Result<Answer, Broken> {
    let slot = Arc::new(Mutex::new(Slot::default()));
    let (theirs, waker) = (slot.clone(), cancellation.clone());
    let (url, headers, body) = (message.url.clone(), message.headers.clone(), message.body.clone());
    let (connect, limit) = (calls.connect_timeout.std().min(remaining), calls.max_answer_bytes);
    let work = move || {
        let came = || theirs.lock().last = Some(Instant::now());
        let answer = send(url, headers, body, (connect, remaining), limit, &came);
        theirs.lock().answer = Some(answer);
        waker.wake();
    };
    std::thread::Builder::new()
        .name("model-call".into())
        .spawn(work)
        .map_err(|error| Broken::Setup(format!("no thread can be started for the call: {error}")))?;
    let (until, silence) = (Instant::now() + remaining.min(LONGEST_WAIT), calls.read_timeout.std());
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // A model may think for long before its answer begins; then the next piece comes soon.
        let heard = slot.lock().last.map(|last| silence.saturating_sub(last.elapsed()));
        match cancellation.wait(left.min(heard.unwrap_or(silence)), || slot.lock().answer.take()) {
            WaitOutcome::Ready(answer) => return answer,
            WaitOutcome::Cancelled => return Err(Broken::Stopped),
            WaitOutcome::TimedOut if until <= Instant::now() => return Err(Broken::TimedOut),
            WaitOutcome::TimedOut => {
                if slot.lock().last.is_some_and(|last| last.elapsed() >= silence) {
                    let why = format!("in the middle of its answer nothing came for {}", calls.read_timeout);
                    return Err(Broken::Cut(why));
                }
            }
        }
    }
}

/// What the thread of a request tells.
#[derive(Default)]
struct Slot {
    answer: Option<Result<Answer, Broken>>,
    /// When a piece of the answer came last.
    last: Option<Instant>,
}

fn send(
    url: Url,
    headers: Vec<(header::HeaderName, header::HeaderValue)>,
    body: Option<Vec<u8>>,
    (connect, remaining): (Duration, Duration),
    limit: usize,
    came: &dyn Fn(),
) -> Result<Answer, Broken> {
    let client = server::client(&url)
        .connect_timeout(connect)
        .timeout(remaining)
        .build()
        .map_err(|error| Broken::Setup(format!("no HTTP client can be made: {}", root(&error))))?;
    let mut request = match body {
        Some(body) => client.post(url).header(CONTENT_TYPE, "application/json").body(body),
        None => client.get(url),
    };
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let response = request.send().map_err(broken)?;
    came();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Ok(Answer { status, headers, body: read(response, limit, came)? })
}

fn read(response: Response, limit: usize, came: &dyn Fn()) -> Result<Vec<u8>, Broken> {
    let mut body = Vec::new();
    let mut pieces = Pieces { response, came };
    pieces.by_ref().take(limit as u64 + 1).read_to_end(&mut body).map_err(|error| {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>()) {
            Some(inner) if inner.is_timeout() => Broken::TimedOut,
            Some(inner) => Broken::Cut(root(inner)),
            None if error.kind() == std::io::ErrorKind::TimedOut => Broken::TimedOut,
            None => Broken::Cut(error.to_string()),
        }
    })?;
    if body.len() > limit { Err(Broken::TooLong) } else { Ok(body) }
}

/// A body that tells whenever a piece of it came.
struct Pieces<'a> {
    response: Response,
    came: &'a dyn Fn(),
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.response.read(buffer)?;
        (self.came)();
        Ok(read)
    }
}

fn broken(error: reqwest::Error) -> Broken {
    if error.is_timeout() && !error.is_connect() {
        return Broken::TimedOut;
    }
    let unreached = error.is_connect();
    let why = root(&error.without_url());
    if unreached { Broken::Unreached(why) } else { Broken::Cut(why) }
}

/// The innermost cause: the layers around it only repeat the address.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    if error.source().is_none() {
        return error.to_string();
    }
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
