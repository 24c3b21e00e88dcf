//! Any server that speaks OpenAI's chat completions: OpenAI itself, llama.cpp, vLLM, LM Studio and others
//! (<https://platform.openai.com/docs/api-reference/chat>).

use super::conversation::{follows, messages, room, schema_in_words, without_thoughts};
use super::http::{Failure, Http, Message, Part, Progress};
use super::usage::{Usage, cost_bound, upper_bound, with_lost};
use parking_lot::Mutex;
use poc_agent::model::{CallError, CallFailure, Model, ProbeOutcome, Reply, Request, CallCost};
use poc_graph::time::Span;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// The providers `openai` and `llama-cpp`.
pub(super) struct OpenAi {
    http: Http,
    model: poc_config::Model,
    calls: poc_config::Calls,
    forms: &'static [Form],
    limits: &'static [Option<&'static str>],
    /// What its server is known to take.
    way: Mutex<Way>,
}

/// How the shape of the reply is asked for: not every server knows all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// llama.cpp's own field: the answer cannot but fit
    /// (<https://github.com/ggml-org/llama.cpp/tree/master/tools/server>).
    Grammar,
    /// OpenAI's structured output: the answer cannot but fit.
    Schema,
    /// A JSON object; llama.cpp and its relatives hold it to the schema beside the type.
    Object,
    /// The prompt alone says it.
    Words,
}

/// The forms of a server that is not known, and of llama.cpp, the strictest first.
const ANY: &[Form] = &[Form::Schema, Form::Object, Form::Words];
const LLAMA_CPP: &[Form] = &[Form::Grammar, Form::Schema, Form::Object, Form::Words];

/// What the length of a reply is limited by. OpenAI has given up the older name, most others have only
/// that one.
const NEWER: &[Option<&str>] = &[Some("max_completion_tokens"), Some("max_tokens"), None];
const OLDER: &[Option<&str>] = &[Some("max_tokens"), Some("max_completion_tokens"), None];

/// How far down the lists of forms and limits a server has to be met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Way {
    form: usize,
    limit: usize,
}

impl Form {
    fn put(self, body: &mut serde_json::Map<String, Value>, schema: &Value) {
        let format = match self {
            Form::Grammar => {
                body.insert("json_schema".into(), schema.clone());
                body.insert("cache_prompt".into(), json!(true));
                return;
            }
            Form::Schema => {
                let named = json!({"name": "reply", "strict": true, "schema": schema});
                json!({"type": "json_schema", "json_schema": named})
            }
            Form::Object => json!({"type": "json_object", "schema": schema}),
            Form::Words => return,
        };
        body.insert("response_format".into(), format);
    }
}

impl Model for OpenAi {
    fn most(&self, request: &Request<'_>) -> Option<f64> {
        cost_bound(&self.model, &self.calls, request)
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let progress = Progress::begun(request.timeout);
        let room = room(&self.model, &self.calls, request)?;
        let mut way = *self.way.lock();
        let answer = loop {
            let answer = self.ask(request, way, room, &progress);
            let lower = match &answer {
                Err(Failure::Part(part, ..)) => self.below(way, *part),
                _ => None,
            };
            match lower {
                Some(lower) => way = lower,
                None => break answer,
            }
        };
        let answer = answer.map_err(|failure| failure.into_call(&self.http.provider).into());
        let most = || upper_bound(&self.model, &self.calls, request);
        let reply = answer.and_then(|answer| self.read(&answer, most));
        if let Ok(reply) = &reply {
            // A server that took the form and did not keep to it is asked in another way from now on.
            let value = serde_json::from_str(reply.text.trim()).ok();
            let kept = follows(value.as_ref(), request.schema);
            *self.way.lock() = if kept { way } else { self.below(way, Part::Form).unwrap_or(way) };
        }
        with_lost(reply, progress.lost(), most)
    }

    fn reach(&self, timeout: Span) -> Result<ProbeOutcome, CallError> {
        self.http.reach(&Message::get(self.http.url("models"), self.headers()), timeout)?;
        Ok(ProbeOutcome::Answered)
    }
}

impl OpenAi {
    /// A server of which only the protocol is known.
    pub(super) fn new(http: Http, model: poc_config::Model, calls: poc_config::Calls) -> OpenAi {
        let newer = ["openai.com", "openai.azure.com"];
        let host = http.host().to_owned();
        let is_openai = newer.iter().any(|name| host == *name || host.ends_with(&format!(".{name}")));
        let limits = if is_openai { NEWER } else { OLDER };
        OpenAi { http, model, calls, forms: ANY, limits, way: Mutex::default() }
    }

    /// The server of llama.cpp.
    pub(super) fn llama_cpp(http: Http, model: poc_config::Model, calls: poc_config::Calls) -> OpenAi {
        OpenAi { forms: LLAMA_CPP, ..OpenAi::new(http, model, calls) }
    }

    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let key = self.http.key.as_ref().and_then(|key| key.header("Bearer "));
        key.map(|key| (AUTHORIZATION, key)).into_iter().collect()
    }

    /// The next way when a server does not take a part of this one.
    fn below(&self, way: Way, part: Part) -> Option<Way> {
        let lower = match part {
            Part::Form => Way { form: way.form + 1, ..way },
            Part::Limit => Way { limit: way.limit + 1, ..way },
        };
        (lower.form < self.forms.len() && lower.limit < self.limits.len()).then_some(lower)
    }

    fn ask(
        &self,
        request: &Request<'_>,
        way: Way,
        room: usize,
        progress: &Progress,
    ) -> Result<Value, Failure> {
        let form = self.forms.get(way.form).copied().unwrap_or(Form::Words);
        let told = matches!(form, Form::Object | Form::Words);
        let words = if told { schema_in_words(request) } else { String::new() };
        let mut turns = messages(request, &words);
        if !request.system.is_empty() {
            turns.insert(0, json!({"role": "system", "content": request.system}));
        }
        let mut body = json!({"model": self.model.id, "messages": turns, "stream": false});
        if let Some(body) = body.as_object_mut() {
            form.put(body, request.schema);
            if let Some(Some(limit)) = self.limits.get(way.limit) {
                body.insert((*limit).to_owned(), json!(room));
            }
        }
        let message = Message::post(self.http.url("chat/completions"), self.headers(), &body);
        self.http.post(&message, request, progress)
    }

    fn read(&self, answer: &Value, most: impl Fn() -> CallCost) -> Result<Reply, CallFailure> {
        let name = &self.http.provider;
        let Some(choice) = answer.pointer("/choices/0") else {
            // Some gateways report an error of the server behind them as a success.
            let said = self.http.said(answer.to_string().as_bytes());
            return Err(CallError::Down(format!("`{name}` sent no completion: {said}")).into());
        };
        let text = |path: &str| choice.pointer(path).and_then(Value::as_str).unwrap_or_default();
        // What has prices and tells no usage counts as much as it may have been.
        let spent = usage(answer).map_or_else(most, |usage| usage.spent(&self.model, 1.0, 1.0));
        let failed = |error| Err(CallFailure { error, spent: vec![spent.clone()] });
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
        let text = without_thoughts(text("/message/content")).to_owned();
        Ok(Reply { structured: None, text, spent: vec![spent] })
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
