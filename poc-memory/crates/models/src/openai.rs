//! Any server that speaks OpenAI's chat completions: OpenAI itself, llama.cpp, vLLM, LM Studio and others
//! (<https://platform.openai.com/docs/api-reference/chat>).

use super::conversation::{max_reply_tokens, messages, mode_after, schema_instruction, strip_thinking};
use super::http::{CallProgress, Http, HttpError, HttpRequest, RequestFeature};
use super::usage::{Usage, add_lost_attempts, cost_bound, upper_bound};
use parking_lot::Mutex;
use poc_agent::model::{CallCost, CallError, CallFailure, Model, ProbeOutcome, Reply, Request};
use poc_graph::time::Span;
use serde_json::{Value, json};

/// The providers `openai` and `llama-cpp`.
pub(super) struct OpenAi {
    http: Http,
    model: poc_config::ModelConfig,
    calls: poc_config::CallsConfig,
    modes: &'static [SchemaMode],
    limits: &'static [Option<&'static str>],
    /// The request features that the server is known to support.
    dialect: Mutex<Dialect>,
}

/// How the request asks for a reply that matches the schema. Not every server supports all modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SchemaMode {
    /// llama.cpp's own field, which enforces the schema
    /// (<https://github.com/ggml-org/llama.cpp/tree/master/tools/server>).
    Grammar,
    /// OpenAI's structured output, which enforces the schema.
    Schema,
    /// JSON mode. llama.cpp and its derivatives enforce the schema that is sent with it.
    Object,
    /// Only the prompt describes the schema.
    Prompt,
}

/// The modes to try with an unknown server and with llama.cpp, the strictest first.
const COMMON_MODES: &[SchemaMode] = &[SchemaMode::Schema, SchemaMode::Object, SchemaMode::Prompt];
const LLAMA_CPP_MODES: &[SchemaMode] =
    &[SchemaMode::Grammar, SchemaMode::Schema, SchemaMode::Object, SchemaMode::Prompt];

/// The names of the field that limits the length of a reply, in the order to try them. OpenAI no longer accepts
/// `max_tokens`, and most other servers accept only that.
const OPENAI_LIMITS: &[Option<&str>] = &[Some("max_completion_tokens"), Some("max_tokens"), None];
const COMMON_LIMITS: &[Option<&str>] = &[Some("max_tokens"), Some("max_completion_tokens"), None];

/// The request features that a server is known to support, as indexes into the lists of modes and limit
/// fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Dialect {
    mode: usize,
    limit: usize,
}

impl SchemaMode {
    fn put(self, body: &mut serde_json::Map<String, Value>, schema: &Value) {
        let format = match self {
            SchemaMode::Grammar => {
                body.insert("json_schema".into(), schema.clone());
                body.insert("cache_prompt".into(), json!(true));
                return;
            }
            SchemaMode::Schema => {
                let named = json!({"name": "reply", "strict": true, "schema": schema});
                json!({"type": "json_schema", "json_schema": named})
            }
            SchemaMode::Object => json!({"type": "json_object", "schema": schema}),
            SchemaMode::Prompt => return,
        };
        body.insert("response_format".into(), format);
    }
}

impl Model for OpenAi {
    fn max_cost(&self, request: &Request<'_>) -> Option<f64> {
        cost_bound(&self.model, &self.calls, request)
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let progress = CallProgress::start(request.timeout);
        let max_tokens = max_reply_tokens(&self.model, &self.calls, request)?;
        let mut dialect = *self.dialect.lock();
        let answer = loop {
            let answer = self.ask(request, dialect, max_tokens, &progress);
            let lower = match &answer {
                Err(HttpError::Unsupported(feature, ..)) => self.fallback(dialect, *feature),
                _ => None,
            };
            match lower {
                Some(lower) => dialect = lower,
                None => break answer,
            }
        };
        let answer = answer.map_err(|failure| failure.into_call(&self.http.provider).into());
        let max_cost = || upper_bound(&self.model, &self.calls, request);
        let reply = answer.and_then(|answer| self.read(&answer, max_cost));
        if let Ok(reply) = &reply {
            let weaker = self.fallback(dialect, RequestFeature::OutputFormat);
            *self.dialect.lock() = mode_after(dialect, weaker, reply, request);
        }
        add_lost_attempts(reply, progress.lost(), max_cost)
    }

    fn probe(&self, timeout: Span) -> Result<ProbeOutcome, CallError> {
        self.list(timeout).map(|_| ProbeOutcome::Answered)
    }

    fn list(&self, timeout: Span) -> Result<Vec<String>, CallError> {
        let list = self
            .http
            .probe(&HttpRequest::get(self.http.url("models"), self.http.bearer_headers()), timeout)?;
        Ok(list.map(|list| newest_first(&list)).unwrap_or_default())
    }
}

/// The ids of a list of models, newest first. Models without a time of creation are last, in the order of the server.
fn newest_first(list: &Value) -> Vec<String> {
    let models = list.get("data").and_then(Value::as_array).into_iter().flatten();
    let created = |model: &Value| model.get("created").and_then(Value::as_u64).unwrap_or(0);
    let mut models: Vec<(u64, &str)> =
        models.filter_map(|model| Some((created(model), model.get("id")?.as_str()?))).collect();
    models.sort_by_key(|(created, _)| std::cmp::Reverse(*created));
    models.into_iter().map(|(_, id)| id.to_owned()).collect()
}

impl OpenAi {
    /// An unknown server that speaks the protocol.
    pub(super) fn new(http: Http, model: poc_config::ModelConfig, calls: poc_config::CallsConfig) -> OpenAi {
        let newer = ["openai.com", "openai.azure.com"];
        let host = http.host().to_owned();
        let is_openai = newer.iter().any(|name| host == *name || host.ends_with(&format!(".{name}")));
        let limits = if is_openai { OPENAI_LIMITS } else { COMMON_LIMITS };
        OpenAi { http, model, calls, modes: COMMON_MODES, limits, dialect: Mutex::default() }
    }

    /// The server of llama.cpp.
    pub(super) fn llama_cpp(
        http: Http,
        model: poc_config::ModelConfig,
        calls: poc_config::CallsConfig,
    ) -> OpenAi {
        OpenAi { modes: LLAMA_CPP_MODES, ..OpenAi::new(http, model, calls) }
    }

    /// The next dialect to try when the server does not support a feature of this one; `None` after the last.
    fn fallback(&self, dialect: Dialect, feature: RequestFeature) -> Option<Dialect> {
        let lower = match feature {
            RequestFeature::OutputFormat => Dialect { mode: dialect.mode + 1, ..dialect },
            RequestFeature::LengthLimit => Dialect { limit: dialect.limit + 1, ..dialect },
        };
        (lower.mode < self.modes.len() && lower.limit < self.limits.len()).then_some(lower)
    }

    fn ask(
        &self,
        request: &Request<'_>,
        dialect: Dialect,
        max_tokens: usize,
        progress: &CallProgress,
    ) -> Result<Value, HttpError> {
        let mode = self.modes.get(dialect.mode).copied().unwrap_or(SchemaMode::Prompt);
        let in_prompt = matches!(mode, SchemaMode::Object | SchemaMode::Prompt);
        let words = if in_prompt { schema_instruction(request) } else { String::new() };
        let mut turns = messages(request, &words);
        if !request.system.is_empty() {
            turns.insert(0, json!({"role": "system", "content": request.system}));
        }
        let mut body = json!({"model": self.model.id, "messages": turns, "stream": false});
        if let Some(body) = body.as_object_mut() {
            mode.put(body, request.schema);
            if let Some(Some(limit)) = self.limits.get(dialect.limit) {
                body.insert((*limit).to_owned(), json!(max_tokens));
            }
        }
        let message = HttpRequest::post(self.http.url("chat/completions"), self.http.bearer_headers(), &body);
        self.http.post(&message, request, progress)
    }

    fn read(&self, answer: &Value, max_cost: impl Fn() -> CallCost) -> Result<Reply, CallFailure> {
        let name = &self.http.provider;
        let Some(choice) = answer.pointer("/choices/0") else {
            // Some gateways report an upstream error with a success status.
            let reason = self.http.error_text(answer.to_string().as_bytes());
            return Err(CallError::Down(format!("`{name}` sent no completion: {reason}")).into());
        };
        let text = |path: &str| choice.pointer(path).and_then(Value::as_str).unwrap_or_default();
        // A response without usage is counted at its maximum cost.
        let spent = usage(answer).map_or_else(max_cost, |usage| usage.spent(&self.model, 1.0, 1.0));
        let failed = |error| Err(CallFailure { error, spent: vec![spent.clone()] });
        let refusal = text("/message/refusal");
        if !refusal.is_empty() {
            return failed(CallError::Refused(self.http.redacted(refusal)));
        }
        match text("/finish_reason") {
            "length" => return failed(CallError::Cut),
            "content_filter" => {
                return failed(CallError::Refused("its content filter stopped the answer".into()));
            }
            _ => {}
        }
        let text = strip_thinking(text("/message/content")).to_owned();
        Ok(Reply { structured: None, text, spent: vec![spent], secret: self.http.secret().cloned() })
    }
}

/// The usage that the response reports. Its prompt tokens include those read from the cache.
fn usage(answer: &Value) -> Option<Usage> {
    let tokens = |path: &str| answer.pointer(path).and_then(Value::as_u64);
    let read = tokens("/usage/prompt_tokens")?;
    let cached = tokens("/usage/prompt_tokens_details/cached_tokens").unwrap_or(0).min(read);
    let output = tokens("/usage/completion_tokens").unwrap_or(0);
    Some(Usage { input: read - cached, cache_read: cached, output, ..Usage::default() })
}

#[cfg(test)]
mod tests;
