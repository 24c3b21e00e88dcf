//! One run of an import: its options, its transactions, and sources that it refuses.

use super::*;
use crate::markdown_frame::MarkdownFrame;
use rustix::fs::{Mode, OFlags, mkdirat, open, openat};

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
fn an_unknown_type_for_all_notes_is_one_error() {
    let memory = TestMemory::new();
    let options = ImportOptions { node_type: Some("episodc".into()), ..ImportOptions::default() };
    let source = ImportSource::Text("{\"body\": \"one\"}\n{\"body\": \"two\"}".into());
    let error = import(&memory, &source, &options, &|_, _| {}).unwrap_err();
    insta::assert_snapshot!(error.line(), @"`type`: unknown type `episodc`; did you mean `episodic`?");
    assert_eq!(memory.store.view().seq, 0);
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
fn long_notes_of_a_list_are_stored_in_several_transactions() {
    let memory = TestMemory::new();
    let blob = "x".repeat(1_000_000);
    let note = |number: u64| serde_json::json!({"body": format!("note number {number}"), "blob": blob});
    let text = serde_json::Value::from_iter((0..12).map(note)).to_string();
    let options = ImportOptions { format: Some("json-lines".into()), ..ImportOptions::default() };
    let reported = parking_lot::Mutex::new(Vec::new());
    let report = import(&memory, &ImportSource::Text(text), &options, &|done, _| reported.lock().push(done));
    assert_eq!(report.unwrap().inserted, 12);
    assert_eq!(*reported.lock(), [9, 12]);
}

#[test]
fn an_interrupted_import_reports_what_is_stored_and_can_be_continued() {
    let mut config = poc_config::Config::defaults().unwrap();
    config.import.chunk = 2;
    let memory = TestMemory::with(config);
    let text: String = (0..5).map(|n| format!("{{\"body\": \"note number {n}\"}}\n")).collect();
    let token = cancellation::CancellationToken::new();
    let interrupted = cancellation::scope(&token, || {
        let cancel = |_: u64, _: Option<u64>| token.cancel();
        import(&memory, &ImportSource::Text(text.clone()), &ImportOptions::default(), &cancel)
    });
    let error = interrupted.unwrap_err();
    assert_eq!(error.code, Code::Unavailable);
    insta::assert_snapshot!(format!("{}\n{}", error.message, error.hint.unwrap()), @r"
    the import was interrupted after 2 new or changed notes: the client disconnected, or the daemon is stopping
    these notes are stored; run the same import again to continue
    ");
    assert_eq!(counts(&lines(&memory, &text)), [3, 0, 2, 0]);
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
    // Settings and data of other programs are JSON, too.
    for other in ["{\"foo\": {\"title\": 1}}", "{\"foo\":\n 1}", "{\"a\": 1}\n{\"a\": 2}\n"] {
        put(memory.folder(), "other.json", other);
        assert_eq!(wrong("other.json"), "invalid_argument its format is unknown", "{other}");
    }
    put(memory.folder(), "broken.json", "{\"title\": \"a\",\n \"body\" 1}");
    let broken = wrong("broken.json");
    assert!(
        broken.starts_with("invalid_argument it is not JSON: expected `:` at line 2, column "),
        "{broken}"
    );
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
fn the_frame_of_a_file_in_a_folder_that_cannot_be_read_stays() {
    let memory = TestMemory::new();
    let folder = memory.folder().join("in");
    let below = "y".repeat(250);
    put(&folder, &format!("{below}/tea.md"), "---\nkey: tea\n---\nTea is here.");
    take(&memory, ImportSource::Path(folder.clone()));
    let paths = || {
        let frames = MarkdownFrame::all(&memory.store, find(&memory, "tea").id).unwrap();
        frames.into_iter().map(|frame| frame.path).collect::<Vec<_>>()
    };
    // The paths of the folder and of the files in it have fewer bytes than the system allows, those of the folders
    // below it have more.
    let mut deep = memory.folder().to_owned();
    while deep.as_os_str().len() < 3900 {
        deep.push("x".repeat((3900 - deep.as_os_str().len()).min(250)));
    }
    fs::create_dir_all(&deep).unwrap();
    let moved = deep.join("in");
    fs::rename(&folder, &moved).unwrap();
    put(&moved, "tea.md", "---\nkey: tea\n---\nTea is there.");
    let report = take(&memory, ImportSource::Path(moved.clone()));
    assert_eq!((counts(&report), report.failed.len()), ([0, 1, 0, 0], 1), "{}", failures(&report));
    assert_eq!(paths(), ["tea.md".to_owned(), format!("{below}/tea.md")]);
    fs::rename(&moved, &folder).unwrap();
    fs::remove_dir_all(folder.join(&below)).unwrap();
    put(&folder, "tea.md", "---\nkey: tea\n---\nTea is gone.");
    take(&memory, ImportSource::Path(folder));
    assert_eq!(paths(), ["tea.md"]);
}
