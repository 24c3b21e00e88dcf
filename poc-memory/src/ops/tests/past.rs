//! The option `--at`, which reads a past state.

use super::*;
use poc_graph::time::Timestamp;
use poc_store::PastState;
use proptest::prelude::*;

/// Questions about columns, edges, visits, texts, vectors and graph structure.
const QUESTIONS: &[&str] = &[
    "search -p all",
    "search -p 'all | weight:>0.5 | sort:weight'",
    "search -p 'not-visited:linker,2h | sort:visited:replay asc'",
    "search -p 'age:<3h | sort:timestamp asc'",
    "search -p 'state:superseded'",
    "search -p 'keyword:storage | sort:degree'",
    "search -p 'sort:priority | limit:3'",
    "search -p 'match:journal | spread'",
    "search -p 'match:writes'",
    "search -p 'similar:\"the journal is written first\",k=4'",
    "search -p 'hybrid:\"page splits\",k=4'",
    "search -p 'interference-pairs,min_sim=0.2'",
    "search -p 'community:0'",
    "search -p 'match:a | spectral,k=3'",
    "get a",
    "get b",
    "get c",
    "get d",
];

const TEXTS: &[&str] = &[
    "A split writes two pages.",
    "Page splits are written to the journal.",
    "The journal is written first, and pages later.",
    "Recovery reads the journal after a crash.",
    "Lentil soup with lemon and bread.",
];

/// A command that changes the memory.
fn change() -> impl Strategy<Value = String> {
    let key = || proptest::sample::select(vec!["a", "b", "c", "d", "e"]);
    let text = || proptest::sample::select(TEXTS);
    let word = proptest::sample::select(vec!["storage", "soup"]);
    let agent = proptest::sample::select(vec!["linker", "replay"]);
    prop_oneof![
        4 => (key(), text(), word).prop_map(|(key, text, word)| format!("insert --key {key} -b '{key}: {text}' -k {word}")),
        2 => (key(), text()).prop_map(|(key, text)| format!("insert --update --key {key} -b 'changed: {text}'")),
        3 => (key(), key()).prop_map(|(a, b)| format!("link {a} {b} --reason because")),
        2 => (key(), 1u8..40).prop_map(|(key, tenths)| format!("weight {key} {}", f64::from(tenths) / 10.0)),
        1 => (key(), key()).prop_map(|(a, b)| format!("supersede {a} {b}")),
        2 => (agent, key()).prop_map(|(agent, key)| format!("visit {agent} {key}")),
        1 => key().prop_map(|key| format!("delete {key}")),
    ]
}

/// The answer to a question without the field `past`, or the code of its error, whose message names the past state.
fn answer(memory: &TestMemory, question: &str) -> Result<Value, String> {
    let mut answer = call(memory, question).map_err(|error| format!("{:?}", error.code))?.1;
    answer.as_object_mut().unwrap().remove("past");
    round_numbers(&mut answer);
    Ok(answer)
}

/// Rounds all numbers to twelve decimal places: the order in which `spread` adds numbers depends on the slots of the
/// view, and a past view has other slots.
fn round_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            *value = serde_json::json!((number.as_f64().unwrap() * 1e12).round() / 1e12);
        }
        Value::Array(items) => items.iter_mut().for_each(round_numbers),
        Value::Object(fields) => fields.values_mut().for_each(round_numbers),
        _ => {}
    }
}

poc_laws::laws! {
    // Few cases, because each asks all questions of all states.
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// An answer with `--at` equals the answer given at that time, or right after that change.
    #[test]
    fn a_past_time_gives_the_same_answers(changes in proptest::collection::vec((change(), 1i64..200), 1..16)) {
        let memory = TestMemory::new();
        let ask = |at: &str| -> Vec<Result<Value, String>> {
            QUESTIONS.iter().map(|question| answer(&memory, &format!("{question}{at}"))).collect()
        };
        let mut answers: Vec<(String, Vec<_>)> = Vec::new();
        let mut seq = 0;
        for (line, minutes) in &changes {
            memory.clock.advance(Span(minutes * Span::MINUTE.0));
            // Changes that do not apply are rejected and have no effect.
            let _ = call(&memory, line);
            let newest = memory.store.view().seq;
            if newest > 0 {
                let then = ask("");
                if newest > seq {
                    answers.push((newest.to_string(), then.clone()));
                }
                answers.push((memory.now().to_string(), then));
            }
            seq = newest;
        }
        memory.clock.advance(Span::WEEK);
        call(&memory, "insert --key z -t Last -b 'The last one.'").unwrap();
        for (at, then) in answers {
            let now = ask(&format!(" --at {at}"));
            for ((question, then), now) in QUESTIONS.iter().zip(then).zip(now) {
                prop_assert_eq!(now, then, "{} --at {}", question, at);
            }
        }
    }
}

#[test]
fn a_deleted_note_exists_at_an_earlier_time() {
    let memory = filled();
    json(&memory, "visit linker btree");
    memory.clock.advance(Span::DAY);
    json(&memory, "delete btree");
    json(&memory, "insert --key btree -t 'Another note' -b 'Under the same key.'");
    insta::assert_snapshot!(text_output(&memory, "search -p 'all | sort:created asc' --at 1h"), @r"
      1.000  btree    semantic  B-tree splits
      1.000  journal  episodic  The journal
    as of 2026-11-22T08:00:00.000Z, after change 4
    ");
    insta::assert_snapshot!(text_output(&memory, "get btree --at 2026-11-21T10:00:00Z"), @r"
    B-tree splits

    key        btree
    id         ID
    type       semantic, general, active
    keywords   storage
    weight     0.999
    created    2026-11-21 08:00:00Z
    modified   2026-11-21 08:00:00Z, version 1
    provenance manual, trust user

    A split writes two pages.

    link
      → 0.80  journal  The journal  (splits are journalled)

    keyword
      ← 0.51  journal  The journal  (storage)

    visits
      2026-11-21 09:00:00Z  v1  processed by linker

    history
      2026-11-21 08:00:00Z  v1  created by manual (insert, change 1)

    as of 2026-11-21T10:00:00.999Z, after change 4
    ");
    assert_eq!(json(&memory, "get btree")["title"], "Another note");
    let found = json(&memory, "search -p hybrid:splits --at 2026-11-21T08:30:00Z");
    assert_eq!((&found["past"], &found["as_of"]["at"]), (&true.into(), &"2026-11-21T08:30:00.999Z".into()));
    assert_eq!(json(&memory, "search -p hybrid:splits").get("past"), None);
    // Weights are decayed to the requested time, not to now.
    let weight =
        |at: &str| json(&memory, &format!("search -p key:journal{at}"))["results"][0]["weight"].clone();
    assert!(weight(" --at 2026-11-21T08:00:00Z").as_f64() > weight("").as_f64());
}

#[test]
fn a_time_without_a_fraction_includes_the_changes_of_its_second() {
    let memory = filled();
    memory.clock.advance(Span(250));
    json(&memory, "insert --key late -t Late -b 'Stored within a second.'");
    // `changes` shows times without fractions.
    let late = "get late --at 2026-11-21T09:00:00Z";
    assert_eq!(json(&memory, late)["title"], "Late", "in the current second");
    memory.clock.advance(Span::HOUR);
    assert_eq!(json(&memory, late)["title"], "Late");
    assert!(call(&memory, "get late --at 2026-11-21T09:00:00.000Z").is_err());
    assert!(call(&memory, "get late --at 2026-11-21T08:59:59Z").is_err());
}

#[test]
fn times_and_numbers_without_a_past_state_are_refused() {
    let memory = filled();
    let points = ["2026-11-20", "2030-01-01", "1d", "7", "2026", "20261120", "20261131", "yesterday"];
    let texts: Vec<String> =
        points.iter().map(|point| text_output(&memory, &format!("search btree --at {point}"))).collect();
    insta::assert_snapshot!(texts.join("\n\n"), @r"
    not_found: `at`: nothing was stored yet at 2026-11-20T00:00:00.000Z
    the first change was made at 2026-11-21T08:00:00.000Z

    invalid_argument: `at`: 2030-01-01T00:00:00.000Z is in the future
    it is 2026-11-21T09:00:00.000Z; without a time the newest state is shown

    not_found: `at`: nothing was stored yet at 2026-11-20T09:00:00.000Z
    the first change was made at 2026-11-21T08:00:00.000Z

    not_found: `at`: there is no change 7
    the last change is 3; without a number the newest state is shown

    not_found: `at`: there is no change 2026
    the last change is 3; without a number the newest state is shown; for a date write `2026-01-01`

    not_found: `at`: there is no change 20261120
    the last change is 3; without a number the newest state is shown; for a date write `2026-11-20`

    not_found: `at`: there is no change 20261131
    the last change is 3; without a number the newest state is shown

    invalid_argument: error: invalid value 'yesterday' for '--at <SEQ|TIME>': `yesterday` is neither the number of a change nor a time; write `1042`, `2026-11-21`, `2026-11-21T08:00:00Z`, or how long ago: `7d`, `24h`, `30m`

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(text_output(&memory, "get jurnal --at 30m"), @r"
    not_found: `node`: 30m ago there was no note `jurnal`
    did you mean `journal`?
    ");
}

#[test]
fn a_note_that_a_past_state_does_not_have_is_not_replaced_by_a_similar_one() {
    let memory = filled();
    json(&memory, "insert --key btree-2 -t 'Another tree' -b 'Of other pages.'");
    json(&memory, "rename journal log");
    json(&memory, "delete btree");
    json(&memory, "insert --key gone -t 'Soon deleted' -b 'A text of a day.'");
    json(&memory, "delete gone");
    let lines = [
        "get btree-2 --at 3",
        "view --around btree-2 --at 3",
        "search -p neighbors:btree-2 --at 3",
        "search -p linked-to:btree-2 --at 3",
        "get log --at 3",
        "get gone --at 3",
        "get btree --at 7",
    ];
    let shown = lines.map(|line| match call(&memory, line) {
        Ok((_, answer)) => answer["key"].to_string(),
        Err(error) => error.line(),
    });
    insta::assert_snapshot!(shown.join("\n"), @r"
    `node`: at change 3 there was no note `btree-2`; it was created by change 4
    `around`: at change 3 there was no note `btree-2`; it was created by change 4
    `neighbors` refers to `btree-2`, but no note had this key at change 3; it was created by change 4
    `linked-to` refers to `btree-2`, but no note had this key at change 3; it was created by change 4
    `node`: at change 3 there was no note `log`; it had the key `journal` then
    `node`: at change 3 there was no note `gone`; it was created by change 7 and deleted by change 8
    `node`: at change 7 there was no note `btree`; it was deleted by change 6
    ");
}

#[test]
fn the_last_past_state_is_cached() {
    let memory = filled();
    let at = |text: &str| Timestamp::parse(text).unwrap();
    let first = memory.past(at("2026-11-21T08:30:00Z")).unwrap();
    json(&memory, "weight btree 3");
    // Another time with the same state; the change since then does not matter.
    assert!(Arc::ptr_eq(&first, &memory.past(at("2026-11-21T08:59:00Z")).unwrap()));
    let second = memory.past(at("2026-11-21T09:00:00Z")).unwrap();
    assert!(!Arc::ptr_eq(&first, &second) && second.store.seq() > first.store.seq());
    assert!(Arc::ptr_eq(&second, &memory.past(PastState::AfterChange(second.store.seq())).unwrap()));
}

#[test]
fn the_number_of_a_change_shows_the_state_right_after_it() {
    let memory = filled();
    let seq = json(&memory, "insert --update --key btree -b 'Changed.'")["seq"].as_u64().unwrap();
    let now = memory.now();
    memory.clock.advance(Span::DAY);
    json(&memory, "delete btree");
    let then = json(&memory, &format!("get btree --at {seq}"));
    assert_eq!((&then["body"], &then["past"]), (&"Changed.".into(), &true.into()));
    assert_eq!((&then["as_of"]["seq"], &then["as_of"]["at"]), (&seq.into(), &now.to_string().into()));
    assert_eq!(json(&memory, &format!("get btree --at {}", seq - 1))["body"], "A split writes two pages.");
    assert!(call(&memory, &format!("get btree --at {}", seq + 1)).is_err());
}
