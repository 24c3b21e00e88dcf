//! What an answer that is not a success means for the call.

use super::{Answer, Http, Message};
use chrono::DateTime;
use poc_agent::model::CallError;
use reqwest::header::{DATE, HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::Value;
use std::time::Duration;

/// Why a request failed for good.
#[derive(Debug)]
pub(in super::super) enum Failure {
    /// The server does not take a part of the request that others do: status and reason.
    Part(Part, u16, String),
    /// Anything else.
    Call(CallError),
}

/// What servers differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Part {
    /// How the form of the reply is asked for.
    Form,
    /// How the length of the reply is limited.
    Limit,
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Failure::Call(error)
    }
}

impl Failure {
    /// The error of the call.
    pub(in super::super) fn into_call(self, provider: &str) -> CallError {
        match self {
            Failure::Part(_, status, said) => rejected(provider, status, &said),
            Failure::Call(error) => error,
        }
    }
}

/// Why an attempt failed that is worth repeating.
pub(super) struct Trouble {
    pub(super) message: String,
    /// The least time the server asked to wait.
    pub(super) retry_after: Option<Duration>,
}

impl Http {
    /// Sorts an answer that is no success: what may pass, and what will not.
    pub(super) fn refused(&self, message: &Message, answer: Answer) -> Result<Trouble, Failure> {
        let (name, status) = (&self.provider, answer.status);
        let said = self.said(&answer.body);
        if status == 402 || is_out_of_money(&answer.body) {
            return Err(CallError::NoCredit(format!(
                "the credit or quota of `{name}` is used up ({status}): {said}"
            ))
            .into());
        }
        if let Some(part) = part(status, &answer.body) {
            return Err(Failure::Part(part, status, said));
        }
        match status {
            408 | 409 | 429 | 500..=599 => Ok(Trouble {
                message: match status {
                    429 => format!("`{name}` is over its rate limit (429): {said}"),
                    503 | 529 => format!("`{name}` is overloaded ({status}): {said}"),
                    _ => format!("`{name}` failed ({status}): {said}"),
                },
                retry_after: retry_after(&answer.headers),
            }),
            // The server's words are left out: some quote the key.
            401 => Err(CallError::KeyRefused(match &self.key {
                Some(key) => format!("`{name}` refused the key (401); put a valid one into {}", key.origin()),
                None => format!(
                    "`{name}` asks for a key (401); name its variable with `key-env` in `[providers.{name}]`"
                ),
            })
            .into()),
            403 => {
                let key =
                    self.key.as_ref().map_or(String::new(), |key| format!(" of the key in {}", key.origin()));
                Err(CallError::Setup(format!("`{name}` denied the use{key} (403): {said}")).into())
            }
            404 => Err(CallError::Setup(format!(
                "`{name}` knows no such model or address (404 at `{}`): {said}",
                message.address()
            ))
            .into()),
            300..=399 => {
                let to = answer.headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
                Err(CallError::Setup(format!(
                    "`{name}` redirects `{}` to `{}` ({status}); redirects are not followed, set the final `base-url`",
                    message.address(),
                    one_line(to)
                ))
                .into())
            }
            _ => Err(rejected(name, status, &said).into()),
        }
    }

    /// What the server said, as one short line without the key.
    pub(in super::super) fn said(&self, body: &[u8]) -> String {
        let text = match serde_json::from_slice::<Value>(body) {
            Ok(value) => ["/error/message", "/message", "/error", "/detail"]
                .iter()
                .find_map(|path| value.pointer(path))
                .map_or_else(
                    || value.to_string(),
                    |said| said.as_str().map_or_else(|| said.to_string(), str::to_owned),
                ),
            Err(_) => String::from_utf8_lossy(body).into_owned(),
        };
        // Before it is cut: half a key is not found any more.
        let text = one_line(&self.key.as_ref().map_or(text.clone(), |key| key.scrub(&text)));
        if text.is_empty() { "no reason given".to_owned() } else { text }
    }
}

fn rejected(provider: &str, status: u16, said: &str) -> CallError {
    CallError::Setup(format!("`{provider}` rejected the request ({status}): {said}"))
}

/// The part of the request that a rejection is about.
fn part(status: u16, body: &[u8]) -> Option<Part> {
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
        400 | 422 if names(&LIMIT) => Some(Part::Limit),
        // Some servers fail with 500 where the request is at fault.
        400 | 422 | 500 if names(&FORM) => Some(Part::Form),
        _ => None,
    }
}

/// The first 300 characters, with every run of white space and control characters as one space.
fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(300).collect()
}

/// Whether more attempts cannot help because the account has nothing left.
fn is_out_of_money(body: &[u8]) -> bool {
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

/// `retry-after` as seconds, or as a date next to the server's own.
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
    fn what_a_server_says_is_one_short_line() {
        assert_eq!(one_line("  a\n\tb\u{7}c  "), "a b c");
        assert_eq!(one_line(&"x".repeat(1000)).len(), 300);
    }
}
