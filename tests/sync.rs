//! Profiles, and the synchronisation of two stores.

use crate::support::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The titles of all notes of a profile.
fn titles(world: &World, profile: &str) -> BTreeSet<String> {
    let ran = world.run(&["--profile", profile, "export"]);
    assert_eq!(ran.status, 0, "{ran:#?}");
    let title = |line: &str| {
        let note: Value = serde_json::from_str(line).unwrap();
        note["title"].as_str().unwrap().to_owned()
    };
    ran.stdout.lines().map(title).collect()
}

fn insert(world: &World, profile: &str, title: &str) {
    let body = format!("{title} is what this note is about.");
    world.json(&["--profile", profile, "insert", "--title", title, "--body", &body]);
}

#[track_caller]
fn counts(answer: &Value) -> [u64; 3] {
    ["pulled", "deleted", "pushed"].map(|field| answer[field].as_u64().unwrap())
}

#[test]
fn profiles_can_be_created_listed_and_shown() {
    let world = World::new();
    let made = world.json(&["profile", "create", "work"]);
    assert_eq!((made["name"].as_str(), made["stored"].as_bool()), (Some("work"), Some(true)));
    assert_eq!(world.json_with_status(&["profile", "create", "work"], 1)["error"]["code"], "conflict");
    assert_eq!(world.json_with_status(&["profile", "create", "a/b"], 2)["error"]["at"]["field"], "profile");
    insert(&world, "work", "Ropes");
    let listed = world.run(&["--profile", "work", "profile", "list"]);
    assert_eq!(listed.stdout, "  default  no store yet\n* work     no daemon\n");
    let shown = world.json(&["profile", "show", "work"]);
    assert_eq!(shown["store"], json!(world.home().join("profiles/work/store")));
    let unknown = world.json_with_status(&["profile", "show", "wrok"], 1);
    assert!(unknown["error"]["hint"].as_str().unwrap().starts_with("did you mean `work`? "), "{unknown}");
    assert!(!world.home().join("profiles/wrok").exists());
    // The unnamed profile has one, too.
    insert(&world, "default", "Sails");
    assert_eq!(world.json(&["stats"])["nodes"], 1);
}

#[test]
fn doctor_names_a_remote_that_is_gone() {
    let world = World::new();
    world.json(&["profile", "create", "hub"]);
    insert(&world, "default", "Ropes");
    world.json(&["profile", "remote", "bind", "hub"]);
    let remote = |world: &World| {
        let report = world.json(&["doctor"]);
        let results = report["findings"].as_array().unwrap().clone();
        results.into_iter().find(|result| result["check"] == "remote")
    };
    assert_eq!(remote(&world), None);
    world.json(&["profile", "delete", "hub", "--yes"]);
    let found = remote(&world).unwrap();
    assert_eq!(found["state"], "warning");
    assert_eq!(found["message"], "`hub` cannot be synchronised: there is no profile `hub`");
    let hint = found["hint"].as_str().unwrap();
    assert!(hint.ends_with("`poc-memory profile remote detach` unbinds it"), "{found}");
    world.json(&["profile", "remote", "detach"]);
    assert_eq!(remote(&world), None);
}

/// The steps from the first bind to the detachment, with and without a daemon.
fn story(world: &World) {
    world.json(&["profile", "create", "shared"]);
    insert(world, "default", "Ropes");
    insert(world, "default", "Sails");
    insert(world, "shared", "Lamps");
    assert_eq!(world.json_with_status(&["profile", "remote", "sync"], 1)["error"]["code"], "not_found");
    assert_eq!(world.json(&["profile", "remote", "status"])["remote"], Value::Null);
    let bound = world.json(&["profile", "remote", "bind", "shared"]);
    assert_eq!((bound["remote"].as_str(), bound["trust"].as_str()), (Some("shared"), Some("user")));
    let dry = world.json(&["profile", "remote", "sync", "--dry-run"]);
    assert_eq!(counts(&dry), [1, 0, 2]);
    assert_eq!(dry["would"]["pull"][0]["key"], "lamps");
    assert_eq!(titles(world, "shared").len(), 1, "a dry run writes nothing");
    let printed = world.run(&["profile", "remote", "sync"]);
    assert_eq!(
        (printed.status, printed.stdout.as_str()),
        (0, "1 pulled, 0 deleted, 2 pushed\n"),
        "{}",
        printed.stderr
    );
    assert_eq!(titles(world, "shared"), titles(world, "default"));
    assert_eq!(counts(&world.json(&["profile", "remote", "sync"])), [0, 0, 0]);
    assert_eq!(world.json(&["get", "lamps"])["origin"], "remote");
    assert_eq!(world.json(&["get", "ropes"])["origin"], "pushed");
    // Texts name the command, and say nothing of the mark that a push sets.
    for command in [["changes", "--all"], ["history", "ropes"]] {
        let shown = world.run(&command).stdout;
        assert!(shown.contains("profile remote sync"), "{command:?}: {shown}");
        assert!(!shown.contains("remote_sync") && !shown.contains("origin"), "{command:?}: {shown}");
    }
    // A search finds it at once.
    assert_eq!(world.json(&["search", "lamps"])["results"][0]["key"], "lamps");

    world.json(&["--profile", "shared", "delete", "sails"]);
    world.json(&["link", "lamps", "ropes", "--reason", "both hang"]);
    let synced = world.json(&["profile", "remote", "sync"]);
    assert_eq!(counts(&synced), [0, 1, 0]);
    assert_eq!(synced["links"]["pushed"], 1);
    assert_eq!(world.json(&["--profile", "shared", "get", "lamps"])["edges"]["link"][0]["key"], "ropes");
    let status = world.json(&["profile", "remote", "status"]);
    assert_eq!(counts(&status["remote"]["last"]), [0, 1, 0]);
    assert_eq!(status["remote"]["problem"], Value::Null);

    world.json(&["--profile", "shared", "delete", "ropes"]);
    world.json(&["profile", "remote", "detach"]);
    world.json(&["profile", "remote", "bind", "shared"]);
    assert_eq!(counts(&world.json(&["profile", "remote", "sync"])), [0, 0, 1], "detached notes are immune");
}

#[test]
fn two_stores_are_synchronized_without_a_daemon() {
    story(&World::new());
}

#[test]
fn two_stores_are_synchronized_by_the_daemon_of_one() {
    let mut world = World::new();
    world.start_daemon();
    story(&world);
    world.stop_daemon();
}

#[test]
fn a_conflict_is_listed_before_and_after_the_sync() {
    let world = World::new();
    world.json(&["profile", "create", "work"]);
    world.json(&["profile", "remote", "bind", "work"]);
    let write = |profile: &str, key: &str, body: &str| {
        world.json(&["--profile", profile, "insert", "--update", "--key", key, "--body", body]);
    };
    let sync = |arguments: &[&str]| {
        let command: Vec<&str> = ["profile", "remote", "sync"].iter().chain(arguments).copied().collect();
        let ran = world.run(&command);
        assert_eq!(ran.status, 0, "{ran:#?}");
        ran.stdout
    };
    write("default", "shared", "The ropes are in the shed.");
    sync(&[]);
    write("default", "shared", "The ropes are in the boat.");
    write("work", "shared", "The ropes are in the car.");
    write("default", "same", "The sails are white.");
    write("work", "same", "The lamps are lit.");
    let dry = sync(&["--dry-run"]);
    assert!(
        dry.starts_with("dry run, nothing was written: 2 to pull, 0 to delete, 2 to push, 2 conflicts\n")
    );
    assert!(
        dry.contains("\nconflict `shared`: it was edited on both sides, and the later edit keeps the key\n")
    );
    assert!(dry.contains("\nconflict `same`: two notes have it, and the older one keeps it\n"), "{dry}");
    let listed = world.json(&["profile", "remote", "sync", "--dry-run"])["would"]["conflicts"].clone();
    assert_eq!(
        listed,
        json!([{"key": "shared", "edited_in_both": true}, {"key": "same", "edited_in_both": false}])
    );
    assert_eq!(
        sync(&[]),
        "2 pulled, 0 deleted, 2 pushed, 2 conflicts\n\
         conflict `shared`: it was edited on both sides, and the later edit keeps the key; the text of this memory is \
         `shared-2` now\n\
         conflict `same`: another note has the key; the text of the remote is `same-2` now\n"
    );
    for key in ["shared", "shared-2", "same", "same-2"] {
        let body = |profile: &str| world.json(&["--profile", profile, "get", key])["body"].clone();
        assert_eq!(body("default"), body("work"), "{key}");
    }
    assert_eq!(sync(&[]), "0 pulled, 0 deleted, 0 pushed\n");
}

#[test]
fn a_remote_locked_by_another_process_is_rejected_with_its_pid() {
    let mut remote = World::new();
    remote.start_daemon();
    let world = World::new();
    insert(&world, "default", "Ropes");
    let home = remote.home().to_str().unwrap();
    world.json(&["profile", "remote", "bind", home]);
    let refused = world.json_with_status(&["profile", "remote", "sync"], 5);
    assert_eq!(refused["error"]["code"], "locked");
    let pid = remote.daemon_pid();
    assert!(refused["error"]["message"].as_str().unwrap().contains(&format!("process {pid}")), "{refused}");
    assert_eq!(world.json(&["profile", "remote", "status"])["remote"]["held_by"], pid);
    remote.stop_daemon();
    let answer = world.json(&["profile", "remote", "sync"]);
    assert_eq!(counts(&answer), [0, 0, 1]);
    assert_eq!(remote.json(&["get", "ropes"])["trust"], "user");
}

#[test]
fn a_folder_can_be_a_relative_path() {
    let world = World::new();
    insert(&world, "default", "Ropes");
    let refused = world.json_with_status(&["profile", "remote", "bind", "./disk"], 1);
    assert_eq!(
        (refused["error"]["code"].as_str(), refused["error"]["at"]["field"].as_str()),
        (Some("not_found"), Some("remote"))
    );
    assert!(!world.home().join("disk").exists());
    let bound = world.json(&["profile", "remote", "bind", "./disk", "--create", "--trust", "agent"]);
    assert_eq!(bound["remote"], json!(world.home().join("disk")));
    assert_eq!(counts(&world.json(&["profile", "remote", "sync"])), [0, 0, 1]);
    std::os::unix::fs::symlink(world.home(), world.home().join("link")).unwrap();
    let same = world.json_with_status(&["profile", "remote", "bind", "link/"], 1);
    assert_eq!(same["error"]["code"], "conflict");
}

/// Kills syncs by `kill -9` at increasing times; the last one may finish.
#[test]
fn the_next_sync_completes_a_killed_one() {
    for served in [false, true] {
        let mut world = World::new();
        world.json(&["profile", "create", "shared"]);
        let lines = |side: &str| -> String {
            (0..150)
                .map(|n| format!("{{\"key\":\"{side}-{n}\",\"title\":\"{side} {n}\",\"body\":\"Number {n} of {side}, unlike {}\"}}\n", n * 7919 % 150))
                .collect()
        };
        world.write("ours.jsonl", &lines("ours"));
        world.write("theirs.jsonl", &lines("theirs"));
        world.json(&["import", "ours.jsonl"]);
        world.json(&["--profile", "shared", "import", "theirs.jsonl"]);
        world.json(&["profile", "remote", "bind", "shared"]);
        let mut cut = 0;
        // Each sync runs twice as long as the one before, because its duration depends on the machine.
        for moment in [0, 15, 30, 60, 120, 240].map(Duration::from_millis) {
            if served {
                world.start_daemon();
            }
            let mut sync = world
                .command("poc-memory")
                .args(["profile", "remote", "sync"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let moment = Instant::now() + moment;
            let ended = loop {
                match sync.try_wait().unwrap() {
                    Some(_) => break true,
                    None if Instant::now() >= moment => break false,
                    None => std::thread::yield_now(),
                }
            };
            cut += u32::from(!ended);
            if served {
                world.kill_daemon();
            } else {
                let pid = sync.id().to_string();
                Command::new("kill").args(["-9", &pid]).stderr(Stdio::null()).status().unwrap();
            }
            sync.wait().unwrap();
        }
        assert!(cut > 0, "every sync was done before it was killed");
        world.json(&["profile", "remote", "sync"]);
        let (ours, theirs) = (titles(&world, "default"), titles(&world, "shared"));
        assert_eq!(ours.len(), 300);
        assert_eq!(ours, theirs);
        for profile in ["default", "shared"] {
            assert_eq!(world.json(&["--profile", profile, "stats"])["nodes"], 300, "none twice");
        }
        assert_eq!(counts(&world.json(&["profile", "remote", "sync"])), [0, 0, 0]);
        // All notes were in both stores, so a deletion in one is a deletion in the other.
        world.json(&["--profile", "shared", "delete", "ours-7"]);
        world.json(&["--profile", "shared", "delete", "theirs-7"]);
        assert_eq!(counts(&world.json(&["profile", "remote", "sync"])), [0, 2, 0]);
    }
}
