//! Classifies responses that are not a success.

use super::{Http, HttpRequest, HttpResponse};
use chrono::DateTime;
use poc_agent::model::CallError;
use reqwest::header::{DATE, HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::Value;
use std::time::Duration;

/// Why a request failed after all attempts.
#[derive(Debug)]
pub(in super::super) enum HttpError {
    /// The server does not support a feature of the request that other servers do: status and reason.
    Unsupported(RequestFeature, u16, String),
    /// Anything else.
    Call(CallError),
}

/// A feature of requests that not all servers support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum RequestFeature {
    /// The field that asks for structured output.
    OutputFormat,
    /// The field that limits the length of the reply.
    LengthLimit,
}

impl From<CallError> for HttpError {
    fn from(error: CallError) -> Self {
        HttpError::Call(error)
    }
}

impl HttpError {
    /// The error of the call.
    pub(in super::super) fn into_call(self, provider: &str) -> CallError {
        match self {
            HttpError::Unsupported(_, status, reason) => rejected(provider, status, &reason),
            HttpError::Call(error) => error,
        }
    }
}

/// A failure after which a later attempt may succeed.
pub(super) struct TransientFailure {
    pub(super) message: String,
    /// The minimum wait that the server requested.
    pub(super) retry_after: Option<Duration>,
}

/// Why an attempt failed.
pub(super) enum AttemptError {
    /// A later attempt may succeed.
    Transient(TransientFailure),
    /// No later attempt will succeed.
    Final(HttpError),
}

impl From<HttpError> for AttemptError {
    fn from(failure: HttpError) -> Self {
        AttemptError::Final(failure)
    }
}

impl From<CallError> for AttemptError {
    fn from(error: CallError) -> Self {
        AttemptError::Final(error.into())
    }
}

impl Http {
    /// Classifies a response that is not a success.
    pub(super) fn classify(&self, message: &HttpRequest, answer: HttpResponse) -> AttemptError {
        let (name, status) = (&self.provider, answer.status);
        let reason = self.error_text(&answer.body);
        if status == 402 || is_out_of_credit(&answer.body) {
            return CallError::NoCredit(format!(
                "the credit or quota of `{name}` is used up ({status}): {reason}"
            ))
            .into();
        }
        if let Some(feature) = unsupported_feature(status, &answer.body) {
            return HttpError::Unsupported(feature, status, reason).into();
        }
        match status {
            408 | 409 | 429 | 500..=599 => AttemptError::Transient(TransientFailure {
                message: match status {
                    429 => format!("`{name}` is over its rate limit (429): {reason}"),
                    503 | 529 => format!("`{name}` is overloaded ({status}): {reason}"),
                    _ => format!("`{name}` failed ({status}): {reason}"),
                },
                retry_after: retry_after(&answer.headers),
            }),
            // The server's message is left out: some servers quote the key in it.
            401 => CallError::KeyRefused(match &self.key {
                Some(key) => format!("`{name}` refused the key (401); put a valid one into {}", key.origin()),
                None => format!(
                    "`{name}` requires a key (401); name its variable with `key-env` in `[providers.{name}]`"
                ),
            })
            .into(),
            403 => {
                let key =
                    self.key.as_ref().map_or(String::new(), |key| format!(" of the key in {}", key.origin()));
                CallError::Setup(format!("`{name}` denied the use{key} (403): {reason}")).into()
            }
            404 => CallError::Setup(format!(
                "`{name}` has no such model or address (404 at `{}`): {reason}",
                message.display_url()
            ))
            .into(),
            300..=399 => {
                let to = answer.headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
                CallError::Setup(format!(
                    "`{name}` redirects `{}` to `{}` ({status}); redirects are not followed, set the final `base-url`",
                    message.display_url(),
                    self.redirect_target(to)
                ))
                .into()
            }
            _ => rejected(name, status, &reason).into(),
        }
    }

    /// The target of a redirect without user, password, query and key, because some servers copy the key into
    /// these.
    fn redirect_target(&self, location: &str) -> String {
        let end = location.find(['?', '#']).unwrap_or(location.len());
        let path = location.get(..end).unwrap_or(location);
        let target = match path.split_once("//") {
            Some((scheme, rest)) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
                format!("{scheme}//{host}{path}")
            }
            None => path.to_owned(),
        };
        one_line(&self.redacted(&target))
    }

    /// The error message of a response body as one short line without the key.
    pub(in super::super) fn error_text(&self, body: &[u8]) -> String {
        let text = match serde_json::from_slice::<Value>(body) {
            Ok(value) => ["/error/message", "/message", "/error", "/detail"]
                .iter()
                .find_map(|path| value.pointer(path))
                .map_or_else(
                    || value.to_string(),
                    |reason| reason.as_str().map_or_else(|| reason.to_string(), str::to_owned),
                ),
            Err(_) => String::from_utf8_lossy(body).into_owned(),
        };
        // The key is removed before the text is shortened, because half a key would not be recognised.
        let text = one_line(&self.redacted(&text));
        if text.is_empty() { "no reason given".to_owned() } else { text }
    }
}

fn rejected(provider: &str, status: u16, reason: &str) -> CallError {
    CallError::Setup(format!("`{provider}` rejected the request ({status}): {reason}"))
}

/// The feature of the request that a rejection names.
fn unsupported_feature(status: u16, body: &[u8]) -> Option<RequestFeature> {
    const LIMIT: [&str; 2] = ["max_tokens", "max_completion_tokens"];
    const FORM: [&str; 7] = [
        "response_format",
        "json_schema",
        "structured output",
        "output_config",
        "output_format",
        "tool_choice",
        "grammar",
    ];
    let body = String::from_utf8_lossy(body).to_lowercase();
    let names = |words: &[&str]| words.iter().any(|word| body.contains(word));
    match status {
        400 | 422 if names(&LIMIT) => Some(RequestFeature::LengthLimit),
        // Some servers respond to an unsupported field with status 500.
        400 | 422 | 500 if names(&FORM) => Some(RequestFeature::OutputFormat),
        _ => None,
    }
}

/// The first 300 characters, with each run of white space and control characters replaced by one space.
fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(300).collect()
}

/// Whether the error says that the credit or quota of the account is used up, so that no retry helps.
fn is_out_of_credit(body: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return false };
    let names = ["/error/code", "/error/type"].map(|path| value.pointer(path).and_then(Value::as_str));
    let named = names.into_iter().flatten().any(|name| {
        matches!(
            name,
            "insufficient_quota" | "billing_error" | "billing_hard_limit_reached" | "billing_not_active"
        )
    });
    let message = value.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
    named || message.contains("credit balance is too low")
}

/// The `retry-after` header: seconds, or a date that is compared with the `date` header of the same response.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok();
    let wanted = text(RETRY_AFTER)?.trim();
    if let Ok(seconds) = wanted.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = DateTime::parse_from_rfc2822(wanted).ok()?;
    let from = DateTime::parse_from_rfc2822(text(DATE)?).ok()?;
    (until - from).to_std().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn check(headers: &[(HeaderName, &str)], seconds: Option<f64>) {
        let headers =
            headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()));
        assert_eq!(retry_after(&headers.collect()), seconds.map(Duration::from_secs_f64));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        check(&[(RETRY_AFTER, "7")], Some(7.0));
        check(&[(RETRY_AFTER, "0.5")], Some(0.5));
        let later = (RETRY_AFTER, "Sat, 21 Nov 2026 08:00:30 GMT");
        check(&[later.clone(), (DATE, "Sat, 21 Nov 2026 08:00:00 GMT")], Some(30.0));
        check(&[later.clone(), (DATE, "Sat, 21 Nov 2026 09:00:00 GMT")], None);
        check(&[later], None);
        for wrong in ["soon", "-1", "NaN", "1e300"] {
            check(&[(RETRY_AFTER, wrong)], None);
        }
    }

    #[test]
    fn an_error_message_is_one_short_line() {
        assert_eq!(one_line("  a\n\tb\u{7}c  "), "a b c");
        assert_eq!(one_line(&"x".repeat(1000)).len(), 300);
    }
}
