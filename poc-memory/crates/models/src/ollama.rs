//! Ollama's own interface (<https://docs.ollama.com/api/chat>): unlike its imitation of OpenAI's it takes
//! the length of the context, without which it cuts a longer prompt and says nothing.

use super::conversation::{messages, room, tokens, without_thoughts};
use super::http::{Http, Message, Progress};
use super::usage::{Usage, cost_bound, upper_bound, with_lost};
use poc_agent::model::{CallError, CallFailure, Model, ProbeOutcome, Reply, Request, CallCost};
use poc_graph::time::Span;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// Contexts of models without one in the settings are multiples of this: a server loads its model anew
/// for another length.
const STEP: usize = 8192;

/// The provider `ollama`.
pub(super) struct Ollama {
    pub(super) http: Http,
    pub(super) model: poc_config::Model,
    pub(super) calls: poc_config::Calls,
}

impl Model for Ollama {
    fn most(&self, request: &Request<'_>) -> Option<f64> {
        cost_bound(&self.model, &self.calls, request)
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let progress = Progress::begun(request.timeout);
        let room = room(&self.model, &self.calls, request)?;
        let context = self.context(request, room);
        let message = Message::post(self.url("api/chat"), self.headers(), &self.body(request, room, context));
        let answer = self.http.post(&message, request, &progress);
        let answer = answer.map_err(|failure| failure.into_call(&self.http.provider).into());
        let most = || upper_bound(&self.model, &self.calls, request);
        with_lost(answer.and_then(|answer| self.read(&answer, context, most)), progress.lost(), most)
    }

    fn reach(&self, timeout: Span) -> Result<ProbeOutcome, CallError> {
        let Some(list) = self.http.reach(&Message::get(self.url("api/tags"), self.headers()), timeout)?
        else {
            return Ok(ProbeOutcome::Answered);
        };
        let models: Vec<&str> = list
            .get("models")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|model| model.get("name")?.as_str())
            .collect();
        let wanted = &self.model.id;
        let is_it = |name: &&str| *name == wanted || name.strip_suffix(":latest") == Some(wanted);
        if models.is_empty() || models.iter().any(is_it) {
            return Ok(ProbeOutcome::Answered);
        }
        Err(CallError::Setup(format!(
            "`{}` has no model `{wanted}`; `ollama pull {wanted}` fetches it",
            self.http.provider
        )))
    }
}

impl Ollama {
    /// Under the root, also where the settings name the address of the imitation.
    fn url(&self, path: &str) -> Url {
        self.http.beside("/v1", path)
    }

    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let key = self.http.key.as_ref().and_then(|key| key.header("Bearer "));
        key.map(|key| (AUTHORIZATION, key)).into_iter().collect()
    }

    /// Tokens of prompt and reply together: what the settings say, else what this call needs, with a
    /// third more for texts whose tokens are short.
    fn context(&self, request: &Request<'_>, room: usize) -> usize {
        let need = || (tokens(request) * 4 / 3 + room).next_multiple_of(STEP);
        self.model.context.unwrap_or_else(need)
    }

    fn body(&self, request: &Request<'_>, room: usize, context: usize) -> Value {
        let mut turns = messages(request, "");
        if !request.system.is_empty() {
            turns.insert(0, json!({"role": "system", "content": request.system}));
        }
        json!({
            "model": self.model.id,
            "messages": turns,
            "stream": false,
            "format": request.schema,
            // Versions that know these refuse a prompt that is too long; older ones cut it.
            "truncate": false,
            "shift": false,
            "options": {"num_ctx": context, "num_predict": room},
        })
    }

    fn read(&self, answer: &Value, context: usize, most: impl Fn() -> CallCost) -> Result<Reply, CallFailure> {
        let name = &self.http.provider;
        let Some(text) = answer.pointer("/message/content").and_then(Value::as_str) else {
            let said = self.http.said(answer.to_string().as_bytes());
            return Err(CallError::Down(format!("`{name}` sent no message: {said}")).into());
        };
        let count = |field: &str| answer.get(field).and_then(Value::as_u64);
        // A prompt that it still has from before is not counted by all versions.
        let usage = count("eval_count").map(|output| {
            let input = count("prompt_eval_count").unwrap_or(0);
            Usage { input, output, ..Usage::default() }
        });
        let spent = usage.map_or_else(most, |usage| usage.spent(&self.model, 1.0, 1.0));
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
        Ok(Reply { structured: None, text: without_thoughts(text).to_owned(), spent: vec![spent] })
    }
}

#[cfg(test)]
mod tests;
