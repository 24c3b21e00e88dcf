//! Import and export.

use super::*;

#[test]
fn import_and_insert_count_the_same_edges() {
    let notes = "{\"title\": \"Tea\", \"body\": \"Ann takes green tea.\", \"keywords\": [\"tea\"]}\n\
                 {\"title\": \"Teas\", \"body\": \"Ann takes green teas.\", \"keywords\": [\"tea\"]}\n";
    let (one, other) = (TestMemory::new(), TestMemory::new());
    let texts = ["import", "insert --notes"].iter().zip([&one, &other]).map(|(verb, memory)| {
        let file = memory.folder().join("notes.jsonl");
        std::fs::write(&file, notes).unwrap();
        text_output(memory, &format!("{verb} {}", file.display()))
    });
    let texts: Vec<String> = texts.collect();
    assert_eq!(texts[1], "2 inserted, 0 updated, 0 duplicates, 0 failed, 2 edges\n");
    assert_eq!(texts[0], texts[1].replace('\n', " (json-lines: 1 file)\n"));
}

#[test]
fn export_writes_to_a_file_a_folder_or_the_answer() {
    let memory = filled();
    let (file, folder) = (memory.folder().join("all.jsonl"), memory.folder().join("all"));
    let lines = text_output(&memory, "export");
    assert_eq!(lines.lines().count(), 2);
    json(&memory, &format!("export --output {}", file.display()));
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
    json(&memory, &format!("export --markdown {}", folder.display()));
    assert!(folder.join("btree.md").is_file());
    let again = call(&memory, &format!("export --markdown {}", folder.display())).err().unwrap();
    let message = "the folder is not empty: it contains `btree.md`";
    assert_eq!((again.code.name(), again.message.as_str()), ("conflict", message));
    let nowhere = memory.folder().join("no/such/folder");
    assert!(call(&memory, &format!("export --output {}", nowhere.display())).is_err());
}

#[test]
fn export_replaces_only_earlier_exports_unless_forced() {
    let memory = filled();
    let file = memory.folder().join("all.jsonl");
    let export = |force: &str| call(&memory, &format!("export --output {}{force}", file.display()));
    let is_export = || std::fs::read_to_string(&file).unwrap().starts_with("{\"schema_version\":");
    // A new file, an export, one of another release, and an empty file.
    let of_other_release = "{\"schema_version\": 9, \"id\": \"x\", \"key\": \"y\"}\n{";
    for before in [None, Some(of_other_release), Some(""), Some("\n")] {
        if let Some(before) = before {
            std::fs::write(&file, before).unwrap();
        }
        for _ in 0..2 {
            export("").unwrap();
            assert!(is_export());
        }
    }
    for other in ["thesis", "{\"key\": \"y\"}\n", "[1]\n", "{\"schema_version\": 1", "1 2"] {
        std::fs::write(&file, other).unwrap();
        let error = export("").err().unwrap();
        assert_eq!(error.code.name(), "conflict");
        assert!(error.message.ends_with("all.jsonl` exists and is not an export of a memory"), "{error}");
        let at = error.at.unwrap();
        assert_eq!((at.field.as_deref(), at.file.as_deref()), (Some("output"), None), "{at}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), other);
        export(" --force").unwrap();
        assert!(is_export());
    }
    let error = call(&memory, "export --force").err().unwrap();
    assert_eq!(error.at.unwrap().field.as_deref(), Some("force"));
}

#[test]
fn a_partly_failed_import_reports_it_and_exits_with_failure() {
    let memory = filled();
    let file = memory.folder().join("notes.jsonl");
    std::fs::write(&file, "{\"body\": \"good\", \"colour\": 1}\n{\"body\": 7}\nnonsense\n").unwrap();
    let line = format!("import {}", file.display());
    insta::assert_snapshot!(text_output(&memory, &line), @r"
    2 inserted, 0 updated, 0 duplicates, 1 failed, 0 edges (json-lines: 1 file)
    failed     line 3: it is not JSON: expected ident at column 2
    ignored    the field `colour` of 1 note
    ");
    let (op, answer) = call(&memory, &line).unwrap();
    assert_eq!((op.decode)(&answer).unwrap().exit(), Exit::Failed);
    assert_eq!(answer["failed"][0]["line"], 3);
}
