//! Notes of a session are neighbours in their order, in any number of parts.

use super::*;
use poc_graph::Edge;
use proptest::prelude::*;

#[test]
fn notes_of_a_session_are_neighbors() {
    let memory = TestMemory::new();
    let text = concat!(
        r#"{"key": "a1", "body": "first of a", "session": "a", "speaker": "Ann"}"#,
        "\n",
        r#"{"key": "x", "body": "of none"}"#,
        "\n",
        r#"{"key": "b1", "body": "first of b", "meta": {"group": "g", "session": "a"}}"#,
        "\n",
        r#"{"key": "a2", "body": "second of a", "session": "a"}"#,
        "\n",
        r#"{"key": "a3", "body": "third of a", "session": "a"}"#,
        "\n",
    );
    let report = lines(&memory, text);
    assert_eq!((failures(&report), counts(&report)), (String::new(), [5, 0, 0, 4]));
    assert_eq!(memory.session_neighbors("a1"), ["a2"]);
    assert_eq!(memory.session_neighbors("a2"), ["a1", "a3"]);
    assert_eq!(memory.session_neighbors("b1"), Vec::<String>::new());
    let first = find(&memory, "a1");
    assert_eq!((first.author.as_deref(), first.source.as_deref()), (Some("Ann"), Some("session: a")));
    assert_eq!(counts(&lines(&memory, text)), [0, 0, 5, 0], "nothing has changed");
    // An edge in one direction means that a note was written shortly before, not that it is a neighbour.
    memory
        .store
        .transact(memory.cause("manual", "test"), |tx| {
            tx.put_edge(&Edge {
                src: first.id,
                dst: find(&memory, "x").id,
                kind: EdgeKind::Structural,
                strength: 0.3,
                created: memory.now(),
                touched: memory.now(),
                provenance: "manual".into(),
                reason: String::new(),
            })
        })
        .unwrap();
    assert_eq!(memory.session_neighbors("a1"), ["a2"]);
}

#[test]
fn a_session_in_several_files_has_one_order() {
    let memory = TestMemory::new();
    let folder = poc_graph::testing::folder();
    let turn = |key: &str| format!("{{\"key\":\"{key}\",\"body\":\"turn {key}\",\"session\":\"s\"}}\n");
    for (file, keys) in [("one.jsonl", ["a", "c"].as_slice()), ("two.jsonl", &["a", "b", "c"])] {
        put(folder.path(), file, &keys.iter().map(|key| turn(key)).collect::<String>());
        assert_eq!(failures(&take(&memory, ImportSource::Path(folder.path().join(file)))), "");
    }
    assert_eq!(
        [memory.session_neighbors("a"), memory.session_neighbors("b"), memory.session_neighbors("c")]
            .concat(),
        ["b", "a", "c", "b"]
    );
}

#[test]
fn files_of_a_session_are_ordered_by_time() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    for (file, at) in [("late", "2026-03-02"), ("early", "2026-03-01"), ("noon", "2026-03-01T12:00:00Z")] {
        put(&vault, &format!("{file}.md"), &format!("---\nsession: 7\ncreated: {at}\n---\nIt is {file}\n"));
    }
    take(&memory, ImportSource::Path(vault));
    assert_eq!(memory.session_neighbors("noon"), ["early", "late"]);
    assert_eq!(memory.session_neighbors("early"), ["noon"]);
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// A session that is imported in any number of overlapping parts has the same order as one that is imported
    /// at once.
    #[test]
    fn a_growing_session_keeps_its_order(
        sessions in proptest::collection::vec(0u8..3, 1..14),
        parts in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 14), 0..3),
    ) {
        let line = |(number, session): (usize, &u8)| {
            format!("{{\"key\": \"n{number}\", \"body\": \"note {number}\", \"session\": {session}}}\n")
        };
        let all: Vec<String> = sessions.iter().enumerate().map(line).collect();
        let (grown, once) = (TestMemory::new(), TestMemory::new());
        for part in &parts {
            let some = all.iter().zip(part).filter(|(_, taken)| **taken).map(|(line, _)| line.as_str());
            lines(&grown, &some.collect::<String>());
        }
        for memory in [&grown, &once] {
            lines(memory, &all.concat());
        }
        for number in 0..all.len() {
            let key = format!("n{number}");
            prop_assert_eq!(grown.session_neighbors(&key), once.session_neighbors(&key));
            let mates: Vec<usize> = (0..all.len()).filter(|other| sessions[*other] == sessions[number]).collect();
            let at = mates.iter().position(|other| *other == number).unwrap();
            let near = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| mates.get(at));
            let mut expected: Vec<String> = near.map(|other| format!("n{other}")).collect();
            expected.sort();
            prop_assert_eq!(once.session_neighbors(&key), expected);
        }
    }
}
