//! Ollama's native API (<https://docs.ollama.com/api/chat>). Unlike its OpenAI-compatible API, it accepts the
//! context length; without it, Ollama silently truncates long prompts.

use super::conversation::{estimated_tokens, max_reply_tokens, messages, strip_thinking};
use super::http::{CallProgress, Http, HttpRequest, names};
use super::usage::{Usage, add_lost_attempts, cost_bound, upper_bound};
use poc_agent::model::{CallCost, CallError, CallFailure, Model, ProbeOutcome, Reply, Request};
use poc_graph::time::Span;
use reqwest::Url;
use serde_json::{Value, json};
use std::sync::OnceLock;

/// Without `context` in the settings, context lengths are rounded up to a multiple of this, because the
/// server reloads the model whenever the length changes.
const STEP: usize = 8192;

/// Without `context` in the settings, prompts are made for a context of this many tokens, or of fewer if the model was
/// trained with fewer. The memory that a context takes grows with its length, and most machines have too little for the
/// longest context of a model.
const USUAL_CONTEXT: usize = 16_384;

/// Maximum time to wait for the description of the model.
const SHOW_TIMEOUT: Span = Span(5_000);

/// The provider `ollama`.
pub(super) struct Ollama {
    http: Http,
    model: poc_config::ModelConfig,
    calls: poc_config::CallsConfig,
    /// The context length that the model was trained with, in tokens, once the server has sent it.
    trained: OnceLock<usize>,
}

impl Model for Ollama {
    fn context(&self) -> Option<usize> {
        // Otherwise the settings determine it.
        let is_configured = self.model.context.is_some();
        (!is_configured).then(|| self.trained_context().map_or(USUAL_CONTEXT, |max| max.min(USUAL_CONTEXT)))
    }

    fn max_cost(&self, request: &Request<'_>) -> Option<f64> {
        cost_bound(&self.model, &self.calls, request)
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let progress = CallProgress::start(request.timeout);
        let max_tokens = max_reply_tokens(&self.model, &self.calls, request)?;
        let context = self.context_of(request, max_tokens);
        let message = HttpRequest::post(
            self.url("api/chat"),
            self.http.bearer_headers(),
            &self.body(request, max_tokens, context),
        );
        let answer = self.http.post(&message, request, &progress);
        let answer = answer.map_err(|failure| failure.into_call(&self.http.provider).into());
        let max_cost = || upper_bound(&self.model, &self.calls, request);
        add_lost_attempts(
            answer.and_then(|answer| self.read(&answer, context, max_cost)),
            progress.lost(),
            max_cost,
        )
    }

    fn probe(&self, timeout: Span) -> Result<ProbeOutcome, CallError> {
        let (models, wanted) = (self.list(timeout)?, &self.model.id);
        let is_it = |name: &String| name == wanted || name.strip_suffix(":latest") == Some(wanted);
        if models.is_empty() || models.iter().any(is_it) {
            return Ok(ProbeOutcome::Answered);
        }
        Err(CallError::Setup(format!(
            "`{}` has no model `{wanted}`; `ollama pull {wanted}` fetches it",
            self.http.provider
        )))
    }

    fn list(&self, timeout: Span) -> Result<Vec<String>, CallError> {
        let list =
            self.http.probe(&HttpRequest::get(self.url("api/tags"), self.http.bearer_headers()), timeout)?;
        Ok(list.map(|list| names(&list, "models", "name")).unwrap_or_default())
    }
}

impl Ollama {
    pub(super) fn new(http: Http, model: poc_config::ModelConfig, calls: poc_config::CallsConfig) -> Ollama {
        Ollama { http, model, calls, trained: OnceLock::new() }
    }

    /// The context length that the model was trained with, in tokens; `None` if the server does not answer or does not
    /// send it. It is requested until the server has sent it once.
    fn trained_context(&self) -> Option<usize> {
        if let Some(known) = self.trained.get() {
            return Some(*known);
        }
        let body = json!({"model": self.model.id});
        let message = HttpRequest::post(self.url("api/show"), self.http.bearer_headers(), &body);
        let shown = self.http.probe(&message, SHOW_TIMEOUT).ok()??;
        let mut fields = shown.get("model_info")?.as_object()?.iter();
        let (_, length) = fields.find(|(name, _)| name.ends_with(".context_length"))?;
        let length = usize::try_from(length.as_u64()?).ok().filter(|length| *length > 0)?;
        Some(*self.trained.get_or_init(|| length))
    }

    /// An address under the server's root, even if `base-url` is that of the OpenAI-compatible API (`…/v1`).
    fn url(&self, path: &str) -> Url {
        self.http.sibling_url("/v1", path)
    }

    /// The context length in tokens for prompt and reply: `context` of the settings, or the length that this call
    /// needs, with a third added to the estimate of the prompt. That is limited to the length that the model was
    /// trained with. The server would reduce a greater one, and then it could not be recognised that a prompt was cut.
    fn context_of(&self, request: &Request<'_>, max_tokens: usize) -> usize {
        let max = self.trained.get().copied().unwrap_or(usize::MAX);
        let need = || (estimated_tokens(request) * 4 / 3 + max_tokens).next_multiple_of(STEP).min(max);
        self.model.context.unwrap_or_else(need)
    }

    fn body(&self, request: &Request<'_>, max_tokens: usize, context: usize) -> Value {
        let mut turns = messages(request, "");
        if !request.system.is_empty() {
            turns.insert(0, json!({"role": "system", "content": request.system}));
        }
        json!({
            "model": self.model.id,
            "messages": turns,
            "stream": false,
            "format": request.schema,
            // Versions that know these fields reject a prompt that is too long; older ones truncate it.
            "truncate": false,
            "shift": false,
            "options": {"num_ctx": context, "num_predict": max_tokens},
        })
    }

    fn read(
        &self,
        answer: &Value,
        context: usize,
        max_cost: impl Fn() -> CallCost,
    ) -> Result<Reply, CallFailure> {
        let name = &self.http.provider;
        let Some(text) = answer.pointer("/message/content").and_then(Value::as_str) else {
            let reason = self.http.error_text(answer.to_string().as_bytes());
            return Err(CallError::Down(format!("`{name}` sent no message: {reason}")).into());
        };
        let count = |field: &str| answer.get(field).and_then(Value::as_u64);
        // Some versions do not report the tokens of a prompt that is still in their cache.
        let usage = count("eval_count").map(|output| {
            let input = count("prompt_eval_count").unwrap_or(0);
            Usage { input, output, ..Usage::default() }
        });
        let spent = usage.map_or_else(max_cost, |usage| usage.spent(&self.model, 1.0, 1.0));
        let failed = |error| Err(CallFailure { error, spent: vec![spent.clone()] });
        if usage.is_some_and(|usage| usage.input >= context as u64) {
            return failed(CallError::Setup(format!(
                "the prompt filled the {context} tokens of `{}`, so `{name}` has cut it; raise `context` in `[models]`, or lower `max-tokens` in the agent's `[prompt]`",
                self.model.id
            )));
        }
        if answer.get("done_reason").and_then(Value::as_str) == Some("length") {
            return failed(CallError::Cut);
        }
        let (text, secret) = (strip_thinking(text).to_owned(), self.http.secret().cloned());
        Ok(Reply { structured: None, text, spent: vec![spent], secret })
    }
}

#[cfg(test)]
mod tests;
