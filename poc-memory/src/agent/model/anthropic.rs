//! The Messages API of Anthropic (<https://docs.anthropic.com/en/api/messages>).
//!
//! The reply's schema is the input of the one tool the model is made to use: every model and every
//! gateway of this API knows tools.

use super::conversation::{messages, room};
use super::cost::{Spent, Usage, with_lost};
use super::http::{Http, Message, Progress};
use super::{CallError, Failed, Model, Reached, Reply, Request};
use crate::config;
use crate::time::Span;
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Value, json};

/// The version of the interface, sent with every request.
const VERSION: &str = "2023-06-01";
/// What writing to and reading from the prompt cache costs, as parts of the input price
/// (<https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching>).
const CACHE_WRITTEN: f64 = 1.25;
const CACHE_READ: f64 = 0.1;

/// The provider `anthropic`.
pub(super) struct Anthropic {
    pub(super) http: Http,
    pub(super) model: config::Model,
    pub(super) calls: config::Calls,
}

impl Model for Anthropic {
    fn call(&self, request: &Request<'_>) -> Result<Reply, Failed> {
        let body = self.body(request)?;
        let message = Message::post(self.url("messages"), self.headers(), &body);
        let progress = Progress::begun(request.timeout);
        let answer = self.http.post(&message, request, &progress);
        let answer = answer.map_err(|failure| failure.into_call(&self.http.provider).into());
        let most = || Spent::most(&self.model, &self.calls, request);
        with_lost(answer.and_then(|answer| self.read(&answer)), progress.lost(), most)
    }

    fn reach(&self, timeout: Span) -> Result<Reached, CallError> {
        self.http.reach(&Message::get(self.url("models"), self.headers()), timeout)?;
        Ok(Reached::Answered)
    }
}

impl Anthropic {
    fn url(&self, path: &str) -> Url {
        if self.http.base_ends_with("/v1") {
            self.http.url(path)
        } else {
            self.http.url(&format!("v1/{path}"))
        }
    }

    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let version = (HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
        let key = self.http.key.as_ref().and_then(|key| key.header(""));
        std::iter::once(version).chain(key.map(|key| (HeaderName::from_static("x-api-key"), key))).collect()
    }

    fn body(&self, request: &Request<'_>) -> Result<Value, CallError> {
        let mut body = json!({
            "model": self.model.id,
            "max_tokens": room(&self.model, &self.calls, request)?,
            "messages": messages(request, ""),
            "tools": [{
                "name": "reply",
                "description": "Gives your answer. Use it exactly once.",
                "input_schema": request.schema,
            }],
            "tool_choice": {"type": "tool", "name": "reply"},
        });
        if !request.system.is_empty()
            && let Some(body) = body.as_object_mut()
        {
            // All that stands before the prompt is the same from run to run.
            let block =
                json!({"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}});
            body.insert("system".into(), json!([block]));
        }
        Ok(body)
    }

    fn read(&self, answer: &Value) -> Result<Reply, Failed> {
        let name = &self.http.provider;
        let Some(content) = answer.get("content").and_then(Value::as_array) else {
            let said = self.http.said(answer.to_string().as_bytes());
            return Err(CallError::Down(format!("`{name}` sent no message: {said}")).into());
        };
        let of_type = |wanted: &'static str| {
            content.iter().filter(move |block| block.get("type").and_then(Value::as_str) == Some(wanted))
        };
        let text: Vec<&str> = of_type("text").filter_map(|block| block.get("text")?.as_str()).collect();
        let text = text.join("\n");
        let spent: Vec<Spent> = usage(answer)
            .map(|usage| usage.spent(&self.model, CACHE_WRITTEN, CACHE_READ))
            .into_iter()
            .collect();
        let failed = |error| Err(Failed { error, spent: spent.clone() });
        match answer.get("stop_reason").and_then(Value::as_str) {
            Some("max_tokens" | "model_context_window_exceeded") => return failed(CallError::Cut),
            Some("refusal") if text.is_empty() => {
                return failed(CallError::Refused("no reason given".into()));
            }
            Some("refusal") => return failed(CallError::Refused(text)),
            _ => {}
        }
        let structured = of_type("tool_use").find_map(|block| block.get("input")).cloned();
        Ok(Reply { text: structured.as_ref().map_or(text, Value::to_string), structured, spent })
    }
}

fn usage(answer: &Value) -> Option<Usage> {
    let usage = answer.get("usage")?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    Some(Usage {
        input: count("input_tokens")?,
        cache_written: count("cache_creation_input_tokens").unwrap_or(0),
        cache_read: count("cache_read_input_tokens").unwrap_or(0),
        output: count("output_tokens")?,
    })
}

#[cfg(test)]
mod tests;
