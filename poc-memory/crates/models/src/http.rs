//! Calls to a provider over HTTP: bounded in time and size, without redirects, and retried when a retry may
//! succeed.

mod exchange;
mod failure;
mod progress;

pub(super) use failure::{HttpError, RequestFeature};
pub(super) use progress::CallProgress;

use super::api_key::ApiKey;
use exchange::{ExchangeError, HttpResponse, exchange};
use failure::{AttemptError, TransientFailure};
use poc_agent::model::{CallError, Request, RetryAfter, Secret};
use poc_config::endpoint::{self, EndpointError};
use poc_config::{CallsConfig, ProviderConfig};
use poc_graph::cancellation::{CancellationToken, WaitOutcome};
use poc_graph::retry::{Backoff, retry};
use poc_graph::time::Span;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::Value;
use std::time::Duration;

/// Waits between two attempts; returns true when the time has passed, false when the call was cancelled.
type Wait = Box<dyn Fn(Duration, &CancellationToken) -> bool + Send + Sync>;

/// A provider reached over HTTP.
pub(super) struct Http {
    /// The provider's name in the settings.
    pub(super) provider: String,
    pub(super) key: Option<ApiKey>,
    base: Url,
    calls: CallsConfig,
    wait: Wait,
    /// End of the pause that the provider requested, shared by all its models.
    retry_after: RetryAfter,
}

/// The JSON body of a successful response. The value lacks all but the last of repeated fields.
#[derive(Debug)]
pub(super) struct JsonBody {
    pub(super) value: Value,
    pub(super) bytes: Vec<u8>,
}

/// One request, the same at every attempt.
pub(super) struct HttpRequest {
    url: Url,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The JSON of a POST request; `None` for a GET request.
    body: Option<Vec<u8>>,
}

impl HttpRequest {
    /// A POST request with a JSON body.
    pub(super) fn post(url: Url, headers: Vec<(HeaderName, HeaderValue)>, body: &Value) -> HttpRequest {
        HttpRequest { url, headers, body: Some(body.to_string().into_bytes()) }
    }

    /// A GET request.
    pub(super) fn get(url: Url, headers: Vec<(HeaderName, HeaderValue)>) -> HttpRequest {
        HttpRequest { url, headers, body: None }
    }

    /// The address without its query, for messages: some gateways take their key in the query.
    fn display_url(&self) -> String {
        let mut shown = self.url.clone();
        shown.set_query(None);
        shown.to_string()
    }
}

/// The names in a server's list of models: the text `field` of each object of the list `member`.
pub(super) fn names(list: &Value, member: &str, field: &str) -> Vec<String> {
    let models = list.get(member).and_then(Value::as_array).into_iter().flatten();
    models.filter_map(|model| Some(model.get(field)?.as_str()?.to_owned())).collect()
}

impl Http {
    /// A client of the provider.
    ///
    /// # Errors
    /// One line that says which setting to change when the base address is missing or unusable.
    pub(super) fn new(
        name: &str,
        provider: &ProviderConfig,
        calls: &CallsConfig,
        key: Option<ApiKey>,
    ) -> Result<Http, String> {
        let Some(address) = provider.base_url.as_deref() else {
            return Err(format!("put `providers.{name}.base-url = \"http://…\"` into config.toml"));
        };
        let base = endpoint::parse(address).map_err(|unfit| match unfit {
            EndpointError::NoAddress => {
                format!("`providers.{name}.base-url` is not an address such as `http://127.0.0.1:11434/v1`")
            }
            EndpointError::Credentials => format!(
                "take user and password out of `providers.{name}.base-url`; a key belongs in the variable named by `key-env`"
            ),
        })?;
        let wait =
            |delay, token: &CancellationToken| token.wait(delay, || None::<()>) == WaitOutcome::TimedOut;
        let (provider, calls, retry_after) = (name.to_owned(), calls.clone(), RetryAfter::default());
        Ok(Http { provider, key, base, calls, wait: Box::new(wait), retry_after })
    }

    /// The same client with the `retry-after` state that all models of the provider share.
    pub(super) fn with_retry_after(self, retry_after: &RetryAfter) -> Http {
        Http { retry_after: retry_after.clone(), ..self }
    }

    /// The address of `path` under the base.
    pub(super) fn url(&self, path: &str) -> Url {
        endpoint::join(&self.base, path)
    }

    /// The address of `path` under the base address, from which a trailing `part` is removed.
    pub(super) fn sibling_url(&self, part: &str, path: &str) -> Url {
        let base = self.base.path().trim_end_matches('/');
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", base.strip_suffix(part).unwrap_or(base)));
        url
    }

    /// The header with the key as a bearer token, if there is a key.
    pub(super) fn bearer_headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let key = self.key.as_ref().and_then(|key| key.header("Bearer "));
        key.map(|key| (AUTHORIZATION, key)).into_iter().collect()
    }

    /// The key, which the server may echo.
    pub(super) fn secret(&self) -> Option<&Secret> {
        self.key.as_ref().map(ApiKey::secret)
    }

    /// A text of the server to show, without the key.
    pub(super) fn redacted(&self, text: &str) -> String {
        self.secret().map_or_else(|| text.to_owned(), |secret| secret.redact(text))
    }

    /// The host of the base address.
    pub(super) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// Whether the path of the base address ends with `part`.
    pub(super) fn base_ends_with(&self, part: &str) -> bool {
        self.base.path().trim_end_matches('/').ends_with(part)
    }

    /// Like [`Http::post_for_body`]. Returns only the value.
    pub(super) fn post(
        &self,
        message: &HttpRequest,
        request: &Request<'_>,
        progress: &CallProgress,
    ) -> Result<Value, HttpError> {
        self.post_for_body(message, request, progress).map(|body| body.value)
    }

    /// Sends the request until it succeeds, the attempts are used up, or the deadline passes.
    pub(super) fn post_for_body(
        &self,
        message: &HttpRequest,
        request: &Request<'_>,
        progress: &CallProgress,
    ) -> Result<JsonBody, HttpError> {
        // A call that repeats its request in another form gets no additional attempts, because each lost
        // attempt may be charged.
        let attempts = request.attempts.saturating_sub(progress.lost()).max(1);
        let asked = format!("`{}` requested a pause", self.provider);
        // The rest of a pause that other calls were asked to keep. A call for which a person waits is sent at once, and
        // repeated as if the provider had asked for nothing before.
        let shared_pause = || if request.attended { Duration::ZERO } else { self.retry_after.remaining() };
        self.pause(shared_pause(), &asked, request, progress)?;
        let before_retry = |failures: u32, error: AttemptError| {
            let failure = match error {
                AttemptError::Transient(failure) => failure,
                AttemptError::Final(failure) => return Err(failure),
            };
            // Servers send `retry-after` values of days when a quota is used up, but a payment can end that
            // earlier.
            let wanted = failure.retry_after.map(|time| time.min(self.calls.leave_alone.std()));
            if let Some(time) = wanted {
                self.retry_after.extend(time);
            }
            if failures >= attempts {
                let times =
                    if attempts == 1 { String::new() } else { format!(" (after {attempts} attempts)") };
                return Err(CallError::Down(format!("{}{times}", failure.message)).into());
            }
            let delay = backoff(&self.calls)
                .jittered_delay(failures, request.rng.next_u64())
                .std()
                .max(wanted.unwrap_or_default())
                .max(shared_pause());
            self.pause(delay, &failure.message, request, progress)
        };
        retry(|| self.attempt(message, request, progress), before_retry)
    }

    /// Waits for `delay`. Fails at once if the delay ends at the call's deadline or later.
    fn pause(
        &self,
        delay: Duration,
        why: &str,
        request: &Request<'_>,
        progress: &CallProgress,
    ) -> Result<(), HttpError> {
        if delay.is_zero() {
            return Ok(());
        }
        if delay >= progress.remaining() {
            let wait = rounded_up(delay);
            let late = format!("{why}; the next attempt is due in {wait}, after the call's deadline");
            return Err(CallError::Down(late).into());
        }
        tracing::info!(provider = %self.provider, delay_ms = delay.as_millis() as u64, "{why}");
        if (self.wait)(delay, request.cancellation) { Ok(()) } else { Err(CallError::Stopped.into()) }
    }

    /// Sends one request without retries, to check that the server can be reached and takes the key. Returns
    /// the body as JSON; `None` if the server does not have the address (404, 405) or if the body is too long
    /// or not JSON.
    pub(super) fn probe(&self, message: &HttpRequest, timeout: Span) -> Result<Option<Value>, CallError> {
        let failure = match exchange(message, &self.calls, timeout.std(), &CancellationToken::new()) {
            Ok(HttpResponse { status: 200..=299, body, .. }) => return Ok(serde_json::from_slice(&body).ok()),
            Ok(HttpResponse { status: 404 | 405, .. }) => return Ok(None),
            Ok(answer) => match self.classify(message, answer) {
                AttemptError::Transient(failure) => failure.message,
                AttemptError::Final(failure) => return Err(failure.into_call(&self.provider)),
            },
            Err(ExchangeError::TimedOut | ExchangeError::Stopped) => {
                return Err(CallError::TimedOut(timeout));
            }
            Err(ExchangeError::TooLong) => return Ok(None),
            Err(ExchangeError::Setup(why)) => return Err(CallError::Setup(why)),
            Err(ExchangeError::ConnectionLost(why) | ExchangeError::Connect(why)) => {
                format!("`{}` cannot be reached at `{}`: {why}", self.provider, message.display_url())
            }
        };
        Err(CallError::Down(failure))
    }

    /// Sends the request once.
    fn attempt(
        &self,
        message: &HttpRequest,
        request: &Request<'_>,
        progress: &CallProgress,
    ) -> Result<JsonBody, AttemptError> {
        if request.cancellation.is_cancelled() {
            return Err(CallError::Stopped.into());
        }
        let remaining = progress.remaining();
        if remaining.is_zero() {
            return Err(progress.timeout_error().into());
        }
        let answer = exchange(message, &self.calls, remaining, request.cancellation);
        if let Err(
            ExchangeError::Stopped
            | ExchangeError::TimedOut
            | ExchangeError::TooLong
            | ExchangeError::ConnectionLost(_),
        ) = &answer
        {
            progress.count_lost();
        }
        match answer {
            Ok(HttpResponse { status: 200..=299, body, .. }) => {
                match serde_json::from_slice(&body) {
                    Ok(value) => Ok(JsonBody { value, bytes: body }),
                    // A gateway in front of an overloaded server may send an error page with a success
                    // status.
                    Err(_) => Err(AttemptError::Transient(TransientFailure {
                        message: format!(
                            "`{}` answered at `{}` with {}; if this persists, check its `base-url`",
                            self.provider,
                            message.display_url(),
                            if body.is_empty() { "an empty body" } else { "something that is not JSON" }
                        ),
                        retry_after: None,
                    })),
                }
            }
            Ok(answer) => Err(self.classify(message, answer)),
            Err(ExchangeError::Stopped) => Err(CallError::Stopped.into()),
            Err(ExchangeError::TimedOut) => Err(progress.timeout_error().into()),
            Err(ExchangeError::TooLong) => Err(CallError::Down(format!(
                "`{}` sent more than the {} bytes of `calls.max-answer-bytes`",
                self.provider, self.calls.max_answer_bytes
            ))
            .into()),
            Err(ExchangeError::Setup(why)) => Err(CallError::Setup(why).into()),
            Err(ExchangeError::ConnectionLost(why) | ExchangeError::Connect(why)) => {
                Err(AttemptError::Transient(TransientFailure {
                    message: format!(
                        "`{}` cannot be reached at `{}`: {why}",
                        self.provider,
                        message.display_url()
                    ),
                    retry_after: None,
                }))
            }
        }
    }
}

/// A delay for messages, in whole seconds, and in whole minutes from two minutes on.
fn rounded_up(delay: Duration) -> Span {
    let unit = if delay < Duration::from_secs(120) { Span::SECOND } else { Span::MINUTE };
    Span(delay.as_millis().div_ceil(unit.0 as u128) as i64 * unit.0)
}

/// The delays that `[calls]` sets.
pub(super) fn backoff(calls: &CallsConfig) -> Backoff {
    Backoff { first: calls.backoff, max: calls.backoff_max }
}

#[cfg(test)]
pub(super) mod tests;
