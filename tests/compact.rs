//! Compaction and erasure with the real programs.

use crate::support::world::files_below;
use crate::support::{Deadline, WAIT_LIMIT, World, incompressible};
use poc_store::testing::any_content;
use serde_json::{Value, json};
use std::path::Path;

/// Files below a folder that contain a text, in whatever letter case, also where they are compressed.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let has_it = |path: &std::path::PathBuf| {
        // A socket cannot be read.
        let bytes = std::fs::read(path).unwrap_or_default();
        any_content(&bytes, |bytes| String::from_utf8_lossy(bytes).to_lowercase().contains(&lower))
    };
    files_below(folder).into_iter().filter(has_it).map(|path| path.display().to_string()).collect()
}

#[test]
fn a_compacted_memory_answers_as_before_and_says_where_its_history_begins() {
    let mut world = World::new();
    for number in 1..=12 {
        let key = format!("note-{number}");
        world.json(&["insert", "--key", &key, "--title", &format!("Harbour {number}"), "--body", "Ships"]);
        world.json(&["weight", &key, "2"]);
    }
    let early = world.json(&["changes", "-n", "100"])["changes"].as_array().unwrap().last().unwrap().clone();
    world.json(&["backup", "backups"]);
    let export = |world: &World| world.run(&["export"]).stdout;
    let before = export(&world);
    assert!(world.json(&["stats"])["history_since"].is_null());
    for is_served in [false, true] {
        if is_served {
            world.start_daemon();
        }
        // Less history than the settings keep is deleted only with `--yes`.
        let since = world.json(&["stats"])["history_since"].clone();
        let planned = world.json(&["compact", "--keep", "0s", "--dry-run"]);
        assert_eq!(planned["dry_run"], true, "{planned}");
        if !is_served {
            let refused = world.run(&["compact", "--keep", "0s"]);
            assert_eq!(refused.status, 2, "{}", refused.stderr);
            let expected = format!("up to {} changes would be deleted", planned["dropped_changes"]);
            assert!(refused.stderr.contains(&expected), "{}", refused.stderr);
            let error = world.json_with_status(&["compact", "--keep", "0s"], 2);
            assert_eq!(error["error"]["at"]["field"], "yes", "{error}");
        }
        assert_eq!(world.json(&["stats"])["history_since"], since);
        let done = world.json(&["compact", "--keep", "0s", "--yes"]);
        assert!(done["dropped_changes"].as_u64() <= planned["dropped_changes"].as_u64(), "{done} {planned}");
        let since = done["history_since"].as_str().unwrap().to_owned();
        assert!(is_served || done["dropped_changes"].as_u64().unwrap() > 10, "{done}");
        assert!(is_served || done["log_bytes"].as_u64() < done["former_log_bytes"].as_u64(), "{done}");
        assert_eq!(export(&world), before);
        assert_eq!(world.json(&["stats"])["history_since"].as_str(), Some(since.as_str()));
        assert!(world.run(&["stats"]).stdout.contains("\nhistory  since "));
        let error = world.run(&["undo", &early["seq"].to_string()]);
        assert!(error.stderr.contains("is missing: the history begins after change"), "{}", error.stderr);
        let error = world.run(&["search", "harbour", "--at", early["at"].as_str().unwrap()]);
        assert!(error.stderr.contains(&format!("the history begins at {since}")), "{}", error.stderr);
        assert!(world.run(&["search", "harbour", "--at", "0s"]).stdout.contains("note-1"));
        world.json(&["insert", "--key", "new", "--title", "New", "--body", "After it"]);
        let says_incomplete = |key: &str| {
            world.run(&["history", key]).stdout.contains("of earlier changes, only the creation is known")
        };
        assert!(says_incomplete("note-1") && !says_incomplete("new"));
        world.json(&["delete", "new"]);
    }
    // A backup of the compacted memory is whole, and the earlier one still has the earlier states.
    world.json(&["backup", "backups"]);
    assert_eq!(world.run(&["backup", "backups", "--verify"]).status, 0);
    world.stop_daemon();
    world.run(&["restore", "backups", "--into", "copy"]);
    let copy =
        world.command("poc-memory").env("POC_MEMORY_HOME", world.home().join("copy")).arg("export").output();
    assert_eq!(String::from_utf8(copy.unwrap().stdout).unwrap(), before);
    let restored = world.run(&["restore", "backups", "--into", "early", "--to", &early["seq"].to_string()]);
    assert_eq!(restored.status, 0, "{}", restored.stderr);
}

/// The log has 36 MiB of notes that were deleted. When the settings say that a day of history is enough, the daemon
/// drops them by itself.
#[test]
fn a_daemon_compacts_when_the_log_is_three_times_what_is_live() {
    const NOTES: u64 = 34;
    let Some(mut world) = World::with_clock() else { return };
    world.write("config.toml", "[daemon]\nheartbeat = \"1s\"\n[history]\nkeep = \"1d\"\n");
    let mut lines = String::new();
    for number in 0..NOTES {
        let body = incompressible::text(number, 950_000);
        lines.push_str(&format!(
            "{}\n",
            json!({"key": format!("blob-{number}"), "title": "Blob", "body": body})
        ));
    }
    world.write("blobs.jsonl", &lines);
    assert_eq!(world.json(&["import", "blobs.jsonl"])["inserted"], NOTES);
    world.json(&["insert", "--key", "kept", "--title", "Gate", "--body", "The gate opens at noon."]);
    world.start_daemon();
    for number in 0..NOTES {
        world.json(&["delete", &format!("blob-{number}")]);
    }
    let log_bytes = |world: &World| -> u64 {
        let files = files_below(&world.home().join("store/log"));
        files.iter().map(|file| std::fs::metadata(file).map_or(0, |found| found.len())).sum()
    };
    let before = log_bytes(&world);
    assert!(before > 32 << 20, "{before}");
    assert!(world.json(&["stats"])["history_since"].is_null());
    world.write("clock", "+26h");
    world.until(WAIT_LIMIT, &["stats"], |stats| {
        let is_small = |field: &str| stats[field].as_u64().unwrap() < before / 10;
        stats["history_since"].is_string() && is_small("log_bytes") && is_small("record_bytes")
    });
    // The former files go last.
    let deadline = Deadline::after(WAIT_LIMIT);
    while log_bytes(&world) >= before / 10 {
        deadline.wait(|| format!("{before} bytes before, {} now", log_bytes(&world)));
    }
    assert!(world.run(&["get", "kept"]).stdout.contains("The gate opens at noon."));
    world.json(&["insert", "--title", "Afterwards", "--body", "It goes on."]);
    world.stop_daemon();
}

#[test]
fn an_erased_text_is_in_no_file() {
    let mut world = World::new();
    // The text index has the stem of a word.
    let (secret, stem) = ("Zanzibarquetzal", "Zanzibarquetz");
    let mut sentences: Vec<String> = (0..60)
        .map(|number| format!("Sentence {number} says that guard {} opens it.", number * 7919 % 1000))
        .collect();
    sentences[30] = format!("The word of the gate is {secret}, which nobody else may know.");
    let body = sentences.join(" ");
    world.json(&["insert", "--key", "kept", "--title", "Gate", "--body", "The gate opens at noon"]);
    world.json(&["insert", "--key", "hidden", "--title", "Word", "--body", &body, "-k", "gate"]);
    // The text of this length is compressed.
    let log = std::fs::read(world.home().join("store/log/00000000000000000001.log")).unwrap();
    assert!(!String::from_utf8_lossy(&log).contains(secret));
    // The search finds it in each kind of file: the newest records are in sled, and those of a compaction in tables.
    let is_in = |world: &World, kinds: &[&str]| {
        let found = files_with(&world.home().join("store"), stem);
        for kind in kinds {
            assert!(found.iter().any(|file| file.contains(kind)), "{kind} is not in {found:?}");
        }
    };
    world.start_daemon();
    world.stop_daemon();
    is_in(&world, &["/log/", "/records/recent.", "/text/snapshot", "/mentions/snapshot"]);
    world.json(&["compact"]);
    is_in(&world, &["/log/", ".table", "/text/snapshot", "/mentions/snapshot"]);
    world.json(&["link", "hidden", "kept"]);
    world.json(&["write", &format!("Somebody told me: {secret} is the word.")]);
    // Files that runs and repairs leave behind.
    world.write(
        "runs/linker/1.json",
        &serde_json::json!({ "prompt": format!("[1] Word\n    {body}") }).to_string(),
    );
    world.write("runs/linker/2.json", "{\"prompt\":\"nothing\"}");
    world.write("store/quarantine/piece", &body);
    world.start_daemon();
    world.json(&["search", "word of the gate"]);
    world.json(&["backup", "backups"]);
    // An earlier text is erased as well, also from a run that quoted it.
    world.json(&[
        "insert",
        "--update",
        "--key",
        "hidden",
        "--title",
        "Word",
        "--body",
        "The word of the gate was changed by the guard.",
    ]);
    world.write("runs/linker/3.json", "{\"prompt\":\"The word of the gate was changed by the guard.\"}");
    // Only an exact name or the id of a deleted note is erased.
    let refused = world.json_with_status(&["delete", "hidde", "--erase", "--yes"], 1);
    assert_eq!(refused["error"]["code"], "not_found");
    let deleted = world.json(&["delete", "hidden"]);
    let erased = world.json(&["delete", deleted["id"].as_str().unwrap(), "--erase", "--yes"]);
    let erasure = &erased["erasure"];
    assert_eq!((&erasure["run_files"], &erasure["quarantine"][0]), (&2.into(), &"piece".into()), "{erasure}");
    let backup = erasure["backups"][0].as_str().unwrap();
    assert!(backup.contains("backups/"), "{erasure}");
    let forgotten = world.json(&["forget", "--before", "2100-01-01", "--recent", "--erase", "--yes"]);
    assert_eq!(forgotten["messages"], 1, "{forgotten}");
    for _ in 0..2 {
        let mut left = files_with(world.home(), stem);
        left.retain(|path| !path.contains("/backups/"));
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(world.json(&["get", "kept"])["title"], "Gate");
        if world.run(&["daemon", "status"]).status == 0 {
            world.stop_daemon();
        }
    }
    assert!(world.home().join("runs/linker/2.json").exists());
    let stats: Value = world.json(&["stats"]);
    assert_eq!(stats["nodes"], 1);
    assert!(!files_with(&world.home().join("backups"), secret).is_empty());
}

#[test]
fn an_erasure_at_a_terminal_is_confirmed() {
    let world = World::new();
    let insert =
        || world.json(&["insert", "--key", "gate", "--title", "Gate", "--body", "It opens at noon."]);
    insert();
    let erase = ["delete", "gate", "--erase"];
    // Without a terminal, nobody can be asked.
    let error = &world.json_with_status(&erase, 2)["error"];
    assert_eq!(
        (&error["code"], &error["at"]["field"]),
        (&"invalid_argument".into(), &"yes".into()),
        "{error}"
    );
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("`--yes`") && hint.contains("deletes the history of the whole memory"), "{error}");
    assert_eq!(world.run(&["get", "gate"]).status, 0);
    // The second time, the input ends.
    for typed in ["n\n", ""] {
        let Some(refused) = world.run_at_terminal(&erase, typed) else { return };
        assert!(refused.status == 4 && refused.stdout.contains("Continue? [y/N]"), "{refused:?}");
        assert!(refused.stdout.trim_end().ends_with("nothing was changed"), "{refused:?}");
        assert_eq!(world.run(&["get", "gate"]).status, 0);
    }
    let erased = world.run_at_terminal(&erase, "y\n").unwrap();
    assert_eq!((erased.status, world.run(&["get", "gate"]).status), (0, 1), "{erased:?}");
    insert();
    let erased = world.run_at_terminal(&[&erase[..], &["--yes"]].concat(), "").unwrap();
    assert!(erased.status == 0 && !erased.stdout.contains("[y/N]"), "{erased:?}");
    assert_eq!(world.run(&["get", "gate"]).status, 1);
    // A deletion without `--erase` can be undone.
    insert();
    let deleted = world.run_at_terminal(&["delete", "gate"], "").unwrap();
    assert!(deleted.status == 0 && !deleted.stdout.contains("[y/N]"), "{deleted:?}");
}

/// The process ended between the deletion and the rest of the erasure.
#[test]
fn an_interrupted_erasure_is_named_by_doctor_and_completed() {
    let world = World::new();
    let secret = "Zanzibarquetzal";
    let body = format!("The word of the gate is {secret}, which nobody else may know.");
    world.json(&["insert", "--key", "hidden", "--title", "Word", "--body", &body]);
    let deleted = world.json(&["delete", "hidden"]);
    let id = deleted["id"].as_str().unwrap();
    let unfinished = serde_json::json!([
        { "target": { "note": id }, "tenant": {}, "at": "2026-11-21T08:00:00.000Z", "after": 1 }
    ]);
    world.write("store/erasures.json", &unfinished.to_string());
    let report = world.json(&["doctor"]);
    let findings = report["findings"].as_array().unwrap();
    let named =
        findings.iter().find(|finding| finding["message"].as_str().unwrap().contains("erasure")).unwrap();
    let hint = named["hint"].as_str().unwrap();
    assert!(hint.contains(&format!("`poc-memory delete {id} --erase` completes it")), "{report}");
    assert_eq!(named["state"], "warning", "{report}");
    world.json(&["delete", id, "--erase", "--yes"]);
    assert_eq!(files_with(world.home(), secret), Vec::<String>::new());
    let nothing = world.run(&["changes"]).stdout;
    assert!(nothing.starts_with("nothing has changed since the history begins, "), "{nothing}");
    let undone = world.run(&["undo"]);
    assert!(undone.status == 1 && undone.stderr.contains(nothing.trim_end()), "{}", undone.stderr);
    assert!(!world.run(&["doctor"]).stdout.contains("erasure"));
}

/// The process ended after the history was deleted, and before the records were written again.
#[test]
fn an_erasure_that_has_deleted_the_history_is_completed() {
    let mut world = World::new();
    let secret = "Zanzibarquetzal";
    let body = format!("The word of the gate is {secret}, which nobody else may know.");
    world.start_daemon();
    world.json(&["insert", "--key", "hidden", "--title", "Word", "--body", &body]);
    let deleted = world.json(&["delete", "hidden"]);
    let id = deleted["id"].as_str().unwrap();
    world.json(&["insert", "--title", "Gate", "--body", "It opens at noon."]);
    // A daemon that ends saves the records.
    world.stop_daemon();
    world.shell("cp -R store/records before");
    world.json(&["compact", "--keep", "0s", "--yes"]);
    world.shell("rm -r store/records && mv before store/records");
    let unfinished = serde_json::json!([
        { "target": { "note": id }, "tenant": {}, "at": "2026-11-21T08:00:00.000Z", "after": 1 }
    ]);
    world.write("store/erasures.json", &unfinished.to_string());
    world.json(&["delete", id, "--erase", "--yes"]);
    assert_eq!(files_with(world.home(), secret), Vec::<String>::new());
    assert!(!world.run(&["doctor"]).stdout.contains("erasure"));
}

/// The process ended before the deletion.
#[test]
fn an_erasure_that_has_deleted_nothing_is_not_listed() {
    let world = World::new();
    let inserted = world.json(&["insert", "--key", "gate", "--title", "Gate", "--body", "It opens at noon."]);
    world.json(&["write", "The gate opens at noon."]);
    let at = "2026-11-21T08:00:00.000Z";
    let begun = serde_json::json!([
        { "target": { "messages-before": { "time": at, "recent": true } }, "tenant": {}, "at": at, "after": 1 },
        { "target": { "note": inserted["id"] }, "tenant": {}, "at": at, "after": 2 }
    ]);
    world.write("store/erasures.json", &begun.to_string());
    let report = world.run(&["doctor"]).stdout;
    assert!(!report.contains("erasure"), "{report}");
    assert!(!world.home().join("store/erasures.json").exists());
}
