mod registry;
mod runs;

use super::*;
use poc_agent::testing::request::TestRequest;
use poc_graph::error::Error;
use poc_graph::time::Span;
use serde_json::Value;
use std::sync::Arc;

fn config(text: &str) -> Config {
    Config::layered(Some(("config.toml", text)), std::iter::empty()).unwrap()
}

fn help(text: &str, name: &str, variable: Option<&str>) -> String {
    let variable = variable.map(str::to_owned);
    let factory = ProviderFactory { environment: Box::new(move |_| variable.clone()) };
    ModelRegistry::new(Arc::new(factory)).missing(&config(text), name).unwrap_or_else(|| "ready".into())
}

fn open(config: &Config, name: &str) -> Result<Arc<dyn Model>, Error> {
    registry().open(config, name)
}

#[test]
fn the_default_model_needs_no_key() {
    assert_eq!(help("", "default", None), "ready");
    assert!(open(&Config::defaults().unwrap(), "default").is_ok());
}

#[test]
fn an_unknown_model_is_an_error_with_the_line_to_add() {
    let error = open(&Config::defaults().unwrap(), "sonet").err().unwrap();
    assert_eq!(error.code, poc_graph::error::Code::InvalidConfig);
    insta::assert_snapshot!(format!("{error}\n{}", error.hint.as_deref().unwrap()), @r#"
    there is no model `sonet`
    did you mean `sonnet`? else put `models.sonet = { provider = "…", id = "…" }` at the top of config.toml
    "#);
    insta::assert_snapshot!(missing(&Config::defaults().unwrap(), "gpt-9").unwrap(), @r#"there is no model `gpt-9`; put `models.gpt-9 = { provider = "…", id = "…" }` at the top of config.toml"#);
}

#[test]
fn a_missing_setting_is_one_line_of_help() {
    assert_eq!(help("", "sonnet", Some("sk")), "ready");
    insta::assert_snapshot!(help("", "sonnet", None), @r#"set `ANTHROPIC_API_KEY`, or put `models.sonnet.provider = "heuristic"` at the top of config.toml, which needs no key"#);
    let as_told = "models.sonnet.provider = \"heuristic\"\n[models.haiku]\nid = \"h\"\n";
    assert_eq!(help(as_told, "sonnet", None), "ready");
    let local = "[models.local]\nprovider = \"ollama\"\nid = \"llama\"\n";
    assert_eq!(help(local, "local", None), "ready");
    let with = |lines: &str| format!("[models.m]\nprovider = \"p\"\nid = \"i\"\n[providers.p]\n{lines}\n");
    insta::assert_snapshot!(help(&with("kind = \"replay\""), "m", None), @r#"put `providers.p.replies = "/a/folder"` into config.toml"#);
    insta::assert_snapshot!(help(&with("kind = \"replay\"\nreplies = \"here\""), "m", None), @"write `here` as an absolute path or with `~/` in front");
    insta::assert_snapshot!(help(&with("kind = \"openai\""), "m", None), @r#"put `providers.p.base-url = "http://…"` into config.toml"#);
    insta::assert_snapshot!(help(&with("kind = \"command\""), "m", None), @r#"put `providers.p.command = ["program", "argument"]` into config.toml"#);
    assert_eq!(help(&with("kind = \"replay\"\nreplies = \"~/here\""), "m", Some("/home")), "ready");
}

#[cfg(not(feature = "local-models"))]
#[test]
fn a_local_model_without_its_feature_names_the_feature() {
    let text = "[models.m]\nprovider = \"candle\"\nid = \"/a/model.gguf\"\n";
    insta::assert_snapshot!(help(text, "m", None), @"this program was built without its cargo feature `local-models`, which the provider `candle` needs: build it with that feature, or give `models.m` another provider, such as `ollama`");
}

/// Calls the real server at `POC_MEMORY_LIVE_OPENAI`; `tests/live/run.sh` starts one.
#[test]
#[ignore = "needs the address of an OpenAI-compatible server in POC_MEMORY_LIVE_OPENAI; tests/live/run.sh starts one"]
fn live_server_answers_within_the_schema() {
    let base = environment("POC_MEMORY_LIVE_OPENAI").expect(
        "set POC_MEMORY_LIVE_OPENAI to the address of an OpenAI-compatible server, or run tests/live/run.sh",
    );
    let text = format!(
        "[models.live]\nprovider = \"live\"\nid = \"tiny\"\n[providers.live]\nkind = \"openai\"\nbase-url = \"{base}\"\n"
    );
    let turn = TestRequest { timeout: Span::MINUTE, ..TestRequest::new("linker") };
    let reply = open(&config(&text), "live").unwrap().call(&turn.request()).unwrap();
    let answer: Value = serde_json::from_str(&reply.text).unwrap();
    assert!(answer.get("notes").is_some_and(Value::is_string), "{}", reply.text);
    assert_eq!(answer.as_object().unwrap().len(), 1, "{}", reply.text);
    assert!(reply.spent.iter().any(|spent| spent.tokens_in.is_some_and(|tokens| tokens > 0)), "{reply:?}");
}
