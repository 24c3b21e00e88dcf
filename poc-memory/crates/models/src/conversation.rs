//! The turns of a run in the formats of the providers.

use poc_agent::model::{CallError, RejectedReply, Reply, Request};
use serde_json::{Value, json};

/// The prompt and the corrections as alternating `user` and `assistant` messages. `suffix` is appended to the last.
pub(super) fn messages(request: &Request<'_>, suffix: &str) -> Vec<Value> {
    let mut messages = vec![("user", request.prompt.to_owned())];
    for RejectedReply { reply, correction } in request.corrections {
        // Providers reject an empty message.
        let reply = if reply.trim().is_empty() { "(no text)" } else { reply.trim_end() };
        messages.push(("assistant", reply.to_owned()));
        messages.push(("user", correction.clone()));
    }
    if let Some((_, text)) = messages.last_mut() {
        text.push_str(suffix);
    }
    messages.into_iter().map(|(role, text)| json!({"role": role, "content": text})).collect()
}

/// The mode for the next calls: the one that was used, or the weaker one if the server accepted the schema and ignored
/// it.
pub(super) fn mode_after<M>(used: M, weaker: Option<M>, reply: &Reply, request: &Request<'_>) -> M {
    let value: Option<Value> = serde_json::from_str(reply.text.trim()).ok();
    let is_ignored = !has_required_fields(value.as_ref(), request.schema);
    weaker.filter(|_| is_ignored).unwrap_or(used)
}

/// Whether a reply has all fields that its schema requires.
fn has_required_fields(reply: Option<&Value>, schema: &Value) -> bool {
    let Some(fields) = reply.and_then(Value::as_object) else { return false };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required.filter_map(Value::as_str).all(|name| fields.contains_key(name))
}

/// A text without the `<think>` block that some servers leave in front of it.
pub(super) fn strip_thinking(text: &str) -> &str {
    let thoughts = text.trim_start().strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"));
    thoughts.map_or(text, |(_, answer)| answer.trim_start())
}

/// All turns as one text, for models that take a single text.
pub(super) fn transcript(request: &Request<'_>) -> String {
    let mut text = String::new();
    if !request.system.is_empty() {
        text.push_str(request.system);
        text.push_str("\n\n");
    }
    text.push_str(request.prompt);
    for RejectedReply { reply, correction } in request.corrections {
        text.push_str("\n\nYour earlier answer was:\n\n");
        text.push_str(reply);
        text.push_str("\n\nIt cannot be used:\n\n");
        text.push_str(correction);
    }
    text.push_str(&schema_instruction(request));
    text
}

/// An instruction that contains the reply's schema, for models without structured output.
pub(super) fn schema_instruction(request: &Request<'_>) -> String {
    format!(
        "\n\nAnswer with one JSON object that fits this JSON Schema, and with nothing else:\n{}\n",
        request.schema
    )
}

/// The length of all turns and the schema in bytes.
pub(super) fn prompt_bytes(request: &Request<'_>) -> usize {
    let corrections: usize =
        request.corrections.iter().map(|rejected| rejected.reply.len() + rejected.correction.len()).sum();
    request.system.len() + request.prompt.len() + corrections + request.schema.to_string().len()
}

/// Estimated number of tokens of the prompt, at four bytes per token.
pub(super) fn estimated_tokens(request: &Request<'_>) -> usize {
    prompt_bytes(request) / 4
}

/// Maximum number of tokens of the reply: `calls.max-output-tokens`, or less if the context has less room.
pub(super) fn max_reply_tokens(
    model: &poc_config::ModelConfig,
    calls: &poc_config::CallsConfig,
    request: &Request<'_>,
) -> Result<usize, CallError> {
    let Some(context) = model.context else { return Ok(calls.max_output_tokens) };
    let prompt = estimated_tokens(request);
    match context.saturating_sub(prompt).min(calls.max_output_tokens) {
        0 => Err(CallError::Setup(format!(
            "the prompt of about {prompt} tokens does not fit the {context} tokens of `{}`; lower `max-tokens` in the agent's `[prompt]`",
            model.id
        ))),
        max_tokens => Ok(max_tokens),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_agent::testing::request::TestRequest;

    #[test]
    fn corrections_alternate_with_replies_after_the_prompt() {
        let mut turn = TestRequest::new("linker");
        turn.corrections = vec![RejectedReply { reply: "".into(), correction: "answer in JSON".into() }];
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
    fn a_reply_needs_all_required_fields() {
        let schema = TestRequest::new("linker").schema;
        for (text, expected) in
            [("{\"notes\": 3}", true), ("{\"other\": 3}", false), ("[1]", false), ("prose", false)]
        {
            let value = serde_json::from_str(text).ok();
            assert_eq!(has_required_fields(value.as_ref(), &schema), expected, "{text}");
        }
    }

    #[test]
    fn a_leading_thinking_block_is_removed() {
        assert_eq!(strip_thinking("\n<think>so {\n}</think>\n\n{}"), "{}");
        for whole in ["{}", "<think>never ends", "{} <think>later</think>", ""] {
            assert_eq!(strip_thinking(whole), whole);
        }
    }

    #[test]
    fn a_prompt_longer_than_the_context_is_not_sent() {
        let turn = TestRequest::new("linker");
        let config = poc_config::Config::defaults().unwrap();
        let mut model = config.models["sonnet"].clone();
        assert_eq!(
            max_reply_tokens(&model, &config.calls, &turn.request()).unwrap(),
            config.calls.max_output_tokens
        );
        model.context = Some(100);
        assert!(max_reply_tokens(&model, &config.calls, &turn.request()).unwrap() < 100);
        model.context = Some(3);
        assert!(matches!(max_reply_tokens(&model, &config.calls, &turn.request()), Err(CallError::Setup(_))));
    }
}
