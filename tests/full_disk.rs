//! A disk that is full, read-only or limited: writes fail, reads continue, and writing resumes automatically.

use crate::support::export::keys;
use crate::support::http::{Http, ON};
use crate::support::incompressible;
use crate::support::world::{files_below, refused_without_temporary_folder};
use crate::support::{Deadline, WAIT_LIMIT, World, number_in};
use poc_graph::rng::SeededRng;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// A world on a small filesystem, or a message that this cannot be tested here.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn small(mebibytes: u32) -> Option<World> {
    let world = World::on_small_disk(mebibytes);
    if world.is_none() {
        println!("skipped: user namespaces are not available, so no small filesystem can be mounted");
    }
    world
}

fn degraded(answer: &Value) -> Vec<String> {
    answer["degraded"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

fn is_read_only(answer: &Value) -> bool {
    degraded(answer).first().is_some_and(|line| line.starts_with("read-only for now: "))
}

/// Stores notes of 120 kB until one is refused. An argument of a program can be hardly longer. Returns the keys of the
/// notes that were acknowledged.
fn fill(world: &World, prefix: &str, acknowledged: &mut BTreeSet<String>) {
    for number in 0..2000 {
        let key = format!("{prefix}-{number}");
        let body = format!("Harbour {number} {}", incompressible::text(number, 120_000));
        let ran = world.run(&["insert", "--key", &key, "--title", &key, "--body", &body]);
        if ran.status != 0 {
            assert!(ran.stderr.contains("the store accepts no writes: "), "{}", ran.stderr);
            return;
        }
        acknowledged.insert(key);
    }
    panic!("the disk did not become full");
}

/// Checks that every acknowledged note can be read: all of them in an export, since without a daemon each command opens
/// the store, and the first by its key.
fn check(world: &World, acknowledged: &BTreeSet<String>) {
    let exported = world.run(&["export"]);
    assert_eq!(exported.status, 0, "{}", exported.stderr);
    let exported: BTreeSet<String> = keys(&exported.stdout).into_iter().collect();
    assert!(acknowledged.is_subset(&exported));
    let first = acknowledged.first().unwrap();
    assert_eq!(world.json(&["get", first])["key"], first.as_str());
}

#[test]
fn a_full_disk_stops_writes_but_not_reads_and_free_space_lets_them_resume() {
    let Some(mut world) = small(52) else { return };
    world.shell(&format!("mkdir -p . && printf '{}' > config.toml", ON.replace('\n', "\\n")));
    world.start_daemon();
    // Each has space for the reserve, the same amount again, and the pending records.
    world.shell("head -c 14000000 /dev/zero > ballast; head -c 10000000 /dev/zero > spare");
    let mut acknowledged = BTreeSet::new();
    fill(&world, "first", &mut acknowledged);
    assert!(acknowledged.len() > 20, "{}", acknowledged.len());
    // Records that are merged later would leave space for a write.
    world.shell("head -c 80000000 /dev/zero > rest");
    // Every surface says so, and every read is answered.
    check(&world, &acknowledged);
    assert!(is_read_only(&world.json(&["stats"])));
    let found = world.json(&["search", "harbour"]);
    assert!(is_read_only(&found) && !found["results"].as_array().unwrap().is_empty());
    // An erasure that is refused leaves no trace. If records that were merged have just left space for the deletion, only
    // the rest of the erasure is refused.
    assert_ne!(world.run(&["delete", "first-1", "--erase", "--yes"]).status, 0);
    if world.run(&["get", "first-1"]).status == 0 {
        assert!(!world.shell("ls store").contains("erasures"));
    } else {
        acknowledged.remove("first-1");
    }
    let status = world.json(&["daemon", "status"]);
    assert!(status["problems"][0].as_str().unwrap().starts_with("read-only for now: "), "{status}");
    let report = world.json_with_status(&["doctor"], 1);
    let failed = report["findings"].as_array().unwrap().iter().find(|finding| finding["state"] == "failed");
    assert!(failed.unwrap()["hint"].as_str().unwrap().contains("free disk space"), "{report}");
    let address = status["rest"].as_str().unwrap().to_owned();
    assert_eq!(health(&address, ""), (200, "read-only".into()));
    assert_eq!(health(&address, "?for=write"), (503, "read-only".into()));
    // Free space makes writes possible again without a restart and without another write attempt.
    let pid = world.daemon_pid();
    world.shell("rm ballast rest");
    world.until(WAIT_LIMIT, &["stats"], |stats| degraded(stats).is_empty());
    assert_eq!(health(&address, "?for=write"), (200, "ok".into()));
    world.json(&["insert", "--key", "after", "--title", "After", "--body", "Room again"]);
    acknowledged.insert("after".into());
    assert_eq!(world.json(&["daemon", "status"])["pid"], pid);
    // Full again, and now to the last byte: the daemon ends cleanly, and everything can be read afterwards.
    fill(&world, "second", &mut acknowledged);
    world.stop_daemon();
    world.shell("head -c 80000000 /dev/zero > ballast");
    check(&world, &acknowledged);
    // A short note, or one that compresses well, may fit into the last page of the log.
    let refused = world.run(&["insert", "--title", "New", "--body", &incompressible::text(1, 20_000)]);
    assert!(refused.stderr.contains("the store accepts no writes: "), "{}", refused.stderr);
    world.shell("rm ballast spare");
    // The remains of failed writes were cut off, and nothing is reported as damage.
    assert_eq!(world.shell("ls store/quarantine 2>/dev/null"), "");
    let report = world.json(&["doctor"]);
    let findings = report["findings"].as_array().unwrap();
    let messages = findings.iter().map(|finding| finding["message"].as_str().unwrap());
    assert!(messages.clone().all(|message| !message.starts_with("damaged parts")), "{report}");
    world.json(&["delete", "first-0"]);
    acknowledged.remove("first-0");
    check(&world, &acknowledged);
}

fn health(address: &str, query: &str) -> (u16, String) {
    let address = address.strip_prefix("http://").unwrap().to_owned();
    let http =
        Http { address: address.clone(), full: String::new(), model: String::new(), read: String::new() };
    let get = |query: &str| http.send(&format!("GET /v1/healthz{query}"), &[("Host", &address)], b"");
    assert_eq!(get("?for=writes").status, 400);
    let response = get(query);
    (response.status, response.json()["status"].as_str().unwrap().to_owned())
}

/// The tables of the records are read where they are. What needs space is refused, and nothing is called lost.
#[test]
fn a_damaged_store_is_read_without_space_for_a_copy_of_its_tables() {
    let Some(world) = small(24) else { return };
    let keys: Vec<String> = (1..=8).flat_map(|number| insert_notes(&world, number)).collect();
    assert_eq!(keys.len(), 8);
    world.json(&["compact"]);
    world.shell("mkdir tmp; head -c 80000000 /dev/zero > ballast");
    // A byte of the first note changes.
    let log = "store/log/00000000000000000001.log";
    world.shell(&format!("printf X | dd of={log} bs=1 seek=2000 conv=notrunc 2>/dev/null"));
    let temporary = world.home().join("tmp");
    let run = |arguments: &[&str]| {
        let mut command = world.command("poc-memory");
        command.arg("--json").args(arguments).env("TMPDIR", &temporary).output().unwrap()
    };
    refused_without_temporary_folder(&world, &temporary);
    assert_eq!(world.shell("ls store/quarantine 2>/dev/null"), "");
    // Much less than the tables have.
    world.shell("truncate -s -65536 ballast");
    for key in &keys {
        let answer = run(&["get", key]);
        assert!(answer.status.success() && answer.stdout.len() > 40_000, "{key}: {answer:?}");
    }
    let choices: Value = serde_json::from_slice(&run(&["repair"]).stdout).unwrap();
    assert_eq!(choices["choices"]["choices"][0]["from"], "records", "{choices}");
    assert_eq!(choices["choices"]["choices"][0]["notes"], 8, "{choices}");
}

/// A way to fill a disk: one step of it, which returns the keys of the notes that were acknowledged.
type Filler = fn(&World, u64) -> Vec<String>;

/// Stores a note with a body of `length` characters. Returns its key if it was acknowledged.
fn insert(world: &World, key: &str, length: usize) -> Vec<String> {
    let body = incompressible::text(key.bytes().map(u64::from).sum(), length);
    let ran = world.run(&["insert", "--key", key, "--title", key, "--body", &body]);
    if ran.status == 0 { vec![key.to_owned()] } else { Vec::new() }
}

fn insert_notes(world: &World, number: u64) -> Vec<String> {
    insert(world, &format!("note-{number}"), 40_000)
}

fn change_one_note(world: &World, number: u64) -> Vec<String> {
    let body = incompressible::text(number, 60_000);
    world.run(&["insert", "--update", "--key", "first", "--title", "first", "--body", &body]);
    Vec::new()
}

fn write_messages(world: &World, number: u64) -> Vec<String> {
    world.run(&["write", &incompressible::text(number, 40_000)]);
    Vec::new()
}

fn import_files(world: &World, number: u64) -> Vec<String> {
    let folder = poc_graph::testing::folder();
    let file = folder.path().join("notes.jsonl");
    let note = |part: u64| {
        let key = format!("imported-{number}-{part}");
        let body = incompressible::text(number * 10 + part, 30_000);
        (serde_json::json!({ "key": key, "title": key, "body": body }).to_string(), key)
    };
    let (lines, keys): (Vec<String>, Vec<String>) = (0..5).map(note).unzip();
    std::fs::write(&file, lines.join("\n")).unwrap();
    let ran = world.run(&["import", file.to_str().unwrap()]);
    if ran.status == 0 { keys } else { Vec::new() }
}

fn back_up(world: &World, number: u64) -> Vec<String> {
    let keys = insert(world, &format!("saved-{number}"), 20_000);
    world.run(&["backup", "backups"]);
    keys
}

fn share_with_another_program(world: &World, number: u64) -> Vec<String> {
    world.shell("head -c 700000 /dev/zero >> other");
    insert(world, &format!("shared-{number}"), 10_000)
}

fn insert_at_once(world: &World, number: u64) -> Vec<String> {
    std::thread::scope(|scope| {
        let client =
            |client: u64| scope.spawn(move || insert(world, &format!("client-{client}-{number}"), 20_000));
        let clients: Vec<_> = (0..4).map(client).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    })
}

fn insert_and_delete(world: &World, number: u64) -> Vec<String> {
    let key = format!("passing-{number}");
    let mut keys = insert(world, &key, 40_000);
    if world.run(&["delete", &key]).status == 0 {
        keys.clear();
    }
    keys
}

/// Searches and exports through the daemon until the sender is dropped. Every answer is a success, and has the notes that
/// were acknowledged before the question. Counts the rounds, and those that the answers call read-only.
fn read(
    world: &World,
    acknowledged: &Mutex<BTreeSet<String>>,
    ended: mpsc::Receiver<()>,
    reads: &AtomicUsize,
    reads_of_a_full_disk: &AtomicUsize,
) {
    while ended.try_recv() == Err(mpsc::TryRecvError::Empty) {
        let found = world.json(&["search", "first"]);
        assert!(found["results"].as_array().unwrap().iter().any(|hit| hit["key"] == "first"), "{found}");
        let before = acknowledged.lock().unwrap().clone();
        check(world, &before);
        reads.fetch_add(1, Ordering::SeqCst);
        if found["degraded"].to_string().contains("read-only for now: ") {
            reads_of_a_full_disk.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[test]
#[ignore = "fills eight disks, which takes minutes; `just reliability full R4` runs it"]
fn however_a_disk_fills_every_read_is_answered_and_writing_goes_on() {
    let ways: [(&str, Filler); 8] = [
        ("inserts", insert_notes),
        ("changes of one note", change_one_note),
        ("messages", write_messages),
        ("imports", import_files),
        ("backups to the same disk", back_up),
        ("another program", share_with_another_program),
        ("four clients at once", insert_at_once),
        ("notes that are deleted again", insert_and_delete),
    ];
    for (way, step) in ways {
        let Some(mut world) = small(56) else { return };
        world.start_daemon();
        // It has space for the reserve, the same amount again, and the pending records.
        world.shell("head -c 24000000 /dev/zero > ballast");
        let acknowledged: Mutex<BTreeSet<String>> = Mutex::default();
        let add = |keys: Vec<String>| acknowledged.lock().unwrap().extend(keys);
        add(insert(&world, "first", 2000));
        let (reads, reads_of_a_full_disk) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // The reader ends when the sender is dropped, also if this thread fails.
        let (running, ended) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| read(&world, &acknowledged, ended, &reads, &reads_of_a_full_disk));
            let full = (0..3000).find(|&number| {
                add(step(&world, number));
                assert_eq!(world.json(&["get", "first"])["key"], "first", "{way}");
                is_read_only(&world.json(&["stats"]))
            });
            assert!(full.is_some(), "{way}: the disk did not become full");
            assert!(reads.load(Ordering::SeqCst) > 0, "{way}: nothing was read while it filled");
            // Records that are merged later would leave space for a write.
            world.shell("head -c 80000000 /dev/zero > rest");
            // Each round exports what is on the disk, which takes seconds where other tests run.
            let deadline = Deadline::after(4 * WAIT_LIMIT);
            while reads_of_a_full_disk.load(Ordering::SeqCst) < 3 {
                deadline.wait(|| format!("{way}: the full disk is not read"));
            }
            let pid = world.daemon_pid();
            world.shell("rm ballast rest");
            world.until(WAIT_LIMIT, &["stats"], |stats| degraded(stats).is_empty());
            add(insert(&world, "after", 2000));
            assert!(acknowledged.lock().unwrap().contains("after"), "{way}");
            assert_eq!(world.json(&["daemon", "status"])["pid"], pid, "{way}");
            drop(running);
            reader.join().unwrap();
        });
        world.stop_daemon();
        let acknowledged = acknowledged.into_inner().unwrap();
        check(&world, &acknowledged);
    }
}

#[test]
fn a_read_only_disk_is_read() {
    let Some(world) = small(40) else { return };
    world.json(&["insert", "--key", "harbour", "--title", "Harbour", "--body", "Ships at anchor"]);
    world.shell("mount -o remount,ro \"$PWD\"");
    assert_eq!(world.json(&["get", "harbour"])["title"], "Harbour");
    assert!(is_read_only(&world.json(&["stats"])));
    assert_eq!(world.json(&["search", "ships"])["results"].as_array().unwrap().len(), 1);
    // The answer says that the store accepts no writes. Nothing else has to be reported.
    let found = world.run(&["search", "ships"]);
    assert!(found.stdout.contains("degraded: read-only for now: "), "{}", found.stdout);
    assert_eq!((found.status, found.stderr.as_str()), (0, ""));
    // A short note, or one that compresses well, may fit into the last page of the log.
    let refused = world.run(&["insert", "--title", "New", "--body", &incompressible::text(1, 20_000)]);
    assert!(refused.stderr.contains("the store accepts no writes: "), "{}", refused.stderr);
    let refused = world.run(&["daemon", "start"]);
    assert_eq!(refused.status, 5, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("daemon.log` cannot be written: Read-only file system"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("without a daemon, commands still read"), "{}", refused.stderr);
    let ended = world.command("poc-daemon").output().unwrap();
    let message = String::from_utf8(ended.stderr).unwrap();
    assert!(message.contains("daemon.sock` cannot be created: Read-only file system"), "{message}");
    world.shell("mount -o remount,rw \"$PWD\"");
    world.json(&["insert", "--title", "New", "--body", "Accepted"]);
}

/// The system returns errors for a write and for a sync of the log, also that of an exceeded quota.
#[test]
fn an_error_of_the_system_refuses_one_write_and_no_read() {
    for error in ["ENOSPC", "EDQUOT", "EIO"] {
        let mut world = World::new();
        let mut acknowledged: BTreeSet<String> = insert(&world, "first", 100).into_iter().collect();
        let log = world.home().join("store/log/00000000000000000001.log");
        let injected = |call: &str, when: u32| format!("inject={call}:error={error}:when={when}");
        let is_started = world.start_daemon_under_strace(&[
            "-qq",
            "-o",
            "trace",
            "-P",
            log.to_str().unwrap(),
            "-e",
            "trace=write,fdatasync",
            "-e",
            &injected("write", 3),
            "-e",
            &injected("fdatasync", 5),
        ]);
        if !is_started {
            return;
        }
        let mut refused = 0;
        for number in 0..10 {
            let key = format!("note-{number}");
            let ran = world.run(&["insert", "--key", &key, "--title", &key, "--body", "Ships at anchor"]);
            if ran.status == 0 {
                acknowledged.insert(key);
                continue;
            }
            refused += 1;
            let expected = "the store accepts no writes: its log cannot be written: ";
            assert!(ran.stderr.contains(expected), "{error}: {}", ran.stderr);
            assert_eq!(world.json(&["get", "first"])["key"], "first");
            assert!(world.run(&["get", &key]).status != 0, "{error}: `{key}` was refused");
            world.until(WAIT_LIMIT, &["stats"], |stats| degraded(stats).is_empty());
        }
        assert_eq!(refused, 2, "{error}");
        world.stop_daemon();
        let trace = std::fs::read_to_string(world.home().join("trace")).unwrap();
        assert_eq!(trace.matches("(INJECTED)").count(), 2, "{trace}");
        check(&world, &acknowledged);
        assert_eq!(world.json(&["stats"])["nodes"], acknowledged.len());
        assert!(!world.home().join("store/quarantine").exists(), "{error}");
    }
}

/// What is known of the notes: the texts that each may have, where `None` is no note.
type KnownTexts = BTreeMap<String, Vec<Option<String>>>;

/// Checks that an export has each note with a text that it may have, and no other notes. The texts that it has are then
/// the only possible ones.
fn check_texts(world: &World, known: &mut KnownTexts, faults: &str) {
    let exported = world.run(&["export"]);
    assert_eq!(exported.status, 0, "{faults}: {}", exported.stderr);
    let records = exported.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let texts: BTreeMap<String, String> = records
        .filter_map(|record| Some((record["key"].as_str()?.to_owned(), record["body"].as_str()?.to_owned())))
        .collect();
    for (key, possible) in known.iter_mut() {
        let text = texts.get(key).cloned();
        assert!(possible.contains(&text), "{faults}: `{key}` is {text:?} and not one of {possible:?}");
        *possible = vec![text];
    }
    for key in texts.keys() {
        assert!(known.contains_key(key), "{faults}: `{key}` was never written");
    }
}

/// A random insert, change or deletion. If it is acknowledged, the note has the new text; if the store refuses it, the
/// former one; after any other error, one of both. Returns whether it was acknowledged.
fn write_at_random(world: &World, rng: &SeededRng, number: u64, known: &mut KnownTexts) -> bool {
    let key = format!("note-{}", rng.below(0, 8));
    let body = format!("Ships at anchor, {number}");
    let is_deletion = rng.below(0, 4) == 0;
    let ran = if is_deletion {
        world.run(&["delete", &key])
    } else {
        world.run(&["insert", "--update", "--key", &key, "--title", &key, "--body", &body])
    };
    let new = (!is_deletion).then_some(body);
    let possible = known.entry(key).or_insert_with(|| vec![None]);
    // A deletion that finds no note also says that there is none.
    if ran.status == 0 || is_deletion && ran.stderr.contains("there is no note") && possible.contains(&new) {
        *possible = vec![new];
        return true;
    }
    if !ran.stderr.contains("the store accepts no writes: ") && !possible.contains(&new) {
        possible.push(new);
    }
    false
}

/// Random system calls of the daemon fail with random errors, while it writes and compacts: writes to the files of the
/// store, and syncs, renames and deletions of any file. Each daemon gets one kind of error.
#[test]
#[ignore = "makes a thousand system calls fail, which takes long; `just reliability full R4` runs it"]
fn random_errors_of_the_system_acknowledge_nothing_falsely() {
    const CALLS: [&str; 5] =
        ["write,pwrite64,writev", "fdatasync", "fsync", "?rename,renameat,renameat2", "?unlink,unlinkat"];
    const ERRORS: [&str; 3] = ["EIO", "ENOSPC", "EDQUOT"];
    let wanted: usize = number_in("POC_MEMORY_DISK_ERRORS", 20);
    let rng = SeededRng::new(number_in("POC_MEMORY_SEED", 1));
    let (mut injected, mut starts, mut refused) = (0, 0, 0);
    while injected < wanted {
        starts += 1;
        assert!(starts <= 4 * wanted + 20, "{injected} errors in {starts} starts");
        let mut world = World::new();
        let mut known = KnownTexts::new();
        known.insert("first".to_owned(), vec![Some("Ships in the harbour".to_owned())]);
        world.json(&["insert", "--key", "first", "--title", "First", "--body", "Ships in the harbour"]);
        world.start_daemon();
        for number in 0..4 {
            write_at_random(&world, &rng, number, &mut known);
        }
        let (calls, error) = (CALLS[rng.below(0, CALLS.len())], ERRORS[rng.below(0, ERRORS.len())]);
        // Each thread counts its own calls.
        let faults = format!("inject={calls}:error={error}:when={}+{}", rng.below(1, 5), rng.below(3, 9));
        let trace = format!("trace={calls}");
        let mut options = vec!["-o", "trace", "-e", trace.as_str(), "-e", faults.as_str()];
        // Other writes are those to sockets and between threads, which are not part of a disk.
        let store: Vec<String> =
            files_below(&world.home().join("store")).iter().map(|file| file.display().to_string()).collect();
        if calls.starts_with("write") {
            options.extend(store.iter().flat_map(|file| ["-P", file.as_str()]));
        }
        let Some(strace) = world.attach_strace(&options) else { return };
        for number in 4..20 {
            if !write_at_random(&world, &rng, number, &mut known) {
                refused += 1;
                // The next write may be accepted again.
                let resumes = Deadline::after(Duration::from_secs(2));
                while is_read_only(&world.json(&["stats"])) && resumes.pause() {}
            }
            if number % 4 == 3 {
                // It writes every file again, and may be refused.
                world.run(&["compact"]);
            }
            assert_eq!(world.json(&["get", "first"])["key"], "first", "{faults}");
            let found = world.json(&["search", "harbour"]);
            assert!(!found["results"].as_array().unwrap().is_empty(), "{faults}: {found}");
        }
        drop(strace);
        let trace = std::fs::read_to_string(world.home().join("trace")).unwrap();
        injected += trace.matches("(INJECTED)").count();
        // Without errors, writing resumes in the same process.
        let pid = world.daemon_pid();
        world.until(WAIT_LIMIT, &["stats"], |stats| !is_read_only(stats));
        check_texts(&world, &mut known, &faults);
        world.json(&["insert", "--key", "after", "--title", "After", "--body", "Room again"]);
        known.insert("after".to_owned(), vec![Some("Room again".to_owned())]);
        assert_eq!(world.json(&["daemon", "status"])["pid"], pid, "{faults}");
        world.stop_daemon();
        check_texts(&world, &mut known, &faults);
        assert!(!world.home().join("store/quarantine").exists(), "{faults}");
    }
    println!("figure: {injected} errors in {starts} starts, {refused} writes refused");
}

/// The signal for files that are too long would end the process.
#[test]
fn a_limit_on_the_length_of_files_is_an_error() {
    let world = World::new();
    world.json(&["insert", "--key", "harbour", "--title", "Harbour", "--body", "Ships at anchor"]);
    let limited = |limit: u64, arguments: &[&str]| {
        let program = world.command("poc-memory");
        let mut command = std::process::Command::new("prlimit");
        command.arg(format!("--fsize={limit}")).arg(program.get_program()).args(arguments);
        command.env_clear();
        for (name, value) in program.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.current_dir(world.home()).output().unwrap()
    };
    let body = incompressible::text(1, 120_000);
    let refused = limited(60_000, &["insert", "--title", "Long", "--body", &body]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code().is_some_and(|code| code != 0), "{:?}: {message}", refused.status);
    assert!(message.contains("the store accepts no writes: "), "{message}");
    let read = limited(60_000, &["get", "harbour"]);
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    assert_eq!(world.json(&["stats"])["nodes"], 1);
    world.json(&["insert", "--title", "Long", "--body", &body]);
    assert_eq!(world.json(&["stats"])["nodes"], 2);
}
