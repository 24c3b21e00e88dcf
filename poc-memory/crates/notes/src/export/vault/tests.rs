//! Markdown → memory → Markdown.

use super::path_inside;
use crate::export;
use crate::import::{ImportOptions, ImportReport, ImportSource, import};
use crate::testing::{TestMemory, draft};
use crate::{ClearableField, Draft, confirmed_question, link, rename};
use poc_graph::Trust;
use poc_store::Transaction;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn take(memory: &TestMemory, folder: &Path) -> ImportReport {
    let source = ImportSource::Path(folder.to_owned());
    import(memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap()
}

/// The files below a folder.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn write(folder: &Path, files: &BTreeMap<String, String>) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn a_question_that_was_written_by_hand_is_exported_and_a_confirmed_one_is_not() {
    let memory = TestMemory::new();
    let answer = memory.note("tram", "The last tram leaves at midnight.");
    let by_hand =
        Draft { node_type: Some("question".into()), key: Some("open".into()), ..draft("Who pays?") };
    memory.insert(by_hand).unwrap();
    let title = Some("when does the last tram leave?".to_owned());
    let question = Draft { title, ..Draft::new("manual", Trust::User) };
    let question = confirmed_question::prepare(&memory, question).unwrap();
    let (cause, now) = (memory.cause("manual", "reinforce"), memory.now());
    let apply = |tx: &mut Transaction<'_>| confirmed_question::apply(tx, &question, answer, now);
    memory.store.transact(cause, apply).unwrap();
    let out = memory.folder().join("out");
    export::vault(&memory, &out, &|_, _| {}).unwrap();
    assert_eq!(files(&out).into_keys().collect::<Vec<_>>(), ["open.md", "tram.md"]);
}

#[test]
fn sessions_keep_their_names_and_their_order() {
    let memory = TestMemory::new();
    // The keys and the creation times, which are equal, have another order than the session.
    let line = |(key, session): (&str, &str)| {
        format!("{{\"key\": \"{key}\", \"body\": \"note {key}\", \"session\": \"{session}\"}}\n")
    };
    let text: String =
        [("c", "abc"), ("y", "7"), ("a", "abc"), ("b", "abc"), ("x", "7")].map(line).into_iter().collect();
    import(&memory, &ImportSource::Text(text), &ImportOptions::default(), &|_, _| {}).unwrap();
    assert_eq!(memory.session_neighbors("a"), ["b", "c"]);
    let out = memory.folder().join("out");
    export::vault(&memory, &out, &|_, _| {}).unwrap();
    let a = &files(&out)["a.md"];
    assert!(a.contains("\nsession: abc\nsession-position: 2\n") && !a.contains("source"), "{a}");
    let copy = TestMemory::new();
    take(&copy, &out);
    for key in ["a", "b", "c", "x", "y"] {
        assert_eq!(copy.session_neighbors(key), memory.session_neighbors(key), "{key}");
        let node = |memory: &TestMemory| memory.find(key).unwrap();
        assert_eq!(node(&copy).source, node(&memory).source);
        assert_eq!(node(&copy).node_type, node(&memory).node_type);
    }
}

#[test]
fn a_path_that_no_file_can_have_is_not_used() {
    let (name, path) = ("x".repeat(256), "x/".repeat(1024));
    for path in
        ["", "a", "../a.md", "/a.md", "a/../b.md", "a\0.md", &format!("{name}.md"), &format!("{path}a.md")]
    {
        assert_eq!(path_inside(path), None, "{path:?}");
    }
    for path in ["a/b.md", "a//b.md", "a/./b.md", "a/b.md/"] {
        assert_eq!(path_inside(path).unwrap().as_os_str(), "a/b.md");
    }
}

/// A line of front matter, including unknown properties and types, and values that no note can have.
fn property() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("tags: [Tea, '#milk']".to_owned()),
        Just("aliases:\n  - The other name\n  -   one more".to_owned()),
        Just("created: 2026-01-02".to_owned()),
        Just("type: person".to_owned()),
        Just("cssclasses:   wide   # a comment".to_owned()),
        Just("weight: heavy".to_owned()),
        Just("author:   \"Ann\"".to_owned()),
        Just("rating: 4.50".to_owned()),
        Just("links: '[[a0]], [[nowhere]]'".to_owned()),
        Just("".to_owned()),
        Just("# only a comment".to_owned()),
    ]
}

fn file() -> impl Strategy<Value = String> {
    let front = proptest::option::of(proptest::collection::btree_set(property(), 0..5));
    let line = "[ a-zé#*`\\[\\]>+]{0,12}";
    (front, "\n{0,2}", proptest::collection::vec(line, 1..6), "\n{0,3}", any::<bool>(), 0..3).prop_map(
        |(front, before, lines, after, bom, ends)| {
            let front = front.map(|lines| {
                let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
                format!("---\n{lines}---\n")
            });
            let text = format!("{}{before}{}{after}", front.unwrap_or_default(), lines.join("\n"));
            let text = match ends {
                0 => text,
                1 => text.replace('\n', "\r\n"),
                _ => text.replacen('\n', "\r\n", 2),
            };
            if bom { format!("\u{FEFF}{text}") } else { text }
        },
    )
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A vault that was imported is exported as it was, byte for byte, also after a second import.
    #[test]
    fn an_unchanged_vault_is_the_same(texts in proptest::collection::vec(file(), 1..6)) {
        let memory = TestMemory::new();
        let vault = memory.folder().join("vault");
        let names = ["a0.md", "sub/B 1.md", "sub/deep/c.markdown", "d'é.md", "e.md", "f.md"];
        let texts: BTreeMap<String, String> = (0..).zip(texts).zip(names).map(|((number, text), name)| {
            // Each has some text of its own.
            (name.to_owned(), format!("{}word{number}\n", text))
        }).collect();
        write(&vault, &texts);
        for round in ["once", "twice"] {
            let report = take(&memory, &vault);
            prop_assert!(report.failed.is_empty(), "{:?}", report.failed);
            let out = memory.folder().join(round);
            export::vault(&memory, &out, &|_, _| {}).unwrap();
            prop_assert_eq!(&files(&out), &texts);
        }
    }
}

/// Links two notes by hand.
fn add_link(memory: &TestMemory, src: &str, dst: &str) {
    let edge = poc_graph::Edge {
        src: memory.find(src).unwrap().id,
        dst: memory.find(dst).unwrap().id,
        kind: poc_graph::EdgeKind::Link,
        strength: link::STRENGTH,
        created: memory.now(),
        touched: memory.now(),
        provenance: "manual".into(),
        reason: String::new(),
    };
    memory.store.transact(memory.cause("manual", "link"), |tx| tx.put_edge(&edge)).unwrap();
}

/// Write-back has written them, in the property `memory-links`.
#[test]
fn links_that_a_file_has_are_not_written_again() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    let tea = "---\ntags: [drink]\nmemory-links: [\"[[milk]]\"]\nup: \"[[cup]]\"\n---\nHot.\n";
    let texts = [("tea.md", tea), ("milk.md", "White.\n"), ("cup.md", "Round.\n")];
    let texts: BTreeMap<String, String> = texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    write(&vault, &texts);
    take(&memory, &vault);
    add_link(&memory, "tea", "milk");
    add_link(&memory, "tea", "cup");
    // The file keeps the name that its links use.
    let cup = memory.find("cup").unwrap().id;
    let renamed = |tx: &mut Transaction<'_>| rename::apply(tx, cup, Some("mug"), &[]);
    memory.store.transact(memory.cause("manual", "rename"), renamed).unwrap();
    let texts: BTreeMap<String, String> = texts.into_iter().filter(|(name, _)| name != "cup.md").collect();
    let out = memory.folder().join("out");
    export::vault(&memory, &out, &|_, _| {}).unwrap();
    let mut written = files(&out);
    // It has the new key as an alias.
    assert!(written.remove("cup.md").unwrap().contains("mug"));
    assert_eq!(written, texts);
}

#[test]
fn changes_are_written_into_the_front_matter() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    let texts = [
        ("tea.md", "---\ncssclasses: wide\ntags: [drink]\nlinks: [milk]\n---\n\n# Tea\n\nWith milk.\n\n"),
        ("milk.md", "White.\n"),
        ("cup.md", "A cup.\n"),
    ];
    write(&vault, &texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
    take(&memory, &vault);
    let update = |draft: Draft| memory.insert(Draft { update: true, ..draft }).unwrap();
    update(Draft {
        key: Some("tea".into()),
        keywords: Some(vec!["drink".into(), "hot".into()]),
        ..draft("# Tea\n\nWith lemon.")
    });
    add_link(&memory, "tea", "cup");
    add_link(&memory, "milk", "tea");
    let cup = memory.find("cup").unwrap().id;
    let renamed = |tx: &mut Transaction<'_>| rename::apply(tx, cup, Some("mug"), &[]);
    memory.store.transact(memory.cause("manual", "rename"), renamed).unwrap();
    memory.note("new/kettle", "It boils.");
    let out = memory.folder().join("out");
    export::vault(&memory, &out, &|_, _| {}).unwrap();
    let shown: Vec<String> = files(&out).iter().map(|(name, text)| format!("=== {name}\n{text}")).collect();
    insta::assert_snapshot!(shown.concat(), @r"
    === cup.md
    ---
    aliases:
    - mug
    ---

    A cup.
    === milk.md
    ---
    links:
    - '[[tea]]'
    ---

    White.
    === new/kettle.md
    ---
    created: 2026-11-21T08:00:00.000Z
    ---

    It boils.
    === tea.md
    ---
    cssclasses: wide
    tags:
    - drink
    - hot
    links:
    - milk
    - '[[mug]]'
    ---

    # Tea

    With lemon.

    ");
    // An import of the export gives the same notes.
    let copy = TestMemory::new();
    let report = take(&copy, &out);
    assert_eq!((report.inserted, report.failed.len()), (4, 0));
    assert_eq!(copy.find("tea").unwrap().keywords, ["drink", "hot"]);
}

#[test]
fn removed_keywords_and_a_removed_expiry_do_not_come_back() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    let text = "---\nkeywords: [drink, hot]\nexpires: 2030-01-01\nstatus: done\n---\nGreen.\n";
    write(&vault, &[("tea.md".to_owned(), text.to_owned())].into());
    take(&memory, &vault);
    let changed = Draft { update: true, key: Some("tea".into()), ..draft("Green.") };
    let (keywords, clear) = (Some(vec!["drink".into()]), vec![ClearableField::Expires]);
    memory.insert(Draft { keywords, clear, ..changed }).unwrap();
    let out = memory.folder().join("out");
    export::vault(&memory, &out, &|_, _| {}).unwrap();
    let expected = "---\nexpires: null\nstatus: done\ntags:\n- drink\n---\nGreen.\n";
    assert_eq!(files(&out)["tea.md"], expected);
    let copy = TestMemory::new();
    let warnings = take(&copy, &out).warnings;
    assert!(warnings.is_empty(), "{warnings:?}");
    let tea = copy.find("tea").unwrap();
    assert_eq!((tea.keywords, tea.expires), (vec!["drink".to_owned()], None));
}

#[test]
fn a_changed_property_replaces_those_of_the_same_field() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    let text = "---\nsource: book\nurl: web\nauthor: Ann\nspeaker: Bob\ndate: 2030-01-01\n---\nGreen.\n";
    write(&vault, &[("tea.md".to_owned(), text.to_owned())].into());
    take(&memory, &vault);
    let changed = Draft { update: true, key: Some("tea".into()), ..draft("Green.") };
    let (source, clear) = (Some("film".to_owned()), vec![ClearableField::Author]);
    memory.insert(Draft { source, clear, ..changed }).unwrap();
    let out = memory.folder().join("out");
    export::vault(&memory, &out, &|_, _| {}).unwrap();
    let expected = "---\nsource: film\nauthor: ''\ndate: 2030-01-01\n---\nGreen.\n";
    assert_eq!(files(&out)["tea.md"], expected);
    let copy = TestMemory::new();
    take(&copy, &out);
    let tea = copy.find("tea").unwrap();
    assert_eq!((tea.source.as_deref(), tea.author), (Some("film"), None));
}

#[test]
fn added_aliases_keep_the_order_of_the_properties() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    let text = "---\naliases: [Cha]\nstatus: done\ncssclasses: wide\n---\nGreen.\n";
    write(&vault, &[("tea.md".to_owned(), text.to_owned())].into());
    take(&memory, &vault);
    let tea = memory.find("tea").unwrap().id;
    let renamed = |tx: &mut Transaction<'_>| rename::apply(tx, tea, Some("matcha"), &[]);
    memory.store.transact(memory.cause("manual", "rename"), renamed).unwrap();
    let out = memory.folder().join("out");
    export::vault(&memory, &out, &|_, _| {}).unwrap();
    let expected = "---\naliases:\n- Cha\n- matcha\nstatus: done\ncssclasses: wide\n---\nGreen.\n";
    assert_eq!(files(&out)["tea.md"], expected);
}

#[test]
fn a_change_keeps_the_other_properties_if_one_occurs_twice() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    let text = "---\nstatus: draft\ncssclasses: wide\nstatus: done\n---\n\n# Tea\n\nWith milk.\n";
    write(&vault, &[("tea.md".to_owned(), text.to_owned())].into());
    take(&memory, &vault);
    let changed = Draft { update: true, key: Some("tea".into()), ..draft("# Tea\n\nWith lemon.") };
    memory.insert(Draft { keywords: Some(vec!["hot".into()]), ..changed }).unwrap();
    let out = memory.folder().join("out");
    export::vault(&memory, &out, &|_, _| {}).unwrap();
    let expected = "---\nstatus: done\ncssclasses: wide\ntags:\n- hot\n---\n\n# Tea\n\nWith lemon.\n";
    assert_eq!(files(&out)["tea.md"], expected);
}

#[test]
fn a_change_replaces_front_matter_however_it_is_closed() {
    let cases = [
        ("---\nstatus: done\n...\n", "status: done\n"),
        ("---\nstatus: done\n--- \n", "status: done\n"),
        ("---\n---\n", ""),
    ];
    for (front, kept) in cases {
        let memory = TestMemory::new();
        let vault = memory.folder().join("vault");
        let text = format!("{front}\n# Tea\n\nWith milk.\n");
        write(&vault, &[("tea.md".to_owned(), text)].into());
        take(&memory, &vault);
        let changed = Draft { update: true, key: Some("tea".into()), ..draft("# Tea\n\nWith lemon.") };
        memory.insert(Draft { keywords: Some(vec!["hot".into()]), ..changed }).unwrap();
        let out = memory.folder().join("out");
        export::vault(&memory, &out, &|_, _| {}).unwrap();
        let expected = format!("---\n{kept}tags:\n- hot\n---\n\n# Tea\n\nWith lemon.\n");
        assert_eq!(files(&out)["tea.md"], expected);
    }
}

#[test]
fn two_files_with_one_text_stay_two_files_and_a_renamed_file_stays_one() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    let same = |names: &[&str]| -> BTreeMap<String, String> {
        names.iter().map(|name| ((*name).to_owned(), "The same text.\n".to_owned())).collect()
    };
    write(&vault, &same(&["a.md", "b.md"]));
    take(&memory, &vault);
    let out = memory.folder().join("out");
    export::vault(&memory, &out, &|_, _| {}).unwrap();
    assert_eq!(files(&out), same(&["a.md", "b.md"]));
    fs::rename(vault.join("b.md"), vault.join("c.md")).unwrap();
    take(&memory, &vault);
    let out = memory.folder().join("later");
    export::vault(&memory, &out, &|_, _| {}).unwrap();
    assert_eq!(files(&out), same(&["a.md", "c.md"]));
}
