//! Asking a server: bounded in time and size, without redirects, repeated while that can help.

mod exchange;
mod failure;
mod progress;

pub(super) use failure::{Failure, Part};
pub(super) use progress::Progress;

use super::key::Key;
use exchange::{Answer, Broken, exchange};
use failure::Trouble;
use poc_agent::model::{CallError, CancellationToken, Request, RetryAfter, WaitOutcome};
use poc_config::server::{self, Unfit};
use poc_config::{Calls, Provider};
use poc_graph::time::Span;
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;
use std::time::Duration;

/// Waits between two attempts; true when the time passed and nothing stopped the call.
type Wait = Box<dyn Fn(Duration, &CancellationToken) -> bool + Send + Sync>;

/// A provider reached over HTTP.
pub(super) struct Http {
    /// Its name in the settings.
    pub(super) provider: String,
    pub(super) key: Option<Key>,
    base: Url,
    calls: Calls,
    wait: Wait,
    /// When the provider wants no calls, whichever of its models it told.
    retry_after: RetryAfter,
}

/// One request, the same at every attempt.
pub(super) struct Message {
    url: Url,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// JSON to post; without one it only asks.
    body: Option<Vec<u8>>,
}

impl Message {
    /// A JSON body for an address.
    pub(super) fn post(url: Url, headers: Vec<(HeaderName, HeaderValue)>, body: &Value) -> Message {
        Message { url, headers, body: Some(body.to_string().into_bytes()) }
    }

    /// A question of an address.
    pub(super) fn get(url: Url, headers: Vec<(HeaderName, HeaderValue)>) -> Message {
        Message { url, headers, body: None }
    }

    /// The address for messages: some gateways take their key in the query.
    fn address(&self) -> String {
        let mut shown = self.url.clone();
        shown.set_query(None);
        shown.to_string()
    }
}

impl Http {
    /// The provider with its address checked; an error is one line that would help.
    pub(super) fn new(
        name: &str,
        provider: &Provider,
        calls: &Calls,
        key: Option<Key>,
    ) -> Result<Http, String> {
        let Some(address) = provider.base_url.as_deref() else {
            return Err(format!("put `providers.{name}.base-url = \"http://…\"` into config.toml"));
        };
        let base = server::address(address).map_err(|unfit| match unfit {
            Unfit::NoAddress => {
                format!("`providers.{name}.base-url` is not an address such as `http://127.0.0.1:11434/v1`")
            }
            Unfit::Secret => format!(
                "take user and password out of `providers.{name}.base-url`; a key belongs into the variable named by `key-env`"
            ),
        })?;
        let wait = |delay, token: &CancellationToken| token.wait(delay, || None::<()>) == WaitOutcome::TimedOut;
        let (provider, calls, retry_after) = (name.to_owned(), calls.clone(), RetryAfter::default());
        Ok(Http { provider, key, base, calls, wait: Box::new(wait), retry_after })
    }

    /// The same client, sharing the pause that the provider has asked other models for.
    pub(super) fn sharing(self, retry_after: &RetryAfter) -> Http {
        Http { retry_after: retry_after.clone(), ..self }
    }

    /// The address of `path` under the base.
    pub(super) fn url(&self, path: &str) -> Url {
        server::below(&self.base, path)
    }

    /// The address of `path` under the base without the part that it may end with.
    pub(super) fn beside(&self, part: &str, path: &str) -> Url {
        let base = self.base.path().trim_end_matches('/');
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", base.strip_suffix(part).unwrap_or(base)));
        url
    }

    /// The machine behind the base address.
    pub(super) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// The last part of the base address's path.
    pub(super) fn base_ends_with(&self, part: &str) -> bool {
        self.base.path().trim_end_matches('/').ends_with(part)
    }

    /// Sends it until there is an answer, the attempts are used up, or the deadline comes.
    pub(super) fn post(
        &self,
        message: &Message,
        request: &Request<'_>,
        progress: &Progress,
    ) -> Result<Value, Failure> {
        // Asked in another way, a call has no more attempts for it: each that is lost may have its price.
        let attempts = request.attempts.saturating_sub(progress.lost()).max(1);
        let mut attempt = 1;
        let asked = format!("`{}` has asked others for time", self.provider);
        self.let_be(self.retry_after.remaining(), &asked, request, progress)?;
        loop {
            let trouble = match self.attempt(message, request, progress)? {
                Ok(value) => return Ok(value),
                Err(trouble) => trouble,
            };
            if let Some(time) = trouble.retry_after {
                self.retry_after.extend(time);
            }
            if attempt >= attempts {
                let times =
                    if attempts == 1 { String::new() } else { format!(" (after {attempts} attempts)") };
                return Err(CallError::Down(format!("{}{times}", trouble.message)).into());
            }
            let delay = backoff(&self.calls, attempt, request.chance.bits())
                .max(trouble.retry_after.unwrap_or_default())
                .max(self.retry_after.remaining());
            self.let_be(delay, &trouble.message, request, progress)?;
            attempt += 1;
        }
    }

    /// Leaves the provider alone for a while, as far as the call has time for that.
    fn let_be(
        &self,
        delay: Duration,
        why: &str,
        request: &Request<'_>,
        progress: &Progress,
    ) -> Result<(), Failure> {
        if delay.is_zero() {
            return Ok(());
        }
        if delay >= progress.remaining() {
            let wait = Span(delay.as_millis() as i64);
            let late = format!("{why}; the next attempt is due in {wait}, after the call's time is over");
            return Err(CallError::Down(late).into());
        }
        tracing::info!(provider = %self.provider, delay_ms = delay.as_millis() as u64, "{why}");
        if (self.wait)(delay, request.cancellation) { Ok(()) } else { Err(CallError::Stopped.into()) }
    }

    /// Whether the server is there and takes the key: asks it for its models, once. That some servers
    /// have no such list is no trouble; else it comes back.
    pub(super) fn reach(&self, message: &Message, timeout: Span) -> Result<Option<Value>, CallError> {
        let trouble = match exchange(message, &self.calls, timeout.std(), &CancellationToken::new()) {
            Ok(Answer { status: 200..=299, body, .. }) => return Ok(serde_json::from_slice(&body).ok()),
            Ok(Answer { status: 404 | 405, .. }) => return Ok(None),
            Ok(answer) => match self.refused(message, answer) {
                Ok(trouble) => trouble.message,
                Err(failure) => return Err(failure.into_call(&self.provider)),
            },
            Err(Broken::TimedOut | Broken::Stopped) => return Err(CallError::TimedOut(timeout)),
            Err(Broken::TooLong) => return Ok(None),
            Err(Broken::Setup(why)) => return Err(CallError::Setup(why)),
            Err(Broken::Cut(why) | Broken::Unreached(why)) => {
                format!("`{}` cannot be reached at `{}`: {why}", self.provider, message.address())
            }
        };
        Err(CallError::Down(trouble))
    }

    /// An answer without the key, should a server have sent it back: replies are kept.
    fn clean(&self, body: Vec<u8>) -> Vec<u8> {
        match (&self.key, std::str::from_utf8(&body)) {
            (Some(key), Ok(text)) => key.scrub(text).into_bytes(),
            _ => body,
        }
    }

    /// One attempt: an answer, or trouble that a later attempt may not have.
    fn attempt(
        &self,
        message: &Message,
        request: &Request<'_>,
        progress: &Progress,
    ) -> Result<Result<Value, Trouble>, Failure> {
        if request.cancellation.is_cancelled() {
            return Err(CallError::Stopped.into());
        }
        let remaining = progress.remaining();
        if remaining.is_zero() {
            return Err(progress.passed().into());
        }
        let answer = exchange(message, &self.calls, remaining, request.cancellation);
        if let Err(Broken::Stopped | Broken::TimedOut | Broken::TooLong | Broken::Cut(_)) = &answer {
            progress.lose();
        }
        match answer {
            Ok(Answer { status: 200..=299, body, .. }) => match serde_json::from_slice(&self.clean(body)) {
                Ok(value) => Ok(Ok(value)),
                Err(_) => Err(CallError::Setup(format!(
                    "`{}` answered at `{}` with something that is not JSON; check its `base-url`",
                    self.provider,
                    message.address()
                ))
                .into()),
            },
            Ok(answer) => self.refused(message, answer).map(Err),
            Err(Broken::Stopped) => Err(CallError::Stopped.into()),
            Err(Broken::TimedOut) => Err(progress.passed().into()),
            Err(Broken::TooLong) => Err(CallError::Down(format!(
                "`{}` sent more than the {} bytes of `calls.max-answer-bytes`",
                self.provider, self.calls.max_answer_bytes
            ))
            .into()),
            Err(Broken::Setup(message)) => Err(CallError::Setup(message).into()),
            Err(Broken::Cut(why) | Broken::Unreached(why)) => Ok(Err(Trouble {
                message: format!("`{}` cannot be reached at `{}`: {why}", self.provider, message.address()),
                retry_after: None,
            })),
        }
    }
}

/// `backoff · 2^(attempt − 1)`, at most `backoff-max`, of which a random half to the whole is waited, so
/// that clients that failed together do not come back together.
pub(super) fn backoff(calls: &Calls, attempt: u32, bits: u64) -> Duration {
    let factor = 1u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let whole = calls.backoff.std().saturating_mul(factor).min(calls.backoff_max.std());
    whole.mul_f64(0.5 + 0.5 * (bits as f64 / u64::MAX as f64))
}

#[cfg(test)]
pub(super) mod tests;
