use super::*;
use crate::http::tests::provider;
use crate::mock_model::{Answer, MockModel, RecordedRequest};
use poc_agent::model::RejectedReply;
use poc_agent::testing::request::TestRequest;
use poc_config::Config;

fn model(path: &str, context: Option<usize>, answers: Vec<Answer>) -> (Ollama, MockModel) {
    let server = MockModel::script(answers);
    let mut config = Config::defaults().unwrap();
    let mut model = config.models.remove("sonnet").unwrap();
    (model.id, model.context) = ("qwen3:8b".into(), context);
    let (http, _) = provider(&format!("{}{path}", server.url()));
    (Ollama::new(http, model, config.calls), server)
}

fn call(path: &str, context: Option<usize>, answer: Answer) -> (Result<Reply, CallFailure>, RecordedRequest) {
    let (model, server) = model(path, context, vec![answer]);
    let reply = model.call(&TestRequest::new("linker").request());
    (reply, server.requests().remove(0))
}

fn chat(text: &str, reason: &str, read: u64) -> Answer {
    Answer::ok(json!({
        "model": "qwen3:8b",
        "message": {"role": "assistant", "content": text},
        "done": true, "done_reason": reason, "prompt_eval_count": read, "eval_count": 5,
    }))
}

#[test]
fn the_request_has_the_schema_and_the_context() {
    for path in ["", "/v1", "/v1/"] {
        let (reply, asked) = call(path, Some(32768), chat("{\"notes\": \"\"}", "stop", 10));
        let reply = reply.unwrap();
        assert_eq!((reply.text.as_str(), asked.line.as_str()), ("{\"notes\": \"\"}", "POST /api/chat"));
        assert_eq!((reply.spent[0].tokens_in, reply.spent[0].tokens_out), (Some(10), Some(5)));
        assert!((reply.spent[0].cost.unwrap() - (10.0 * 2.0 + 5.0 * 10.0) / 1e6).abs() < 1e-12, "{reply:?}");
        let expected = json!({
            "model": "qwen3:8b",
            "messages": [{"role": "system", "content": "the system"}, {"role": "user", "content": "the prompt"}],
            "stream": false,
            "format": TestRequest::new("linker").schema,
            "truncate": false,
            "shift": false,
            "options": {"num_ctx": 32768, "num_predict": 16384},
        });
        assert_eq!(asked.body, expected);
    }
}

#[test]
fn without_a_configured_context_the_prompt_and_reply_fit() {
    let (model, server) = model("", None, vec![chat("{}", "stop", 10)]);
    let turn = TestRequest {
        corrections: vec![RejectedReply { reply: "x".repeat(60_000), correction: "again".into() }],
        ..TestRequest::new("linker")
    };
    model.call(&turn.request()).unwrap();
    let context = server.requests()[0].body["options"]["num_ctx"].as_u64().unwrap();
    assert!(context >= 15_000 * 4 / 3 + 16_384 && context.is_multiple_of(8192), "{context}");
}

#[test]
fn without_a_configured_context_prompts_are_made_for_a_short_one() {
    let shown = |length: u64| {
        let info = json!({"general.architecture": "qwen3", "qwen3.context_length": length});
        Answer::ok(json!({"model_info": info}))
    };
    let context = |configured: Option<usize>, answers: Vec<Answer>| {
        let (model, server) = model("/v1", configured, answers);
        let asked = [model.context(), model.context()];
        (asked, server.requests().into_iter().map(|asked| asked.line).collect::<Vec<_>>())
    };
    // The server is asked once.
    let show = || "POST /api/show".to_owned();
    assert_eq!(context(None, vec![shown(40_960)]), ([Some(16_384); 2], vec![show()]));
    assert_eq!(context(None, vec![shown(4096)]), ([Some(4096); 2], vec![show()]));
    // Unless it does not say it.
    let unknown = || Answer::status(404, json!({}));
    let nothing = || Answer::ok(json!({"model_info": {}}));
    for answer in [&unknown as &dyn Fn() -> Answer, &nothing] {
        assert_eq!(context(None, vec![answer(), answer()]), ([Some(16_384); 2], vec![show(), show()]));
    }
    assert_eq!(context(Some(9000), Vec::new()), ([None; 2], Vec::new()));

    // No call asks for more than the model was trained with.
    let (model, server) = model("", None, vec![shown(8000), chat("{}", "stop", 10)]);
    assert_eq!(model.context(), Some(8000));
    model.call(&TestRequest::new("linker").request()).unwrap();
    assert_eq!(server.requests()[1].body["options"]["num_ctx"], 8000);
}

#[test]
fn truncation_is_never_silent() {
    // Checked before the request is sent.
    let (small, server) = model("", Some(3), Vec::new());
    let failed = small.call(&TestRequest::new("linker").request()).unwrap_err();
    assert!(matches!(failed.error, CallError::Setup(_)) && server.requests().is_empty(), "{failed:?}");
    // Truncated by the server: the tokens it read fill the context.
    let failed = call("", Some(20_000), chat("{\"notes\": \"\"}", "stop", 20_000)).0.unwrap_err();
    assert!(matches!(&failed.error, CallError::Setup(text) if text.contains("has cut it")), "{failed:?}");
    let failed = call("", Some(20_000), chat("{\"notes", "length", 10)).0.unwrap_err();
    assert_eq!((failed.error, failed.spent.len()), (CallError::Cut, 1));
    let refused = Answer::status(400, json!({"error": "the input length exceeds the context length"}));
    let failed = call("", Some(20_000), refused).0.unwrap_err();
    assert!(
        matches!(&failed.error, CallError::Setup(text) if text.ends_with("context length")),
        "{failed:?}"
    );
}

#[test]
fn a_missing_model_is_reported() {
    let list = || Answer::ok(json!({"models": [{"name": "llama3:latest"}, {"name": "qwen3:8b"}]}));
    let reach = |id: &str, answer: Answer| {
        let (mut model, server) = model("", None, vec![answer]);
        model.model.id = id.into();
        let reached = model.probe(Span::MINUTE);
        assert_eq!(server.requests()[0].line, "GET /api/tags");
        reached
    };
    for id in ["qwen3:8b", "llama3", "llama3:latest"] {
        assert_eq!(reach(id, list()), Ok(ProbeOutcome::Answered), "{id}");
    }
    insta::assert_snapshot!(reach("qwen3", list()).unwrap_err(), @"`mock` has no model `qwen3`; `ollama pull qwen3` fetches it");
    assert_eq!(reach("qwen3", Answer::status(404, json!({}))), Ok(ProbeOutcome::Answered));
}
