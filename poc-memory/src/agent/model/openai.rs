//! Any server that speaks OpenAI's chat completions: OpenAI itself, Ollama, llama.cpp, vLLM, LM
//! Studio and others (<https://platform.openai.com/docs/api-reference/chat>).

use super::conversation::{messages, schema_in_words};
use super::cost::{Spent, Usage, with_lost};
use super::http::{Failure, Http, Message, Progress};
use super::{CallError, Failed, Model, Reached, Reply, Request};
use crate::config;
use crate::time::Span;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// The provider `openai`.
pub(super) struct OpenAi {
    pub(super) http: Http,
    pub(super) model: config::Model,
    pub(super) calls: config::Calls,
}

/// How the shape of the reply is asked for, the strictest way first: not every server knows all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// OpenAI's structured output: the answer cannot but fit.
    Schema,
    /// A JSON object; llama.cpp and its relatives hold it to the schema beside the type.
    Object,
    /// The prompt alone says it.
    Words,
}

impl Format {
    fn value(self, schema: &Value) -> Option<Value> {
        match self {
            Format::Schema => {
                let named = json!({"name": "reply", "strict": true, "schema": schema});
                Some(json!({"type": "json_schema", "json_schema": named}))
            }
            Format::Object => Some(json!({"type": "json_object", "schema": schema})),
            Format::Words => None,
        }
    }
}

impl Model for OpenAi {
    fn call(&self, request: &Request<'_>) -> Result<Reply, Failed> {
        let progress = Progress::begun(request.timeout);
        let mut answer = self.ask(request, Format::Schema, &progress);
        for format in [Format::Object, Format::Words] {
            if matches!(answer, Err(Failure::Format(..))) {
                answer = self.ask(request, format, &progress);
            }
        }
        let answer = answer.map_err(|failure| failure.into_call(&self.http.provider).into());
        let most = || Spent::most(&self.model, &self.calls, request);
        with_lost(answer.and_then(|answer| self.read(&answer, most)), progress.lost(), most)
    }

    fn reach(&self, timeout: Span) -> Result<Reached, CallError> {
        self.http.reach(&Message::get(self.http.url("models"), self.headers()), timeout)?;
        Ok(Reached::Answered)
    }
}

impl OpenAi {
    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let key = self.http.key.as_ref().and_then(|key| key.header("Bearer "));
        key.map(|key| (AUTHORIZATION, key)).into_iter().collect()
    }

    fn ask(&self, request: &Request<'_>, format: Format, progress: &Progress) -> Result<Value, Failure> {
        let words = if format == Format::Schema { String::new() } else { schema_in_words(request) };
        let mut turns = messages(request, &words);
        if !request.system.is_empty() {
            turns.insert(0, json!({"role": "system", "content": request.system}));
        }
        let mut body = json!({"model": self.model.id, "messages": turns, "stream": false});
        if let Some(format) = format.value(request.schema)
            && let Some(body) = body.as_object_mut()
        {
            body.insert("response_format".into(), format);
        }
        let message = Message::post(self.http.url("chat/completions"), self.headers(), &body);
        self.http.post(&message, request, progress)
    }

    fn read(&self, answer: &Value, most: impl Fn() -> Spent) -> Result<Reply, Failed> {
        let name = &self.http.provider;
        let Some(choice) = answer.pointer("/choices/0") else {
            // Some gateways report an error of the server behind them as a success.
            let said = self.http.said(answer.to_string().as_bytes());
            return Err(CallError::Down(format!("`{name}` sent no completion: {said}")).into());
        };
        let text = |path: &str| choice.pointer(path).and_then(Value::as_str).unwrap_or_default();
        // What has prices and tells no usage counts as much as it may have been.
        let spent = usage(answer).map_or_else(most, |usage| usage.spent(&self.model, 1.0, 1.0));
        let failed = |error| Err(Failed { error, spent: vec![spent.clone()] });
        let refusal = text("/message/refusal");
        if !refusal.is_empty() {
            return failed(CallError::Refused(refusal.to_owned()));
        }
        match text("/finish_reason") {
            "length" => return failed(CallError::Cut),
            "content_filter" => {
                return failed(CallError::Refused("its content filter stopped the answer".into()));
            }
            _ => {}
        }
        Ok(Reply { structured: None, text: text("/message/content").to_owned(), spent: vec![spent] })
    }
}

/// What it says it took; what it read from its cache stands within the tokens of the prompt.
fn usage(answer: &Value) -> Option<Usage> {
    let tokens = |path: &str| answer.pointer(path).and_then(Value::as_u64);
    let read = tokens("/usage/prompt_tokens")?;
    let cached = tokens("/usage/prompt_tokens_details/cached_tokens").unwrap_or(0).min(read);
    let output = tokens("/usage/completion_tokens").unwrap_or(0);
    Some(Usage { input: read - cached, cache_read: cached, output, ..Usage::default() })
}

#[cfg(test)]
mod tests;
