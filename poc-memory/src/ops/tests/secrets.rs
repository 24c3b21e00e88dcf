//! Secrets in what models and people write.

use super::*;
use serde_json::json;

const TOKEN: &str = "ghp_7fQ2kZ9aB4cX3dM6eW5vT8uS0rP1nLhGjYiE";

fn asked(memory: &TestMemory, actor: Principal, op: &str, request: Value) -> Value {
    let ctx = Ctx { memory, host: &Nobody, actor, may_write: true, progress: &|_| {} };
    find(op).unwrap().run(&ctx, request).unwrap()
}

fn exported(memory: &TestMemory) -> String {
    let mut out = Vec::new();
    poc_notes::export::json_lines(memory, &mut out, &|_, _| {}).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_person_who_states_a_password_in_a_sentence_is_warned() {
    let note = json!({"body": "The password is hunter2."});
    for (actor, is_warned) in [(Principal::Person, true), (Principal::Model, false)] {
        let memory = TestMemory::new();
        let answer = asked(&memory, actor, "insert", note.clone());
        assert_eq!(answer["warning"].is_string(), is_warned, "{answer}");
        assert!(exported(&memory).contains("hunter2"));
    }
}

#[test]
fn secrets_that_a_model_writes_are_replaced_and_those_of_a_person_stay_with_a_warning() {
    for actor in [Principal::Model, Principal::Person] {
        let memory = TestMemory::new();
        let secret = format!("the token is {TOKEN}");
        let mut warnings = Vec::new();
        let mut warned =
            |answer: &Value| warnings.push(answer["warning"].as_str().unwrap_or_default().to_owned());
        for field in ["title", "body", "author", "source"] {
            let mut note = json!({"title": field, "body": format!("About {field}")});
            note[field] = secret.clone().into();
            warned(&asked(&memory, actor, "insert", note));
        }
        let words = json!({"title": "Words", "keywords": [TOKEN]});
        warned(&asked(&memory, actor, "insert", words));
        let update = json!({"key": "words", "update": true, "body": secret});
        warned(&asked(&memory, actor, "insert", update));
        let batch = json!({"notes": [{"body": "Nothing to see"}, {"body": format!("{secret}, they say")}]});
        let batch = asked(&memory, actor, "insert", batch);
        assert_eq!((&batch["warning"], &batch["notes"][0]["warning"]), (&Value::Null, &Value::Null));
        warned(&batch["notes"][1]);
        let message =
            json!({"text": format!("So {secret}."), "metadata": {"env": [{"KEY": TOKEN}], "n": 1.5}});
        warned(&asked(&memory, actor, "write", message));
        let message = json!({"text": "The lift is out of order.", "keywords": [TOKEN]});
        warned(&asked(&memory, actor, "write", message));
        asked(&memory, actor, "insert", json!({"key": "old", "title": "An earlier note"}));
        let retired = json!({"old": "old", "new": "nothing-to-see", "reason": secret});
        warned(&asked(&memory, actor, "supersede", retired));
        let link = json!({"from": "words", "to": "nothing-to-see", "reason": secret});
        warned(&asked(&memory, actor, "link", link));
        warned(&asked(
            &memory,
            actor,
            "reinforce",
            json!({"node": "words", "for": format!("Is {TOKEN} valid?")}),
        ));
        let wrong = format!("Is {TOKEN} wrong?");
        asked(&memory, actor, "reinforce", json!({"node": "words", "for": wrong}));
        let removed =
            asked(&memory, actor, "reinforce", json!({"node": "words", "for": wrong, "remove": true}));
        assert_eq!(removed["removed"], json!(wrong));
        warned(&asked(&memory, actor, "rename", json!({"node": "words", "key": format!("of {TOKEN}")})));
        let is_model = actor == Principal::Model;
        let word = if is_model { "replaced" } else { "seems to contain" };
        for warning in &warnings {
            assert!(warning.contains(word) && warning.contains("github-token"), "{warnings:#?}");
        }
        let stored = exported(&memory);
        assert_eq!(stored.contains(TOKEN), !is_model, "{stored}");
        assert_eq!(stored.contains("[secret: github-token]"), is_model, "{stored}");
        assert!(stored.contains("\"n\":1.5"), "{stored}");
    }
}

#[test]
fn a_warning_is_shown_after_the_result() {
    let memory = TestMemory::new();
    let shown = text_output(&memory, &format!("insert -t Access --body 'it is {TOKEN}'"));
    assert_eq!(
        shown,
        "inserted `access` (0 keyword edges, 0 semantic edges)\nwarning: the text seems to contain secrets \
         (github-token), which search and assistants will show\n"
    );
    assert_eq!(text_output(&memory, "insert -t Tea"), "inserted `tea` (0 keyword edges, 0 semantic edges)\n");
}
