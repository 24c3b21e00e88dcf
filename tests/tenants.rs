//! Tenants on every surface: the same separation, the same schema, the same errors.

use crate::mcp::Assistant;
use crate::support::World;
use crate::support::http::{Http, ON};
use serde_json::{Value, json};

const SCHEMA: &str = r#"
[tenant-schema]
description = "Whose notes these are"
one-of = [["user"], ["team", "project"]]
keys.user = { pattern = "^[a-z]+$" }
keys.team = { enum = ["red", "blue"] }
keys.project = {}
keys.app = { required = true }
"#;

fn flags<'a>(pairs: &[&'a str]) -> Vec<&'a str> {
    pairs.iter().flat_map(|pair| ["--tenant", pair]).collect()
}

fn object(pairs: &[&str]) -> Value {
    let pairs = pairs.iter().map(|pair| pair.split_once('=').unwrap());
    Value::Object(pairs.map(|(key, value)| (key.to_owned(), value.into())).collect())
}

#[test]
fn tenants_are_separate_on_every_surface() {
    let mut world = World::new();
    world.write("config.toml", ON);
    // Without a daemon and with one.
    world.json(&["--tenant", "user=ann", "insert", "--title", "Tea", "--key", "tea"]);
    world.json(&["insert", "--title", "Coffee", "--key", "coffee"]);
    world.start_daemon();
    let keys = |answer: &Value| -> Vec<String> {
        let results = answer["results"].as_array().unwrap().iter();
        results.map(|hit| hit["key"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["search", "-p", "all"];
    assert_eq!(keys(&world.json(&all)), ["coffee"]);
    assert_eq!(keys(&world.json(&[&["--tenant", "user=ann"], all.as_slice()].concat())), ["tea"]);
    assert_eq!(world.json_with_status(&["get", "tea"], 1)["error"]["code"], "not_found");
    let http = Http::of(&world);
    assert_eq!(keys(&http.call("GET /v1/pipeline?pipeline=all", None).json()), ["coffee"]);
    for tenant in ["tenant=user%3Dann", "tenant=user=ann", "tenant[user]=ann", "tenant%5Buser%5D=ann"] {
        let answer = http.call(&format!("GET /v1/pipeline?pipeline=all&{tenant}"), None);
        assert_eq!(keys(&answer.json()), ["tea"], "{tenant}");
    }
    assert_eq!(http.call("GET /v1/pipeline?pipeline=all&tenant[user=x]=ann", None).status, 400);
    let visit = json!({"agent": "x", "nodes": ["tea"]});
    assert_eq!(http.call("POST /v1/visit", Some(&visit)).status, 404);
    assert_eq!(http.call("POST /v1/visit?tenant=user=ann", Some(&visit)).status, 200);
    let inside = json!({"agent": "x", "nodes": ["tea"], "tenant": {"user": "ann"}});
    assert_eq!(http.call("POST /v1/visit", Some(&inside)).status, 200);
    assert_eq!(http.call("POST /v1/visit?tenant=user=ann", Some(&inside)).status, 400);
    let mut assistant = Assistant::start(&world);
    let found = assistant.call("memory_search", json!({"pipeline": ["all"], "tenant": {"user": "ann"}}));
    assert_eq!(keys(&found), ["tea"]);
    let read = |assistant: &mut Assistant, uri: &str| assistant.ask("resources/read", json!({ "uri": uri }));
    assert!(read(&mut assistant, "memory://nodes/tea")["error"].is_object());
    let note = read(&mut assistant, "memory://nodes/tea?user=ann");
    assert!(note["result"]["contents"][0]["text"].as_str().unwrap().contains("Tea"), "{note}");
    assistant.end();
    assert_eq!(world.json(&["stats"])["by_tenant"], json!({"default": 1, "user=ann": 1}));
    // An assistant that is bound to a tenant does not have to name it.
    let mut bound = Assistant::start_with(&world, &["--tenant", "user=ann"]);
    assert_eq!(keys(&bound.call("memory_search", json!({"pipeline": ["all"]}))), ["tea"]);
    bound.end();
    world.stop_daemon();
}

#[test]
fn two_spellings_of_a_name_are_one_tenant() {
    let world = World::new();
    world.write("config.toml", "[tenant-schema.keys]\nuser = { enum = [\"Andr\u{e9}\"] }\n");
    let (composed, decomposed) = ("user=Andr\u{e9}", "user=Andre\u{301}");
    world.json(&["--tenant", decomposed, "insert", "--title", "Tea", "--key", "tea"]);
    for spelling in [composed, decomposed] {
        assert_eq!(world.json(&["--tenant", spelling, "get", "tea"])["title"], "Tea", "{spelling:?}");
    }
    assert_eq!(world.json(&["stats"])["by_tenant"], json!({"default": 0, "user=Andr\u{e9}": 1}));
}

#[test]
fn agents_work_for_a_tenant_and_say_so() {
    let world = World::new();
    let ann = |arguments: &[&str]| world.json(&[&["--tenant", "user=ann"], arguments].concat());
    let sessions = [("crash", "INC-412: the split lost a key."), ("fix", "INC-412 is fixed by the journal.")];
    for (key, body) in sessions {
        ann(&["insert", "--title", key, "--key", key, "--type", "episodic", "--body", body]);
    }
    world.json(&["insert", "--title", "Coffee", "--key", "coffee", "--type", "episodic"]);
    // Without a tenant, the other one is not seen.
    assert_eq!(world.json(&["agent", "run", "linker"])["nodes"], json!(["coffee"]));
    let unknown = world.json_with_status(&["--tenant", "user=eve", "agent", "run", "linker"], 1);
    assert_eq!(unknown["error"]["code"], "not_found", "{unknown}");
    assert_eq!(world.json(&["stats"])["by_tenant"].get("user=eve"), None);
    assert_eq!(ann(&["agent", "explain", "linker"])["finds"]["never"], 2);
    let run = ann(&["agent", "run", "linker"]);
    assert_eq!((&run["tenant"], &run["status"]), (&json!("user=ann"), &json!("ok")), "{run:#}");
    let id = run["run"].as_str().unwrap();
    let links = |tenant: &[&str]| world.json(&[tenant, &["stats"]].concat())["by_edge_kind"]["link"].clone();
    assert_eq!(links(&["--tenant", "user=ann"]), 1, "{}", world.json(&["--tenant", "user=ann", "stats"]));
    let history = world.run(&["agent", "history", "linker"]).stdout;
    let columns = history.lines().next().unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(columns[..3], ["RUN", "AGENT", "TENANT"], "{history}");
    assert!(history.lines().nth(1).unwrap().contains("user=ann"), "{history}");
    let night = world.run(&["night"]).stdout;
    assert!(night.contains("link `crash` to `fix`") || night.contains("link `fix` to `crash`"), "{night}");
    assert!(night.contains("for user=ann"), "{night}");
    assert_eq!(world.json(&["agent", "inspect", id])["outcome"]["nodes"], json!(["crash", "fix"]));
    // Another tenant cannot undo the run.
    let foreign = ["--tenant", "user=bob", "undo", id];
    assert_eq!(world.json_with_status(&foreign, 1)["error"]["code"], "not_found");
    ann(&["undo", id]);
    assert_eq!(links(&["--tenant", "user=ann"]), Value::Null);
}

/// Tenants that are rejected, with the error code.
const REFUSED: &[(&[&str], &str)] = &[
    (&[], "tenant_missing_required"),
    (&["app=x", "colour=red"], "tenant_unknown_key"),
    (&["app=x", "team=green", "project=p"], "tenant_enum_mismatch"),
    (&["app=x", "user=ANN"], "tenant_pattern_mismatch"),
    (&["user=ann"], "tenant_missing_required"),
    (&["app=x", "team=red"], "tenant_one_of_no_match"),
    (&["app=x", "user=ann", "team=red", "project=p"], "tenant_one_of_multiple_match"),
    (&["=x"], "invalid_argument"),
];

#[test]
fn schema_violations_are_the_same_error_on_every_surface() {
    let (alone, mut served) = (World::new(), World::new());
    alone.write("config.toml", SCHEMA);
    served.write("config.toml", &format!("{ON}[mcp]\ntools = \"all\"\n{SCHEMA}"));
    served.start_daemon();
    let http = Http::of(&served);
    let mut assistant = Assistant::start(&served);
    for (pairs, code) in REFUSED {
        let line = [flags(pairs), vec!["stats"]].concat();
        let error = alone.json_with_status(&line, 2)["error"].clone();
        assert_eq!(error["code"], *code, "{error}");
        assert!(error["at"]["field"].as_str().unwrap().starts_with("tenant"), "{error}");
        assert_eq!(served.json_with_status(&line, 2)["error"], error);
        let query: Vec<String> =
            pairs.iter().map(|pair| format!("tenant={}", pair.replace('=', "%3D"))).collect();
        let answered = http.call(&format!("GET /v1/stats?{}", query.join("&")), None);
        assert_eq!((answered.status, answered.json()), (400, error.clone()));
        let posted =
            http.call("POST /v1/weight", Some(&json!({"node": "x", "value": "1", "tenant": object(pairs)})));
        assert_eq!((posted.status, posted.json()), (400, error.clone()));
        let answer = assistant
            .ask("tools/call", json!({"name": "memory_stats", "arguments": {"tenant": object(pairs)}}));
        let reported: Value =
            serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!((&answer["result"]["isError"], &reported["error"]), (&json!(true), &error));
        if *code != "invalid_argument" {
            assert_eq!(reported["error"]["at"]["expected"], reported["expected"]);
        }
    }
    // Clients get the same schema.
    let listed = assistant.ask("tools/list", json!({}));
    let document = http.call("GET /openapi.json", None).json();
    let posted =
        &document["paths"]["/v1/weight"]["post"]["requestBody"]["content"]["application/json"]["schema"];
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let input = &tool["inputSchema"];
        if input["properties"]["tenant"].is_object() {
            assert_eq!(input["properties"]["tenant"], posted["properties"]["tenant"], "{}", tool["name"]);
            assert!(input["required"].as_array().unwrap().contains(&json!("tenant")), "{}", tool["name"]);
        }
    }
    let tenants = posted["properties"]["tenant"]["oneOf"].as_array().unwrap();
    assert_eq!(tenants, &[json!({"required": ["user"]}), json!({"required": ["team", "project"]})]);
    let parameters = document["paths"]["/v1/stats"]["get"]["parameters"].as_array().unwrap();
    assert!(
        parameters.iter().any(|one| one["name"] == "tenant" && one["required"] == true),
        "{parameters:?}"
    );
    assistant.end();
    for pairs in [["app=x", "user=ann"].as_slice(), &["app=x", "team=red", "project=p"]] {
        assert_eq!(served.json(&[flags(pairs), vec!["stats"]].concat())["nodes"], 0);
    }
    assert_eq!(served.json(&["daemon", "status"])["problems"], json!([]));
    served.stop_daemon();
}

#[test]
fn an_op_without_tenant_rejects_one() {
    let world = World::new();
    for line in [["agent", "list"].as_slice(), &["init"], &["pipeline", "list"], &["config", "show"]] {
        let error = world.json_with_status(&[&["--tenant", "user=ann"], line].concat(), 2)["error"].clone();
        assert_eq!(error["at"]["field"], "tenant", "{error}");
    }
    world.write("config.toml", "[tenant-schema.keys.user]\npattern = \"[\"\n");
    let error = world.json_with_status(&["stats"], 78)["error"].clone();
    assert_eq!(
        (&error["at"]["field"], &error["at"]["line"]),
        (&json!("tenant-schema.keys.user.pattern"), &json!(2))
    );
    assert!(error["message"].as_str().unwrap().contains("unclosed character class"), "{error}");
}

#[test]
fn an_export_reports_what_it_leaves_out() {
    let world = World::new();
    world.json(&["insert", "--title", "Coffee"]);
    let alone = world.run(&["export", "-o", "one.jsonl"]);
    assert!(alone.status == 0 && !alone.stderr.contains("tenant"), "{}", alone.stderr);
    assert!(
        alone.stderr.contains("left out: history") && !alone.stdout.contains("left out"),
        "{}",
        alone.stdout
    );
    let quiet = world.run(&["export", "-o", "one.jsonl", "--quiet"]);
    assert_eq!((quiet.stdout.lines().count(), quiet.stderr.as_str()), (1, ""), "{}", quiet.stdout);
    world.json(&["--tenant", "user=ann", "insert", "--title", "Tea"]);
    world.json(&["--tenant", "user=bob", "insert", "--title", "Milk"]);
    let ran = world.run(&["export"]);
    assert!(ran.stdout.contains("Coffee") && !ran.stdout.contains("Tea"), "{}", ran.stdout);
    assert!(ran.stderr.contains("2 other tenants have notes that this export leaves out"), "{}", ran.stderr);
    assert_eq!(world.json(&["export"])["other_tenants"], 2);
    let of_one = world.run(&["--tenant", "user=ann", "export"]);
    assert!(of_one.stdout.contains("Tea"), "{}", of_one.stdout);
    assert!(
        !of_one.stderr.contains("tenant") && of_one.stderr.contains("left out: history"),
        "{}",
        of_one.stderr
    );
}

#[test]
fn notes_that_violate_the_schema_are_reported() {
    let mut world = World::new();
    world.json(&["insert", "--title", "Coffee"]);
    world.json(&["--tenant", "user=ann", "insert", "--title", "Tea"]);
    let messages = |world: &World| -> Vec<String> {
        let report = world.json(&["doctor"]);
        let findings = report["findings"].as_array().unwrap().iter();
        findings
            .filter(|one| one["check"] == "store")
            .map(|one| one["message"].as_str().unwrap().into())
            .collect()
    };
    assert!(messages(&world)[0].starts_with("notes 2 of 2 tenants, "), "{:?}", messages(&world));
    world.write("config.toml", "[tenant-schema]\nkeys.user = {}\nkeys.app = { required = true }\n");
    let (all, shut_out) = (messages(&world), "`[tenant-schema]` excludes 1 note of ");
    assert!(all[0].starts_with("notes 2 of 2 tenants, "), "{all:?}");
    for whose in ["the default tenant: ", "user=ann: "] {
        assert!(all.iter().any(|line| line.starts_with(&format!("{shut_out}{whose}"))), "{all:?}");
    }
    world.start_daemon();
    let all = messages(&world);
    assert!(all[0].starts_with("not counted: ") && all.len() == 1, "{all:?}");
    // A blank value means none: an unset shell variable must not create a tenant.
    let refused = world.json_with_status(&["--tenant", "user=", "stats"], 2);
    assert_eq!(
        (&refused["error"]["code"], &refused["error"]["at"]["field"]),
        (&json!("invalid_argument"), &json!("tenant"))
    );
}
