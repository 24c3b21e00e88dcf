//! The turns of a run in the forms providers take.

use super::{CallError, Request};
use crate::config;
use serde_json::{Value, json};

/// The prompt and every correction as alternating `user` and `assistant` messages. `last` is added
/// to the final one.
pub(super) fn messages(request: &Request<'_>, last: &str) -> Vec<Value> {
    let mut messages = vec![("user", request.prompt.to_owned())];
    for (reply, correction) in request.corrections {
        // Providers refuse a message without any text.
        let reply = if reply.trim().is_empty() { "(no text)" } else { reply.trim_end() };
        messages.push(("assistant", reply.to_owned()));
        messages.push(("user", correction.clone()));
    }
    if let Some((_, text)) = messages.last_mut() {
        text.push_str(last);
    }
    messages.into_iter().map(|(role, text)| json!({"role": role, "content": text})).collect()
}

/// All turns as one text, for models that take one.
pub(super) fn transcript(request: &Request<'_>) -> String {
    let mut text = String::new();
    if !request.system.is_empty() {
        text.push_str(request.system);
        text.push_str("\n\n");
    }
    text.push_str(request.prompt);
    for (reply, correction) in request.corrections {
        text.push_str("\n\nYour earlier answer was:\n\n");
        text.push_str(reply);
        text.push_str("\n\nIt cannot be used:\n\n");
        text.push_str(correction);
    }
    text.push_str(&schema_in_words(request));
    text
}

/// The reply's schema, for models that can only be told.
pub(super) fn schema_in_words(request: &Request<'_>) -> String {
    format!(
        "\n\nAnswer with one JSON object that fits this JSON Schema, and with nothing else:\n{}\n",
        request.schema
    )
}

/// Tokens the model has to read. A token is taken to be four characters.
pub(super) fn tokens(request: &Request<'_>) -> usize {
    let corrections: usize = request.corrections.iter().map(|(reply, text)| reply.len() + text.len()).sum();
    let schema = request.schema.to_string().len();
    (request.system.len() + request.prompt.len() + corrections + schema) / 4
}

/// Tokens the model may write: what the settings allow, or less when the context ends earlier.
pub(super) fn room(
    model: &config::Model,
    calls: &config::Calls,
    request: &Request<'_>,
) -> Result<usize, CallError> {
    let Some(context) = model.context else { return Ok(calls.max_output_tokens) };
    let prompt = tokens(request);
    match context.saturating_sub(prompt).min(calls.max_output_tokens) {
        0 => Err(CallError::Setup(format!(
            "the prompt of about {prompt} tokens does not fit the {context} tokens of `{}`; lower `max-tokens` in the agent's `[prompt]`",
            model.id
        ))),
        room => Ok(room),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Turn;
    use super::*;

    #[test]
    fn corrections_follow_the_prompt_in_turn() {
        let mut turn = Turn::new("linker");
        turn.corrections = vec![("".into(), "answer in JSON".into())];
        assert_eq!(
            json!(messages(&turn.request(), "!")),
            json!([
                {"role": "user", "content": "the prompt"},
                {"role": "assistant", "content": "(no text)"},
                {"role": "user", "content": "answer in JSON!"},
            ])
        );
        let text = transcript(&turn.request());
        assert!(text.starts_with("the system\n\nthe prompt\n\nYour earlier answer"), "{text}");
        assert!(text.contains("\"notes\""), "{text}");
    }

    #[test]
    fn a_prompt_longer_than_the_context_is_not_sent() {
        let turn = Turn::new("linker");
        let config = config::Config::defaults().unwrap();
        let mut model = config.models["sonnet"].clone();
        assert_eq!(room(&model, &config.calls, &turn.request()).unwrap(), config.calls.max_output_tokens);
        model.context = Some(100);
        assert!(room(&model, &config.calls, &turn.request()).unwrap() < 100);
        model.context = Some(3);
        assert!(matches!(room(&model, &config.calls, &turn.request()), Err(CallError::Setup(_))));
    }
}
