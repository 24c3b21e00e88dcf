//! Completions in a real shell: bash runs the script, and the script asks the program.

use crate::support::World;
use crate::support::world::binary;
use std::process::Command;

/// The completions that bash offers for the last of the words.
#[track_caller]
fn offered(world: &World, words: &[&str]) -> Vec<String> {
    let script = world.run(&["completions", "bash"]);
    assert_eq!(script.status, 0, "{}", script.stderr);
    let (last, before) = words.split_last().unwrap();
    let line = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let text = format!(
        "{}\nCOMP_WORDS=({line}); COMP_CWORD={}; COMP_TYPE=9\n\
         _clap_complete_poc_memory poc-memory '{last}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.stdout,
        words.len() - 1,
        before.last().unwrap(),
    );
    let programs = binary("poc-memory").parent().unwrap().display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let ran = Command::new("bash")
        .args(["--noprofile", "--norc", "-c", &text])
        .env("PATH", path)
        .env("POC_MEMORY_HOME", world.home())
        .current_dir(world.home())
        .output()
        .unwrap();
    // The script calls `compopt`, which fails outside of an interactive completion. Nothing else may fail.
    let stderr = String::from_utf8(ran.stderr).unwrap();
    assert!(stderr.lines().all(|line| line.contains("compopt")), "{stderr}");
    String::from_utf8(ran.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let mut world = World::new();
    let check = |world: &World, words: &[&str], expected: &[&str]| {
        let offered = offered(world, &[&["poc-memory"], words].concat());
        for word in expected {
            assert!(offered.iter().any(|offered| offered == word), "{words:?}: {offered:?}");
        }
    };
    // Without a memory there are no keys, and asking for them creates no memory.
    assert_eq!(offered(&world, &["poc-memory", "get", "b"]), [""; 0]);
    assert!(!world.home().join("store").exists());
    for key in ["btree", "btree-merge", "journal"] {
        world.json(&["insert", "--key", key, "--body", key]);
    }
    world.json(&["profile", "create", "work"]);
    check(&world, &["prof"], &["profile"]);
    check(&world, &["agent", ""], &["list", "run", "check"]);
    check(&world, &["profile", "remote", ""], &["bind", "sync", "detach"]);
    check(&world, &["--json", "search", "--"], &["--pipeline", "--explain", "--tenant"]);
    check(&world, &["--color", ""], &["auto", "always"]);
    check(&world, &["get", "bt"], &["btree", "btree-merge"]);
    check(&world, &["link", "btree", "jo"], &["journal"]);
    check(&world, &["agent", "run", "l"], &["linker"]);
    check(&world, &["--profile", "w"], &["work"]);
    check(&world, &["profile", "delete", "w"], &["work"]);
    check(&world, &["config", "set", "text.k"], &["text.k1"]);
    check(&world, &["import", "--format", "c"], &["csv", "chatgpt"]);
    world.write("vault/a.md", "# A\n\nText\n");
    world.json(&["vault", "add", "vault", "--name", "my-notes"]);
    check(&world, &["vault", "sync", ""], &["my-notes"]);
    check(&world, &["search", "-p", "not"], &["not-visited:"]);
    assert_eq!(offered(&world, &["poc-memory", "--profile", "work", "get", "bt"]), [""; 0]);
    world.start_daemon();
    check(&world, &["get", "bt"], &["btree", "btree-merge"]);
    world.stop_daemon();
}

#[test]
fn every_shell_has_a_script() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = world.run(&["completions", shell]);
        assert_eq!(script.status, 0, "{shell}: {}", script.stderr);
        assert!(script.stdout.contains("POC_MEMORY_COMPLETE"), "{shell}: {}", script.stdout);
    }
}
