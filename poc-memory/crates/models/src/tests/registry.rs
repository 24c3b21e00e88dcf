//! The registry with providers over HTTP.

use crate::mock_model::{Answer, MockModel};
use crate::registry;
use poc_agent::model::CallError;
use poc_agent::testing::request::TestRequest;
use poc_config::Config;
use poc_graph::time::{Span, Timestamp};
use std::sync::Arc;

fn config(url: &str, more: &str) -> Config {
    let text = format!(
        "[models.a]\nprovider = \"mock\"\nid = \"a\"\n[models.b]\nprovider = \"mock\"\nid = \"b\"\n\
         [models.c]\nprovider = \"other\"\nid = \"c\"\n\
         [providers.mock]\nkind = \"openai\"\nbase-url = \"{url}/v1\"\n{more}\n\
         [providers.other]\nkind = \"openai\"\nbase-url = \"{url}/v1\"\n"
    );
    Config::layered(Some(("config.toml", &text)), std::iter::empty()).unwrap()
}

#[test]
fn a_model_is_reused_while_its_settings_and_key_are_unchanged() {
    let folder = poc_graph::testing::folder();
    let key = folder.path().join("key");
    std::fs::write(&key, "one").unwrap();
    let config = config("http://127.0.0.1:1", &format!("key-file = \"{}\"", key.display()));
    let models = registry();
    let open = |config: &Config| models.open(config, "a").unwrap();
    let first = open(&config);
    assert!(
        Arc::ptr_eq(&first, &open(&config))
            && Arc::ptr_eq(&first, &models.clone().open(&config, "a").unwrap())
    );
    let mut other = config.clone();
    other.models.get_mut("a").unwrap().id = "z".into();
    let second = open(&other);
    assert!(!Arc::ptr_eq(&first, &second));
    std::fs::write(&key, "two").unwrap();
    assert!(!Arc::ptr_eq(&second, &open(&other)));
    assert!(models.open(&config, "nobody").is_err());
}

#[test]
fn a_provider_without_credit_is_not_called_until_something_changes() {
    let folder = poc_graph::testing::folder();
    let key = folder.path().join("key");
    std::fs::write(&key, "sk-one").unwrap();
    let broke = || Answer::error(429, "insufficient_quota", "You exceeded your quota");
    let refused = || Answer::error(401, "authentication_error", "sk-one is wrong");
    let server = MockModel::script(vec![broke(), refused(), Answer::chat("{}"), broke()]);
    let config = config(&server.url(), &format!("key-file = \"{}\"", key.display()));
    let models = registry();
    let open = |name: &str| models.open(&config, name).unwrap();
    let turn = |now| TestRequest { now: Timestamp(now), ..TestRequest::new("linker") };
    let call = |now| open("a").call(&turn(now).request()).map_err(|failed| failed.error);

    assert_eq!(open("a").suspension(Timestamp(0)), None);
    assert!(matches!(call(1000), Err(CallError::NoCredit(_))));
    // The suspension applies only to the models of this provider, for an hour, and does not become longer
    // when the clock goes back.
    let hour = Span::HOUR.0;
    for (name, now, alone) in [
        ("a", 1000, true),
        ("b", 999 + hour, true),
        ("b", 1000 + hour, false),
        ("a", 999, false),
        ("c", 2000, false),
    ] {
        assert_eq!(open(name).suspension(Timestamp(now)).is_some(), alone, "{name} {now}");
    }
    let [line] = models.suspension(&config, Timestamp(1000)).try_into().unwrap();
    assert!(
        line.starts_with("`mock` is suspended until ") && line.ends_with("You exceeded your quota"),
        "{line}"
    );

    let Err(CallError::KeyRefused(why)) = call(2000) else { panic!() };
    assert!(!why.contains("sk-one") && open("a").suspension(Timestamp(2000)).unwrap().contains(&why));
    // A manual call that succeeds makes the provider available to all its models again.
    assert!(call(3000).is_ok() && open("b").suspension(Timestamp(3000)).is_none());
    assert!(call(4000).is_err() && open("b").suspension(Timestamp(4000)).is_some());
    assert!(models.suspension_of(&config, "b", Timestamp(4000)).is_some());
    std::fs::write(&key, "sk-two").unwrap();
    // Those who only ask learn that before the next call.
    assert_eq!(models.suspension_of(&config, "b", Timestamp(4000)), None);
    assert_eq!(models.suspension(&config, Timestamp(4000)), [""; 0]);
    assert_eq!(open("b").suspension(Timestamp(4000)), None);
}
