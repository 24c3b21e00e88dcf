//! Any server that speaks OpenAI's chat completions: OpenAI itself, Ollama, llama.cpp, vLLM, LM
//! Studio and others (<https://platform.openai.com/docs/api-reference/chat>).

use super::conversation::{messages, schema_in_words};
use super::cost::Usage;
use super::http::{Deadline, Failure, Http, Message};
use super::{CallError, Model, Reached, Reply, Request};
use crate::config;
use crate::time::Span;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// The provider `openai`.
pub(super) struct OpenAi {
    pub(super) http: Http,
    pub(super) model: config::Model,
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
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallError> {
        let deadline = Deadline::after(request.timeout);
        let mut answer = self.ask(request, Format::Schema, &deadline);
        for format in [Format::Object, Format::Words] {
            if matches!(answer, Err(Failure::Format(..))) {
                answer = self.ask(request, format, &deadline);
            }
        }
        self.read(&answer.map_err(|failure| failure.into_call(&self.http.provider))?)
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

    fn ask(&self, request: &Request<'_>, format: Format, deadline: &Deadline) -> Result<Value, Failure> {
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
        self.http.post(&message, request, deadline)
    }

    fn read(&self, answer: &Value) -> Result<Reply, CallError> {
        let name = &self.http.provider;
        let Some(choice) = answer.pointer("/choices/0") else {
            // Some gateways report an error of the server behind them as a success.
            let said = self.http.said(answer.to_string().as_bytes());
            return Err(CallError::Down(format!("`{name}` sent no completion: {said}")));
        };
        let text = |path: &str| choice.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let refusal = text("/message/refusal");
        if !refusal.is_empty() {
            return Err(CallError::Refused(refusal.to_owned()));
        }
        match text("/finish_reason") {
            "length" => return Err(CallError::Cut),
            "content_filter" => {
                return Err(CallError::Refused("its content filter stopped the answer".into()));
            }
            _ => {}
        }
        let tokens = |path: &str| answer.pointer(path).and_then(Value::as_u64);
        let (tokens_in, tokens_out) = (tokens("/usage/prompt_tokens"), tokens("/usage/completion_tokens"));
        let usage =
            Usage { input: tokens_in.unwrap_or(0), output: tokens_out.unwrap_or(0), ..Usage::default() };
        Ok(Reply {
            structured: None,
            text: text("/message/content").to_owned(),
            tokens_in,
            tokens_out,
            cost: tokens_in.and(usage.cost(&self.model, 1.0, 1.0)),
        })
    }
}

#[cfg(test)]
mod tests;
