//! The JSON that `claude -p --output-format json` wraps its reply in
//! (<https://docs.anthropic.com/en/docs/claude-code/headless>).

use poc_agent::model::{CallCost, Reply};
use poc_agent::reply::parse_json;
use poc_graph::json::AllFields;
use serde_json::{Map, Value};

/// The output as an envelope, if it is one. Any other JSON is the reply itself, so fields in it that look
/// like costs are ignored.
fn envelope(output: &str) -> Option<Map<String, Value>> {
    let Ok(Value::Object(envelope)) = serde_json::from_str::<Value>(output) else { return None };
    let has = |name: &str, is: fn(&Value) -> bool| envelope.get(name).is_some_and(is);
    let is_envelope = has("result", Value::is_string)
        || has("structured_output", Value::is_object)
        || has("is_error", Value::is_boolean);
    is_envelope.then_some(envelope)
}

/// The reply inside the envelope; output without an envelope is the reply itself.
///
/// # Errors
/// The message of an envelope that reports an error.
pub(super) fn read(output: &str) -> Result<Reply, String> {
    let Some(envelope) = envelope(output) else {
        return Ok(Reply { text: output.to_owned(), ..Reply::default() });
    };
    let structured = structured_output(output);
    let text = match (envelope.get("result").and_then(Value::as_str), &structured) {
        (Some(text), _) => text.to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => String::new(),
    };
    if envelope.get("is_error").and_then(Value::as_bool) == Some(true) {
        let kind = envelope.get("subtype").and_then(Value::as_str).unwrap_or("an error");
        return Err(if text.is_empty() { kind.to_owned() } else { text });
    }
    let Some(structured) = structured else { return Ok(Reply { text, ..Reply::default() }) };
    match parse_json(&structured) {
        Ok(value) => Ok(Reply { structured: Some(value), text, ..Reply::default() }),
        // A repeated field: only the text of the reply shows it.
        Err(_) => Ok(Reply { text: structured, ..Reply::default() }),
    }
}

/// The structured output of an envelope, as text that contains repeated fields; `None` if it is not an object.
fn structured_output(output: &str) -> Option<String> {
    let envelope: AllFields = serde_json::from_str(output).ok()?;
    let structured = envelope.get("structured_output")?;
    matches!(structured, AllFields::Object(_)).then(|| structured.to_string())
}

/// The cost that an envelope reports, with a reply or an error. `None` when it reports none or an impossible one.
pub(super) fn spent(output: &str) -> Option<CallCost> {
    let envelope = envelope(output)?;
    let usage = |name: &str| envelope.get("usage")?.get(name)?.as_u64();
    let cached =
        ["cache_creation_input_tokens", "cache_read_input_tokens"].map(|name| usage(name).unwrap_or(0));
    let tokens_in = usage("input_tokens").map(|tokens| cached.into_iter().fold(tokens, u64::saturating_add));
    let cost = match envelope.get("total_cost_usd").and_then(Value::as_f64) {
        Some(cost) => Some(CallCost::dollars(cost)?),
        None => None,
    };
    let is_reported = tokens_in.is_some() || cost.is_some();
    is_reported.then(|| CallCost { tokens_in, tokens_out: usage("output_tokens"), cost, estimated: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_envelope_is_unwrapped_and_other_output_is_the_reply() {
        let envelope = json!({
            "type": "result", "subtype": "success", "is_error": false, "result": "{\"notes\": \"n\"}",
            "total_cost_usd": 0.25, "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5},
        });
        let expected = Reply { text: "{\"notes\": \"n\"}".into(), ..Reply::default() };
        assert_eq!(read(&envelope.to_string()), Ok(expected));
        let took = CallCost { tokens_in: Some(7), tokens_out: Some(5), cost: Some(0.25), estimated: false };
        assert_eq!(spent(&envelope.to_string()), Some(took));
        for plain in ["prose", "{\"notes\": \"n\", \"link-add\": []}", "[1]", ""] {
            assert_eq!(read(plain).unwrap().text, plain);
            assert_eq!(spent(plain), None);
        }
    }

    #[test]
    fn a_reply_cannot_report_a_cost() {
        for reported in ["-100", "1e300", "0.5"] {
            let plain = format!("{{\"notes\": \"n\", \"link-add\": [], \"total_cost_usd\": {reported}}}");
            assert_eq!(spent(&plain), None);
            assert_eq!(read(&plain).unwrap().text, plain);
        }
        // Nor can an envelope report an impossible cost.
        for reported in ["-100", "-1e-9", "1e300"] {
            assert_eq!(spent(&format!("{{\"result\": \"{{}}\", \"total_cost_usd\": {reported}}}")), None);
        }
        let max = u64::MAX;
        let usage = json!({"input_tokens": max, "cache_read_input_tokens": max, "output_tokens": max});
        let took = spent(&json!({"result": "{}", "usage": usage}).to_string()).unwrap();
        assert_eq!((took.tokens_in, took.tokens_out), (Some(max), Some(max)));
    }

    #[test]
    fn a_repeated_field_in_the_structured_output_is_found() {
        let once = r#"{"notes":"n","link-add":[]}"#;
        let twice = r#"{"notes":"n","link-add":[{"source":"a"}],"link-add":[]}"#;
        for result in ["", r#""result": "It is done.", "#] {
            let read = |output: &str| read(&format!("{{{result}\"structured_output\": {output}}}")).unwrap();
            let reply = read(once);
            assert_eq!(reply.structured, serde_json::from_str(once).ok());
            assert_eq!(reply.text, if result.is_empty() { once } else { "It is done." });
            let reply = read(twice);
            assert_eq!((reply.structured.as_ref(), reply.text.as_str()), (None, twice));
            let problems = poc_agent::reply::read(&reply, &[]).unwrap_err();
            assert!(problems[0].contains("the field `link-add` occurs twice"), "{problems:?}");
        }
    }

    #[test]
    fn a_reported_error_is_not_a_reply() {
        let error = |value: Value| read(&value.to_string()).unwrap_err();
        assert_eq!(error(json!({"is_error": true, "result": "Invalid API key"})), "Invalid API key");
        assert_eq!(error(json!({"is_error": true, "subtype": "error_max_turns"})), "error_max_turns");
    }
}
