//! The Messages API of Anthropic (<https://platform.claude.com/docs/en/api/messages>).
//!
//! The provider enforces the schema of the reply as its output format. Models and gateways without that
//! feature get the schema as the input of a tool that they must use. Models that cannot be forced to use a
//! tool (those with extended thinking) get it as the input of an optional tool.

use super::conversation::{max_reply_tokens, messages, mode_after, schema_instruction};
use super::http::{CallProgress, Http, HttpError, HttpRequest, JsonBody, RequestFeature};
use super::usage::{Usage, add_lost_attempts, cost_bound, upper_bound};
use parking_lot::Mutex;
use poc_agent::model::{CallCost, CallError, CallFailure, Model, ProbeOutcome, Reply, Request};
use poc_agent::reply::parse_json;
use poc_graph::json::AllFields;
use poc_graph::time::Span;
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Value, json};

/// The version of the API, sent with every request.
const VERSION: &str = "2023-06-01";
/// The prices of writing to and reading from the prompt cache when the settings name none, as factors on the input
/// price (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>).
const CACHE_WRITTEN: f64 = 1.25;
const CACHE_READ: f64 = 0.1;

/// The provider `anthropic`.
pub(super) struct Anthropic {
    http: Http,
    model: poc_config::ModelConfig,
    calls: poc_config::CallsConfig,
    /// The mode that the server is known to support.
    mode: Mutex<SchemaMode>,
}

/// How the request asks for a reply that matches the schema, the strictest mode first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SchemaMode {
    /// The schema is the output format.
    Native,
    /// The schema is the input of a tool that must be used.
    ForcedTool,
    /// The schema is the input of a tool that may be used, and the prompt describes it.
    OptionalTool,
}

impl SchemaMode {
    fn weaker(self) -> Option<SchemaMode> {
        match self {
            SchemaMode::Native => Some(SchemaMode::ForcedTool),
            SchemaMode::ForcedTool => Some(SchemaMode::OptionalTool),
            SchemaMode::OptionalTool => None,
        }
    }
}

impl Model for Anthropic {
    fn max_cost(&self, request: &Request<'_>) -> Option<f64> {
        cost_bound(&self.model, &self.calls, request)
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let progress = CallProgress::start(request.timeout);
        let mut mode = *self.mode.lock();
        let answer = loop {
            let message = HttpRequest::post(self.url("messages"), self.headers(), &self.body(request, mode)?);
            let answer = self.http.post_for_body(&message, request, &progress);
            match (&answer, mode.weaker()) {
                (Err(HttpError::Unsupported(RequestFeature::OutputFormat, ..)), Some(weaker)) => {
                    mode = weaker
                }
                _ => break answer,
            }
        };
        let answer = answer.map_err(|failure| failure.into_call(&self.http.provider).into());
        let max_cost = || upper_bound(&self.model, &self.calls, request);
        let reply = answer.and_then(|answer| self.read(&answer, max_cost));
        if let Ok(reply) = &reply {
            *self.mode.lock() = mode_after(mode, mode.weaker(), reply, request);
        }
        add_lost_attempts(reply, progress.lost(), max_cost)
    }

    fn probe(&self, timeout: Span) -> Result<ProbeOutcome, CallError> {
        self.http.probe(&HttpRequest::get(self.url("models"), self.headers()), timeout)?;
        Ok(ProbeOutcome::Answered)
    }
}

impl Anthropic {
    pub(super) fn new(
        http: Http,
        model: poc_config::ModelConfig,
        calls: poc_config::CallsConfig,
    ) -> Anthropic {
        Anthropic { http, model, calls, mode: Mutex::new(SchemaMode::Native) }
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

    fn body(&self, request: &Request<'_>, mode: SchemaMode) -> Result<Value, CallError> {
        let words =
            if mode == SchemaMode::OptionalTool { schema_instruction(request) } else { String::new() };
        let mut body = json!({
            "model": self.model.id,
            "max_tokens": max_reply_tokens(&self.model, &self.calls, request)?,
            "messages": with_cache_marks(request, messages(request, &words)),
        });
        let Some(fields) = body.as_object_mut() else { return Ok(body) };
        if mode == SchemaMode::Native {
            let format = json!({"type": "json_schema", "schema": request.schema});
            fields.insert("output_config".into(), json!({"format": format}));
        } else {
            let tool = json!({
                "name": "reply",
                "description": "Gives your answer. Use it exactly once.",
                "input_schema": request.schema,
            });
            fields.insert("tools".into(), json!([tool]));
            let choice = match mode {
                SchemaMode::ForcedTool => json!({"type": "tool", "name": "reply"}),
                _ => json!({"type": "auto"}),
            };
            fields.insert("tool_choice".into(), choice);
        }
        if !request.system.is_empty() {
            fields.insert("system".into(), json!([cacheable_text(request.system)]));
        }
        Ok(body)
    }

    fn read(&self, body: &JsonBody, max_cost: impl Fn() -> CallCost) -> Result<Reply, CallFailure> {
        let answer = &body.value;
        let name = &self.http.provider;
        let Some(content) = answer.get("content").and_then(Value::as_array) else {
            let reason = self.http.error_text(answer.to_string().as_bytes());
            return Err(CallError::Down(format!("`{name}` sent no message: {reason}")).into());
        };
        let of_type = |wanted: &'static str| {
            content.iter().filter(move |block| block.get("type").and_then(Value::as_str) == Some(wanted))
        };
        let text: Vec<&str> = of_type("text").filter_map(|block| block.get("text")?.as_str()).collect();
        let text = text.join("\n");
        // A response without usage is counted at its maximum cost.
        let reported = usage(answer).map(|usage| usage.spent(&self.model, CACHE_WRITTEN, CACHE_READ));
        let spent = vec![reported.unwrap_or_else(max_cost)];
        let failed = |error| Err(CallFailure { error, spent: spent.clone() });
        match answer.get("stop_reason").and_then(Value::as_str) {
            Some("max_tokens" | "model_context_window_exceeded") => return failed(CallError::Cut),
            Some("refusal") if text.is_empty() => {
                return failed(CallError::Refused("no reason given".into()));
            }
            Some("refusal") => return failed(CallError::Refused(self.http.redacted(&text))),
            _ => {}
        }
        let used = tool_input(&body.bytes);
        let is_tool = used.is_some();
        let text = used.unwrap_or(text);
        // If a field is repeated, only the text of the reply shows it.
        let structured = parse_json(text.trim()).ok().filter(|value| is_tool || value.is_object());
        Ok(Reply { structured, text, spent, secret: self.http.secret().cloned() })
    }
}

/// The input of the first use of a tool in a message, as text that contains repeated fields.
fn tool_input(body: &[u8]) -> Option<String> {
    let message: AllFields = serde_json::from_slice(body).ok()?;
    let blocks = message.get("content")?.entries().iter();
    let mut used = blocks.filter(|block| block.get("type").and_then(AllFields::as_str) == Some("tool_use"));
    used.find_map(|block| block.get("input")).map(AllFields::to_string)
}

/// The messages with a cache mark after the part of the prompt that stays the same from run to run.
fn with_cache_marks(request: &Request<'_>, mut messages: Vec<Value>) -> Vec<Value> {
    let content = messages.first_mut().and_then(|first| first.get_mut("content"));
    if let Some(content) = content
        && let Some(text) = content.as_str().map(str::to_owned)
        && let Some((stable, rest)) = text.split_at_checked(request.stable)
        && !stable.trim().is_empty()
        && !rest.trim().is_empty()
    {
        *content = json!([cacheable_text(stable), {"type": "text", "text": rest}]);
    }
    messages
}

/// A text block with a cache mark: the provider caches everything up to its end.
fn cacheable_text(text: &str) -> Value {
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
