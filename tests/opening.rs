//! Opening the store: checkpoints that an idle daemon saves, and concurrent commands.

use crate::support::world::{binary, files_below};
use crate::support::{CommandResult, Deadline, WAIT_LIMIT, World, number_in};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

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

/// Daemons that are killed when a test fails.
struct Daemons(Vec<Child>);

impl Drop for Daemons {
    fn drop(&mut self) {
        for daemon in &mut self.0 {
            daemon.kill().ok();
            daemon.wait().ok();
        }
    }
}

/// The number of rounds: `POC_MEMORY_STARTS`, or 2.
fn rounds() -> u64 {
    number_in("POC_MEMORY_STARTS", 2)
}

/// Twelve daemons and eight commands start at the same time in each round. In every other round, the daemon was killed
/// and the text index has to be rebuilt.
#[test]
fn of_many_simultaneous_starts_one_owns_the_store_and_no_answer_is_silently_empty() {
    const NOTES: usize = 300;
    let world = World::new();
    let line = |number: usize| {
        format!("{{\"key\":\"line-{number}\",\"title\":\"Line {number}\",\"body\":\"Harbour {number}\"}}\n")
    };
    world.write("lines.jsonl", &(0..NOTES).map(line).collect::<String>());
    world.json(&["import", "lines.jsonl"]);
    let check = |ran: &CommandResult, expected: Option<usize>| {
        if ran.status != 0 {
            let error: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
            let code = error["error"]["code"].as_str().unwrap();
            assert!(["locked", "unavailable"].contains(&code), "{ran:?}");
            return;
        }
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        let is_degraded = answer["degraded"].as_array().is_some_and(|reasons| !reasons.is_empty());
        let is_complete = expected.map_or(hits(&answer) > 0, |expected| hits(&answer) == expected);
        assert!(is_complete || is_degraded, "{answer}");
    };
    for round in 0..rounds() {
        let is_killed = round % 2 == 1;
        let start = |_| {
            let mut daemon = world.command("poc-daemon");
            daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let mut daemons = Daemons((0..12).map(start).collect());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (world, check) = (&world, &check);
                scope.spawn(move || match number % 2 {
                    0 => check(&world.run(&["--json", "search", "-p", "all"]), Some(NOTES)),
                    _ => check(&world.run(&["--json", "search", "harbour"]), None),
                });
            }
        });
        let deadline = Deadline::after(2 * WAIT_LIMIT);
        loop {
            daemons.0.retain_mut(|daemon| match daemon.try_wait().unwrap() {
                Some(status) => {
                    assert_eq!(status.code(), Some(5), "round {round}: {status}");
                    false
                }
                None => true,
            });
            if daemons.0.len() == 1 && world.run(&["daemon", "status"]).status == 0 {
                break;
            }
            deadline.wait(|| format!("round {round}: {} daemons run", daemons.0.len()));
        }
        assert_eq!(world.json(&["daemon", "status"])["pid"], daemons.0[0].id());
        check(&world.run(&["--json", "search", "-p", "all"]), Some(NOTES));
        let mut owner = daemons.0.remove(0);
        let signal = if is_killed { "-9" } else { "-TERM" };
        let sent = Command::new("kill").args([signal, &owner.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(owner.wait().unwrap().success(), !is_killed);
        let index = world.home().join("store/text");
        if is_killed && index.exists() {
            std::fs::remove_dir_all(index).unwrap();
        }
    }
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

/// The session manager deletes `XDG_RUNTIME_DIR` when the last session of the user ends, and the daemon goes on.
#[test]
fn a_deleted_socket_is_created_again() {
    let mut world = World::new();
    world.start_daemon();
    let socket = world.home().join("daemon.sock");
    std::fs::remove_file(&socket).unwrap();
    let deadline = Deadline::after(WAIT_LIMIT);
    // The file exists before its mode is set, so the answer counts.
    while world.run(&["daemon", "status"]).status != 0 {
        deadline.wait(|| format!("`{}` is missing", socket.display()));
    }
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    world.stop_daemon();
    assert!(!socket.exists());
}
