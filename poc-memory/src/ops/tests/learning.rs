//! Tests of the ops with which a memory learns, with their text and JSON answers.

use super::*;
use poc_store::{Records as _, Table};
use serde_json::json as value;

const MESSAGE: &str = "'Dr. Smith split a page of the B-tree. It was in the journal. It was late. He slept.'";

/// Every record of the store, byte for byte.
fn everything(memory: &TestMemory) -> Vec<(u8, Vec<u8>, Vec<u8>)> {
    let of = |table: Table| {
        let records = memory.store.raw_range(table, &[]).unwrap();
        records.into_iter().map(move |(key, value)| (u8::from(table), key, value))
    };
    Table::ALL.into_iter().flat_map(of).collect()
}

fn ask(memory: &TestMemory, op: &str, request: Value) -> Result<Value> {
    let ctx = Ctx { memory, host: &Nobody, actor: Principal::Person, may_write: true, progress: &|_| {} };
    find(op).unwrap().run(&ctx, request)
}

fn refused(memory: &TestMemory, op: &str, request: Value) -> String {
    let error = ask(memory, op, request).unwrap_err();
    let field = error.at.as_ref().and_then(|at| at.field.clone());
    format!("{} at {}: {}", error.code.name(), field.unwrap_or_default(), error.line())
}

#[test]
fn recall_without_learning_has_the_same_results_and_changes_nothing() {
    let memory = filled();
    text_output(&memory, &format!("write {MESSAGE}"));
    let (before, seq) = (everything(&memory), memory.store.view().seq);
    let looked = json(&memory, "recall 'pages split in the journal' --no-learn");
    assert!(everything(&memory) == before, "a record has changed");
    assert_eq!((memory.store.view().seq, looked["learned"].as_bool()), (seq, Some(false)));
    let learned = json(&memory, "recall 'pages split in the journal'");
    assert_eq!((&looked["results"], learned["learned"].as_bool()), (&learned["results"], Some(true)));
    assert_eq!(memory.store.view().seq, seq, "stored later");
    memory.flush().unwrap();
    assert_eq!(memory.store.view().seq, seq + 1, "one transaction");
    assert!(learned.get("warning").is_none());
    assert!(everything(&memory) != before);
    // The next recall uses the learned weights.
    let again = json(&memory, "recall 'pages split in the journal' --no-learn");
    assert!(again["results"][0]["weight"].as_f64() > learned["results"][0]["weight"].as_f64());
}

#[test]
fn a_recall_that_nothing_matches_says_so_and_teaches_nothing() {
    let memory = filled();
    let seq = memory.store.view().seq;
    let answer = json(&memory, "recall 'xyzzy qwrt'");
    assert_eq!((&answer["learned"], &answer["no_match"]), (&value!(false), &value!(true)), "{answer}");
    let text = text_output(&memory, "recall 'xyzzy qwrt' --no-learn");
    let line = "the nearest notes share no word with the text and are not near it in meaning\n";
    assert!(text.contains("btree") && text.ends_with(line), "{text}");
    memory.flush().unwrap();
    assert_eq!(memory.store.view().seq, seq);
    assert!(json(&memory, "recall 'who split a page?'").get("no_match").is_none());
}

#[test]
fn a_hit_has_the_factors_of_its_score() {
    let memory = filled();
    json(&memory, &format!("write {MESSAGE} --metadata '{{\"session\": \"42\"}}'"));
    let answer = json(&memory, "recall 'Dr. Smith slept late' -k 5 --oversample 5");
    let hits = answer["results"].as_array().unwrap();
    assert_eq!(hits.len(), 4, "{answer}");
    for hit in hits {
        let part = |name: &str| hit["breakdown"][name].as_f64().unwrap();
        let relevance = (6.0 * part("sim") + part("words")) / 7.0;
        let boost = 1.0 + 0.2 * part("weight") / (part("weight") + 4.0);
        let score = relevance * part("graph") * boost.sqrt();
        assert!((hit["score"].as_f64().unwrap() - score).abs() < 1e-12, "{hit}");
        assert_eq!(hit["breakdown"]["weight"], hit["weight"]);
        assert_eq!(part("graph"), 0.5f64.powi(hit["path"].as_array().unwrap().len() as i32));
    }
    let message = &hits[0]["message"];
    assert_eq!((&message["chunks"], &message["metadata"]), (&value!(2), &value!({"session": "42"})));
    assert!(hits[..2].iter().any(|hit| hit["text"].as_str().unwrap().contains("He slept")), "{answer}");
    let shown = text_output(&memory, "get dr-smith-split-a-page-of-the");
    assert!(shown.contains("message    ID, chunk 1 of 2\n"), "{shown}");
    let text = text_output(&memory, "recall 'Dr. Smith slept late' -k 1 --hops 0");
    let first = &hits[0];
    let line = format!("{}  {}\n", first["key"].as_str().unwrap(), first["title"].as_str().unwrap());
    assert!(text.contains(&line), "{text}");
    let detail = format!("         2026-11-21  {}\n", first["snippet"].as_str().unwrap());
    assert!(text.ends_with(&detail), "{text}");
    assert_eq!(text_output(&TestMemory::new(), "recall soup"), "nothing found\n");
}

#[test]
fn recall_is_shown_as_text() {
    let memory = filled();
    let lines = [
        "reinforce btree",
        "reinforce btree",
        "demote journal",
        "demote nothing",
        "mark --since 2h --strength 1",
        "mark --since 0s --strength 1",
    ];
    let text: String = lines.iter().map(|line| text_output(&memory, line)).collect();
    insta::assert_snapshot!(text, @r"
    weight of `btree`: 1.000 → 1.990
    weight of `btree`: 1.990 → 1.990; it was rated within the last minute, so its weight does not change
    weight of `journal`: 1.000 → 0.010
    not_found: `node`: there is no note `nothing`
    `poc-memory search nothing` looks for it0 notes strengthened, 2 skipped (rated within the last minute)
    invalid_argument: `since`: 2026-11-21T09:00:00.000Z is not in the past
    give an earlier time, or how long ago: `30m`
    ");
    assert_eq!(text_output(&memory, &format!("write {MESSAGE}")), "wrote message ID (2 chunks, 2 edges)\n");
    let forgotten = text_output(&memory, "forget --before 2030-01-01 --recent");
    assert!(forgotten.starts_with("forgot 1 message, 2 chunks, 2 edges, "), "{forgotten}");
}

#[test]
fn requests_without_text_or_out_of_bounds_are_refused() {
    let memory = filled();
    let seq = memory.store.view().seq;
    let text = [
        refused(&memory, "forget", value!({})),
        refused(&memory, "forget", value!({"before": "7d", "message_id": "0".repeat(32)})),
        refused(&memory, "forget", value!({"message_id": "0".repeat(32)})),
        refused(&memory, "forget", value!({"message_id": "x"})),
        refused(&memory, "forget", value!({"before": "1h"})),
        refused(&memory, "write", value!({"text": " "})),
        refused(&memory, "write", value!({"text": "x", "metadata": []})),
        refused(&memory, "write", value!({"text": "x", "colour": "red"})),
        refused(&memory, "recall", value!({"text": ""})),
        refused(&memory, "recall", value!({"text": "x", "hops": 9})),
        refused(&memory, "recall", value!({"text": "x", "k": 257})),
        refused(&memory, "recall", value!({"text": "x", "oversample": 0})),
        refused(&memory, "mark", value!({"since": "1h", "strength": 0})),
        refused(&memory, "mark", value!({"strength": 1})),
        refused(&memory, "reinforce", value!({})),
    ];
    insta::assert_snapshot!(text.join("\n"), @r#"
    invalid_argument at message_id: `message_id`: neither a message nor a time is given; give `message_id` or `before`, one of the two
    invalid_argument at message_id: `message_id`: both a message and a time are given; give `message_id` or `before`, one of the two
    not_found at message_id: `message_id`: there is no message `00000000000000000000000000000000`; `poc-memory get` of a chunk shows the id of its message
    invalid_argument at message_id: `message_id`: `x` is not an id
    invalid_argument at before: `before`: this would delete messages of the last 1d; give a time at least 1d ago, such as `1d`, or add `recent` to delete younger messages, too
    invalid_argument at text: `text`: the message is blank; give a text
    invalid_argument at metadata: `metadata`: invalid type: sequence, expected an object; give an object, such as `{"name": "value"}`
    invalid_argument at colour: `colour`: unknown field `colour`; the fields are `text`, `metadata`, `keywords`
    invalid_argument at text: `text`: the text is empty; give words or a sentence
    invalid_argument at hops: `hops`: 9 is out of range; give a number from 0 to 8
    invalid_argument at k: `k`: 257 is out of range; give a number from 1 to 256
    invalid_argument at oversample: `oversample`: 0 is out of range; give a number from 1 to 1000
    invalid_argument at strength: `strength`: a strength of 0 is out of range; give a number above 0; 1 counts as one use
    invalid_argument at since: `since`: missing field `since`
    invalid_argument at node: `node`: missing field `node`
    "#);
    assert_eq!(memory.store.view().seq, seq);
}

#[test]
fn a_confirmed_question_can_be_withdrawn() {
    let memory = filled();
    let question = "What happens when a page is full?";
    let key = json(&memory, &format!("reinforce btree --for '{question}'"))["question"].clone();
    let asked = || json(&memory, "get btree")["edges"]["derived-from"].clone();
    assert_eq!((&asked()[0]["key"], &asked()[0]["type"]), (&key, &value!("question")));
    insta::assert_snapshot!(text_output(&memory, "reinforce journal --for 'What happens when a page is full?' --remove"), @r"
    not_found: `for`: the note is not known to answer this question
    `poc-memory get NOTE` lists the questions that it answered as `derived-from`
    ");
    let weight = json(&memory, "get btree")["weight"].clone();
    let taken = json(&memory, &format!("reinforce btree --for '{question}' --remove"));
    assert_eq!((&taken["weight"], &taken["question"]), (&weight, &value!(null)));
    assert_eq!(asked(), value!(null));
    assert!(text_output(&memory, &format!("get {}", key.as_str().unwrap())).starts_with("not_found: "));
    // The withdrawal is a change that can be undone. The key of the question may be given instead of its text.
    json(&memory, &format!("undo {}", taken["seq"]));
    assert_eq!(asked()[0]["key"], key);
    json(&memory, &format!("reinforce btree --for {} --remove", key.as_str().unwrap()));
    assert_eq!(asked(), value!(null));
    insta::assert_snapshot!(refused(&memory, "reinforce", value!({"node": "btree", "remove": true})), @"invalid_argument at for: `for`: `remove` needs the question to remove; give the question as `for`");
}

#[test]
fn a_search_shows_the_confirmed_question_that_led_to_a_hit() {
    let memory = filled();
    let question = "which structure keeps sorted pages?";
    let plain = json(&memory, &format!("search '{question}'"));
    assert!(plain["results"].as_array().unwrap().iter().all(|hit| hit.get("derived").is_none()), "{plain}");
    let kept = json(&memory, &format!("reinforce btree --for '{question}'"));
    let answer = json(&memory, &format!("search '{question}'"));
    let first = &answer["results"][0];
    assert_eq!(first["key"], "btree", "{answer}");
    assert_eq!(first["derived"], value!({"key": kept["question"], "title": question}));
    let text = text_output(&memory, &format!("search '{question}'"));
    assert!(text.contains(&format!(": {question}\n")) && text.contains("found through question-"), "{text}");
}
