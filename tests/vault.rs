//! Vaults: notes follow the files of a bound folder, with a daemon and without.

use crate::support::{CommandResult, Deadline, WAIT_LIMIT, World, move_path};
use serde_json::{Value, json};
use std::fs;

fn rename(world: &World, from: &str, to: &str) {
    move_path(&world.home().join(from), &world.home().join(to));
}

/// Waits until a note has a text, and returns the answer of `get`.
#[track_caller]
fn until_text(world: &World, key: &str, text: &str) -> Value {
    let deadline = Deadline::after(WAIT_LIMIT);
    loop {
        let ran = world.run(&["--json", "get", key]);
        let answer: Value =
            serde_json::from_str(if ran.status == 0 { &ran.stdout } else { &ran.stderr }).unwrap();
        if answer["body"] == text && answer["state"] == "active" {
            return answer;
        }
        deadline.wait(|| format!("`{key}` is {answer:#}"));
    }
}

#[test]
fn notes_follow_the_files_with_and_without_a_running_daemon() {
    let mut world = World::new();
    world.write("notes/journal.md", "# Journal\n\nPages are logged, see [[split]].\n");
    world.write("notes/db/split.md", "# Split\n\nA crash loses keys. #crash\n");
    world.start_daemon();
    let added = world.json(&["vault", "add", "notes"]);
    assert_eq!(
        (&added["name"], &added["sync"]["added"], &added["sync"]["links_added"]),
        (&json!("notes"), &json!(2), &json!(1))
    );
    let id = world.json(&["get", "journal"])["id"].clone();
    world.json(&["weight", "journal", "7"]);

    // Edited, created in a new folder, and moved.
    world.write("notes/journal.md", "# Journal\n\nEvery page is logged, see [[split]].\n");
    until_text(&world, "journal", "# Journal\n\nEvery page is logged, see [[split]].");
    world.write("notes/people/ann.md", "Ann wrote the [[journal]].\n");
    until_text(&world, "people/ann", "Ann wrote the [[journal]].");
    rename(&world, "notes/journal.md", "notes/log/wal.md");
    let moved = world.until(WAIT_LIMIT, &["get", "journal"], |note| note["key"] == "log/wal");
    assert_eq!((&moved["id"], &moved["aliases"]), (&id, &json!(["journal"])));
    assert!(moved["weight"].as_f64().unwrap() > 6.9, "{moved:#}");
    let links = world.json(&["backlinks", "log/wal"]);
    assert!(links.to_string().contains("people/ann"), "{links:#}");
    fs::remove_file(world.home().join("notes/people/ann.md")).unwrap();
    world.until(WAIT_LIMIT, &["get", "people/ann"], |note| note["state"] == "expired");
    let status = world.json(&["daemon", "status"]);
    let vault = &status["vaults"][0];
    assert_eq!(
        (&vault["name"], &vault["files"], &vault["behind"]),
        (&json!("notes"), &json!(2), &json!(0)),
        "{status:#}"
    );
    let import = world.json_with_status(&["import", "notes/db"], 1);
    assert_eq!(import["error"]["code"], "conflict");

    // After a kill, the next start applies the changes that were made in the meantime.
    world.kill_daemon();
    rename(&world, "notes/log", "notes/storage");
    world.write("notes/db/split.md", "# Split\n\nNo crash loses keys any more.\n");
    world.write("notes/people/ann.md", "Ann wrote the [[journal]].\n");
    world.start_daemon();
    world.until(WAIT_LIMIT, &["get", "log/wal"], |note| note["key"] == "storage/wal" && note["id"] == id);
    until_text(&world, "db/split", "# Split\n\nNo crash loses keys any more.");
    until_text(&world, "people/ann", "Ann wrote the [[journal]].");

    // A broken file is named, and its note stays.
    world.write("notes/db/split.md", "---\ntitle: [\n---\nHalf\n");
    let listed = world.until(WAIT_LIMIT, &["vault", "list"], |list| {
        list["vaults"][0]["refused"][0]["file"] == "db/split.md"
    });
    assert_eq!(listed["vaults"][0]["files"], 3);
    assert_eq!(world.json(&["get", "db/split"])["body"], "# Split\n\nNo crash loses keys any more.");
    let doctor = world.run(&["doctor"]);
    assert!(doctor.stdout.contains("vaults    `notes`: 3 files, up to date, 1 refused"), "{}", doctor.stdout);
    world.write("notes/db/split.md", "# Split\n\nWhole again.\n");
    until_text(&world, "db/split", "# Split\n\nWhole again.");

    world.json(&["vault", "remove", "notes"]);
    assert_eq!(world.json(&["vault", "list"])["vaults"], json!([]));
    world.stop_daemon();
}

#[test]
fn a_folder_that_was_missing_is_watched_again() {
    let mut world = World::new();
    // No regular scan finds the folder.
    world.write("config.toml", "[daemon]\nreload-poll = \"1d\"\n");
    world.write("notes/a.md", "The first.\n");
    world.json(&["vault", "add", "notes"]);
    world.start_daemon();
    rename(&world, "notes", "away");
    let deadline = Deadline::after(WAIT_LIMIT);
    while !fs::read_to_string(world.home().join("daemon.log")).unwrap().contains("does not exist") {
        deadline.wait(|| "the folder is not missed".to_owned());
    }
    let problems = |world: &World| world.json(&["daemon", "status"])["problems"].to_string();
    // The daemon lists the vaults after their syncs.
    world.until(WAIT_LIMIT, &["daemon", "status"], |status| {
        status["problems"].to_string().contains("of the vault `notes` is missing")
    });
    world.write("away/a.md", "Back again.\n");
    rename(&world, "away", "notes");
    until_text(&world, "a", "Back again.");
    assert!(!problems(&world).contains("is missing"), "{}", problems(&world));
    world.stop_daemon();
}

#[test]
fn the_daemon_syncs_with_the_settings_that_took_effect_while_it_runs() {
    let mut world = World::new();
    let settings = |max: usize| format!("[daemon]\nreload-poll = \"1s\"\n[insert]\nmax-node-bytes = {max}\n");
    world.write("config.toml", &settings(100));
    world.start_daemon();
    world.write("notes/long.md", &"A long text. ".repeat(20));
    let added = world.json_with_status(&["vault", "add", "notes"], 1);
    assert_eq!(added["sync"]["refused"][0]["file"], "long.md");
    world.write("config.toml", &settings(1000));
    let deadline = Deadline::after(WAIT_LIMIT);
    while !fs::read_to_string(world.home().join("daemon.log"))
        .unwrap()
        .contains("settings that take effect now")
    {
        deadline.wait(|| "the settings are not read again".to_owned());
    }
    let text = "Another text. ".repeat(20);
    world.write("notes/long.md", &text);
    until_text(&world, "long", text.trim_end());
    world.stop_daemon();
}

#[test]
fn write_back_fails_only_if_it_finds_a_new_problem() {
    let world = World::new();
    world.write("notes/a.md", "The first.\n");
    world.write("notes/b.md", "---\ntitle: [\n---\nThe second.\n");
    let added = world.json_with_status(&["vault", "add", "notes"], 1);
    assert_eq!(added["sync"]["refused"][0]["file"], "b.md");
    for off in [&["--off"][..], &[]] {
        let ran = world.json(&[&["vault", "write-back", "notes"][..], off].concat());
        assert_eq!((&ran["sync"]["refused"][0]["file"], &ran["refused_before"]), (&json!("b.md"), &json!(1)));
    }
    world.write("notes/c.md", "---\ntitle: [\n---\nThe third.\n");
    world.json_with_status(&["vault", "write-back", "notes"], 1);
}

/// In most vaults, the name of a person is only in the name of the file.
#[test]
fn a_note_is_found_by_the_name_of_its_file() {
    let world = World::new();
    world.write("notes/people/Freya Lund.md", "Agent in Copenhagen. Birthday on 4 May.\n");
    world.write("notes/people/Oskar.md", "---\ntags: [family]\n---\n");
    world.write("notes/tram.md", "The last tram leaves at midnight. Call Freya Lund.\n");
    world.json(&["vault", "add", "notes"]);
    let known = world.json(&["query", "when is the birthday of Freya Lund?"]);
    assert_eq!((&known["hit"], &known["key"]), (&json!("STRONG"), &json!("people/Freya Lund")), "{known:#}");
    let backlinks = world.json(&["backlinks", "Freya Lund"]);
    assert_eq!(backlinks["backlinks"][0]["key"], "tram", "{backlinks:#}");
    assert_eq!(world.json(&["retrieve", "Oskar"])["results"][0]["key"], "people/Oskar");
}

#[test]
fn the_output_counts_notes_and_files_and_says_when_links_are_written() {
    let world = World::new();
    world.write("notes/a.md", "The first.\n");
    world.write("notes/copy.md", "The first.\n");
    world.write("notes/b.md", "The second.\n");
    world.json(&["vault", "add", "notes", "--write-back"]);
    world.json(&["link", "a", "b"]);
    let listed = || world.run(&["vault", "list"]).stdout;
    assert!(listed().contains("up to date, write-back at the next sync"), "{}", listed());
    world.json(&["vault", "sync"]);
    assert!(listed().contains("up to date") && !listed().contains("write-back"), "{}", listed());
    // The sync wrote the link into the files.
    let changes = world.run(&["changes", "--limit", "1"]).stdout;
    assert!(changes.trim_end().ends_with("vault sync  no notes"), "{changes}");
    for name in ["a", "b", "copy"] {
        fs::remove_file(world.home().join(format!("notes/{name}.md"))).unwrap();
    }
    assert!(listed().contains("3 files behind (3 deleted)"), "{}", listed());
    let emptied = world.run(&["vault", "sync", "--emptied"]).stdout;
    assert!(emptied.contains("2 retired with 3 files"), "{emptied}");
}

#[test]
fn a_vault_belongs_to_its_tenant() {
    let world = World::new();
    world.write("notes/a.md", "The first.\n");
    world.json(&["--tenant", "team=blue", "vault", "add", "notes"]);
    assert_eq!(world.json(&["vault", "list"])["vaults"], json!([]));
    assert_eq!(world.json(&["--tenant", "team=blue", "get", "a"])["body"], "The first.");
    world.json_with_status(&["get", "a"], 1);
    let unknown = world.json_with_status(&["vault", "sync", "notes"], 1);
    assert_eq!(unknown["error"]["code"], "not_found");
}

/// Neither can other texts of files, such as links and values of properties.
#[test]
fn names_of_files_cannot_imitate_lines_of_the_output() {
    let world = World::new();
    world.write(
        "notes/a\nerror: all is lost\u{1b}[2J.md",
        "---\ndate: \"noon\\nerror: b\"\n---\nSee [[no\nerror: c]].\n",
    );
    world.write("notes/sub\nerror: d/e.md", "The quay.\n");
    world.write("notes/f\nerror: g.csv", "a,b\n1,2\n");
    for command in [&["import", "notes"][..], &["vault", "add", "notes"], &["vault", "status"], &["doctor"]] {
        let CommandResult { stdout, stderr, .. } = world.run(command);
        for line in stdout.lines().chain(stderr.lines()) {
            assert!(!line.starts_with("error:") && !line.contains('\u{1b}'), "{command:?}: {line:?}");
        }
        assert!(stdout.contains("error: all is lost\\u{1b}[2J.md"), "{command:?}: {stdout}");
    }
    let missing = world.run(&["import", "no\nerror: h"]).stderr;
    assert!(missing.contains("no\\nerror: h: there is no such file or folder"), "{missing}");
}
