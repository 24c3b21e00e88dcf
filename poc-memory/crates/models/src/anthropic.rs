//! The Messages API of Anthropic (<https://platform.claude.com/docs/en/api/messages>).
//!
//! The reply's schema is asked for natively, as the form of the output. Models and gateways that do not
//! know that are given it as the input of a tool they must use; those that cannot be made to (a model that
//! thinks) as one they may use.

use super::conversation::{follows, messages, room, schema_in_words};
use super::http::{Failure, Http, Message, Part, Progress};
use super::usage::{Usage, cost_bound, upper_bound, with_lost};
use parking_lot::Mutex;
use poc_agent::model::{CallError, CallFailure, Model, ProbeOutcome, Reply, Request, CallCost};
use poc_graph::time::Span;
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Value, json};

/// The version of the interface, sent with every request.
const VERSION: &str = "2023-06-01";
/// What writing to and reading from the prompt cache costs where the settings do not say, as parts of
/// the input price (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>).
const CACHE_WRITTEN: f64 = 1.25;
const CACHE_READ: f64 = 0.1;

/// The provider `anthropic`.
pub(super) struct Anthropic {
    http: Http,
    model: poc_config::Model,
    calls: poc_config::Calls,
    /// The form that its server is known to take.
    form: Mutex<Form>,
}

/// How the shape of the reply is asked for, the strictest way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The output itself is held to the schema.
    Native,
    /// It is the input of a tool that must be used.
    Tool,
    /// It is the input of a tool that may be used, and the prompt says it in words.
    Offered,
}

impl Form {
    fn weaker(self) -> Option<Form> {
        match self {
            Form::Native => Some(Form::Tool),
            Form::Tool => Some(Form::Offered),
            Form::Offered => None,
        }
    }
}

impl Model for Anthropic {
    fn most(&self, request: &Request<'_>) -> Option<f64> {
        cost_bound(&self.model, &self.calls, request)
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let progress = Progress::begun(request.timeout);
        let mut form = *self.form.lock();
        let answer = loop {
            let message = Message::post(self.url("messages"), self.headers(), &self.body(request, form)?);
            let answer = self.http.post(&message, request, &progress);
            match (&answer, form.weaker()) {
                (Err(Failure::Part(Part::Form, ..)), Some(weaker)) => form = weaker,
                _ => break answer,
            }
        };
        let answer = answer.map_err(|failure| failure.into_call(&self.http.provider).into());
        let most = || upper_bound(&self.model, &self.calls, request);
        let reply = answer.and_then(|answer| self.read(&answer, most));
        if let Ok(reply) = &reply {
            // A server that took the form and did not keep to it is asked in another way from now on.
            let kept = follows(reply.structured.as_ref(), request.schema);
            *self.form.lock() = if kept { form } else { form.weaker().unwrap_or(form) };
        }
        with_lost(reply, progress.lost(), most)
    }

    fn reach(&self, timeout: Span) -> Result<ProbeOutcome, CallError> {
        self.http.reach(&Message::get(self.url("models"), self.headers()), timeout)?;
        Ok(ProbeOutcome::Answered)
    }
}

impl Anthropic {
    pub(super) fn new(http: Http, model: poc_config::Model, calls: poc_config::Calls) -> Anthropic {
        Anthropic { http, model, calls, form: Mutex::new(Form::Native) }
    }

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

    fn body(&self, request: &Request<'_>, form: Form) -> Result<Value, CallError> {
        let words = if form == Form::Offered { schema_in_words(request) } else { String::new() };
        let mut body = json!({
            "model": self.model.id,
            "max_tokens": room(&self.model, &self.calls, request)?,
            "messages": cached(request, messages(request, &words)),
        });
        let Some(fields) = body.as_object_mut() else { return Ok(body) };
        if form == Form::Native {
            let format = json!({"type": "json_schema", "schema": request.schema});
            fields.insert("output_config".into(), json!({"format": format}));
        } else {
            let tool = json!({
                "name": "reply",
                "description": "Gives your answer. Use it exactly once.",
                "input_schema": request.schema,
            });
            fields.insert("tools".into(), json!([tool]));
            let choice = match form {
                Form::Tool => json!({"type": "tool", "name": "reply"}),
                _ => json!({"type": "auto"}),
            };
            fields.insert("tool_choice".into(), choice);
        }
        if !request.system.is_empty() {
            fields.insert("system".into(), json!([marked(request.system)]));
        }
        Ok(body)
    }

    fn read(&self, answer: &Value, most: impl Fn() -> CallCost) -> Result<Reply, CallFailure> {
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
        // What has prices and tells no usage counts as much as it may have been.
        let told = usage(answer).map(|usage| usage.spent(&self.model, CACHE_WRITTEN, CACHE_READ));
        let spent = vec![told.unwrap_or_else(most)];
        let failed = |error| Err(CallFailure { error, spent: spent.clone() });
        match answer.get("stop_reason").and_then(Value::as_str) {
            Some("max_tokens" | "model_context_window_exceeded") => return failed(CallError::Cut),
            Some("refusal") if text.is_empty() => {
                return failed(CallError::Refused("no reason given".into()));
            }
            Some("refusal") => return failed(CallError::Refused(text)),
            _ => {}
        }
        let used = of_type("tool_use").find_map(|block| block.get("input")).cloned();
        let text = used.as_ref().map_or(text, Value::to_string);
        let whole = || serde_json::from_str(text.trim()).ok().filter(Value::is_object);
        Ok(Reply { structured: used.or_else(whole), text, spent })
    }
}

/// The messages with the end of what is the same from run to run marked for the cache.
fn cached(request: &Request<'_>, mut messages: Vec<Value>) -> Vec<Value> {
    let content = messages.first_mut().and_then(|first| first.get_mut("content"));
    if let Some(content) = content
        && let Some(text) = content.as_str().map(str::to_owned)
        && let Some((stable, rest)) = text.split_at_checked(request.stable)
        && !stable.trim().is_empty()
        && !rest.trim().is_empty()
    {
        *content = json!([marked(stable), {"type": "text", "text": rest}]);
    }
    messages
}

/// A text up to which everything is to be cached.
fn marked(text: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
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
