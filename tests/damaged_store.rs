//! A store with damage in the middle of its log: every answer says so, nothing is written, and no file changes.

use crate::mcp::Assistant;
use crate::support::http::{Http, ON};
use crate::support::world::{files_below, refused_without_temporary_folder};
use crate::support::{World, incompressible};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file below a folder except the lock, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let of_store = files_below(folder).into_iter().filter(|path| path.file_name().unwrap() != "lock");
    of_store.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

/// A memory of `count` notes, `note-1` and so on, each of which links to the one before.
fn filled(count: usize) -> World {
    let world = World::new();
    for number in 1..=count {
        let (key, title) = (format!("note-{number}"), format!("Harbour {number}"));
        world.json(&["insert", "--key", &key, "--title", &title, "--body", "Ships at anchor"]);
        if number > 1 {
            world.json(&["link", &key, &format!("note-{}", number - 1)]);
        }
    }
    world
}

/// Changes a byte of one of the first records of the log.
fn damage(world: &World) {
    damage_at(world, 2000);
}

/// Changes a byte of the first segment of the log. The first record begins at byte 24.
fn damage_at(world: &World, offset: usize) {
    let path = world.home().join("store/log/00000000000000000001.log");
    let mut bytes = fs::read(&path).unwrap();
    bytes[offset] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn degraded(answer: &Value) -> Vec<&str> {
    answer["degraded"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect()
}

#[test]
fn damage_in_the_log_makes_the_store_read_only_and_every_answer_says_so() {
    let mut world = filled(6);
    world.write("config.toml", ON);
    damage(&world);
    let store = world.home().join("store");
    let before = files(&store);
    let is_told = |answer: &Value| degraded(answer)[0].starts_with("read-only: log segment `");
    // Without a daemon and with one.
    for is_served in [false, true] {
        if is_served {
            world.start_daemon();
            let status = world.json(&["daemon", "status"]);
            assert!(
                status["problems"][0].as_str().unwrap().starts_with("read-only: log segment `"),
                "{status}"
            );
        }
        let stats = world.json(&["stats"]);
        assert!(is_told(&stats), "{stats}");
        // At most one change is lost, whether it is of a note or a link.
        assert!(stats["nodes"].as_u64().unwrap() >= 5, "{stats}");
        for command in [
            &["get", "note-6"][..],
            &["search", "-p", "all"],
            &["list"],
            &["night"],
            &["vault", "list"],
            &["vault", "status"],
            &["agent", "explain", "linker"],
            &["agent", "history"],
            &["agent", "review"],
            &["agent", "show", "linker"],
        ] {
            let answer = world.json(command);
            assert!(is_told(&answer), "{command:?}: {answer}");
        }
        let mut assistant = Assistant::start(&world);
        for arguments in [json!({}), json!({"node": "note-6"})] {
            let history = assistant.call("memory_history", arguments);
            assert!(is_told(&history), "{history}");
        }
        assistant.end();
        // Also the text of an answer that has no other room for it, and every error for a note that may be lost.
        assert!(world.run(&["history", "note-6"]).stdout.contains("\ndegraded: read-only: log segment `"));
        let unknown = world.run(&["get", "note-7"]);
        assert!(
            unknown.stderr.contains("hint: the store is damaged, and this may be lost"),
            "{}",
            unknown.stderr
        );
        assert!(unknown.stderr.contains("\ndegraded: read-only: log segment `"), "{}", unknown.stderr);
        let unknown = world.run(&["--json", "get", "note-7"]);
        let unknown: Value = serde_json::from_str(unknown.stderr.lines().last().unwrap()).unwrap();
        let mut assistant = Assistant::start(&world);
        let called =
            assistant.ask("tools/call", json!({"name": "memory_get", "arguments": {"node": "note-7"}}));
        let called: Value =
            serde_json::from_str(called["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        let read = assistant.ask("resources/read", json!({"uri": "memory://nodes/note-7"}));
        assistant.end();
        let mut errors =
            vec![unknown["error"].clone(), called["error"].clone(), read["error"]["data"].clone()];
        if is_served {
            errors.push(Http::of(&world).call("GET /v1/nodes/note-7", None).json());
        }
        for error in errors {
            assert!(error["code"] == "not_found" && is_told(&error), "{error}");
        }
        // A dry run writes nothing, so it is not refused.
        assert_eq!(world.json(&["agent", "run", "linker", "--dry-run"])["dry_run"], true);
        let exported = world.run(&["export"]);
        assert!(exported.stderr.contains("read-only: log segment `"), "{}", exported.stderr);
        assert!(exported.stderr.contains("left out: history, deleted notes"), "{}", exported.stderr);
        assert!(is_told(&world.json(&["export"])));
        let error = world.run(&["insert", "--title", "New", "--body", "Refused"]);
        assert_ne!(error.status, 0);
        assert!(error.stderr.contains("the store accepts no writes: log segment"), "{}", error.stderr);
        // The damage is named once.
        for command in [
            &["stats"][..],
            &["insert", "--title", "New", "--body", "Refused"],
            &["night"],
            &["get", "note-7"],
        ] {
            let shown = world.run(command);
            let count = format!("{}{}", shown.stdout, shown.stderr).matches("log segment `").count();
            assert_eq!(count, 1, "{command:?}: {shown:?}");
        }
        let report = world.json_with_status(&["doctor"], 1);
        let findings = report["findings"].as_array().unwrap();
        let failed = findings.iter().find(|finding| finding["state"] == "failed").unwrap();
        assert!(failed["message"].as_str().unwrap().starts_with("read-only: "), "{report}");
        assert!(failed["hint"].is_string());
    }
    world.stop_daemon();
    assert!(files(&store) == before);
}

#[test]
fn the_metrics_name_the_reason_why_the_store_accepts_no_writes() {
    let mut world = filled(6);
    world.write("config.toml", ON);
    let causes = |world: &World| {
        let metrics = Http::of(world).call("GET /metrics", None).body;
        let lines = metrics.lines().filter(|line| line.starts_with("poc_memory_read_only"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    world.start_daemon();
    assert_eq!(causes(&world), ["poc_memory_read_only 0"]);
    world.stop_daemon();
    damage(&world);
    world.start_daemon();
    assert_eq!(causes(&world), ["poc_memory_read_only 1", "poc_memory_read_only_cause{cause=\"damage\"} 1"]);
    world.stop_daemon();
}

#[test]
fn a_lost_log_beside_a_saved_view_is_not_a_new_store() {
    let mut world = filled(3);
    // A daemon saves a checkpoint when it stops.
    world.start_daemon();
    world.stop_daemon();
    let store = world.home().join("store");
    assert!(store.join("view").exists());
    fs::remove_dir_all(store.join("log")).unwrap();
    let before = files(&store);
    let note = world.json(&["get", "note-2"]);
    assert_eq!(note["title"], "Harbour 2");
    assert!(degraded(&note)[0].starts_with("read-only: the log is missing"), "{note}");
    // Only names and links are left.
    fs::remove_dir_all(store.join("records")).unwrap();
    let stats = world.json(&["stats"]);
    assert_eq!(stats["nodes"], 3);
    assert!(degraded(&stats)[0].contains("the names and links of the saved view"), "{stats}");
    let lost = world.run(&["get", "note-2"]);
    assert_ne!(lost.status, 0);
    assert!(!store.join("log").exists());
    assert!(
        before
            .iter()
            .filter(|(path, _)| !path.starts_with(store.join("records")))
            .all(|(path, bytes)| { fs::read(path).unwrap() == *bytes })
    );
}

#[test]
fn a_repair_is_shown_before_it_is_made_and_can_be_undone() {
    let mut world = filled(6);
    let repair = |world: &World, options: &[&str]| world.json(&[&["repair"], options].concat());
    let whole = world.run(&["repair"]);
    assert!(whole.status == 0 && whole.stdout.contains("the store is not damaged"), "{whole:?}");
    let requested = world.json_with_status(&["repair", "--from", "log", "--yes"], 3);
    assert_eq!(requested["not-damaged"]["requested"], "log", "{requested}");
    world.start_daemon();
    let held = world.run(&["repair"]);
    assert!(held.status == 5 && held.stderr.contains("the store is held by process"), "{}", held.stderr);
    // A checkpoint, so that the records have everything.
    world.stop_daemon();
    damage(&world);
    let store = world.home().join("store");
    let before = files(&store);
    let choices = &repair(&world, &[])["choices"]["choices"];
    let names: Vec<&str> =
        choices.as_array().unwrap().iter().map(|choice| choice["from"].as_str().unwrap()).collect();
    assert_eq!(names, ["records", "sound-log", "log"]);
    let [records, _, log] = [0, 1, 2].map(|at| &choices[at]);
    assert_eq!(
        (&records["notes"], &records["links"], &records["fewer_notes"]),
        (&6.into(), &5.into(), &0.into())
    );
    assert_eq!(records["lost_changes"].as_array().unwrap().len(), 0);
    assert!(log["fewer_notes"].as_u64().unwrap() > 0, "{log}");
    // A choice without `--yes` is refused, as an undo is.
    let refused = world.json_with_status(&["repair", "--from", "records"], 2);
    assert_eq!(refused["error"]["message"], "the store was not repaired", "{refused}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("`--yes`"), "{refused}");
    assert!(files(&store) == before);
    let done = &repair(&world, &["--from", "records", "--yes"])["repaired"];
    assert_eq!(done["replaced"], "repair-1");
    let stats = world.json(&["stats"]);
    assert_eq!((&stats["nodes"], &stats["edges"], degraded(&stats).len()), (&6.into(), &5.into(), 0));
    world.json(&["insert", "--title", "New", "--body", "Accepted"]);
    assert_eq!(repair(&world, &["--undo", "--yes"])["undone"]["replaced"], "undone-2");
    assert_eq!(degraded(&world.json(&["stats"])).len(), 1);
    let is_part =
        |path: &Path| ["log", "records", "view"].iter().any(|part| path.starts_with(store.join(part)));
    let parts = |files: BTreeMap<PathBuf, Vec<u8>>| {
        files.into_iter().filter(|(path, _)| is_part(path)).collect::<BTreeMap<_, _>>()
    };
    assert!(parts(files(&store)) == parts(before));
    // What was written after the repair is kept too, and can be read.
    let list = world.json(&["doctor", "quarantine", "list"])["parts"].clone();
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
    // Only the list of moves of the repair is left.
    assert_eq!(names, ["undone-2"], "{list}");
    assert_eq!(list[0]["range"][0].as_u64(), Some(1), "{list}");
    let emptied = world.run(&["doctor", "quarantine", "show", "repair-1"]);
    assert!(emptied.status == 1 && emptied.stderr.contains("its repair was undone"), "{emptied:?}");
    let notes = world.json(&["doctor", "quarantine", "show", "undone-2"])["notes"].clone();
    let titles: Vec<&str> =
        notes.as_array().unwrap().iter().map(|note| note["title"].as_str().unwrap()).collect();
    assert!(titles.contains(&"New") && titles.contains(&"Harbour 3"), "{titles:?}");
    let shown = world.run(&["doctor", "quarantine", "show", "undone-2"]).stdout;
    assert!(shown.lines().any(|line| line == "note-3  Harbour 3"), "{shown}");
    assert!(!shown.contains("Ships at anchor"), "{shown}");
    assert!(
        shown.lines().any(|line| line.starts_with("  log/") && line.contains(" intact change")),
        "{shown}"
    );
    assert!(shown.contains("`poc-memory doctor quarantine restore undone-2 --dry-run` lists"), "{shown}");
    let shown = world.run(&["doctor", "quarantine", "show", "undone-2", "--key", "note-3"]).stdout;
    assert_eq!(shown, "note-3\nHarbour 3\nShips at anchor\n");
    let missing = world.run(&["doctor", "quarantine", "show", "undone-2", "--key", "note-99"]);
    assert!(missing.stderr.contains("has no readable note `note-99`"), "{}", missing.stderr);
    let missing = world.run(&["doctor", "quarantine", "show", "nothing"]);
    assert!(
        missing.status != 0 && missing.stderr.contains("does not contain `nothing`"),
        "{}",
        missing.stderr
    );
    // It can also be restored, once the store accepts writes again.
    assert_ne!(world.run(&["doctor", "quarantine", "restore", "undone-2"]).status, 0);
    repair(&world, &["--from", "records", "--yes"]);
    world.start_daemon();
    for dry_run in [true, false] {
        let mut command = vec!["doctor", "quarantine", "restore", "undone-2"];
        command.extend(dry_run.then_some("--dry-run"));
        let restored = world.json(&command);
        assert_eq!(restored["restored"], json!(["new"]), "{restored}");
        assert_eq!(
            (&restored["present"], &restored["conflicts"][0]),
            (&6.into(), &Value::Null),
            "{restored}"
        );
        assert_eq!(restored["changes"].as_array().map_or(0, Vec::len), usize::from(!dry_run), "{restored}");
        assert_eq!(world.run(&["get", "new"]).status, i32::from(dry_run));
    }
    assert!(world.run(&["search", "Accepted"]).stdout.contains("new"));
    let again = world.json(&["doctor", "quarantine", "restore", "undone-2"]);
    assert_eq!((&again["restored"][0], &again["present"]), (&Value::Null, &7.into()), "{again}");
    world.json(&["undo"]);
    assert_eq!(world.run(&["get", "new"]).status, 1);
    world.stop_daemon();
}

/// The insertion of a note is damaged, and its link and its weight are not.
#[test]
fn a_lost_note_of_which_only_additions_are_left_is_named() {
    let world = filled(3);
    world.json(&["reinforce", "note-1"]);
    let id = world.json(&["get", "note-1"])["id"].clone();
    damage_at(&world, 200);
    let lost = json!([{"id": id, "name": null}]);
    assert_eq!(world.json(&["repair"])["choices"]["lost_notes"], lost);
    let repaired = world.json(&["repair", "--from", "sound-log", "--yes"])["repaired"].clone();
    assert_eq!(repaired["lost_notes"], lost, "{repaired}");
    assert_eq!(world.json(&["doctor", "quarantine", "show", "repair-1"])["lost_notes"], lost);
    let restored = world.json(&["doctor", "quarantine", "restore", "repair-1"]);
    let left_out = restored["left_out"].to_string();
    let named = format!("): `{}`", id.as_str().unwrap());
    assert!(left_out.contains("data of notes") && left_out.contains(&named), "{restored}");
}

/// Cuts the log off after a number of records.
fn keep_records(world: &World, count: usize) {
    let path = world.home().join("store/log/00000000000000000001.log");
    let bytes = fs::read(&path).unwrap();
    let mut end = 24;
    for _ in 0..count {
        let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
        end += 16 + length;
    }
    fs::write(path, &bytes[..end]).unwrap();
}

/// No checkpoint was made, so that only `head` and the backup know of the lost changes.
#[test]
fn a_lost_end_of_the_log_is_reported_with_the_backup_that_has_it() {
    let world = filled(4);
    let place = world.home().join("backups");
    let place = place.to_str().unwrap();
    world.json(&["backup", place]);
    let last = world.json(&["stats"])["as_of"]["seq"].clone();
    keep_records(&world, 3);
    let report = world.json_with_status(&["doctor"], 1);
    let findings = report["findings"].as_array().unwrap();
    let is_named = |finding: &&Value| {
        let message = finding["message"].as_str().unwrap();
        message.starts_with("read-only: the log ends at change 3 and lacks changes 4 to ")
            && message.contains(", which `head` ")
    };
    assert!(findings.iter().any(|finding| is_named(&finding)), "{report}");
    let choices = world.json(&["repair"])["choices"].clone();
    let backup = &choices["backups"][0];
    assert_eq!(backup["path"], place, "{choices}");
    assert_eq!((&backup["notes"], &backup["lost_changes"][0][0]), (&4.into(), &4.into()), "{choices}");
    assert_eq!((last.is_u64(), &backup["last_change"]), (true, &last), "{choices}");
    let shown = world.run(&["repair"]).stdout;
    assert!(
        shown.contains(&format!("`poc-memory restore {place} --into FOLDER` restores it beside")),
        "{shown}"
    );
    let refused = world.run(&["repair", "--from", "records", "--yes"]);
    assert!(refused.stderr.contains("hint: give `log`; `poc-memory repair` shows"), "{}", refused.stderr);
    // The part has nothing that the store lacks.
    let repaired = world.run(&["repair", "--from", "log", "--yes"]).stdout;
    assert!(repaired.contains("the store has every note and link that can be read there"), "{repaired}");
    assert!(!repaired.contains("quarantine restore"), "{repaired}");
    assert!(repaired.ends_with("`poc-memory repair --undo --yes` reverts the repair\n"), "{repaired}");
    world.json_with_status(&["doctor", "--deep"], 0);
    world.json(&["insert", "--title", "New", "--body", "Accepted"]);
}

/// The records have the result of every change, and the backup has the history.
#[test]
fn a_backup_with_the_history_of_the_damaged_part_is_listed() {
    let mut world = filled(6);
    // A checkpoint, so that the records have everything.
    world.start_daemon();
    world.stop_daemon();
    let place = world.home().join("backups");
    let place = place.to_str().unwrap();
    world.json(&["backup", place]);
    damage(&world);
    let choices = world.json(&["repair"])["choices"].clone();
    let backup = &choices["backups"][0];
    assert_eq!((&backup["path"], &backup["same_log"]), (&place.into(), &true.into()), "{choices}");
    assert_eq!(backup["lost_changes"].as_array().unwrap().len(), 0, "{choices}");
    assert_eq!(backup["lost_history"].as_array().unwrap().len(), 1, "{choices}");
    let shown = world.run(&["repair"]).stdout;
    assert!(shown.contains(", and has the lost history of change"), "{shown}");
}

#[test]
fn a_store_of_which_only_indexes_are_left_is_not_a_new_store() {
    let mut world = filled(3);
    world.start_daemon();
    world.stop_daemon();
    world.json(&["backup", "backups"]);
    let store = world.home().join("store");
    for part in ["log", "records", "view", "head"] {
        let path = store.join(part);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    let before = files(&store);
    let stats = world.json(&["stats"]);
    assert!(degraded(&stats)[0].starts_with("read-only: the log is missing"), "{stats}");
    assert!(
        degraded(&stats)[0].contains("restore a backup, or move the folder of the store away"),
        "{stats}"
    );
    assert_ne!(world.run(&["insert", "--title", "New", "--body", "Refused"]).status, 0);
    world.json_with_status(&["doctor"], 1);
    let shown = world.run(&["repair"]).stdout;
    assert!(shown.contains("move the folder of the store away and restore a backup"), "{shown}");
    assert!(shown.contains("`poc-memory restore "), "{shown}");
    let answer = world.json_with_status(&["restore", "backups"], 1);
    assert_eq!(answer["error"]["code"], "conflict", "{answer}");
    assert!(files(&store) == before);
    fs::rename(&store, world.home().join("away")).unwrap();
    world.json(&["restore", "backups"]);
    assert_eq!(keys(&world), ["note-1", "note-2", "note-3"]);
}

/// The keys of all notes, sorted.
fn keys(world: &World) -> Vec<String> {
    let export = world.run(&["export"]);
    let key = |line: &str| serde_json::from_str::<Value>(line).unwrap()["key"].as_str().unwrap().to_owned();
    let mut keys: Vec<String> = export.stdout.lines().map(key).collect();
    keys.sort();
    keys
}

#[test]
fn a_daemon_whose_log_is_deleted_says_so_and_loses_nothing() {
    let mut world = filled(6);
    let log = world.home().join("store/log");
    let problem = |world: &World| {
        let status = world.json(&["daemon", "status"]);
        status["problems"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).next()
    };
    world.start_daemon();
    assert_eq!(problem(&world), None);
    world.json(&["insert", "--key", "late", "--title", "Late", "--body", "Written by the daemon"]);
    let away = world.home().join("away");
    fs::rename(&log, &away).unwrap();
    let text = problem(&world).unwrap();
    assert!(
        text.starts_with("read-only, the log was changed: another program has changed its log"),
        "{text}"
    );
    let refused = world.run(&["insert", "--title", "New", "--body", "Refused"]);
    assert_ne!(refused.status, 0);
    assert!(refused.stderr.contains("put the files back; or stop the daemon"), "{}", refused.stderr);
    // When its files are back, it accepts writes again.
    fs::rename(&away, &log).unwrap();
    world.json(&["insert", "--key", "back", "--title", "Back", "--body", "Written after that"]);
    assert_eq!(problem(&world), None);
    let expected = keys(&world);
    assert_eq!(expected.len(), 8);
    // Otherwise the content of the log is in the records.
    fs::remove_dir_all(&log).unwrap();
    world.stop_daemon();
    assert_eq!(keys(&world), expected);
    world.json(&["repair", "--from", "records", "--yes"]);
    assert_eq!(keys(&world), expected);
    world.json(&["insert", "--title", "New", "--body", "Taken"]);
    world.json_with_status(&["doctor", "--deep"], 0);
}

/// Lack of a temporary folder says nothing about the records.
#[test]
fn without_a_temporary_folder_nothing_is_called_lost_and_nothing_is_repaired() {
    let mut world = filled(6);
    // A checkpoint, so that the records have everything.
    world.start_daemon();
    world.stop_daemon();
    damage(&world);
    let store = world.home().join("store");
    let before = files(&store);
    let nowhere = world.home().join("nowhere");
    refused_without_temporary_folder(&world, &nowhere);
    let started = world.command("poc-memory").args(["daemon", "start"]).env("TMPDIR", &nowhere).output();
    let message = String::from_utf8(started.unwrap().stderr).unwrap();
    assert!(
        message.contains("the daemon ended before it answered: ") && message.contains("TMPDIR"),
        "{message}"
    );
    assert!(files(&store) == before);
}

/// A byte of the log and a byte of the records are damaged. The blocks that are intact have the texts.
#[test]
fn intact_blocks_of_damaged_records_are_read_and_kept_by_a_repair() {
    let world = World::new();
    for number in 1..=30 {
        let (key, body) = (format!("note-{number}"), incompressible::text(number, 3000));
        world.json(&["insert", "--key", &key, "--title", &key, "--body", &body]);
    }
    // All records are in one table, and one transaction of the log has all notes.
    world.json(&["compact", "--keep", "0s", "--yes"]);
    let store = world.home().join("store");
    for folder in ["log", "records"] {
        let largest = files_below(&store.join(folder)).into_iter();
        let path = largest.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        fs::write(path, bytes).unwrap();
    }
    let before = files(&store);
    let is_shown = |key: &String| world.run(&["get", key]).status == 0;
    let all: Vec<String> = (1..=30).map(|number| format!("note-{number}")).collect();
    let shown: Vec<&String> = all.iter().filter(|key| is_shown(key)).collect();
    assert!((20..30).contains(&shown.len()), "{shown:?}");
    let choices = world.json(&["repair"])["choices"]["choices"].clone();
    let records = &choices[0];
    assert_eq!(
        (&records["from"], &records["partial_records"]),
        (&"records".into(), &true.into()),
        "{choices}"
    );
    assert_eq!(records["notes"], shown.len(), "{choices}");
    assert!(world.run(&["repair"]).stdout.contains("the intact blocks of the records, and every readable"));
    assert!(files(&store) == before);
    world.json(&["repair", "--from", "records", "--yes"]);
    assert!(all.iter().all(|key| is_shown(key) == shown.contains(&key)));
    world.json(&["insert", "--title", "New", "--body", "Accepted"]);
    // The keys and texts of the lost notes can be used again.
    for (number, key) in (1u64..).zip(&all).filter(|(_, key)| !shown.contains(key)) {
        let body = incompressible::text(number, 3000);
        let inserted = world.json(&["insert", "--key", key, "--title", key, "--body", &body]);
        assert_eq!((&inserted["key"], &inserted["duplicate"]), (&json!(key), &json!(false)));
    }
    assert!(all.iter().all(is_shown));
    world.json_with_status(&["doctor", "--deep"], 0);
}

#[test]
fn a_note_whose_text_is_lost_is_not_called_unknown() {
    let mut world = filled(6);
    // The daemon saves the view, which has the names of all notes, when it stops.
    world.start_daemon();
    world.stop_daemon();
    damage_at(&world, 200);
    fs::remove_dir_all(world.home().join("store/records")).unwrap();
    // The log of the store is on standard error, too.
    let code = |key: &str| {
        let answer = world.run(&["--json", "get", key]);
        let error: Value = serde_json::from_str(answer.stderr.lines().last().unwrap()).unwrap();
        (answer.status, error["error"]["code"].as_str().unwrap().to_owned())
    };
    assert_eq!(code("note-1"), (1, "damaged".to_owned()));
    assert_eq!(code("never-there"), (1, "not_found".to_owned()));
    assert_eq!(world.json(&["get", "note-2"])["title"], "Harbour 2");
    let file = world.home().join("export.jsonl");
    let exported = world.json_with_status(&["export", "-o", file.to_str().unwrap()], 1);
    assert_eq!((&exported["nodes"], &exported["lost"]), (&5.into(), &1.into()), "{exported}");
    assert!(degraded(&exported).contains(&"1 note left out because of damage"), "{exported}");
    assert_eq!(fs::read_to_string(file).unwrap().lines().count(), 5);
}

/// Changes a byte of the first text in the log that equals `text`.
fn damage_text(world: &World, text: &str) {
    let path = world.home().join("store/log/00000000000000000001.log");
    let bytes = fs::read(path).unwrap();
    damage_at(world, bytes.windows(text.len()).position(|word| word == text.as_bytes()).unwrap());
}

/// The record of the name is in the first change of the tenant.
#[test]
fn notes_of_a_tenant_whose_name_is_lost_are_shown_and_kept_and_the_name_is_recorded_again() {
    let world = World::new();
    world.json(&["insert", "--key", "own", "--title", "Own", "--body", "A note of the default tenant"]);
    let theirs = |command: &[&str]| world.json(&[&["--tenant", "user=bob"][..], command].concat());
    for number in 1..=4 {
        let (key, body) = (format!("bob-{number}"), format!("The ship of Bob, number {number}"));
        theirs(&["insert", "--key", &key, "--body", &body]);
    }
    damage_text(&world, "bob-1");
    assert_eq!(theirs(&["stats"])["nodes"], 3);
    world.json(&["repair", "--from", "sound-log", "--yes"]);
    assert_eq!(theirs(&["stats"])["nodes"], 3);
    let by_tenant = world.json(&["stats"])["by_tenant"].clone();
    let unnamed: Vec<_> = by_tenant
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| name.starts_with("unknown name, id "))
        .map(|(_, notes)| notes.as_u64().unwrap())
        .collect();
    assert_eq!((unnamed, &by_tenant["default"]), (vec![3], &1.into()), "{by_tenant}");
    assert_eq!(world.json(&["backup", "backups"])["notes"], 4);
    let exported = world.json(&["export", "-o", "export.jsonl"]);
    assert_eq!(exported["other_tenants"], 1, "{exported}");
    assert!(degraded(&exported)[0].starts_with("3 notes of 1 tenant whose name is unknown"), "{exported}");
    let findings = world.json_with_status(&["doctor", "--deep"], 0)["findings"].to_string();
    assert!(findings.contains("3 notes of a tenant whose name is unknown"), "{findings}");
    // The name of a tenant of which the part has nothing.
    let restore = ["doctor", "quarantine", "restore", "repair-1"];
    let refused = world.json_with_status(&[&["--tenant", "user=eve"][..], &restore[..]].concat(), 1);
    assert_eq!(refused["error"]["code"], "not_found", "{refused}");
    let unknown = world.json(&restore);
    let start = "the data of a tenant whose name is unknown, with 3 notes: the same command with its `--tenant KEY=VALUE`";
    assert!(unknown["conflicts"][0].as_str().unwrap().starts_with(start), "{unknown}");
    assert_eq!(theirs(&restore)["present"], 3);
    assert_eq!(world.json(&["stats"])["by_tenant"], serde_json::json!({"default": 1, "user=bob": 3}));
    world.json_with_status(&["doctor", "--deep"], 0);
}

#[test]
fn visits_weights_and_runs_are_restored_from_the_quarantine() {
    let world = World::new();
    for key in ["alpha", "beta", "gamma", "delta", "epsilon"] {
        let (title, body) = (format!("On {key}"), format!("The {key} ship lies at anchor."));
        world.json(&["insert", "--key", key, "--title", &title, "--body", &body]);
    }
    world.json(&["visit", "reader", "alpha", "delta"]);
    world.json(&["weight", "delta", "3"]);
    world.json(&["weight", "alpha", "2"]);
    world.json(&["agent", "run", "linker"]);
    damage_text(&world, "gamma");
    let repaired = world.json(&["repair", "--from", "log", "--yes"])["repaired"].clone();
    let number = |name: &str| repaired[format!("restorable_{name}")].as_u64();
    assert_eq!(
        (number("notes"), number("visits"), number("weights")),
        (Some(2), Some(6), Some(2)),
        "{repaired}"
    );
    assert_eq!((number("messages"), number("runs")), (Some(0), Some(1)), "{repaired}");
    let runs = || world.json(&["agent", "history", "linker"])["runs"].as_array().unwrap().len();
    let note = |key: &str| {
        let note = world.json(&["get", key]);
        (note["visits"].as_array().unwrap().len(), note["weight"].as_f64().unwrap().round())
    };
    assert_eq!((runs(), note("alpha")), (0, (0, 1.0)));
    let restored = world.json(&["doctor", "quarantine", "restore", "repair-1"]);
    assert_eq!(restored["restored"], serde_json::json!(["delta", "epsilon"]), "{restored}");
    let count = |name: &str| restored["records"][name].as_u64();
    // The agent visited all five notes, and one of them is lost.
    assert_eq!((count("visit"), count("weight"), count("run")), (Some(6), Some(2), Some(1)), "{restored}");
    let left_out = restored["left_out"].to_string();
    for reason in ["data of notes that the memory does not have (1 record)", "states of agents: "] {
        assert!(left_out.contains(reason), "{left_out}");
    }
    // The memory has a weight of `alpha`, from before the damage.
    assert_eq!((runs(), note("alpha"), note("delta")), (1, (2, 1.0), (2, 3.0)));
    let change = world.json(&["stats"])["as_of"]["seq"].to_string();
    let again = world.json(&["doctor", "quarantine", "restore", "repair-1"]);
    assert_eq!((again.get("records"), &again["present"]), (None, &4.into()), "{again}");
    // A visit that was renewed since does not prevent the undo.
    world.json(&["visit", "reader", "delta"]);
    world.json(&["undo", &change]);
    assert_eq!((keys(&world), runs()), (vec!["alpha".to_owned(), "beta".to_owned()], 1));
    assert_eq!(note("alpha"), (0, 1.0));
    world.json_with_status(&["doctor", "--deep"], 0);
}

/// A memory whose last changes are only in `quarantine/repair-1`: three of its five notes, and an edit of `alpha`.
fn with_lost_changes() -> World {
    let world = World::new();
    for key in ["alpha", "beta", "gamma", "delta", "epsilon"] {
        let (title, body) = (format!("On {key}"), format!("The {key} ship lies at anchor."));
        world.json(&["insert", "--key", key, "--title", &title, "--body", &body]);
    }
    world.json(&["insert", "--key", "alpha", "--update", "--body", "The alpha ship has sailed."]);
    damage_text(&world, "gamma");
    world.json(&["repair", "--from", "log", "--yes"]);
    assert_eq!(keys(&world), ["alpha", "beta"]);
    world
}

#[test]
fn a_store_of_which_only_the_quarantine_is_left_is_not_a_new_store() {
    let world = with_lost_changes();
    world.json(&["backup", "backups"]);
    let store = world.home().join("store");
    for part in ["log", "records", "view", "head", "text", "vectors", "mentions"] {
        let path = store.join(part);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else if path.exists() {
            fs::remove_file(path).unwrap();
        }
    }
    let before = files(&store);
    let stats = world.json(&["stats"]);
    assert!(
        degraded(&stats)[0].starts_with("read-only: the log is missing, and only `quarantine/` may have"),
        "{stats}"
    );
    assert_ne!(world.run(&["insert", "--title", "New", "--body", "Refused"]).status, 0);
    assert_eq!(world.json(&["doctor", "quarantine", "list"])["parts"][0]["name"], "repair-1");
    assert_eq!(world.json(&["repair"])["choices"]["choices"], json!([]));
    let shown = world.run(&["repair"]).stdout;
    assert!(shown.contains("`poc-memory repair --undo --yes` brings back the files"), "{shown}");
    let answer = world.json_with_status(&["restore", "backups"], 1);
    assert_eq!(answer["error"]["code"], "conflict", "{answer}");
    assert!(files(&store) == before);
    // The files that the last repair replaced can still be brought back.
    world.json(&["repair", "--undo", "--yes"]);
    assert!(keys(&world).contains(&"alpha".to_owned()));
}

#[test]
fn a_restore_from_the_quarantine_is_one_change_and_other_versions_are_named() {
    let world = with_lost_changes();
    let restored = world.json(&["doctor", "quarantine", "restore", "repair-1"]);
    assert_eq!(restored["restored"].as_array().unwrap().len(), 2, "{restored}");
    assert_eq!((&restored["present"], &restored["different"]), (&2.into(), &json!(["alpha"])));
    let shown = world.run(&["doctor", "quarantine", "restore", "repair-1", "--dry-run"]);
    assert!(shown.stdout.contains("1 note with another key or text in the quarantine: alpha\n"), "{shown:?}");
    world.json(&["undo"]);
    assert_eq!(keys(&world), ["alpha", "beta"]);
}

#[test]
fn an_erasure_deletes_no_note_that_only_the_quarantine_has() {
    let world = with_lost_changes();
    let answer = world.json_with_status(&["delete", "alpha", "--erase", "--yes"], 1);
    let error = &answer["error"];
    assert_eq!((&error["code"], &error["at"]["field"]), (&"conflict".into(), &"erase".into()), "{error}");
    assert_eq!(keys(&world), ["alpha", "beta"], "a refusal changes nothing");
    // What only the quarantine has is restored first.
    let answer = world.json_with_status(&["delete", "delta", "--erase", "--yes"], 1);
    let hint = answer["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("`poc-memory doctor quarantine restore repair-1`"), "{answer}");
    world.json(&["doctor", "quarantine", "restore", "repair-1"]);
    let erased = world.json(&["delete", "alpha", "--erase", "--yes"]);
    assert_eq!(erased["erasure"]["quarantine"], json!(["repair-1"]), "{erased}");
    assert_eq!(keys(&world), ["beta", "delta", "epsilon"]);
    // The key of a note that was deleted without an erasure names it afterwards.
    world.json(&["delete", "beta"]);
    let erased = world.json(&["delete", "beta", "--erase", "--yes"]);
    assert_eq!(erased["key"], "beta", "{erased}");
}

#[test]
fn a_daemon_saves_nothing_into_a_store_that_replaced_its_own() {
    let mut world = filled(6);
    let (store, away) = (world.home().join("store"), world.home().join("away"));
    world.json(&["backup", "backups"]);
    world.start_daemon();
    world.json(&["insert", "--title", "New", "--body", "Written by the daemon"]);
    // Reads every record, so that the records are open: they open in the background, by path.
    world.json(&["export", "-o", world.home().join("export.jsonl").to_str().unwrap()]);
    fs::rename(&store, &away).unwrap();
    let answer = world.json_with_status(&["restore", "backups"], 1);
    assert_eq!(answer["error"]["code"], "conflict", "{answer}");
    for file in files_below(&away) {
        let copy = store.join(file.strip_prefix(&away).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(&file, copy).unwrap();
    }
    // Indexes are not compared: they can be rebuilt, and an open removes those that are ahead of the log.
    let saved = || -> BTreeMap<PathBuf, Vec<u8>> {
        let is_compared = |path: &PathBuf| {
            ["log", "view", "records/last"].iter().any(|part| path.starts_with(store.join(part)))
        };
        files(&store).into_iter().filter(|(path, _)| is_compared(path)).collect()
    };
    let before = saved();
    assert!(before.len() >= 2, "{before:?}");
    world.stop_daemon();
    assert_eq!(saved(), before);
    world.json_with_status(&["doctor", "--deep"], 0);
}

/// Imports six notes, each in a change of its own. They have enough data that the records are written to a table, whose
/// quarantined file can be read.
fn import_large_notes(world: &World) {
    for number in 1..=6 {
        let (key, title) = (format!("note-{number}"), format!("Harbour {number}"));
        let body = format!("Ships at anchor {}", incompressible::text(number, 400 << 10));
        let note = json!({ "key": key, "title": title, "body": body });
        world.write("note.jsonl", &note.to_string());
        world.json(&["import", world.home().join("note.jsonl").to_str().unwrap()]);
    }
}

/// Later changes link to the note that is lost.
#[test]
fn a_repair_a_dry_run_and_a_restore_agree_on_what_is_restored() {
    let mut world = World::new();
    import_large_notes(&world);
    for number in 2..=6 {
        world.json(&["link", &format!("note-{number}"), "note-1"]);
    }
    let edges = world.json(&["stats"])["edges"].clone();
    world.start_daemon();
    world.stop_daemon();
    damage_at(&world, 200);
    let repaired = world.json(&["repair", "--from", "sound-log", "--yes"])["repaired"].clone();
    let announced = (repaired["restorable_notes"].clone(), repaired["restorable_links"].clone());
    assert!(announced.0 == 1 && announced.1.as_u64() >= Some(5), "{repaired}");
    world.json_with_status(&["doctor", "--deep"], 0);
    for options in [&["--dry-run"][..], &[]] {
        let command = [&["doctor", "quarantine", "restore", "repair-1"][..], options].concat();
        let restored = world.json(&command);
        let notes = restored["restored"].as_array().unwrap().len();
        assert_eq!((json!(notes), restored["links"].clone()), announced, "{restored}");
    }
    for removed in ["view", "records"] {
        assert_eq!(world.json(&["stats"])["edges"], edges, "before `{removed}` is removed");
        world.json_with_status(&["doctor", "--deep"], 0);
        let path = world.home().join("store").join(removed);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).ok();
        }
    }
    assert_eq!(world.json(&["stats"])["edges"], edges);
    world.json_with_status(&["doctor", "--deep"], 0);
}

#[test]
fn a_daemon_whose_store_was_moved_away_makes_no_new_one() {
    let mut world = filled(6);
    let (store, away) = (world.home().join("store"), world.home().join("away"));
    world.start_daemon();
    world.json(&["insert", "--title", "New", "--body", "Written by the daemon"]);
    let expected = keys(&world);
    fs::rename(&store, &away).unwrap();
    world.stop_daemon();
    assert!(!store.exists(), "{:?}", files(&store));
    fs::rename(&away, &store).unwrap();
    assert_eq!(keys(&world), expected);
    world.json_with_status(&["doctor", "--deep"], 0);
}

#[test]
fn the_indexes_follow_a_repair_and_what_is_restored_after_it() {
    let mut world = World::new();
    import_large_notes(&world);
    // The daemon saves the indexes when it stops.
    world.start_daemon();
    world.stop_daemon();
    assert!(world.home().join("store/text").exists());
    damage_at(&world, 200);
    let repaired = world.run(&["repair", "--from", "sound-log", "--yes"]);
    assert!(repaired.stdout.contains("`poc-memory doctor quarantine restore repair-1`"), "{repaired:?}");
    assert_eq!(keys(&world), ["note-2", "note-3", "note-4", "note-5", "note-6"]);
    world.json_with_status(&["doctor", "--deep"], 0);
    let restored = world.json(&["doctor", "quarantine", "restore", "repair-1"]);
    assert_eq!(restored["restored"], json!(["note-1"]), "{restored}");
    world.json_with_status(&["doctor", "--deep"], 0);
    world.start_daemon();
    world.stop_daemon();
    world.json(&["repair", "--undo", "--yes"]);
    world.json(&["repair", "--from", "records", "--yes"]);
    assert_eq!(keys(&world).len(), 6);
    world.json_with_status(&["doctor", "--deep"], 0);

    let parts = || world.json(&["doctor", "quarantine", "list"])["parts"].as_array().unwrap().clone();
    assert!(!parts().is_empty());
    for part in parts() {
        let name = part["name"].as_str().unwrap();
        world.json_with_status(&["doctor", "quarantine", "delete", name], 2);
        let deleted = world.json(&["doctor", "quarantine", "delete", name, "--yes"]);
        assert_eq!(deleted["bytes"], part["bytes"]);
    }
    assert!(parts().is_empty());
    world.json_with_status(&["doctor", "quarantine", "delete", "../log", "--yes"], 1);
    assert_ne!(world.run(&["repair", "--undo", "--yes"]).status, 0);
    assert_eq!(keys(&world).len(), 6);
    world.json_with_status(&["doctor", "--deep"], 0);
}
