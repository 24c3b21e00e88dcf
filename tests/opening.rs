//! Opening the store: checkpoints that an idle daemon saves, and concurrent commands.

use crate::support::{WAIT_LIMIT, World};

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
