use super::*;
use crate::http::tests::provider;
use crate::mock_model::{Answer, MockModel, RecordedRequest, completion};
use poc_agent::testing::request::TestRequest;
use poc_config::Config;

fn call(answers: Vec<Answer>) -> (Result<Reply, CallError>, Vec<RecordedRequest>) {
    let server = MockModel::script(answers);
    let mut config = Config::defaults().unwrap();
    let mut model = config.models.remove("sonnet").unwrap();
    model.id = "gpt".into();
    let (http, _) = provider(&format!("{}/v1", server.url()));
    let reply = OpenAi::new(http, model, config.calls).call(&TestRequest::new("linker").request());
    let reply = reply.map_err(|failed| {
        let priced = failed.spent.iter().all(|spent| spent.cost.is_some_and(|cost| cost > 0.0));
        assert!(priced, "{failed:?}");
        failed.error
    });
    (reply, server.requests())
}

fn reply(message: Value, finish: &str) -> Result<Reply, CallError> {
    call(vec![Answer::ok(completion(message, finish))]).0
}

#[test]
fn the_request_has_the_schema_and_the_usage_is_counted() {
    let (reply, asked) = call(vec![Answer::chat("{\"notes\": \"\"}")]);
    let reply = reply.unwrap();
    assert_eq!(reply.text, "{\"notes\": \"\"}");
    let [took] = reply.spent.as_slice() else { panic!("{reply:?}") };
    assert_eq!((took.tokens_in, took.tokens_out, took.estimated), (Some(10), Some(5), false));
    assert!((took.cost.unwrap() - 70e-6).abs() < 1e-12, "{took:?}");
    let asked = &asked[0];
    assert_eq!(asked.line, "POST /v1/chat/completions");
    assert_eq!(asked.header("authorization"), Some("Bearer sk-secret"));
    let turn = TestRequest::new("linker");
    let expected = json!({
        "model": "gpt",
        "messages": [{"role": "system", "content": "the system"}, {"role": "user", "content": "the prompt"}],
        "stream": false,
        "max_tokens": 16384,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": true, "schema": turn.schema},
        },
    });
    assert_eq!(asked.body, expected);
}

#[test]
fn a_server_without_schemas_gets_a_weaker_mode() {
    let rejects = || Answer::error(422, "invalid", "`response_format` must be one of ...");
    let kind = |asked: &RecordedRequest| {
        asked.body.pointer("/response_format/type").map(|kind| kind.as_str().unwrap().to_owned())
    };
    // llama-cpp-python answers with 500.
    let fails = Answer::error(500, "internal", "('body', 'response_format', 'type')");
    let (reply, asked) = call(vec![fails, Answer::chat("{}")]);
    assert_eq!(reply.unwrap().text, "{}");
    assert_eq!(kind(&asked[1]).as_deref(), Some("json_object"));
    assert!(asked[1].last_message().contains("JSON Schema"), "{}", asked[1].last_message());

    let (reply, asked) = call(vec![rejects(), rejects(), Answer::chat("{}")]);
    assert_eq!(reply.unwrap().text, "{}");
    assert_eq!(asked.iter().map(kind).collect::<Vec<_>>().last(), Some(&None));
    assert!(asked[2].last_message().contains("JSON Schema"), "{}", asked[2].last_message());

    let (reply, asked) = call(vec![rejects(), rejects(), rejects(), Answer::chat("{}")]);
    assert!(matches!(reply, Err(CallError::Setup(_))), "{reply:?}");
    assert_eq!(asked.len(), 3);

    let (reply, asked) = call(vec![Answer::error(400, "invalid", "no such sampler"), Answer::chat("{}")]);
    assert!(matches!(reply, Err(CallError::Setup(_))), "{reply:?}");
    assert_eq!(asked.len(), 1);
}

#[test]
fn a_refused_or_truncated_response_is_an_error() {
    let refusal = reply(json!({"role": "assistant", "content": null, "refusal": "I cannot"}), "stop");
    assert_eq!(refusal, Err(CallError::Refused("I cannot".into())));
    let filtered = reply(json!({"role": "assistant", "content": ""}), "content_filter");
    assert!(matches!(filtered, Err(CallError::Refused(_))), "{filtered:?}");
    let cut = reply(json!({"role": "assistant", "content": "{\"notes\": \"a"}), "length");
    assert_eq!(cut, Err(CallError::Cut));
}

#[test]
fn the_text_is_passed_on_unchanged() {
    // The run checks whether it is JSON that matches the schema.
    for text in ["```json\n{\"notes\": \"\"}\n```", "Sure! Here it is.", "{\"other\": 1}", ""] {
        assert_eq!(call(vec![Answer::chat(text)]).0.unwrap().text, text);
    }
    assert_eq!(reply(json!({"role": "assistant", "content": null}), "stop").unwrap().text, "");
}

#[test]
fn an_error_with_a_success_status_is_recognized() {
    let (reply, _) = call(vec![Answer::ok(json!({"error": {"message": "upstream died", "code": 502}}))]);
    assert_eq!(reply, Err(CallError::Down("`mock` sent no completion: upstream died".into())));
}

#[test]
fn cached_tokens_have_their_price_and_missing_usage_counts_as_the_upper_bound() {
    let mut reported = completion(json!({"role": "assistant", "content": "{}"}), "stop");
    reported["usage"]["prompt_tokens_details"] = json!({"cached_tokens": 6});
    let took = call(vec![Answer::ok(reported.clone())]).0.unwrap().spent;
    assert!((took[0].cost.unwrap() - (4.0 * 2.0 + 6.0 * 0.1 + 5.0 * 10.0) / 1e6).abs() < 1e-12, "{took:?}");
    assert_eq!(took[0].tokens_in, Some(10));
    reported.as_object_mut().unwrap().remove("usage");
    let took = call(vec![Answer::ok(reported)]).0.unwrap().spent;
    assert!(took[0].estimated && took[0].tokens_out == Some(16384), "{took:?}");
}

#[test]
fn truncated_responses_have_a_cost() {
    let server = MockModel::script(vec![Answer::ok(completion(json!({"content": "{"}), "length"))]);
    let mut config = Config::defaults().unwrap();
    let model = config.models.remove("sonnet").unwrap();
    let (http, _) = provider(&server.url());
    let model = OpenAi::new(http, model, config.calls);
    let failed = model.call(&TestRequest::new("linker").request()).unwrap_err();
    assert_eq!((failed.error, failed.spent.len()), (CallError::Cut, 1));
}

/// Calls a model twice at the mock server; returns the requests.
fn twice(
    answers: Vec<Answer>,
    make: fn(Http, poc_config::ModelConfig, poc_config::CallsConfig) -> OpenAi,
) -> Vec<RecordedRequest> {
    let server = MockModel::script(answers);
    let mut config = Config::defaults().unwrap();
    let (http, _) = provider(&format!("{}/v1", server.url()));
    let model = make(http, config.models.remove("sonnet").unwrap(), config.calls);
    for _ in 0..2 {
        model.call(&TestRequest::new("linker").request()).unwrap();
    }
    server.requests()
}

/// The mode and the limit field of a request.
fn dialect(asked: &RecordedRequest) -> (String, &'static str) {
    let field = |name| asked.body.get(name);
    let kind = asked.body.pointer("/response_format/type").and_then(Value::as_str).unwrap_or("words");
    let kind = if field("json_schema").is_some() { "grammar" } else { kind };
    let limits = ["max_completion_tokens", "max_tokens"];
    (kind.to_owned(), limits.into_iter().find(|name| field(*name).is_some()).unwrap_or("none"))
}

fn good() -> Answer {
    Answer::chat("{\"notes\": \"\"}")
}

#[test]
fn the_dialect_that_a_server_supports_is_remembered() {
    let newer = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    let newer = || Answer::error(400, "unsupported_parameter", newer);
    let mode = || Answer::error(400, "invalid", "`response_format` is unknown");
    let ways = |answers| {
        twice(answers, OpenAi::new)
            .iter()
            .map(dialect)
            .map(|(mode, limit)| format!("{mode} {limit}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        ways(vec![newer(), good(), good()]),
        ["json_schema max_tokens", "json_schema max_completion_tokens", "json_schema max_completion_tokens"]
    );
    assert_eq!(
        ways(vec![mode(), newer(), good(), good()])[2..],
        ["json_object max_completion_tokens", "json_object max_completion_tokens"]
    );
    assert_eq!(ways(vec![newer(), newer(), good(), good()])[2..], ["json_schema none", "json_schema none"]);
    // After a reply that ignores the schema, the next request describes it in the prompt.
    let asked = twice(vec![Answer::chat("Sure! Here it is."), good()], OpenAi::new);
    assert_eq!(dialect(&asked[1]).0, "json_object");
    assert!(asked[1].last_message().contains("JSON Schema"), "{}", asked[1].last_message());
}

#[test]
fn openai_gets_the_newer_limit_field() {
    let config = Config::defaults().unwrap();
    for (base, expected) in [
        ("https://api.openai.com/v1", OPENAI_LIMITS),
        ("https://my.openai.azure.com/openai/v1", OPENAI_LIMITS),
        ("https://notopenai.com/v1", COMMON_LIMITS),
        ("http://127.0.0.1:1/v1", COMMON_LIMITS),
    ] {
        let (http, _) = provider(base);
        let model = OpenAi::new(http, config.models["sonnet"].clone(), config.calls.clone());
        assert_eq!(model.limits, expected, "{base}");
    }
}

#[test]
fn llama_cpp_gets_its_own_schema_field() {
    let asked = twice(vec![good(), good()], OpenAi::llama_cpp);
    assert_eq!(asked[0].body["json_schema"], TestRequest::new("linker").schema);
    assert_eq!((dialect(&asked[0]).0.as_str(), asked[0].body.get("response_format")), ("grammar", None));
    let refused = Answer::error(400, "invalid_request_error", "failed to parse grammar");
    let asked = twice(vec![refused, good(), good()], OpenAi::llama_cpp);
    assert_eq!(
        asked.iter().map(|asked| dialect(asked).0).collect::<Vec<_>>(),
        ["grammar", "json_schema", "json_schema"]
    );
}

#[test]
fn a_thinking_block_is_not_part_of_the_reply() {
    assert_eq!(call(vec![Answer::chat("<think>hm</think>\n{}")]).0.unwrap().text, "{}");
}

#[test]
fn attempts_are_counted_over_the_whole_call() {
    let half = || Answer::Half(200, b"{\"fine\": true}".to_vec());
    let mode = || Answer::error(400, "invalid", "`response_format` is unknown");
    let (reply, asked) = call(vec![half(), half(), mode(), half(), half(), half(), half()]);
    assert!(matches!(reply, Err(CallError::Down(_))), "{reply:?}");
    // Four responses were lost, before and after the mode was rejected.
    assert_eq!(asked.len(), 5);
}
