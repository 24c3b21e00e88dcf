//! Imports, and round trips through export and import.

use super::*;
use crate::export;
use crate::testing::{TestMemory, draft};
use poc_config::Config;
use poc_graph::time::Span;
use poc_graph::{Activity, Edge, EdgeKind, Node, State, Trust, Visit, VisitOutcome, content_hash};
use poc_store::Records as _;
use proptest::prelude::*;
use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use std::fs;
use std::path::{Path, PathBuf};

fn take(memory: &TestMemory, source: ImportSource) -> ImportReport {
    import(memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap()
}

fn lines(memory: &TestMemory, text: &str) -> ImportReport {
    take(memory, ImportSource::Text(text.into()))
}

/// Inserted, updated, duplicates, edges.
fn counts(report: &ImportReport) -> [u64; 4] {
    [report.inserted, report.updated, report.duplicates, report.edges]
}

fn failures(report: &ImportReport) -> String {
    let line = |(place, error): &(SourceLocation, Error)| {
        let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{place}: {error}{hint}\n")
    };
    report.failed.iter().map(line).collect()
}

fn find(memory: &TestMemory, key: &str) -> Node {
    memory.find(key).unwrap()
}

fn exported(memory: &TestMemory) -> String {
    let mut out = Vec::new();
    export::json_lines(memory, &mut out, &|_, _| {}).unwrap();
    String::from_utf8(out).unwrap()
}

fn put(folder: &Path, file: &str, text: &str) {
    let file = folder.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn links(memory: &TestMemory, key: &str) -> Vec<String> {
    let id = find(memory, key).id;
    let mut ends: Vec<String> = memory
        .store
        .edges(id)
        .unwrap()
        .into_iter()
        .filter(|edge| edge.kind == EdgeKind::Link && edge.src == id)
        .map(|edge| memory.store.node(edge.dst).unwrap().unwrap().key)
        .collect();
    ends.sort();
    ends
}

#[test]
fn a_folder_of_markdown_becomes_linked_notes() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    put(
        &vault,
        "journal.md",
        "---\ntype: episodic\ntags: [Storage, '#tree']\ncreated: 2026-10-05\nauthor: Ann\nweight: 2\nmood: calm\n---\n# The journal\n\nSee [[pages|its pages]], [[notes/soup]] and [[Pages#Splits]]; [[nowhere]].\n",
    );
    put(&vault, "db/pages.md", "Pages are split. `[[journal]]` is code, [[The book]] is not.\n");
    put(&vault, "notes/soup.md", "---\naliases: [The book]\nlinks: [journal]\n---\nLentils\n");
    put(&vault, ".obsidian/hidden.md", "hidden");
    put(&vault, "picture.png", "no note");
    let report = take(&memory, ImportSource::Path(vault.clone()));
    assert_eq!(failures(&report), "");
    assert_eq!(counts(&report), [3, 0, 0, 4]);
    assert_eq!(report.unresolved, [(SourceLocation::File("journal.md".into()), "nowhere".to_owned())]);
    assert_eq!(report.ignored, BTreeMap::from([("mood".to_owned(), 1)]));

    let journal = find(&memory, "journal");
    assert_eq!((journal.title.as_str(), journal.node_type.0.as_str()), ("The journal", "episodic"));
    assert_eq!((journal.keywords.join(" "), journal.author.as_deref()), ("storage tree".into(), Some("Ann")));
    assert_eq!((journal.provenance.as_str(), journal.trust), ("import:vault", Trust::External));
    assert_eq!(journal.created.to_string(), "2026-10-05T00:00:00.000Z");
    assert!(journal.body.starts_with("# The journal\n\nSee"));
    assert_eq!(memory.store.activity(journal.id).unwrap().unwrap().weight, 2.0);
    assert_eq!(links(&memory, "journal"), ["db/pages", "notes/soup"]);
    assert_eq!(links(&memory, "db/pages"), ["notes/soup"]);
    assert_eq!(links(&memory, "notes/soup"), ["journal"]);

    let before = exported(&memory);
    memory.clock.advance(Span::DAY);
    assert_eq!(counts(&take(&memory, ImportSource::Path(vault.clone()))), [0, 0, 3, 0]);
    assert_eq!(exported(&memory), before, "nothing has changed");

    put(&vault, "db/pages.md", "Pages are merged, see [[journal]].\n");
    assert_eq!(counts(&take(&memory, ImportSource::Path(vault))), [0, 1, 2, 1]);
    assert_eq!(find(&memory, "db/pages").version, 2);
    assert_eq!(links(&memory, "db/pages"), ["journal"], "a link that is no longer named is removed");
}

#[test]
fn a_note_that_was_changed_stays_until_its_file_changes() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    put(&vault, "soup.md", "---\ntags: [food]\n---\nLentils\n");
    put(&vault, "bread.md", "Rye\n");
    take(&memory, ImportSource::Path(vault.clone()));
    let own = |body: &str| {
        let draft = Draft {
            key: Some("soup".into()),
            body: Some(body.into()),
            update: true,
            ..Draft::new("manual", Trust::User)
        };
        insert::insert(&memory, draft, memory.cause("manual", "insert")).unwrap();
    };
    own("Lentils with lemon");
    let before = exported(&memory);
    let again = take(&memory, ImportSource::Path(vault.clone()));
    assert_eq!(counts(&again), [0, 0, 2, 0]);
    assert_eq!(again.warnings.len(), 1);
    assert_eq!(again.warnings[0].0, SourceLocation::File("soup.md".into()));
    assert_eq!(exported(&memory), before, "nothing has changed");

    put(&vault, "soup.md", "---\ntags: [food]\n---\nBeans\n");
    assert_eq!(counts(&take(&memory, ImportSource::Path(vault.clone()))), [0, 1, 1, 0]);
    assert_eq!(find(&memory, "soup").body, "Beans");
    // The text of the second import is now the imported one, not that of the first.
    own("Beans with mint");
    assert_eq!(counts(&take(&memory, ImportSource::Path(vault))), [0, 0, 2, 0]);
    assert_eq!(find(&memory, "soup").body, "Beans with mint");
}

#[test]
fn invalid_files_are_reported_and_the_others_are_imported() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    put(&vault, "good.md", "A good note\n");
    put(&vault, "empty.md", "\n");
    put(&vault, "yaml.md", "---\ntitle: [a\n---\nBody\n");
    put(&vault, "list.md", "---\n- a\n---\nBody\n");
    put(&vault, "type.md", "---\ntype: epsodic\n---\nBody of it\n");
    put(&vault, "title.md", "---\ntitle: {a: b}\n---\nBody of that\n");
    put(&vault, "when.md", "---\ncreated: yesterday\n---\nBody of then\n");
    fs::write(vault.join("latin1.md"), b"caf\xe9").unwrap();
    let report = take(&memory, ImportSource::Path(vault));
    // An invalid property does not prevent the import of a note.
    assert_eq!(counts(&report), [4, 0, 0, 0]);
    insta::assert_snapshot!(failures(&report), @r"
    `empty.md`: the note has no text (give it a title, a body or both)
    `latin1.md`: it is not UTF-8 from byte 4 on (save it as UTF-8)
    `list.md`: the front matter is not a list of `name: value` (write one property per line, for example `title: Journal`)
    `yaml.md`: 3:1: `title`: the front matter is wrong: did not find expected ',' or ']'
    ");
    let warnings = ImportReport { failed: report.warnings, ..ImportReport::default() };
    insta::assert_snapshot!(failures(&warnings), @r"
    `title.md`: `title`: it is an object (give a text)
    `type.md`: `type`: unknown type `epsodic` (did you mean `episodic`?)
    `when.md`: `created`: `yesterday` is not a time (write `2026-11-21` or `2026-11-21T08:00:00Z`)
    ");
}

#[test]
fn json_lines_of_any_tool_become_notes() {
    let memory = TestMemory::new();
    let report = lines(
        &memory,
        concat!(
            r#"{"id": "conv-26/D1:1", "title": "", "text": "Caroline: Hey Mel! Good to see you!", "meta": {"group": "conv-26", "session": 1, "date": "1:56 pm on 8 May, 2023", "speaker": "Caroline"}}"#,
            "\n\n",
            r#"{"title": "Soup", "body": "Lentils", "keywords": "food, winter", "type": "daily", "created": "2026-01-02 10:30", "colour": "red", "meta": {"date": "2026-01-01"}}"#,
            "\n",
            r#"{"title": "Soup", "body": "Lentils", "keywords": ["winter", "food"]}"#,
            "\n",
        ),
    );
    assert_eq!(failures(&report), "");
    assert_eq!(counts(&report), [2, 0, 1, 0]);
    assert_eq!(report.ignored.keys().collect::<Vec<_>>(), ["colour"]);
    let turn = find(&memory, "conv-26/D1:1");
    assert_eq!(turn.title, "Caroline: Hey Mel! Good to see you!");
    assert_eq!(turn.author.as_deref(), Some("Caroline"));
    assert_eq!(turn.source.as_deref(), Some("group: conv-26; session: 1"));
    assert_eq!(turn.created.to_string(), "2023-05-08T13:56:00.000Z");
    assert_eq!(turn.node_type.0, "episodic");
    let soup = find(&memory, "soup");
    assert_eq!((soup.node_type.0.as_str(), soup.keywords.join(" ")), ("daily", "food winter".into()));
    assert_eq!(soup.created.to_string(), "2026-01-01T00:00:00.000Z");
}

/// The keys of the neighbours of a note.
fn beside(memory: &TestMemory, key: &str) -> Vec<String> {
    let view = memory.store.view();
    let mut keys: Vec<String> =
        view.sequence_neighbors(view.find_key(key).unwrap()).map(|ix| view.key(ix).to_owned()).collect();
    keys.sort();
    keys
}

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
    assert_eq!(beside(&memory, "a1"), ["a2"]);
    assert_eq!(beside(&memory, "a2"), ["a1", "a3"]);
    assert_eq!(beside(&memory, "b1"), Vec::<String>::new());
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
    assert_eq!(beside(&memory, "a1"), ["a2"]);
}

#[test]
fn a_session_in_several_files_has_one_order() {
    let memory = TestMemory::new();
    let folder = tempfile::tempdir().unwrap();
    let turn = |key: &str| format!("{{\"key\":\"{key}\",\"body\":\"turn {key}\",\"session\":\"s\"}}\n");
    for (file, keys) in [("one.jsonl", ["a", "c"].as_slice()), ("two.jsonl", &["a", "b", "c"])] {
        put(folder.path(), file, &keys.iter().map(|key| turn(key)).collect::<String>());
        assert_eq!(failures(&take(&memory, ImportSource::Path(folder.path().join(file)))), "");
    }
    assert_eq!(
        [beside(&memory, "a"), beside(&memory, "b"), beside(&memory, "c")].concat(),
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
    assert_eq!(beside(&memory, "noon"), ["early", "late"]);
    assert_eq!(beside(&memory, "early"), ["noon"]);
}

proptest! {
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
            prop_assert_eq!(beside(&grown, &key), beside(&once, &key));
            let mates: Vec<usize> = (0..all.len()).filter(|other| sessions[*other] == sessions[number]).collect();
            let at = mates.iter().position(|other| *other == number).unwrap();
            let near = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| mates.get(at));
            let mut expected: Vec<String> = near.map(|other| format!("n{other}")).collect();
            expected.sort();
            prop_assert_eq!(beside(&once, &key), expected);
        }
    }
}

#[test]
fn invalid_lines_are_reported_and_the_others_are_imported() {
    let mut config = poc_config::Config::defaults().unwrap();
    config.insert.max_node_bytes = 40;
    let memory = TestMemory::with(config);
    let long = format!("{{\"body\": \"{}\"}}", "x".repeat(400));
    let text = [
        r#"{"body": "good"}"#,
        r#"{"body": "cut"#,
        r#"["no object"]"#,
        r#"{"body": {"no": "text"}}"#,
        r#"{"body": "odd words", "keywords": ["a,b"]}"#,
        r#"{"body": "odd weight", "weight": "heavy"}"#,
        r#"{"body": "odd category", "category": "unheard"}"#,
        r#"{"schema_version": 9}"#,
        r#"{"schema_version": 1, "id": "x"}"#,
        r#"{"key": "k", "body": "first"}"#,
        r#"{"key": "k", "body": "second"}"#,
        "{}",
        &long,
        r#"{"body": "good again"}"#,
    ]
    .join("\n");
    let report = lines(&memory, &text);
    assert_eq!(counts(&report), [6, 0, 0, 0]);
    insta::assert_snapshot!(failures(&report), @r#"
    line 2: it is not JSON: EOF while parsing a string at column 13
    line 3: it is JSON but not an object (write one note per line: {"title": …, "body": …})
    line 4: `body`: it is an object (give a text)
    line 8: `schema_version`: the note has schema version 9; this release reads 1 (import it with the release that wrote it, or a newer one)
    line 9: `id`: `x` is not an id
    line 11: the key `k` was already used at line 10 (give each note a key of its own)
    line 12: the note has no text (give it a title, a body or both)
    line 13: the line has more than 320 bytes (split the note into several, one idea each)
    "#);
    let warnings = ImportReport { failed: report.warnings, ..ImportReport::default() };
    insta::assert_snapshot!(failures(&warnings), @r"
    line 5: `keywords`: the keyword `a,b` has a comma in it (give each keyword by itself)
    line 6: `weight`: it is a text (give a number)
    line 7: `category`: unknown category `unheard` (the categories are core, general, technical, observation, task)
    ");
}

#[test]
fn import_options_apply_to_notes_without_the_field() {
    let memory = TestMemory::new();
    let options = ImportOptions {
        node_type: Some("episodic".into()),
        keywords: vec!["Talk".into()],
        ..ImportOptions::default()
    };
    let text = "{\"key\": \"a\", \"body\": \"one\", \"type\": \"daily\"}\n{\"key\": \"b\", \"body\": \"two\", \"tags\": [\"x\"]}";
    import(&memory, &ImportSource::Text(text.into()), &options, &|_, _| {}).unwrap();
    let kind =
        |key: &str| format!("{} {}", find(&memory, key).node_type, find(&memory, key).keywords.join(" "));
    assert_eq!([kind("a"), kind("b")], ["daily talk", "episodic x talk"]);
}

#[test]
fn each_chunk_is_one_transaction_and_reports_progress() {
    let mut config = poc_config::Config::defaults().unwrap();
    config.import.chunk = 2;
    let memory = TestMemory::with(config);
    let text: String = (0..5).map(|n| format!("{{\"body\": \"note number {n}\"}}\n")).collect();
    let reported = parking_lot::Mutex::new(Vec::new());
    import(&memory, &ImportSource::Text(text), &ImportOptions::default(), &|done, _| {
        reported.lock().push((done, memory.store.view().seq));
    })
    .unwrap();
    assert_eq!(*reported.lock(), [(2, 1), (4, 2), (5, 3)]);
}

#[test]
fn sources_that_cannot_be_imported_are_errors() {
    let memory = TestMemory::new();
    let wrong = |name: &str| {
        let path = memory.folder().join(name);
        let error =
            import(&memory, &ImportSource::Path(path), &ImportOptions::default(), &|_, _| {}).unwrap_err();
        format!("{} {}", error.code.name(), error.message)
    };
    put(memory.folder(), "x.xyz", "");
    assert_eq!(wrong("nowhere"), "not_found there is no such file or folder");
    assert_eq!(wrong("x.xyz/nowhere"), "not_found there is no such file or folder");
    std::os::unix::fs::symlink("loop", memory.folder().join("loop")).unwrap();
    assert!(wrong("loop").starts_with("unavailable cannot be read: "), "{}", wrong("loop"));
    assert_eq!(wrong("x.xyz"), "invalid_argument its format is unknown");
    put(&memory.folder().join("pictures"), "x.png", "");
    assert_eq!(wrong("pictures"), "invalid_argument the folder has no file of a known format");
    assert_eq!(wrong("/dev/null"), "invalid_argument it is neither a file nor a folder");
    let folder = memory.folder().join("own");
    put(&folder, "notes.jsonl", "{\"body\": \"one note\"}");
    assert_eq!(counts(&take(&memory, ImportSource::Path(folder.clone()))), [1, 0, 0, 0]);
    put(&folder, "a.md", "one");
    let report = take(&memory, ImportSource::Path(folder));
    assert_eq!(
        (counts(&report), report.left_out),
        ([1, 0, 0, 0], vec![("notes.jsonl".to_owned(), "json-lines")])
    );
}

#[test]
fn a_folder_that_cannot_be_read_is_named_and_the_others_are_imported() {
    let memory = TestMemory::new();
    let folder = memory.folder().join("in");
    put(&folder, "tea.md", "Tea is here.");
    // No user can read a path that is too long for the system.
    let name = "x".repeat(250);
    let mut parent = open(folder.as_path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..20 {
        mkdirat(&parent, name.as_str(), Mode::RWXU).unwrap();
        parent = openat(&parent, name.as_str(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let report = take(&memory, ImportSource::Path(folder));
    assert_eq!((counts(&report), report.failed.len()), ([1, 0, 0, 0], 1));
    assert!(failures(&report).starts_with("`xxx") && failures(&report).contains(": cannot be read: "));
}

#[test]
fn expired_notes_are_skipped_and_earlier_imports_stay() {
    let memory = TestMemory::new();
    put(memory.folder(), "in/old.md", "---\nexpires: 2026-11-20\n---\nThe tram is late.");
    put(memory.folder(), "in/sale.md", "---\nexpires: 2026-11-30\n---\nTea is cheap.");
    let source = || ImportSource::Path(memory.folder().join("in"));
    let report = take(&memory, source());
    assert_eq!((counts(&report), failures(&report)), ([1, 0, 0, 0], String::new()));
    assert_eq!(report.expired, [SourceLocation::File("old.md".into())]);
    memory.clock.advance(Span::WEEK);
    memory.clock.advance(Span::WEEK);
    let report = take(&memory, source());
    assert_eq!((counts(&report), report.expired.len(), failures(&report)), ([0; 4], 2, String::new()));
    assert_eq!(find(&memory, "sale").body, "Tea is cheap.");
    assert!(memory.store.view().find_key("old").is_none());
    // A date that differs from the stored one is adopted.
    put(memory.folder(), "in/sale.md", "---\nexpires: 2026-11-29\n---\nTea was cheap.");
    let report = take(&memory, source());
    assert_eq!((counts(&report), report.expired.len(), failures(&report)), ([0, 1, 0, 0], 1, String::new()));
    let sale = find(&memory, "sale");
    assert_eq!((sale.expires, sale.version), (Some(Timestamp::parse("2026-11-29").unwrap()), 2));
    assert_eq!((counts(&take(&memory, source())), sale.body.as_str()), ([0; 4], "Tea is cheap."));
    memory.note("tea", "Tea is here for good.");
    put(memory.folder(), "in/tea.md", "---\nkey: tea\nexpires: 2026-11-29\n---\nTea is here for good.");
    assert_eq!(counts(&take(&memory, source())), [0, 1, 0, 0]);
    let view = memory.store.view();
    let now = poc_graph::Visibility::of_model(memory.now());
    assert!(!view.is_visible(view.find_key("tea").unwrap(), now), "no search finds it any more");
}

#[test]
fn an_edited_export_is_a_new_version_unless_the_note_changed_too() {
    let memory = TestMemory::new();
    memory.note("a", "one");
    let export = exported(&memory);
    let edited = export.replace("\"body\":\"one\"", "\"body\":\"two\"");
    assert_eq!(counts(&lines(&memory, &edited)), [0, 1, 0, 0]);
    assert_eq!((find(&memory, "a").body.as_str(), find(&memory, "a").version), ("two", 2));
    let stale = lines(&memory, &export.replace("\"body\":\"one\"", "\"body\":\"three\""));
    insta::assert_snapshot!(failures(&stale), @"line 1: `a` has version 2 here and version 1 in the import, and they differ (it was changed since it was exported; export it again)");
    assert_eq!(find(&memory, "a").body, "two");
}

#[test]
fn an_existing_note_with_another_id_gets_the_edges() {
    let (from, to) = (TestMemory::new(), TestMemory::new());
    let (a, b) = (from.note("a", "the same text"), from.note("b", "another text"));
    let edge = |src, dst| Edge {
        src,
        dst,
        kind: EdgeKind::Link,
        strength: 0.5,
        created: from.now(),
        touched: from.now(),
        provenance: "manual".into(),
        reason: String::new(),
    };
    from.store.transact(from.cause("manual", "test"), |tx| tx.put_edge(&edge(b, a))).unwrap();
    to.clock.advance(Span::DAY);
    to.note("here", "the same text");
    let report = lines(&to, &exported(&from));
    assert_eq!((counts(&report), failures(&report)), ([1, 0, 1, 2], String::new()));
    assert_eq!(links(&to, "b"), ["here"]);
}

#[derive(Clone, Debug)]
struct Generated {
    nodes: Vec<(Node, Activity)>,
    edges: Vec<(usize, usize, EdgeKind, f64, String)>,
    visits: Vec<(usize, String, Visit)>,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,20}",
        "\\PC{0,30}",
        Just("---\nkey: x\n---\n".to_owned()),
        Just("  indented\n\n[[link]] `x`\n\n".to_owned()),
        Just("null".to_owned()),
        Just("0x10: [a, \"b\n\u{85}\u{2028}c".to_owned()),
    ]
}

fn made() -> impl Strategy<Value = Generated> {
    let node = (
        (text(), text(), "[a-z/.#: ]{0,8}", prop::option::of(text()), prop::option::of(text())),
        (0usize..5, 0usize..5, 0usize..4, 0usize..3, prop::collection::btree_set("[a-zé:-]{1,6}", 0..3)),
        (
            0.0f32..10.0,
            0i64..4_000_000_000_000,
            0i64..4_000_000_000_000,
            prop::option::of(0i64..4_000_000_000_000),
            1u32..9,
        ),
        (0.01f64..100.0, any::<u32>(), 0u16..30, prop::option::of(0i64..4_000_000_000_000)),
    );
    (
        prop::collection::vec(node, 1..6),
        prop::collection::vec((0usize..6, 0usize..6, 0usize..8, 0.0f64..1.0, text()), 0..8),
        prop::collection::vec((0usize..6, "[a-z-]{1,8}", 0i64..4_000_000_000_000, 0usize..3, 0u32..9), 0..5),
    )
        .prop_map(|(nodes, edges, visits)| {
            let count = nodes.len();
            let nodes = nodes
                .into_iter()
                .enumerate()
                .map(|(number, (texts, kinds, times, learned))| {
                    let (title, body, key, author, source) = texts;
                    let mut node = poc_graph::testing::node(number as u64 * 7919 % 31);
                    node.title =
                        format!("T{number} {}", title.split_whitespace().collect::<Vec<_>>().join(" "));
                    node.body = body;
                    node.key = format!("{number}{}", key.trim_end());
                    node.keywords = kinds.4.into_iter().collect();
                    (node.author, node.source) = (author, source);
                    node.node_type.0 = poc_graph::NodeType::BUILT_IN[kinds.0].into();
                    node.category = poc_graph::Category::ALL[kinds.1];
                    node.state = State::ALL[kinds.2];
                    node.origin = poc_graph::Origin::ALL[kinds.3];
                    node.trust = Trust::ALL[kinds.1];
                    node.emotion = times.0;
                    node.created = Timestamp(times.1);
                    node.modified = Timestamp(times.2);
                    node.expires = times.3.map(Timestamp);
                    node.version = times.4;
                    node.content_hash = content_hash(&node.title, &node.body, &node.keywords);
                    let activity = Activity {
                        weight: learned.0,
                        touched: Timestamp(times.2),
                        accesses: u64::from(learned.1),
                        replay_interval: learned.2,
                        replayed: learned.3.map(Timestamp),
                        judged: None,
                    };
                    (node, activity)
                })
                .collect();
            let edges = edges
                .into_iter()
                .map(|(src, dst, kind, strength, reason)| {
                    (src % count, dst % count, EdgeKind::ALL[kind], strength, reason)
                })
                .filter(|(src, dst, ..)| src != dst)
                .collect();
            let visits = visits
                .into_iter()
                .map(|(node, agent, at, outcome, version)| {
                    let visit = Visit { at: Timestamp(at), outcome: VisitOutcome::ALL[outcome], version };
                    (node % count, agent, visit)
                })
                .collect();
            Generated { nodes, edges, visits }
        })
}

fn build(memory: &TestMemory, made: &Generated) {
    memory
        .store
        .transact(memory.cause("manual", "test"), |tx| {
            for (node, activity) in &made.nodes {
                tx.put_node(node)?;
                tx.put_activity(node.id, activity)?;
            }
            for (src, dst, kind, strength, reason) in &made.edges {
                tx.put_edge(&Edge {
                    src: made.nodes[*src].0.id,
                    dst: made.nodes[*dst].0.id,
                    kind: *kind,
                    strength: *strength,
                    created: Timestamp(5),
                    touched: Timestamp(7),
                    provenance: "agent:x".into(),
                    reason: reason.clone(),
                })?;
            }
            for (node, agent, visit) in &made.visits {
                tx.put_visit(agent, made.nodes[*node].0.id, visit)?;
            }
            Ok(())
        })
        .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Export and import is the identity, through JSON Lines and through Markdown.
    #[test]
    fn an_export_survives_a_round_trip(made in made()) {
        let memory = TestMemory::new();
        build(&memory, &made);
        let all = exported(&memory);
        prop_assert_eq!(all.lines().count(), made.nodes.len());

        let by_lines = TestMemory::new();
        let report = lines(&by_lines, &all);
        prop_assert_eq!(failures(&report), "");
        prop_assert_eq!(&exported(&by_lines), &all);
        prop_assert_eq!(counts(&lines(&by_lines, &all)), [0, 0, made.nodes.len() as u64, 0]);

        let folder: PathBuf = memory.folder().join("out");
        export::folder(&memory, &folder, &|_, _| {}).unwrap();
        let by_folder = TestMemory::new();
        let report = take(&by_folder, ImportSource::Path(folder));
        prop_assert_eq!(failures(&report), "");
        prop_assert_eq!(&exported(&by_folder), &all);
    }
}

#[test]
fn imported_weights_are_clamped() {
    let memory = TestMemory::new();
    let made = Generated {
        nodes: [(1, 5.0), (2, 1.0)]
            .map(|(number, weight)| (poc_graph::testing::node(number), Activity::new(Timestamp(5), weight)))
            .to_vec(),
        edges: vec![
            (0, 1, EdgeKind::CoRetrieval, 7.0, String::new()),
            (0, 1, EdgeKind::Link, 0.5, String::new()),
        ],
        visits: Vec::new(),
    };
    build(&memory, &made);
    let all = exported(&memory);
    let mut config = Config::defaults().unwrap();
    (config.weight.floor, config.weight.cap, config.edges.cap) = (2.0, 3.0, 4.0);
    let copy = TestMemory::with(config);
    assert_eq!(failures(&lines(&copy, &all)), "");
    let [one, two] = [0, 1].map(|at| made.nodes[at].0.id);
    let weight = |id| copy.store.activity(id).unwrap().unwrap().weight;
    assert_eq!((weight(one), weight(two)), (3.0, 2.0));
    let strength = |kind| copy.store.edge(one, kind, two).unwrap().unwrap().strength;
    assert_eq!((strength(EdgeKind::CoRetrieval), strength(EdgeKind::Link)), (4.0, 0.5));
}

#[test]
fn notes_made_by_every_op_survive_an_export_and_import() {
    let memory = TestMemory::new();
    let old = memory.note("old", "The journal is written before the pages of the B-tree");
    memory
        .insert(Draft {
            supersedes: Some(old),
            ..draft("The journal is written after the pages of the B-tree")
        })
        .unwrap();
    memory.note("other", "The journal is written before the leaves of the B-tree");
    let all = exported(&memory);
    assert!(all.contains("\"semantic\"") && all.contains("\"supersedes\""), "{all}");
    let copy = TestMemory::new();
    lines(&copy, &all);
    assert_eq!(exported(&copy), all);
    assert_eq!(copy.store.find_key("old").unwrap(), Some(old));
    // Its vectors are computed again, too.
    let view = copy.store.view();
    for ix in (0..view.slots()).filter(|&ix| view.is_live(ix)) {
        assert!(!copy.vectors.of(view.id(ix).unwrap()).is_empty());
    }
}
