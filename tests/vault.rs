//! Vaults: notes follow the files of a bound folder, with a daemon and without.

use crate::support::{Deadline, WAIT_LIMIT, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn rename(world: &World, from: &str, to: &str) {
    let to = world.home().join(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(world.home().join(from), to).unwrap();
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

/// The live notes of a memory: title, text and sorted keywords, with the texts that each links to.
fn contents(world: &World) -> BTreeMap<String, Vec<String>> {
    let exported = world.run(&["export"]).stdout;
    let notes: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let live: BTreeMap<&str, String> = notes
        .iter()
        .filter(|note| note["state"] == "active" || note["state"].is_null())
        .map(|note| {
            (note["id"].as_str().unwrap(), format!("{} {} {}", note["title"], note["body"], note["keywords"]))
        })
        .collect();
    let links = |note: &Value| -> Vec<String> {
        let edges = note["edges"].as_array().cloned().unwrap_or_default();
        let links = edges.iter().filter(|edge| edge["kind"] == "link");
        let mut texts: Vec<String> =
            links.filter_map(|edge| live.get(edge["to"].as_str()?).cloned()).collect();
        texts.sort();
        texts
    };
    notes.iter().filter_map(|note| Some((live.get(note["id"].as_str()?)?.clone(), links(note)))).collect()
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

/// A deterministic sequence of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Changes a random file of a folder: edits, moves, deletes or creates one.
fn change(folder: &Path, numbers: &mut Numbers, step: usize) {
    let mut files = crate::support::world::files_below(folder);
    files.sort();
    let text = |numbers: &mut Numbers| {
        let link = numbers.below(40);
        format!("# Note {step}\n\nStep {step} of many, see [[n{link}]] and #tag{}.\n", numbers.below(9))
    };
    let new = |numbers: &mut Numbers| {
        folder.join(["", "a", "b/c"][numbers.below(3)]).join(format!("n{}.md", numbers.below(40)))
    };
    let file = files.get(numbers.below(files.len().max(1))).cloned();
    match (numbers.below(10), file) {
        (0..4, Some(file)) => fs::write(&file, text(numbers)).unwrap(),
        (4..6, Some(file)) => {
            let to = new(numbers);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            if !to.exists() {
                fs::rename(file, to).unwrap();
            }
        }
        (6, Some(file)) => fs::remove_file(file).unwrap(),
        _ => {
            let to = new(numbers);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, text(numbers)).unwrap();
        }
    }
}

#[test]
fn after_any_changes_the_memory_equals_that_of_a_new_import() {
    let mut world = World::new();
    let folder = world.home().join("notes");
    let mut numbers = Numbers(7);
    fs::create_dir(&folder).unwrap();
    (0..30).for_each(|step| change(&folder, &mut numbers, step));
    world.json(&["vault", "add", "notes"]);
    for round in 0..4 {
        // With a daemon, killed in the middle, and without one.
        if round != 2 {
            world.start_daemon();
        }
        for step in 0..60 {
            change(&folder, &mut numbers, 100 + round * 100 + step);
        }
        if round == 1 {
            world.kill_daemon();
            (0..30).for_each(|step| change(&folder, &mut numbers, 180 + step));
        }
        world.json(&["vault", "sync"]);
        let other = World::new();
        let copy = other.home().join("notes");
        assert!(
            std::process::Command::new("cp").arg("-r").arg(&folder).arg(&copy).status().unwrap().success()
        );
        other.json(&["vault", "add", "notes"]);
        let (synced, fresh) = (contents(&world), contents(&other));
        assert_eq!(synced.keys().collect::<Vec<_>>(), fresh.keys().collect::<Vec<_>>(), "round {round}");
        for (note, links) in &fresh {
            // Links to former names lead to moved notes, which a new memory cannot know.
            assert!(
                links.iter().all(|link| synced[note].contains(link)),
                "round {round}: {note} {links:?} {:?}",
                synced[note]
            );
        }
        if round == 0 || round == 3 {
            world.stop_daemon();
        }
    }
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
