use super::*;
use crate::agent::model::http::tests::provider;
use crate::agent::model::mock_model::{Answer, Asked, MockModel, completion};
use crate::agent::model::testing::Turn;
use crate::config::Config;

fn call(answers: Vec<Answer>) -> (Result<Reply, CallError>, Vec<Asked>) {
    let server = MockModel::script(answers);
    let mut config = Config::defaults().unwrap();
    let mut model = config.models.remove("sonnet").unwrap();
    model.id = "gpt".into();
    let (http, _) = provider(&format!("{}/v1", server.url()));
    let reply = OpenAi { http, model }.call(&Turn::new("linker").request());
    (reply, server.asked())
}

fn reply(message: Value, finish: &str) -> Result<Reply, CallError> {
    call(vec![Answer::ok(completion(message, finish))]).0
}

#[test]
fn the_schema_is_asked_for_and_the_usage_is_counted() {
    let (reply, asked) = call(vec![Answer::chat("{\"notes\": \"\"}")]);
    let reply = reply.unwrap();
    assert_eq!(reply.text, "{\"notes\": \"\"}");
    assert_eq!((reply.tokens_in, reply.tokens_out), (Some(10), Some(5)));
    assert!((reply.cost.unwrap() - 105e-6).abs() < 1e-12, "{reply:?}");
    let asked = &asked[0];
    assert_eq!(asked.line, "POST /v1/chat/completions");
    assert_eq!(asked.header("authorization"), Some("Bearer sk-secret"));
    let turn = Turn::new("linker");
    let expected = json!({
        "model": "gpt",
        "messages": [{"role": "system", "content": "the system"}, {"role": "user", "content": "the prompt"}],
        "stream": false,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": true, "schema": turn.schema},
        },
    });
    assert_eq!(asked.body, expected);
}

#[test]
fn a_server_that_knows_no_schemas_is_asked_for_less() {
    let rejects = || Answer::error(422, "invalid", "`response_format` must be one of ...");
    let kind = |asked: &Asked| {
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
fn refused_and_cut_answers_are_no_replies() {
    let refusal = reply(json!({"role": "assistant", "content": null, "refusal": "I cannot"}), "stop");
    assert_eq!(refusal, Err(CallError::Refused("I cannot".into())));
    let filtered = reply(json!({"role": "assistant", "content": ""}), "content_filter");
    assert!(matches!(filtered, Err(CallError::Refused(_))), "{filtered:?}");
    let cut = reply(json!({"role": "assistant", "content": "{\"notes\": \"a"}), "length");
    assert_eq!(cut, Err(CallError::Cut));
}

#[test]
fn text_is_handed_on_as_it_is() {
    // Whether it is JSON that fits the schema is for the run to find out.
    for text in ["```json\n{\"notes\": \"\"}\n```", "Sure! Here it is.", "{\"other\": 1}", ""] {
        assert_eq!(call(vec![Answer::chat(text)]).0.unwrap().text, text);
    }
    assert_eq!(reply(json!({"role": "assistant", "content": null}), "stop").unwrap().text, "");
}

#[test]
fn an_error_dressed_as_a_success_is_seen() {
    let (reply, _) = call(vec![Answer::ok(json!({"error": {"message": "upstream died", "code": 502}}))]);
    assert_eq!(reply, Err(CallError::Down("`mock` sent no completion: upstream died".into())));
}
