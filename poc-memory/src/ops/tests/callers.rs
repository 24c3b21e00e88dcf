//! Checks for every op of the table what models may do.

use super::*;
use poc_agent::Catalog;
use poc_config::Config;
use poc_graph::Trust;
use poc_graph::error::Code;
use poc_notes::{Draft, insert};
use serde_json::json;

fn asked(memory: &TestMemory, actor: Principal, op: &str, request: Value) -> Result<Value> {
    let ctx = Ctx { memory, host: &Nobody, actor, may_write: true, progress: &|_| {} };
    find(op).unwrap().run(&ctx, request)
}

fn with_mcp(forget: bool, delete: bool) -> TestMemory {
    let mut config = Config::defaults().unwrap();
    (config.mcp.forget, config.mcp.delete) = (forget, delete);
    TestMemory::with(config)
}

#[test]
fn models_are_refused_every_op_that_only_people_may_call() {
    for (forget, delete) in [(false, false), (true, false), (false, true), (true, true)] {
        let memory = with_mcp(forget, delete);
        for op in OPS {
            // The check comes before the arguments are read.
            let refused = asked(&memory, Principal::Model, op.name, json!({"colour": "red"})).unwrap_err();
            let may = match op.access {
                Access::Read | Access::Write => op.for_models,
                Access::Retract => forget,
                Access::Destroy => delete,
                Access::Person => false,
            };
            assert_eq!(refused.code == Code::Rejected, !may, "{}: {refused}", op.name);
            let person = asked(&memory, Principal::Person, op.name, json!({"colour": "red"})).unwrap_err();
            assert_eq!(person.code, Code::InvalidArgument, "{}: {person}", op.name);
            assert!(op.access != Access::Person || !op.for_models, "{}", op.name);
            assert!(op.tool.is_none() || op.for_models, "a tool runs `{}`", op.name);
        }
        assert_eq!(memory.store.view().seq, 0);
    }
    // A model must not make decisions, name files, stop the daemon or spend money.
    let not_for_models: Vec<&str> = OPS.iter().filter(|op| !op.for_models).map(|op| op.name).collect();
    for name in ["agent apply", "undo", "import", "export", "backup", "daemon stop", "agent run", "page"] {
        assert!(not_for_models.contains(&name), "{name}");
    }
}

#[test]
fn a_link_of_a_model_is_at_most_as_strong_as_one_of_an_agent() {
    let memory = TestMemory::new();
    for key in ["one", "two", "three"] {
        let note = json!({"key": key, "title": key, "body": format!("The text of {key}.")});
        asked(&memory, Principal::Person, "insert", note).unwrap();
    }
    let link = |actor, request: Value| asked(&memory, actor, "link", request);
    let strength = |actor, request: Value| link(actor, request).unwrap()["strength"].as_f64().unwrap();
    let max = Catalog::load(&memory).unwrap().get("linker").unwrap().limits.link_add_max_strength;
    assert_eq!(strength(Principal::Model, json!({"from": "one", "to": "two"})), max);
    assert_eq!(strength(Principal::Model, json!({"from": "one", "to": "two", "strength": 1.0})), max);
    assert_eq!(strength(Principal::Model, json!({"from": "one", "to": "two", "strength": 0.2})), 0.2);
    assert_eq!(
        link(Principal::Model, json!({"from": "one", "to": "two", "strength": 1.5})).unwrap_err().code,
        Code::InvalidArgument
    );
    for kind in ["link", "contradicts"] {
        let request = json!({"from": "three", "to": "one", "strength": 0.9, "kind": kind});
        assert_eq!(strength(Principal::Model, request), max, "{kind}");
    }
    let refused = link(Principal::Model, json!({"from": "one", "to": "two", "strength": 5})).unwrap_err();
    assert_eq!(refused.hint.as_deref(), Some("give a number above 0 and at most 0.6"));
    // A person's link keeps its strength unless the model lowers it.
    assert_eq!(strength(Principal::Person, json!({"from": "two", "to": "three", "strength": 0.9})), 0.9);
    for (request, expected) in [
        (json!({"from": "two", "to": "three"}), 0.9),
        (json!({"from": "two", "to": "three", "strength": 1.0}), 0.9),
        (json!({"from": "two", "to": "three", "strength": 0.7}), 0.7),
    ] {
        assert_eq!(strength(Principal::Model, request), expected);
    }
}

#[test]
fn no_link_hides_a_note_that_no_agent_wrote() {
    let memory = TestMemory::new();
    for (key, body) in [
        ("monday", "Ann sings alto in the choir."),
        ("tuesday", "The bean stakes are in the shed."),
        ("friday", "The sauna opens at six."),
    ] {
        asked(&memory, Principal::Person, "insert", json!({"key": key, "title": key, "body": body})).unwrap();
    }
    let derive = |actor, remove: bool| {
        let request = json!({"from": "monday", "to": "tuesday", "kind": "derived-from", "remove": remove});
        asked(&memory, actor, "link", request)
    };
    for remove in [false, true] {
        let refused = derive(Principal::Model, remove).unwrap_err();
        assert_eq!((refused.code, refused.at.unwrap().field.as_deref()), (Code::Rejected, Some("kind")));
    }
    derive(Principal::Person, false).unwrap();
    let question = "who sings alto in the choir";
    let found = asked(&memory, Principal::Person, "search", json!({"text": question})).unwrap();
    assert_eq!(found["results"][0]["key"], "monday", "{found}");
    let answer = asked(&memory, Principal::Person, "query", json!({"text": question})).unwrap();
    assert_eq!(answer["key"], "monday", "{answer}");
}

#[test]
fn trust_never_rises_through_a_model() {
    for trust in [Trust::External, Trust::Agent, Trust::User, Trust::Pinned] {
        for (field, value) in [
            ("title", json!("Another title")),
            ("body", json!("Another text")),
            ("keywords", json!(["another"])),
            ("author", json!("Somebody else")),
            ("source", json!("https://example.org")),
        ] {
            let memory = TestMemory::new();
            let draft = Draft {
                title: Some("A title".into()),
                body: Some("A text".into()),
                key: Some("note".into()),
                author: Some("Ann".into()),
                ..Draft::new("import:web", trust)
            };
            insert::insert(&memory, draft, memory.cause("manual", "insert")).unwrap();
            let update = json!({"key": "note", "update": true, field: value});
            asked(&memory, Principal::Model, "insert", update.clone()).unwrap();
            let note = memory.find("note").unwrap();
            assert_eq!(
                (note.trust, note.provenance.as_str()),
                (trust.min(Trust::Agent), "mcp"),
                "{trust} {field}"
            );
            // The same text stored by a person has the trust of a person.
            asked(
                &memory,
                Principal::Person,
                "insert",
                json!({"key": "note", "update": true, "body": "By a person"}),
            )
            .unwrap();
            assert_eq!(memory.find("note").unwrap().trust, Trust::User);
        }
    }
    // A change of anything but the text does not change the trust.
    let memory = filled();
    asked(&memory, Principal::Model, "insert", json!({"key": "btree", "update": true, "emotion": 3}))
        .unwrap();
    let note = memory.find("btree").unwrap();
    assert_eq!((note.trust, note.version), (Trust::User, 2));
}

#[test]
fn a_model_forgets_only_what_models_wrote_and_nothing_recent() {
    let memory = with_mcp(true, false);
    let write = |actor, text: &str| {
        let written = asked(&memory, actor, "write", json!({"text": text})).unwrap();
        written["message_id"].as_str().unwrap().to_owned()
    };
    let (person, model) =
        (write(Principal::Person, "A person said so."), write(Principal::Model, "A model said so."));
    let edited =
        asked(&memory, Principal::Model, "write", json!({"text": "A model said this, too."})).unwrap();
    let chunk = memory.find(edited["node_ids"][0].as_str().unwrap()).unwrap().key;
    asked(
        &memory,
        Principal::Person,
        "insert",
        json!({"key": chunk, "update": true, "body": "A person changed it."}),
    )
    .unwrap();
    let forget = |actor, request| asked(&memory, actor, "forget", request);
    for request in [json!({"message_id": person}), json!({"message_id": edited["message_id"]})] {
        assert_eq!(forget(Principal::Model, request).unwrap_err().code, Code::Rejected);
    }
    // Nothing is old enough yet.
    for before in ["0s", "23h", "2100-01-01"] {
        let error = forget(Principal::Model, json!({"before": before})).unwrap_err();
        assert_eq!((error.code, error.at.unwrap().field.as_deref()), (Code::InvalidArgument, Some("before")));
        let error = forget(Principal::Model, json!({"before": before, "recent": true})).unwrap_err();
        assert_eq!((error.code, error.at.unwrap().field.as_deref()), (Code::Rejected, Some("recent")));
    }
    memory.clock.advance(Span::DAY);
    memory.clock.advance(Span::DAY);
    assert_eq!(forget(Principal::Model, json!({"before": "1d"})).unwrap()["messages"], 1);
    let gone = |id: &str| forget(Principal::Person, json!({"message_id": id})).is_err();
    assert!(gone(&model) && !gone(&person));
    // A person may forget all messages, including recent ones.
    write(Principal::Person, "Said just now.");
    assert_eq!(forget(Principal::Person, json!({"before": "0s", "recent": true})).unwrap()["messages"], 1);
}

#[test]
fn a_question_and_a_pipeline_are_bounded() {
    let memory = filled();
    let max = memory.config.search.max_question_chars;
    let (long, fits) = ("ä ".repeat(max / 2 + 1), "ä ".repeat(max / 2));
    for op in ["retrieve", "query", "explore", "classify", "recall", "search"] {
        let error = asked(&memory, Principal::Person, op, json!({"text": long})).unwrap_err();
        assert_eq!(
            (error.code, error.at.unwrap().field.as_deref()),
            (Code::InvalidArgument, Some("text")),
            "{op}"
        );
        asked(&memory, Principal::Person, op, json!({"text": fits})).unwrap();
    }
    let pipeline = json!({"pipeline": [format!("similar:\"{long}\"")]});
    for op in ["search", "view"] {
        let error = asked(&memory, Principal::Person, op, pipeline.clone()).unwrap_err();
        assert_eq!(error.at.unwrap().field.as_deref(), Some("pipeline"), "{op}");
    }
    let error =
        asked(&memory, Principal::Person, "reinforce", json!({"node": "btree", "for": long})).unwrap_err();
    assert_eq!(error.at.unwrap().field.as_deref(), Some("for"));
}

#[test]
fn a_note_has_a_bounded_number_of_keywords() {
    let memory = TestMemory::new();
    let many: Vec<String> = (0..200_000).map(|number| format!("w{number}")).collect();
    let error =
        asked(&memory, Principal::Person, "insert", json!({"title": "x", "keywords": many})).unwrap_err();
    assert_eq!((error.code, error.at.unwrap().field.as_deref()), (Code::InvalidArgument, Some("keywords")));
    assert!(error.hint.is_some());
    asked(&memory, Principal::Person, "insert", json!({"title": "x", "keywords": many.get(..1000)})).unwrap();
}

/// Requests that a cancellation stops in a small memory.
fn interruptible() -> Vec<(&'static str, Value)> {
    vec![
        ("retrieve", json!({"text": "splits"})),
        ("search", json!({"text": "splits"})),
        ("search", json!({"pipeline": ["all | spread | diverse | limit:5"]})),
        ("query", json!({"text": "splits"})),
        ("explore", json!({"text": "splits"})),
        ("recall", json!({"text": "splits"})),
        ("duplicates", json!({})),
        ("insert", json!({"notes": [{"title": "a"}, {"title": "b"}]})),
        ("import", json!({"from": {"text": "# A file\n\nIts text.\n"}})),
        ("export", json!({})),
        ("verify", json!({})),
        ("list", json!({})),
        ("tags", json!({})),
        ("stats", json!({})),
        ("stats", json!({"since": "1h"})),
        ("changes", json!({})),
        // The history is searched for the note that had the key.
        ("history", json!({"node": "gone"})),
        ("backlinks", json!({"node": "journal"})),
        ("classify", json!({"text": "splits"})),
        ("view", json!({})),
        ("pipeline explain", json!({"pipelines": ["all | spread | limit:5"], "run": true})),
        ("eval-live", json!({})),
        ("consolidate", json!({})),
        ("forget", json!({"before": "0s", "recent": true})),
    ]
}

/// Why a cancellation does not stop an op, or not in this memory. `None` for the ops of [`interruptible`].
fn uninterruptible(op: &str) -> Option<&'static str> {
    Some(match op {
        "get"
        | "delete"
        | "write"
        | "link"
        | "weight"
        | "reinforce"
        | "demote"
        | "rename"
        | "supersede"
        | "visit"
        | "doctor quarantine restore" => "it reads or changes what it names, not the whole memory",
        "mark" | "undo" => "it is one transaction, which is not left half done",
        "calibrate" => "it checks for each note, but this memory has too few for it",
        "night" | "agent undo" => "it checks for each run, but this memory has none",
        "agent history" | "agent inspect" | "agent diff" | "agent review" | "agent apply"
        | "agent reject" | "agent reopen" | "agent pause" | "agent resume" => {
            "it reads the rows of runs, whose number is limited"
        }
        "agent list" | "agent show" | "agent explain" | "agent check" | "agent test" | "agent new"
        | "agent save" | "agent reload" | "agent schema" => "it reads agents, of which this process has none",
        "pipeline check" | "pipeline complete" | "pipeline list" => "it parses texts of limited length",
        "hook" => "it always succeeds: an error is an empty answer",
        "profile remote bind"
        | "profile remote status"
        | "profile remote detach"
        | "vault add"
        | "vault list"
        | "vault status"
        | "vault sync"
        | "vault write-back"
        | "vault remove" => "it needs a remote or a vault",
        "page" | "daemon status" | "daemon check" | "daemon stop" => "it needs a daemon",
        _ => return None,
    })
}

/// Every op of the table is stopped, or there is a reason why it is not.
#[test]
fn an_interrupted_request_stops() {
    use poc_graph::cancellation::{self, CancellationToken};
    let memory = filled();
    let person = |op: &str, request: Value| asked(&memory, Principal::Person, op, request);
    person("insert", json!({"key": "gone", "title": "Gone", "body": "It was deleted."})).unwrap();
    person("delete", json!({"node": "gone"})).unwrap();
    person("write", json!({"text": "A message about anything."})).unwrap();
    person("reinforce", json!({"node": "btree", "for": "what does a split write?"})).unwrap();
    memory.clock.advance(Span::HOUR);
    let token = CancellationToken::default();
    token.cancel();
    let seq = memory.store.view().seq;
    let requests = interruptible();
    for op in OPS {
        let is_stopped = requests.iter().any(|(name, _)| *name == op.name);
        // A stopping daemon lets these finish within its grace.
        let has_reason = op.uses_shutdown_grace || uninterruptible(op.name).is_some();
        assert!(is_stopped || has_reason, "`{}` needs a request or a reason", op.name);
        assert!(!is_stopped || uninterruptible(op.name).is_none(), "`{}` is stopped", op.name);
    }
    for (op, request) in requests {
        let error = cancellation::scope(&token, || person(op, request.clone())).unwrap_err();
        assert!(error.message.starts_with("the request was cancelled"), "{op}: {error}");
        person(op, request).unwrap_or_else(|error| panic!("{op}: {error}"));
    }
    assert!(memory.store.view().seq > seq, "without cancellation, they write");
}
