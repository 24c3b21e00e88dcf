use super::*;
use crate::http::tests::provider;
use crate::mock_model::{self, Answer, MockModel, RecordedRequest};
use poc_agent::testing::request::TestRequest;
use poc_config::Config;

/// The cost of one message of the mock server: 6 tokens in, 4 from the cache, 5 out.
const COST: f64 = (6.0 * 2.0 + 4.0 * 0.1 + 5.0 * 10.0) / 1e6;

fn call(path: &str, answer: Answer) -> (Result<Reply, CallError>, RecordedRequest) {
    let server = MockModel::script(vec![answer]);
    let mut config = Config::defaults().unwrap();
    let (http, _) = provider(&format!("{}{path}", server.url()));
    let model = config.models.remove("sonnet").unwrap();
    let reply = Anthropic::new(http, model, config.calls).call(&TestRequest::new("linker").request());
    let reply = reply.map_err(|failed| {
        assert!(failed.spent.iter().all(|spent| spent.cost == Some(COST)), "{failed:?}");
        failed.error
    });
    (reply, server.requests().remove(0))
}

fn reply(content: Value, stop_reason: &str) -> Result<Reply, CallError> {
    call("", Answer::ok(mock_model::message(content, stop_reason))).0
}

/// The results of calling one model with several turns, and the requests that the mock server received.
fn calls(
    answers: Vec<Answer>,
    turns: &[TestRequest],
) -> (Vec<Result<Reply, CallError>>, Vec<RecordedRequest>) {
    let server = MockModel::script(answers);
    let mut config = Config::defaults().unwrap();
    let (http, _) = provider(&server.url());
    let model = Anthropic::new(http, config.models.remove("sonnet").unwrap(), config.calls);
    let ask = |turn: &TestRequest| model.call(&turn.request()).map_err(|failed| failed.error);
    (turns.iter().map(ask).collect(), server.requests())
}

/// The mode of a request.
fn mode(asked: &RecordedRequest) -> String {
    match (asked.body.pointer("/output_config/format/type"), asked.body.pointer("/tool_choice/type")) {
        (Some(mode), None) => mode.as_str().unwrap().to_owned(),
        (None, Some(choice)) => choice.as_str().unwrap().to_owned(),
        both => panic!("{both:?}"),
    }
}

fn native(text: &str) -> Answer {
    let thought = json!({"type": "thinking", "thinking": "", "signature": "s"});
    Answer::ok(mock_model::message(json!([thought, {"type": "text", "text": text}]), "end_turn"))
}

#[test]
fn the_request_enforces_the_schema_natively() {
    let (reply, asked) = call("", native("{\"notes\": \"n\"}"));
    let reply = reply.unwrap();
    assert_eq!(reply.structured, Some(json!({"notes": "n"})));
    assert_eq!(reply.text, "{\"notes\": \"n\"}");
    let took = CallCost { tokens_in: Some(10), tokens_out: Some(5), cost: Some(COST), estimated: false };
    assert_eq!(reply.spent, [took]);
    assert_eq!(asked.line, "POST /v1/messages");
    assert_eq!(asked.header("x-api-key"), Some("sk-secret"));
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.header("authorization"), None);
    let expected = json!({
        "model": "claude-sonnet-5-5",
        "max_tokens": 16384,
        "messages": [{"role": "user", "content": "the prompt"}],
        "output_config": {"format": {"type": "json_schema", "schema": TestRequest::new("linker").schema}},
        "system": [{"type": "text", "text": "the system", "cache_control": {"type": "ephemeral"}}],
    });
    assert_eq!(asked.body, expected);
}

#[test]
fn the_stable_part_of_the_prompt_has_a_cache_mark() {
    let with = |stable| {
        let turn = TestRequest { stable, ..TestRequest::new("linker") };
        calls(vec![native("{\"notes\": \"\"}")], &[turn]).1.remove(0).body["messages"][0]["content"].clone()
    };
    let ephemeral = json!({"type": "ephemeral"});
    assert_eq!(
        with(4),
        json!([{"type": "text", "text": "the ", "cache_control": ephemeral}, {"type": "text", "text": "prompt"}])
    );
    for whole in [0, 10, 1000] {
        assert_eq!(with(whole), json!("the prompt"), "{whole}");
    }
}

#[test]
fn the_mode_that_a_server_supports_is_remembered() {
    let refused = |what: &str| Answer::error(400, "invalid_request_error", what);
    let turns = || [TestRequest::new("linker"), TestRequest::new("linker")];
    // An old gateway, then a thinking model that cannot be forced to use a tool.
    let unknown = || refused("output_config: Extra inputs are not permitted");
    let thinks = || refused("tool_choice forces tool use, which thinking does not allow");
    let tool = || Answer::tool(json!({"notes": ""}));
    let (replies, asked) = calls(vec![unknown(), tool(), tool()], &turns());
    assert!(replies.iter().all(Result::is_ok), "{replies:?}");
    assert_eq!(asked.iter().map(mode).collect::<Vec<_>>(), ["json_schema", "tool", "tool"]);
    assert_eq!(asked[1].body["tools"][0]["input_schema"], TestRequest::new("linker").schema);
    let (replies, asked) = calls(vec![unknown(), thinks(), tool(), tool()], &turns());
    assert!(replies.iter().all(Result::is_ok), "{replies:?}");
    assert_eq!(asked.iter().map(mode).collect::<Vec<_>>(), ["json_schema", "tool", "auto", "auto"]);
    assert!(asked[2].last_message().contains("JSON Schema"));
    // After a reply that ignores the schema, the next call uses the next mode.
    let (replies, asked) = calls(vec![native("I would rather not"), tool()], &turns());
    assert!(replies.iter().all(Result::is_ok), "{replies:?}");
    assert_eq!(asked.iter().map(mode).collect::<Vec<_>>(), ["json_schema", "tool"]);
    // A mode whose request fails is not remembered.
    let (replies, asked) =
        calls(vec![unknown(), unknown(), unknown(), native("{\"notes\": \"\"}")], &turns());
    assert!(replies[0].is_err() && replies[1].is_ok(), "{replies:?}");
    assert_eq!(mode(&asked[3]), "json_schema");
}

#[test]
fn a_base_address_may_end_with_the_version() {
    assert_eq!(call("/v1/", Answer::tool(json!({}))).1.line, "POST /v1/messages");
    assert_eq!(call("/gateway", Answer::tool(json!({}))).1.line, "POST /gateway/v1/messages");
}

#[test]
fn a_refused_or_truncated_response_is_an_error() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    // `call` checks that their cost is reported.
    assert_eq!(reply(text("I will not"), "refusal"), Err(CallError::Refused("I will not".into())));
    assert_eq!(reply(json!([]), "refusal"), Err(CallError::Refused("no reason given".into())));
    let half = json!([{"type": "tool_use", "id": "t", "name": "reply", "input": {}}]);
    assert_eq!(reply(half, "max_tokens"), Err(CallError::Cut));
    assert_eq!(reply(text("so"), "model_context_window_exceeded"), Err(CallError::Cut));
}

#[test]
fn a_model_that_ignores_the_tool_still_returns_text() {
    let content = json!([{"type": "text", "text": "Here:"}, {"type": "text", "text": "{}"}]);
    let reply = reply(content, "end_turn").unwrap();
    assert_eq!((reply.structured, reply.text.as_str()), (None, "Here:\n{}"));
}

#[test]
fn a_repeated_field_in_the_input_of_the_tool_is_found() {
    let twice = r#"{"notes":"n","link-add":[{"source":"a"}],"link-add":[]}"#;
    let body = json!([{"type": "tool_use", "id": "t", "name": "reply", "input": "INPUT"}]);
    let body = mock_model::message(body, "tool_use").to_string().replace("\"INPUT\"", twice);
    let answer = || Answer::Full(200, Vec::new(), body.clone().into_bytes());
    let turns = || [TestRequest::new("linker"), TestRequest::new("linker")];
    let (mut replies, asked) = calls(vec![answer(), answer()], &turns());
    let reply = replies.remove(0).unwrap();
    assert_eq!((&reply.structured, reply.text.as_str()), (&None, twice));
    let problems = poc_agent::reply::read(&reply, &[]).unwrap_err();
    assert!(
        problems[0].starts_with("the reply is not valid: the field `link-add` occurs twice"),
        "{problems:?}"
    );
    // The reply has the required fields, so the server supports the mode.
    assert_eq!(mode(&asked[0]), mode(&asked[1]));
}

#[test]
fn a_message_without_content_is_an_error() {
    let (reply, _) = call("", Answer::ok(json!({"type": "error", "error": {"message": "odd"}})));
    assert_eq!(reply, Err(CallError::Down("`mock` sent no message: odd".into())));
}

#[test]
fn refused_truncated_and_lost_responses_have_a_cost() {
    let spent = |answers: Vec<Answer>, turn: &TestRequest| {
        let server = MockModel::script(answers);
        let mut config = Config::defaults().unwrap();
        let (http, _) = provider(&server.url());
        let model = config.models.remove("sonnet").unwrap();
        let outcome = Anthropic::new(http, model, config.calls).call(&turn.request());
        outcome.map_or_else(|failed| failed.spent, |reply| reply.spent)
    };
    let turn = TestRequest::new("linker");
    for stop in ["refusal", "max_tokens"] {
        let took = spent(vec![Answer::ok(mock_model::message(json!([]), stop))], &turn);
        assert_eq!(took.iter().map(|spent| spent.cost).collect::<Vec<_>>(), [Some(COST)], "{stop}");
    }
    // Errors cost nothing; a response that broke off is counted at its upper bound.
    assert_eq!(spent(vec![Answer::error(529, "overloaded_error", "later"); 4], &turn), []);
    let half = Answer::Half(200, b"{\"fine\": true}".to_vec());
    let took = spent(vec![half, Answer::tool(json!({}))], &turn);
    assert_eq!(took.iter().map(|spent| spent.estimated).collect::<Vec<_>>(), [false, true]);
    assert_eq!(took[1].tokens_out, Some(16384));
    let hasty = TestRequest { timeout: Span(100), ..TestRequest::new("linker") };
    let took = spent(vec![Answer::Hang], &hasty);
    assert!(took.len() == 1 && took[0].estimated && took[0].cost.is_some(), "{took:?}");
}
