//! Tenants are isolated: each sees only its own notes.

use super::*;
use poc_config::Config;
use poc_graph::error::Code;
use poc_notes::Memory;
use proptest::prelude::*;
use serde_json::json;

fn run(memory: &Memory, op: &str, request: Value) -> Result<Value> {
    let ctx = Ctx { memory, host: &Nobody, actor: Principal::Person, may_write: true, progress: &|_| {} };
    find(op).unwrap().run(&ctx, request)
}

/// The request with a tenant. An empty `user` means the default tenant.
fn of(user: &str, mut request: Value) -> Value {
    if !user.is_empty() {
        request["tenant"] = json!({ "user": user });
    }
    request
}

fn id(answer: &Value) -> &str {
    answer["id"].as_str().unwrap()
}

/// Requests that name a node. `ID` is a placeholder for its name.
const NAMING: &[(&str, &str)] = &[
    ("get", r#"{"node": "ID"}"#),
    ("link", r#"{"from": "ID", "to": "own"}"#),
    ("link", r#"{"from": "own", "to": "ID"}"#),
    ("weight", r#"{"node": "ID", "value": "3"}"#),
    ("rename", r#"{"node": "ID", "key": "another"}"#),
    ("supersede", r#"{"old": "ID", "new": "own"}"#),
    ("supersede", r#"{"old": "own", "new": "ID"}"#),
    ("delete", r#"{"node": "ID"}"#),
    ("visit", r#"{"agent": "linker", "nodes": ["ID"]}"#),
    ("history", r#"{"node": "ID"}"#),
    ("backlinks", r#"{"node": "ID"}"#),
    ("insert", r#"{"title": "Another", "supersedes": "ID"}"#),
    ("reinforce", r#"{"node": "ID"}"#),
    ("demote", r#"{"node": "ID"}"#),
];

#[test]
fn a_node_of_another_tenant_is_not_found_by_id_or_by_key() {
    let memory = TestMemory::new();
    let theirs = run(&memory, "insert", of("ann", json!({"key": "theirs", "title": "Of Ann"}))).unwrap();
    for user in ["", "bob"] {
        run(&memory, "insert", of(user, json!({"key": "own", "title": "Own"}))).unwrap();
        let before = run(&memory, "export", of(user, json!({}))).unwrap();
        for name in [id(&theirs), "theirs"] {
            for (op, request) in NAMING {
                let request: Value = serde_json::from_str(&request.replace("ID", name)).unwrap();
                let error = run(&memory, op, of(user, request.clone())).unwrap_err();
                assert_eq!(error.code, Code::NotFound, "{op} {request}: {error}");
                assert!(error.message.contains(name), "{op} {request}: {error}");
                assert!(!format!("{error:?}").contains("did you mean"), "{error:?}");
                // The error is the same as for a node that never existed.
                let other =
                    serde_json::from_str(&request.to_string().replace(name, "nothing-of-the-kind")).unwrap();
                let error = run(&memory, op, of(user, other)).unwrap_err();
                assert_eq!(error.code, Code::NotFound, "{op}: {error}");
            }
        }
        assert_eq!(run(&memory, "export", of(user, json!({}))).unwrap(), before);
    }
    let found = run(&memory, "get", of("ann", json!({"node": id(&theirs)}))).unwrap();
    assert_eq!((&found["version"], &found["state"]), (&json!(1), &json!("active")));
}

#[test]
fn the_test_covers_every_op_that_takes_a_node() {
    let covered: Vec<&str> = NAMING.iter().map(|(op, _)| *op).collect();
    for op in OPS.iter().filter(|op| op.tenant_scope == TenantScope::One) {
        let schema = (op.request_schema)().to_value();
        let fields = schema["properties"].as_object().cloned().unwrap_or_default();
        if ["node", "nodes", "to", "old", "supersedes", "id"].iter().any(|name| fields.contains_key(*name)) {
            assert!(
                covered.contains(&op.name),
                "`{}` takes a node: say what it does with another's",
                op.name
            );
        }
    }
}

#[test]
fn stats_lists_the_tenants_with_the_most_notes() {
    let memory = TestMemory::new();
    for (user, count) in [("ann", 1), ("bob", 3), ("eve", 2)] {
        for number in 0..count {
            let title = format!("Note {number} of {user}");
            run(&memory, "insert", of(user, json!({ "title": title }))).unwrap();
        }
    }
    let all = run(&memory, "stats", json!({})).unwrap();
    let notes = json!({"default": 0, "user=ann": 1, "user=bob": 3, "user=eve": 2});
    assert_eq!((&all["by_tenant"], all.get("more")), (&notes, None));
    for (limit, notes, more) in [
        (3, json!({"default": 0, "user=bob": 3, "user=eve": 2}), json!(1)),
        (1, json!({"default": 0}), json!(3)),
    ] {
        let some = run(&memory, "stats", json!({ "limit": limit })).unwrap();
        assert_eq!((&some["by_tenant"], &some["more"]), (&notes, &more));
    }
    let error = run(&memory, "stats", json!({"limit": 0})).unwrap_err();
    assert_eq!(error.at.unwrap().field.as_deref(), Some("limit"));
    assert_eq!(run(&memory, "stats", of("ann", json!({"limit": 1}))).unwrap().get("more"), None);
}

#[test]
fn edges_and_duplicates_stay_within_the_tenant() {
    let memory = TestMemory::new();
    let note =
        json!({"key": "split", "title": "B-tree splits", "body": "Two pages", "keywords": ["storage"]});
    let other =
        json!({"key": "other", "title": "B-tree splits", "body": "Two pages!", "keywords": ["storage"]});
    run(&memory, "insert", note.clone()).unwrap();
    let first = run(&memory, "insert", of("ann", note.clone())).unwrap();
    assert_eq!((&first["key"], &first["duplicate"]), (&json!("split"), &json!(false)));
    assert_eq!((&first["keyword_edges"], &first["semantic_edges"]), (&json!(0), &json!(0)));
    assert_eq!(run(&memory, "insert", of("ann", note)).unwrap()["duplicate"], true);
    let second = run(&memory, "insert", of("ann", other)).unwrap();
    assert_eq!(second["keyword_edges"], 1);
    let own = run(&memory, "stats", json!({})).unwrap();
    assert_eq!((&own["nodes"], &own["edges"]), (&json!(1), &json!(0)));
    assert_eq!(own["by_tenant"], json!({"default": 1, "user=ann": 2}));
    let theirs = run(&memory, "stats", of("ann", json!({}))).unwrap();
    assert_eq!((&theirs["nodes"], theirs.get("by_tenant")), (&json!(2), None));
    assert_eq!((&own["tenant_memory"]["loaded"], theirs.get("tenant_memory")), (&json!(1), None));
}

#[test]
fn messages_and_learning_stay_within_the_tenant() {
    let memory = TestMemory::new();
    let message = json!({"text": "A split writes two pages. The journal has both. It is cut. It is short."});
    let theirs = run(&memory, "write", of("ann", message.clone())).unwrap();
    let before = run(&memory, "export", of("ann", json!({}))).unwrap();
    // Another tenant writes the same message. It gets no edges to the first tenant's notes.
    let own = run(&memory, "write", of("bob", message)).unwrap();
    assert_eq!((&theirs["edges"], &own["edges"]), (&json!(2), &json!(2)));
    let recalled = run(&memory, "recall", of("bob", json!({"text": "A split writes two pages"}))).unwrap();
    let found: Vec<&str> = recalled["results"].as_array().unwrap().iter().map(id).collect();
    let mut nodes: Vec<&str> =
        own["node_ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    nodes.sort_by_key(|id| found.iter().position(|other| other == id));
    assert_eq!(found, nodes);
    assert_eq!(run(&memory, "recall", json!({"text": "A split"})).unwrap()["results"], json!([]));
    memory.flush().unwrap();
    assert_eq!(run(&memory, "mark", json!({"since": "1h", "strength": 1})).unwrap()["affected"], 0);
    for user in ["", "bob"] {
        let forget = json!({"message_id": theirs["message_id"]});
        assert_eq!(run(&memory, "forget", of(user, forget)).unwrap_err().code, Code::NotFound);
    }
    let forgotten =
        run(&memory, "forget", of("bob", json!({"before": "2030-01-01", "recent": true}))).unwrap();
    assert_eq!((&forgotten["messages"], &forgotten["nodes"]), (&json!(1), &json!(2)));
    assert_eq!(run(&memory, "export", of("ann", json!({}))).unwrap(), before);
}

#[test]
fn an_invalid_tenant_is_an_error() {
    let memory = TestMemory::new();
    let tenants = [
        json!("ann"),
        json!(["user=ann"]),
        json!({"user": 5}),
        json!({"user": null}),
        json!({" ": "ann"}),
        json!({"us=er": "ann"}),
        json!({"user": "a\u{0}b"}),
        json!({"user": "ann", " user": "bob"}),
        json!({"user": "x".repeat(300)}),
    ];
    let error_of = |tenant: &Value| {
        let error = run(&memory, "stats", json!({ "tenant": tenant })).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        format!("{error}; {}", error.hint.clone().unwrap())
    };
    insta::assert_snapshot!(tenants.iter().map(error_of).collect::<Vec<_>>().join("\n"), @r#"
    `tenant`: the tenant is not an object; write `{"key": "value"}`
    `tenant`: the tenant is not an object; write `{"key": "value"}`
    `tenant.user`: the tenant's value for `user` is not text; write `{"key": "value"}`
    `tenant.user`: the tenant's value for `user` is not text; write `{"key": "value"}`
    `tenant`: a tenant's key is blank; write `key=value`
    `tenant`: the tenant's key `us=er` has a character that no key may have; a key has neither `=` nor control characters
    `tenant.user`: the tenant's value for `user` has a control character; a value is one line of text
    `tenant.user`: the tenant's key `user` is given twice; give each key once
    `tenant.user`: the tenant's value for `user` has 300 bytes; the limit is 256
    "#);
    run(&memory, "stats", json!({ "tenant": {} })).unwrap();
    // The schema does not allow null.
    run(&memory, "stats", json!({ "tenant": null })).unwrap_err();
    for op in OPS.iter().filter(|op| !op.tenant_scope.accepts_tenant()) {
        let error = run(&memory, op.name, of("ann", json!({}))).unwrap_err();
        assert_eq!(error.at.unwrap().field.as_deref(), Some("tenant"), "{}", op.name);
        assert_eq!(
            error.message,
            format!("`{}` applies to all tenants and does not accept `tenant`", op.name)
        );
    }
}

#[test]
fn the_tenant_schema_is_required_by_ops_on_one_tenant_and_no_others() {
    let text = "[tenant-schema.keys.user]\nrequired = true\nenum = [\"ann\"]\n";
    let config = Config::layered(Some(("config.toml", text)), std::iter::empty()).unwrap();
    let memory = TestMemory::with(config);
    for op in OPS {
        let code = |request| run(&memory, op.name, request).map_err(|error| error.code).err();
        if op.tenant_scope == TenantScope::One {
            assert_eq!(code(json!({})), Some(Code::TenantMissingRequired), "{}", op.name);
            assert_eq!(code(of("bob", json!({}))), Some(Code::TenantEnumMismatch), "{}", op.name);
        } else {
            assert_ne!(code(json!({})), Some(Code::TenantMissingRequired), "{}", op.name);
        }
    }
    run(&memory, "stats", of("ann", json!({}))).unwrap();
}

/// A step of the property test below. The numbers select notes, texts and words.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u8, u8),
    Update(u8, u8),
    Link(u8, u8),
    Weight(u8, u8),
    Supersede(u8, u8),
    Delete(u8),
    Visit(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..6, 0u8..4, 0u8..3).prop_map(|(key, text, word)| Step::Insert(key, text, word)),
        1 => (0u8..6, 0u8..4).prop_map(|(key, text)| Step::Update(key, text)),
        2 => (0u8..6, 0u8..6).prop_map(|(a, b)| Step::Link(a, b)),
        1 => (0u8..6, 1u8..9).prop_map(|(key, weight)| Step::Weight(key, weight)),
        1 => (0u8..6, 0u8..6).prop_map(|(a, b)| Step::Supersede(a, b)),
        1 => (0u8..6).prop_map(Step::Delete),
        1 => (0u8..6).prop_map(Step::Visit),
    ]
}

const TEXTS: [&str; 4] =
    ["Page splits in a B-tree", "The journal and its pages", "Rain in spring", "Splits of the journal"];

fn request(step: &Step) -> (&'static str, Value) {
    let key = |number: &u8| format!("k{number}");
    let text = |number: &u8| TEXTS[usize::from(*number)];
    match step {
        Step::Insert(a, t, word) => (
            "insert",
            json!({"key": key(a), "title": text(t), "body": text(t), "keywords": [format!("w{word}")]}),
        ),
        Step::Update(a, t) => ("insert", json!({"key": key(a), "body": text(t), "update": true})),
        Step::Link(a, b) => ("link", json!({"from": key(a), "to": key(b)})),
        Step::Weight(a, weight) => ("weight", json!({"node": key(a), "value": weight.to_string()})),
        Step::Supersede(a, b) => ("supersede", json!({"old": key(a), "new": key(b)})),
        Step::Delete(a) => ("delete", json!({"node": key(a)})),
        Step::Visit(a) => ("visit", json!({"agent": "linker", "nodes": [key(a)]})),
    }
}

/// An answer without values that depend on other tenants or on timing, such as transaction numbers, sizes on
/// disk and durations. Keys replace ids, which differ between memories.
fn comparable(memory: &Memory, answer: Result<Value>) -> String {
    let mut value = match answer {
        Ok(value) => value,
        Err(error) => serde_json::to_value(error).unwrap(),
    };
    strip(&mut value);
    let mut text = value.to_string();
    let view = memory.store.view();
    for ix in 0..view.slots() {
        if let Some(id) = view.id(ix).filter(|_| view.state(ix).is_some()) {
            text = text.replace(&id.to_string(), view.key(ix));
        }
    }
    // Deleted nodes have no key.
    let hex = |word: &str| word.len() == 32 && word.chars().all(|c| c.is_ascii_hexdigit());
    text.split('"').map(|word| if hex(word) { "GONE" } else { word }).collect::<Vec<_>>().join("\"")
}

fn strip(value: &mut Value) {
    const SHARED: &[&str] = &[
        "as_of",
        "seq",
        "change",
        "by_tenant",
        "tenant_memory",
        "log_bytes",
        "record_bytes",
        "index_bytes",
        "total_micros",
        "micros",
        "source",
        "path",
        "hint",
    ];
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !SHARED.contains(&name.as_str()));
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::String(text) => {
            if let Some(number) = text.find(" was deleted in change ") {
                text.truncate(number);
            }
        }
        _ => {}
    }
}

/// The requests that are compared for each tenant.
fn questions() -> Vec<(&'static str, Value)> {
    let mut all = vec![
        ("stats", json!({})),
        ("search", json!({"text": "journal"})),
        ("search", json!({"pipeline": ["all | sort:created"]})),
        ("search", json!({"pipeline": ["all | sort:degree | limit:3"]})),
        ("search", json!({"text": "splits", "at": "2026-11-21T08:00:05Z"})),
        ("retrieve", json!({"text": "journal pages"})),
        ("query", json!({"text": TEXTS[1]})),
        ("classify", json!({"text": TEXTS[0]})),
        ("explore", json!({"text": TEXTS[0]})),
    ];
    all.extend((0..6).map(|number| ("get", json!({"node": format!("k{number}")}))));
    all.extend((0..6).map(|number| ("history", json!({"node": format!("k{number}")}))));
    all
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Interleaved steps of three tenants in one memory give the same answers and notes as the same steps in
    /// three memories. This also holds after a checkpoint and after a reopen.
    #[test]
    fn three_tenants_equal_three_memories(
        steps in proptest::collection::vec((0usize..3, step()), 6..30),
        checkpoint in any::<proptest::sample::Index>(),
    ) {
        let users = ["", "ann", "bob"];
        let mut together = TestMemory::new();
        let alone = [TestMemory::new(), TestMemory::new(), TestMemory::new()];
        let tuple = |user: &str| {
            let pair = (!user.is_empty()).then_some(("user", user));
            poc_graph::Tuple::new(pair).unwrap()
        };
        let checkpoint = checkpoint.index(steps.len());
        for (at, (who, step)) in steps.iter().enumerate() {
            for scratch in [&together, &alone[0], &alone[1], &alone[2]] {
                scratch.clock.advance(Span::SECOND);
            }
            let (op, request) = request(step);
            let done = run(&together, op, of(users[*who], request.clone()));
            let own = comparable(&together.of(&tuple(users[*who])), done);
            prop_assert!(!own.contains("unknown field"), "{} {}", op, own);
            prop_assert_eq!(own, comparable(&alone[*who], run(&alone[*who], op, request)));
            if at == checkpoint {
                together.store.checkpoint().unwrap();
            }
        }
        for round in 0..2 {
            for (user, alone) in users.iter().zip(&alone) {
                let memory = together.of(&tuple(user));
                for (op, request) in questions() {
                    let asked = run(&together, op, of(user, request.clone()));
                    let code = asked.as_ref().err().map(|error| error.code);
                    prop_assert!([None, Some(Code::NotFound)].contains(&code), "{} {}", op, request);
                    let own = comparable(&memory, asked);
                    let other = comparable(alone, run(alone, op, request.clone()));
                    prop_assert_eq!(own, other, "round {} of `{}`: {} {}", round, user, op, request);
                }
            }
            // As in a regular shutdown.
            poc_notes::samples::flush(&together).unwrap();
            together = together.reopened();
        }
    }
}
