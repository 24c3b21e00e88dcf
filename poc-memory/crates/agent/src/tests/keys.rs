//! The table of keys, the reader and the schema agree.

use super::schema::faults;
use crate::definition::key_spec::ValueType;
use crate::definition::keys::KEYS;
use crate::definition::{Definition, DefinitionContext, schema};
use crate::embedded::{self, BundledFile};
use crate::schedule::Schedule;
use poc_config::Config;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::time::Span;
use poc_search::query::Names;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use toml::{Table, Value};

fn read(text: &str) -> Result<Definition, Vec<FileDiagnostic>> {
    let config = Config::defaults().unwrap();
    let names = Names::of(&config);
    let template = |_: &str| Ok("{{ NODES }}".to_owned());
    let context = DefinitionContext { config: &config, names: &names, template: &template };
    Definition::parse("tester", "agents/tester.toml", text, &context)
}

/// A valid file with another value for one key.
fn with(path: &str, value: &Json) -> String {
    let mut file: Table = toml::from_str(
        "[query]\npipeline = \"all\"\n[prompt]\nplaceholders = [\"NODES\"]\n[execution]\nmodel = \"default\"\n\
         actions = [\"link-add\", \"weight\", \"insert\", \"supersede\"]\n",
    )
    .unwrap();
    let template = match (path, value[0].as_str()) {
        ("prompt.placeholders", Some(variable)) => format!("{{{{ {variable} }}}}"),
        _ => "{{ NODES }}".to_owned(),
    };
    if path != "prompt.template" {
        file["prompt"].as_table_mut().unwrap().insert("inline".into(), template.into());
    }
    if path == "query.params" && value.get("tone").is_some() {
        file["query"].as_table_mut().unwrap().insert("pipeline".into(), "match:${tone}".into());
    }
    let mut test: Table = toml::from_str("name = \"x\"\nfixture = \"\"\n[expect]\napplied = []\n").unwrap();
    let of_test = path.strip_prefix("tests.");
    let mut table = if of_test.is_some() { &mut test } else { &mut file };
    let mut names = of_test.unwrap_or(path).split('.').peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            table.insert(name.into(), Value::try_from(value).unwrap());
            break;
        }
        table = table.entry(name).or_insert_with(|| Value::Table(Table::new())).as_table_mut().unwrap();
    }
    if of_test.is_some() {
        file.insert("tests".into(), Value::Array(vec![Value::Table(test)]));
    }
    toml::to_string(&file).unwrap()
}

/// Whether a file matches the schema.
fn schema_says(text: &str) -> Vec<String> {
    let file: Json = toml::from_str(text).unwrap();
    faults(&Json::Object(schema()), &file)
}

/// Valid and invalid values of a key.
fn samples(path: &str, takes: ValueType) -> (Vec<Json>, Vec<Json>) {
    let (good, bad) = match takes {
        ValueType::Table if path == "tests.expect" => {
            (json!([{"applied": []}]), json!([{}, 5, {"other": []}]))
        }
        ValueType::Table => (json!([{}]), json!([5, "x", true])),
        ValueType::Text if path == "prompt.inline" => (json!(["{{ NODES }}"]), json!([5, ["x"]])),
        ValueType::Text if path == "tests.now" => (json!(["2026-11-21"]), json!([5, ["x"]])),
        ValueType::Tables => (json!([[]]), json!([5, "x", {}, [5], [{}], [{"name": "x"}]])),
        ValueType::Text => (json!(["default"]), json!([5, true, ["x"], {"a": 1}])),
        ValueType::Template => (json!(["linker.md"]), json!([5, "", ["x"]])),
        ValueType::Flag => (json!([true, false]), json!(["true", 1, []])),
        ValueType::Count(min, max) => (
            json!([min, min + 1, max.min(1_000_000)]),
            json!([min as i64 - 1, max.saturating_add(1) as f64, "1", 1.5, true]),
        ),
        ValueType::Number(min, _) => (json!([min + 0.25, 3]), json!([min - 1.0, "1", true])),
        ValueType::Share => (json!([0.25, 1]), json!([0, 1.01, 7, "1", true])),
        ValueType::Duration(0) => {
            (json!(["0s", "7d", "30m", "5", "300ms", 0, 5]), json!(["soon", "-1s", -1, 1.5, "7 d", ""]))
        }
        ValueType::Duration(_) => (json!(["1s", "030m", "2w", 5]), json!(["0s", "000", "soon", 0, 1.5])),
        ValueType::DurationOr(word) => (json!([word, "7d", "5", 5]), json!(["soon", -1, 1.5, ""])),
        ValueType::Durations(max) => (
            json!([[], ["15m", "1h", 15], vec!["1s"; max]]),
            json!([["soon"], ["0s"], "15m", 15, [0], [1.5], vec!["1s"; max + 1]]),
        ),
        ValueType::OneOf(words) => (json!(words()), json!(["nothing of the kind", 5, ""])),
        ValueType::SomeOf(words) => (
            words().into_iter().map(|word| json!([word])).collect(),
            json!([["nothing of the kind"], "NODES", [5], [[]]]),
        ),
        ValueType::Texts => (json!([[], ["x"], ["x", "x"]]), json!(["x", [5], {"a": 1}])),
        ValueType::Names => {
            (json!([[], ["haiku"], ["haiku", "opus"]]), json!(["haiku", [5], ["haiku", "haiku"]]))
        }
        ValueType::Pipeline => (json!(["all", "type:episodic | limit:3"]), json!(["", 5, ["all"]])),
        ValueType::Filters => (json!([[], ["type:daily", "weight:>0.5"]]), json!(["type:daily", [5]])),
        ValueType::Schedule => (Schedule::examples().collect(), json!(["dayly", "", 5, "daily at 25:00"])),
        ValueType::Zone => (json!(["local", "Europe/Vienna"]), json!([5, []])),
        ValueType::Tenants => (
            json!(["all", "default", "user=*", ["default", "team=research user=*"]]),
            json!([5, true, "", "users", [], [5], ["all"], ["default", "default"], {"user": "ann"}]),
        ),
        ValueType::Values => (
            json!([{}, {"tone": "dry"}, {"tone": 5}, {"tone": 0.5}, {"tone": true}]),
            json!([5, {"tone": []}, {"a b": "x"}, "x"]),
        ),
    };
    (good.as_array().unwrap().clone(), bad.as_array().unwrap().clone())
}

/// Every key of the table is read, and other keys are refused by the reader and the schema.
#[test]
fn reader_and_schema_accept_the_same_files() {
    for key in KEYS.iter().filter(|key| key.table() != "" || !matches!(key.takes, ValueType::Table)) {
        let (good, bad) = samples(key.path, key.takes);
        for value in good {
            let text = with(key.path, &value);
            assert_eq!(schema_says(&text), [""; 0], "{text}");
            assert!(read(&text).is_ok(), "{:?}\n{text}", read(&text));
        }
        for value in bad {
            let text = with(key.path, &value);
            assert_ne!(schema_says(&text), [""; 0], "{} is taken by the schema:\n{text}", key.path);
            let errors = read(&text).expect_err(&format!("{} is taken:\n{text}", key.path));
            assert!(errors.iter().all(|error| error.line.is_some()));
        }
        let text = with(&format!("{}-not", key.path), &json!("x"));
        assert!(read(&text).is_err(), "{text}");
        assert_ne!(schema_says(&text), [""; 0], "{text}");
    }
}

#[test]
fn a_bare_number_is_seconds_with_and_without_quotes() {
    for seconds in [json!(90), json!("90"), json!("90s")] {
        let read = |path: &str, value: &Json| read(&with(path, value)).unwrap();
        assert_eq!(read("execution.timeout", &seconds).execution.timeout, Span(90_000));
        assert_eq!(read("freshness.window", &seconds).freshness.window, Some(Span(90_000)));
        assert_eq!(read("retry.rerun", &json!([seconds])).retry.rerun, [Span(90_000)]);
    }
}

#[test]
fn required_keys_are_required_by_reader_and_schema() {
    for path in
        ["query.pipeline", "prompt.placeholders", "execution.model", "execution.actions", "prompt.inline"]
    {
        let (table, name) = path.split_once('.').unwrap();
        let mut file: Table = toml::from_str(&with("description", &json!("x"))).unwrap();
        file[table].as_table_mut().unwrap().remove(name).unwrap();
        let text = toml::to_string(&file).unwrap();
        assert!(read(&text).is_err(), "{text}");
        assert_ne!(schema_says(&text), [""; 0], "{text}");
    }
    let both = with("prompt.template", &json!("x.md")).replace("[prompt]", "[prompt]\ninline = \"x\"");
    assert!(read(&both).is_err());
    assert_ne!(schema_says(&both), [""; 0]);
}

/// Every optional key has a default in `defaults/agent.toml`, and no required key has one.
#[test]
fn every_optional_key_has_a_default() {
    let schema = Json::Object(schema());
    let without: Vec<&str> = KEYS
        .iter()
        .filter(|key| !matches!(key.takes, ValueType::Table | ValueType::Tables | ValueType::Values))
        .filter(|key| !key.path.starts_with("tests."))
        .filter(|key| {
            let place = key.path.split('.').fold(&schema, |place, name| &place["properties"][name]);
            assert!(place.get("description").is_some(), "{}", key.path);
            place.get("default").is_none()
        })
        .map(|key| key.path)
        .collect();
    assert_eq!(
        without,
        [
            "query.pipeline",
            "prompt.template",
            "prompt.inline",
            "prompt.placeholders",
            "execution.model",
            "execution.actions",
            "budget.max-usd-per-run",
            "budget.max-usd-per-day",
            "budget.per-tenant.max-usd-per-day"
        ]
    );
    // Conversely, every default belongs to a key of the table.
    let defaults: Json = toml::from_str(include_str!("../../defaults/agent.toml")).unwrap();
    let known = |path: &str| KEYS.iter().any(|key| key.path == path);
    let mut open = vec![(String::new(), &defaults)];
    while let Some((path, table)) = open.pop() {
        for (name, value) in table.as_object().unwrap() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            assert!(known(&path), "`{path}` has a default and no row");
            if value.is_object() {
                open.push((path, value));
            }
        }
    }
}

#[test]
fn the_bundled_agents_are_valid() {
    for &BundledFile { name: file, text } in embedded::agents() {
        assert_eq!(schema_says(text), [""; 0], "{file}");
        assert!(text.starts_with("#:schema ../schema/agent.json\n"), "{file} names its schema");
    }
}

poc_laws::laws! {
    /// Except for cron rules and empty windows, every text that matches the pattern is a schedule.
    #[test]
    fn the_schedule_pattern_matches_what_the_parser_accepts(
        words in proptest::collection::vec(
            prop_oneof![
                Just("daily"), Just("weekly"), Just("monthly"), Just("on"), Just("at"), Just("between"),
                Just("and"), Just("monday"), Just("last"), Just("15"), Just("29"), Just("3:30"), Just("23:59"),
                Just("24:00"), Just("every"), Just("6h"), Just("0s"), Just("hourly"), Just("on-demand"), Just("on-change"),
            ],
            1..7,
        ),
    ) {
        let text = words.join(" ");
        let read = Schedule::parse(&text, "tester");
        let empty = read.as_ref().is_err_and(|error| error.message.contains("is empty"));
        let looks = regex::Regex::new(&Schedule::pattern()).unwrap().is_match(&text);
        prop_assert_eq!(read.is_ok() || empty, looks, "{}", text);
    }
}
