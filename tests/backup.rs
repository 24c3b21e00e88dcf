//! Backups with the real binaries: under load, restored at several transactions, damaged, and killed.

use crate::support::incompressible;
use crate::support::world::files_below;
use crate::support::{Deadline, WAIT_LIMIT, World, number_in};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// The tenants of the drill.
const TENANTS: [&[&str]; 3] =
    [&[], &["--tenant", "customer=acme"], &["--tenant", "customer=blue", "--tenant", "region=north"]];

/// About how many notes of a tenant are asked for their history, so that a drill of many rounds does not take hours.
const HISTORIES: usize = 16;

/// Everything that a memory answers about its past and present, as text: exports, history, changes and runs of all
/// tenants, and what a run wrote and read.
///
/// The prompt and the replies of a run are in a file beside the store. A backup that was taken while the run was in
/// progress may lack the file, and a later backup restored to the same transaction has it, so they are left out for
/// such a run.
fn state(world: &World) -> String {
    let mut all = String::new();
    for tenant in TENANTS {
        let mut ask = |words: &[&str]| {
            let ran = world.run(&[tenant, words].concat());
            assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
            all.push_str(&without_now(&ran.stdout));
            ran.stdout
        };
        let export = ask(&["export"]);
        ask(&["--json", "changes", "--limit", "1000"]);
        let step = (export.lines().count() / HISTORIES).max(1);
        for line in export.lines().step_by(step) {
            let note: Value = serde_json::from_str(line).unwrap();
            ask(&["--json", "history", note["key"].as_str().unwrap()]);
        }
    }
    let runs = world.json(&["agent", "history", "linker"]);
    for run in runs["runs"].as_array().unwrap() {
        let inspected = world.run(&["--json", "agent", "inspect", run["run"].as_str().unwrap()]);
        assert_eq!(inspected.status, 0, "{}", inspected.stderr);
        let mut answer: Value = serde_json::from_str(&inspected.stdout).unwrap();
        // The saved prompts are not part of the log, so a later backup has the prompt of a run that went on.
        if answer["outcome"]["finished"].is_null() {
            for field in ["system", "prompt", "replies"] {
                answer[field] = Value::Null;
            }
        }
        all.push_str(&without_now(&answer.to_string()));
    }
    all + &runs.to_string()
}

/// An answer without the time of the question. Other text is returned as it is.
fn without_now(answer: &str) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(answer) else { return answer.to_owned() };
    fields.remove("as_of");
    format!("{}\n", Value::Object(fields))
}

/// The sequence number of the last transaction of any tenant.
fn seq(world: &World) -> u64 {
    let last = |tenant: &[&str]| world.json(&[tenant, &["stats"]].concat())["as_of"]["seq"].as_u64().unwrap();
    TENANTS.into_iter().map(last).max().unwrap()
}

/// The keys of all notes of all tenants.
fn keys(world: &World) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for tenant in TENANTS {
        for line in world.run(&[tenant, &["export"]].concat()).stdout.lines() {
            let note: Value = serde_json::from_str(line).unwrap();
            keys.insert(note["key"].as_str().unwrap().to_owned());
        }
    }
    keys
}

/// A restored copy of a backup.
fn restored(world: &World, folder: &str, to: Option<u64>) -> (World, Value) {
    let copy = World::new();
    let to = to.map(|to| to.to_string());
    let mut words = vec!["restore", folder, "--into", copy.home().to_str().unwrap()];
    words.extend(to.iter().flat_map(|to| ["--to", to]));
    let answer = world.json(&words);
    (copy, answer)
}

/// What the export of a tenant must say of a note, as the test knows it from what it wrote.
#[derive(Clone, Debug, PartialEq)]
struct WrittenNote {
    tenant: usize,
    key: String,
    title: String,
    body: String,
}

/// What exports say of the notes of all tenants, by key.
fn exported(world: &World) -> BTreeMap<String, WrittenNote> {
    let mut notes = BTreeMap::new();
    for (tenant, words) in TENANTS.into_iter().enumerate() {
        for line in world.run(&[words, &["export"]].concat()).stdout.lines() {
            let note: Value = serde_json::from_str(line).unwrap();
            let text = |field: &str| note[field].as_str().unwrap_or_default().to_owned();
            let note = WrittenNote { tenant, key: text("key"), title: text("title"), body: text("body") };
            assert!(notes.insert(note.key.clone(), note).is_none(), "a key of two notes");
        }
    }
    notes
}

/// Writes notes of all tenants, changes and recalls some, and asks questions. Returns the notes that then exist.
fn write(world: &World, round: usize, writer: usize) -> Vec<WrittenNote> {
    let mut written = Vec::new();
    for number in 0..6 {
        let key = format!("note-{round}-{writer}-{number}");
        let body =
            format!("INC-{round}{number}: a page split of writer {writer}, recorded in journal {number}.");
        let mut note = WrittenNote {
            tenant: number % TENANTS.len(),
            key: key.clone(),
            title: key.clone(),
            body: body.clone(),
        };
        let tenant = TENANTS[note.tenant];
        let insert = [
            "insert", "--type", "episodic", "--key", &key, "--title", &key, "--body", &body, "-k", "storage",
        ];
        let ran = world.run(&[tenant, &insert].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let follow: &[&str] = match number {
            0 => &["weight", &key, "3"],
            1 => &["delete", &key],
            2 => &["recall", "a page split in the journal"],
            3 => &["visit", "reader", &key],
            4 => &["rename", &key, &format!("renamed-{key}")],
            _ => &["query", "which journal records page splits?"],
        };
        let ran = world.run(&[tenant, follow].concat());
        assert_eq!(ran.status, 0, "{follow:?}: {}", ran.stderr);
        if number == 4 {
            note.key = format!("renamed-{key}");
        }
        if number != 1 {
            written.push(note);
        }
    }
    written
}

/// The answers of the memory, with the number of the last change that they contain. The daemon stores the use of notes
/// about once a minute, so the answers are asked for again if a change came in between.
fn quiet_state(world: &World) -> (u64, String) {
    let deadline = Deadline::after(WAIT_LIMIT);
    loop {
        let before = seq(world);
        let state = state(world);
        if seq(world) == before {
            return (before, state);
        }
        deadline.wait(|| format!("changes went on after {before}"));
    }
}

/// Takes backups while two writers and an agent work, and compares restored states with the states of the original.
fn drill(rounds: usize) {
    let mut world = World::new();
    world.write("config.toml", "[list]\nlimit = 7\n");
    world.json(&["init"]);
    world.start_daemon();
    world.json(&["insert", "--title", "The first note"]);
    let (mut states, mut under_load) = (Vec::new(), Vec::new());
    // The notes whose writes were acknowledged. They are compared in addition to the answers of the memory.
    let mut acknowledged: Vec<WrittenNote> = Vec::new();
    for round in 0..rounds {
        let before = keys(&world);
        let made = std::thread::scope(|scope| {
            let world = &world;
            let writers = [0, 1].map(|writer| scope.spawn(move || write(world, round, writer)));
            scope.spawn(move || world.run(&["agent", "run", "linker", "--force"]));
            let made = world.json(&["backup", "backups", "--keep", "10000"]);
            acknowledged.extend(writers.into_iter().flat_map(|writer| writer.join().unwrap()));
            made
        });
        assert_eq!(made["damaged"], json!([]), "{made}");
        under_load.push((
            made["seq"].as_u64().unwrap(),
            made["generation"].as_str().unwrap().to_owned(),
            before,
        ));
        let (seq, state) = quiet_state(&world);
        states.push((seq, state, acknowledged.clone()));
    }
    world.json(&["backup", "backups", "--keep", "10000"]);
    let checked = world.json(&["backup", "backups", "--verify"]);
    let generations = checked["generations"].as_array().unwrap();
    assert!(
        generations.len() > rounds.min(2) && generations.iter().all(|one| one["problems"] == json!([])),
        "{checked}"
    );
    assert!(states.iter().any(|(_, state, _)| state.contains("\"agent\":\"linker\"")), "no run is compared");
    // States without load, restored from the last generation that contains them.
    for (seq, expected, acknowledged) in &states {
        let (copy, answer) = restored(&world, "backups", Some(*seq));
        assert_eq!(answer["seq"], *seq);
        let found = state(&copy);
        let differs = || found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
        assert!(found == *expected, "transaction {seq}: {:#?}", differs());
        let notes = exported(&copy);
        for note in acknowledged {
            assert_eq!(notes.get(&note.key), Some(note), "transaction {seq}");
        }
        assert_eq!(notes.len(), acknowledged.len() + 1, "with the first note");
        assert_eq!(std::fs::read_to_string(copy.home().join("config.toml")).unwrap(), "[list]\nlimit = 7\n");
    }
    // States under load, restored from their own generation and from a later one.
    for (seq, name, before) in &under_load {
        let alone = World::new();
        let target = alone.home().join("backups").join(name);
        copy_folder(&world.home().join("backups").join(name), &target);
        let (own, answer) = restored(&alone, "backups", None);
        assert_eq!(
            (answer["seq"].as_u64(), answer["generation"].as_str()),
            (Some(*seq), Some(name.as_str()))
        );
        let (later, _) = restored(&world, "backups", Some(*seq));
        assert_eq!(state(&own), state(&later), "transaction {seq}");
        let kept = keys(&own);
        let lost: Vec<_> = before.iter().filter(|key| !kept.contains(*key)).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
    world.stop_daemon();
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
fn backups_under_load_restore_every_state() {
    drill(2);
}

#[test]
#[ignore = "takes many minutes; POC_MEMORY_DRILLS is the number of backups, 200 if unset"]
fn many_backups_under_load_restore_every_state() {
    drill(number_in("POC_MEMORY_DRILLS", 200));
}

/// A log of two segments: 64 MiB is the length of one. Deletions write the texts to the log again, so that fewer notes
/// fill it, and keep exports small.
#[test]
fn a_killed_backup_leaves_no_generation_and_a_complete_segment_is_copied_once() {
    const BYTES: usize = 950_000;
    const NOTES: u64 = 64;
    const DELETED: u64 = 62;
    let mut world = World::new();
    let mut lines = String::new();
    for number in 0..NOTES {
        let (key, body) = (format!("blob-{number}"), incompressible::text(number, BYTES));
        lines.push_str(&format!("{}\n", json!({"key": key, "title": "Blob", "body": body})));
    }
    world.write("blobs.jsonl", &lines);
    assert_eq!(world.json(&["import", "blobs.jsonl"])["inserted"], NOTES);
    let is_partial = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("partial-"))
    };
    let folder = world.home().join("backups");
    world.start_daemon();
    for number in 0..DELETED {
        world.json(&["delete", &format!("blob-{number}")]);
    }
    let mut client = world
        .command("poc-memory")
        .args(["backup", "backups"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + WAIT_LIMIT;
    while !is_partial(&folder) {
        assert!(Instant::now() < deadline, "the backup does not begin");
        std::thread::yield_now();
    }
    world.kill_daemon();
    assert!(!client.wait().unwrap().success());
    assert!(is_partial(&folder), "the kill came too late to show anything");
    assert_eq!(world.json(&["backup", "backups", "--list"])["generations"], json!([]));
    let error = world.json_with_status(&["restore", "backups", "--into", "elsewhere"], 1);
    assert_eq!(error["error"]["code"], "not_found");
    // The next backup removes the leftovers.
    let first = world.json(&["backup", "backups"]);
    assert!(!is_partial(&folder) && first["copied_bytes"].as_u64().unwrap() > 70_000_000, "{first}");
    world.json(&["insert", "--title", "One more note"]);
    let second = world.json(&["backup", "backups"]);
    assert!(second["linked_bytes"].as_u64().unwrap() >= 64 << 20, "{second}");
    assert!(second["copied_bytes"].as_u64().unwrap() < 20 << 20, "{second}");
    let (copy, answer) = restored(&world, "backups", None);
    assert_eq!(answer["notes"], NOTES - DELETED + 1);
    assert_eq!(copy.run(&["export"]).stdout, world.run(&["export"]).stdout);
}

#[test]
fn a_damaged_backup_is_refused_and_the_destination_stays_unchanged() {
    let world = World::new();
    world.json(&["insert", "--title", "Journal", "--body", "The journal records page splits."]);
    let first = world.json(&["backup", "backups"]);
    world.json(&["insert", "--title", "Recovery", "--body", "Recovery replays the journal."]);
    let second = world.json(&["backup", "backups"]);
    assert_eq!(world.run(&["backup", "backups", "--verify"]).status, 0);
    let name = second["generation"].as_str().unwrap();
    let segment = world.home().join("backups").join(name).join("log/00000000000000000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    let place = bytes.len() - 40;
    bytes[place] ^= 4;
    std::fs::write(&segment, bytes).unwrap();
    let checked = world.json_with_status(&["backup", "backups", "--verify"], 1);
    let problem = checked["generations"][0]["problems"][0].as_str().unwrap();
    assert!(problem.starts_with("`log/00000000000000000001.log` is damaged at byte"), "{problem}");
    assert_eq!(checked["generations"][1]["problems"], json!([]));
    let listed = world.json_with_status(&["backup", "backups", "--list"], 1);
    for (listed, checked) in [0, 1].map(|at| (&listed["generations"][at], &checked["generations"][at])) {
        assert_eq!(listed["problems"], checked["problems"]);
    }
    let into = world.home().join("elsewhere");
    let into = into.to_str().unwrap();
    let error = world.json_with_status(&["restore", "backups", "--into", into], 1)["error"].clone();
    assert_eq!(error["code"], "damaged");
    assert!(
        error["message"].as_str().unwrap().starts_with("the backup is damaged and was not restored"),
        "{error}"
    );
    assert!(error["hint"].as_str().unwrap().contains(&format!("--to {}", first["seq"])), "{error}");
    assert!(!Path::new(into).join("store").exists());
    // The older generation is intact.
    let answer = world.json(&["restore", "backups", "--into", into, "--to", &first["seq"].to_string()]);
    assert_eq!((&answer["notes"], &answer["generation"]), (&json!(1), &first["generation"]));
    assert_eq!(answer["skipped"].as_array().unwrap().len(), 1);
}

#[test]
fn one_file_is_a_backup() {
    let mut world = World::new();
    world.write("config.toml", "[list]\nlimit = 7\n");
    world.start_daemon();
    for tenant in TENANTS {
        world.json(
            &[tenant, &["insert", "--title", "Journal", "--body", "The journal records page splits."]]
                .concat(),
        );
    }
    let first = world.json(&["backup", "memory.tar"]);
    world.json(&["insert", "--title", "Recovery", "--body", "Recovery replays the journal."]);
    let second = world.json(&["backup", "memory.tar"]);
    assert!(second["seq"].as_u64() > first["seq"].as_u64() && second["linked_files"] == 0, "{second}");
    let listed = world.json(&["backup", "memory.tar", "--list"])["generations"].clone();
    let states = world.run(&["backup", "memory.tar", "--list"]).stdout;
    assert!(states.trim_end().ends_with("not checked"), "{states}");
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["notes"]), (1, &json!(4)));
    assert_eq!(world.run(&["backup", "memory.tar", "--verify"]).status, 0);
    let (copy, answer) = restored(&world, "memory.tar", None);
    assert_eq!(answer["seq"], second["seq"]);
    for tenant in TENANTS {
        let export = [tenant, &["export"]].concat();
        assert_eq!(copy.run(&export).stdout, world.run(&export).stdout);
    }
    let (_, answer) = restored(&world, "memory.tar", first["seq"].as_u64());
    assert_eq!(answer["notes"], 3);
    // The program `tar` unpacks it into a backup folder.
    std::fs::create_dir(world.home().join("unpacked")).unwrap();
    let unpacked = std::process::Command::new("tar")
        .args(["-xf", "memory.tar", "-C", "unpacked"])
        .current_dir(world.home())
        .status()
        .unwrap();
    assert!(unpacked.success());
    assert_eq!(world.run(&["backup", "unpacked", "--verify"]).status, 0);
    let error = world.json_with_status(&["backup", "memory.tar", "--keep", "3"], 2)["error"].clone();
    assert_eq!(
        (&error["at"]["field"], &error["message"]),
        (&json!("keep"), &json!("a backup in one file has only one generation"))
    );
    world.write("letter.tar", "Dear reader");
    let error = world.json_with_status(&["backup", "letter.tar"], 2)["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("letter.tar` is not a backup"), "{error}");
    // Damage is found, and the destination stays unchanged.
    let path = world.home().join("memory.tar");
    let mut bytes = std::fs::read(&path).unwrap();
    let place = bytes.windows(5).position(|part| part == b"split").unwrap();
    bytes[place] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    world.json_with_status(&["backup", "memory.tar", "--verify"], 1);
    let error = world.json_with_status(&["restore", "memory.tar", "--into", "elsewhere"], 1)["error"].clone();
    assert!(error["message"].as_str().unwrap().starts_with("the backup is damaged"), "{error}");
    assert!(!world.home().join("elsewhere/store").exists());
    world.stop_daemon();
}

#[test]
fn a_restored_memory_has_settings_and_runs_and_no_secrets() {
    let mut world = World::new();
    world.write("config.toml", "[list]\nlimit = 7\n");
    world.json(&["init"]);
    for number in 0..2 {
        let title = format!("Crane {number}");
        let body = format!("INC-412: container {number} fell from the harbour crane.");
        world.json(&["insert", "--type", "episodic", "--title", &title, "--body", &body]);
    }
    world.json(&["agent", "run", "linker"]);
    world.json(&["agent", "pause", "linker", "--note", "too eager"]);
    world.write("agents/own.toml", "#:schema ../schema/agent.json\nquery = \"all\"\n");
    for file in
        ["token", "token-model", "token-read", "page-sessions.json", "daemon.log", "transcripts/x", "hooks/x"]
    {
        world.write(file, "secret-5a1f");
    }
    world.start_daemon();
    let answer = world.json(&["backup", "backups"]);
    assert!(answer["copied_files"].as_u64().unwrap() > 10, "{answer}");
    world.stop_daemon();
    let files = files_below(&world.home().join("backups"));
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        assert!(!bytes.windows(11).any(|part| part == b"secret-5a1f"), "{}", file.display());
    }
    let (copy, answer) = restored(&world, "backups", None);
    let names: Vec<&str> = answer["restored"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| Path::new(path.as_str().unwrap()).file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["config.toml", "agents", "prompts", "runs"]);
    assert_eq!(copy.json(&["agent", "show", "own"]), world.json(&["agent", "show", "own"]));
    let [mine, theirs] = [&world, &copy].map(|world| world.json(&["agent", "history", "linker"]));
    assert_eq!(mine, theirs);
    let run = mine["runs"][0]["run"].as_str().unwrap();
    assert_eq!(copy.json(&["agent", "inspect", run]), world.json(&["agent", "inspect", run]));
    let linker = |world: &World| {
        let agents = world.json(&["agent", "list"])["agents"].clone();
        agents.as_array().unwrap().iter().find(|agent| agent["name"] == "linker").unwrap().clone()
    };
    assert_eq!(linker(&copy)["state"], "paused");
    // It is a memory of its own: searches work, and it can be backed up into the same folder.
    assert!(copy.run(&["search", "harbour crane"]).stdout.contains("crane-1"));
    copy.json(&["insert", "--title", "Afterwards"]);
    let folder = world.home().join("backups");
    let third = copy.json(&["backup", folder.to_str().unwrap()]);
    assert_eq!(third["unchanged"], false);
    assert_eq!(world.run(&["backup", "backups", "--verify"]).status, 0);
}

#[test]
fn the_time_and_the_number_that_are_shown_for_a_change_lead_to_its_state() {
    let world = World::new();
    world.json(&["insert", "--title", "Journal"]);
    world.json(&["backup", "backups"]);
    let newest = world.json(&["changes"])["changes"][0].clone();
    // Times are stored in milliseconds and shown in seconds.
    let shown = format!("{}Z", newest["at"].as_str().unwrap().split_once('.').unwrap().0);
    let answer = world.json(&["restore", "backups", "--into", "elsewhere", "--to", &shown]);
    assert_eq!((&answer["seq"], &answer["at"]), (&newest["seq"], &newest["at"]));
    for point in [shown, newest["seq"].to_string()] {
        assert_eq!(world.json(&["get", "journal", "--at", &point])["title"], "Journal", "{point}");
    }
}

#[test]
fn errors_of_wrong_requests_name_the_right_ones() {
    let world = World::new();
    world.json(&["insert", "--title", "Journal"]);
    let at = world.json(&["backup", "backups"])["at"].as_str().unwrap().to_owned();
    let report = |words: &[&str]| {
        let ran = world.run(words);
        let text = ran.stderr.replace(world.home().to_str().unwrap(), "HOME").replace(&at, "TIME");
        format!("{} {}", ran.status, text.trim().replace('\n', " | "))
    };
    let reports = [
        report(&["backup", "store/backup"]),
        report(&["backup", "."]),
        report(&["backup", "backups", "--keep", "0"]),
        report(&["backup", "nowhere", "--list"]),
        report(&["restore", "nowhere"]),
        report(&["restore", "backups"]),
        report(&["restore", "backups", "--into", "new", "--to", "99"]),
        report(&["restore", "backups", "--into", "new", "--to", "2001-01-01"]),
        report(&["restore", "backups", "--into", "new", "--to", "0"]),
        report(&["restore", "backups", "--into", "new", "--to", "soon"]),
    ];
    insta::assert_snapshot!(reports.join("\n"), @r"
    2 error: `HOME/store/backup` is inside `HOME/store`, which is part of the memory | hint: choose a path outside the memory, ideally on another disk
    2 error: `HOME` is the folder of the memory | hint: choose a path outside the memory, ideally on another disk
    2 error: `--keep`: 0 is out of range | hint: give a number from 1 to 10000
    1 error: there is no folder or file `HOME/nowhere` | hint: name the folder or file that `poc-memory backup` was given
    1 error: there is no folder or file `HOME/nowhere` | hint: name the folder or file that `poc-memory backup` was given
    1 error: `HOME/store` already contains a store | hint: `poc-memory restore HOME/backups --into OTHER-FOLDER` restores elsewhere; or stop the daemon and move the store away
    1 error: `--to`: no backup has change 99 | hint: the newest state is change 1 of TIME: the same command without `--to` restores it
    1 error: `--to`: no backup has a change of 2001-01-01T00:00:00.000Z or earlier | hint: the newest state is change 1 of TIME: the same command without `--to` restores it
    2 error: invalid value `0` for `--to <SEQ|TIME>`: there is no change 0; changes are numbered from 1 | hint: see `poc-memory restore --help`
    2 error: invalid value `soon` for `--to <SEQ|TIME>`: `soon` is neither the number of a change nor a time; write `1042`, `2026-11-21`, `2026-11-21T08:00:00Z`, or how long ago: `7d`, `24h`, `30m` | hint: see `poc-memory restore --help`
    ");
    assert!(!world.home().join("new").exists());
    // A profile that does not exist yet can be a destination, too.
    let answer = world.json(&["--profile", "restored", "restore", "backups"]);
    assert_eq!(answer["notes"], 1);
    assert_eq!(world.run(&["--profile", "restored", "export"]).stdout, world.run(&["export"]).stdout);
}
