//! Opening the store: checkpoints that an idle daemon saves, and concurrent commands.

use crate::support::world::{binary, files_below};
use crate::support::{WAIT_LIMIT, World};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

fn hits(answer: &serde_json::Value) -> usize {
    answer["results"].as_array().unwrap().len()
}

#[test]
fn an_idle_daemon_saves_a_checkpoint_that_a_start_after_a_kill_uses() {
    let mut world = World::new();
    world.write("config.toml", "[daemon]\ncheckpoint-quiet = \"200ms\"\n");
    let line = |number: usize| {
        format!("{{\"key\":\"line-{number}\",\"title\":\"Line {number}\",\"body\":\"Harbour {number}\"}}\n")
    };
    world.write("lines.jsonl", &(0..600).map(line).collect::<String>());
    world.start_daemon();
    let saved = world.home().join("store/view");
    assert_eq!(world.run(&["import", "lines.jsonl"]).status, 0);
    world.until(WAIT_LIMIT, &["search", "-p", "all"], |answer| hits(answer) == 600 && saved.exists());
    // Too little for another checkpoint, so the note is only in the log.
    let inserted = world.run(&["insert", "--key", "late", "--title", "Late", "--body", "A late harbour"]);
    assert_eq!(inserted.status, 0);
    world.kill_daemon();
    let before = std::fs::read(&saved).unwrap();
    world.start_daemon();
    let search = |pipeline: &str| hits(&world.json(&["search", "-p", pipeline]));
    assert_eq!((search("all"), search("key:late | limit:5"), search("match:late")), (601, 1, 1));
    // With a damaged checkpoint the answers are the same.
    world.kill_daemon();
    std::fs::write(&saved, &before[..before.len() / 2]).unwrap();
    world.start_daemon();
    assert_eq!(hits(&world.json(&["search", "-p", "all"])), 601);
    world.stop_daemon();
    assert!(std::fs::read(&saved).unwrap().len() > before.len());
}

#[test]
fn concurrent_commands_wait_for_each_other() {
    let world = World::new();
    std::thread::scope(|scope| {
        for number in 0..6 {
            let world = &world;
            scope.spawn(move || {
                let title = format!("Note {number}");
                world.json(&["insert", "--title", &title, "--body", "Written beside others"]);
            });
        }
    });
    assert_eq!(hits(&world.json(&["search", "-p", "all"])), 6);
}

#[test]
fn files_are_private_whatever_the_umask() {
    let mut world = World::new();
    // The folder of the store exists, so it is not created with the mode that would protect what is in it.
    std::fs::create_dir(world.home().join("store")).unwrap();
    let run = |arguments: &[&str]| {
        let status = Command::new("sh")
            .args(["-c", "umask 000; exec \"$0\" \"$@\""])
            .arg(binary("poc-memory"))
            .args(arguments)
            .env("POC_MEMORY_HOME", world.home())
            .env("POC_MEMORY__EMBEDDER__KIND", "hash")
            .current_dir(world.home())
            .status();
        assert!(status.unwrap().success(), "{arguments:?}");
    };
    run(&["insert", "--key", "one", "--title", "A note", "--body", "about page splits"]);
    run(&["search", "splits"]);
    run(&["export", "--vault", "vault"]);
    run(&["backup", "backups"]);
    run(&["agent", "run", "linker"]);
    // Private content is written to files that everybody may read.
    for readable in ["export.jsonl", "daemon.log"] {
        let path = world.write(readable, "");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    run(&["export", "-o", "export.jsonl"]);
    world.start_daemon();
    world.stop_daemon();
    let files = files_below(world.home());
    for expected in ["store/log", "store/records", "vault", "backups", "runs", "export.jsonl", "daemon.log"] {
        assert!(files.iter().any(|path| path.starts_with(world.home().join(expected))), "{files:?}");
    }
    for path in files {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} has the mode {mode:o}", path.display());
    }
}

/// The log file cannot be opened, as on a disk that is mounted read-only.
#[test]
fn a_daemon_without_its_log_file_starts_and_serves() {
    let mut world = World::new();
    world.json(&["insert", "--key", "note", "--title", "Note", "--body", "A note"]);
    std::fs::create_dir(world.home().join("daemon.log")).unwrap();
    world.start_daemon();
    assert_eq!(world.json(&["get", "note"])["title"], "Note");
    world.stop_daemon();
}
