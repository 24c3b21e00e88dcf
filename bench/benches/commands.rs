//! What commands cost beside a running daemon, and how much memory the daemon needs: `search` as a whole process
//! beside `sqlite3` with FTS5 on the same notes, the processor time of a `get`, and the resident memory of the daemon
//! after its first answer and after use.
//!
//! The notes are those of the bench `ingest`, with two keywords each.
//!
//! `cargo build --release && cargo bench -p poc-bench --bench commands [-- NOTES …]`

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench"
)]

use poc_bench::measure::{Measurement, Report, arguments, folder, interleaved_medians, processor_seconds};
use poc_bench::memory;
use poc_bench::notes::{NoteText, Writer, lines, long_note, two_keywords};
use poc_bench::processes::{DaemonProcess, command, connect};
use poc_memory::client::Client;
use poc_notes::import::{ImportOptions, ImportSource, import};
use serde_json::{Value, json};
use std::cell::Cell;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const SEED: u64 = 9;

/// The number of questions.
const QUESTIONS: usize = 50;

/// Number of calls of `get` of each kind, of which the mean processor time is taken.
const GETS: usize = 5_000;

/// Numbers of calls before the memory is measured again.
const SEARCHES: usize = 500;
const INSERTS: usize = 300;

fn main() {
    let mut report = Report::new("commands");
    for count in arguments().sizes {
        let home = tempfile::tempdir_in(folder()).unwrap();
        measure(home.path(), count, &mut report);
    }
    report.save();
}

fn measure(home: &Path, count: usize, report: &mut Report) {
    // Runs of agents would change the notes while they are asked for.
    std::fs::write(home.join("config.toml"), "[daemon]\nruns-agents = false\n").unwrap();
    fill(home, count);
    let daemon = DaemonProcess::start(home);
    let mut client = connect(home).unwrap();
    let writer = Writer::new(SEED);
    let questions: Vec<String> = (0..QUESTIONS).map(|_| writer.question()).collect();
    let first = call(&mut client, "retrieve", json!({"text": questions[0]}));
    let ids: Vec<String> = first["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["id"].as_str().unwrap().to_owned())
        .collect();
    assert!(!ids.is_empty(), "the question finds something");
    let small = count <= 13_000;
    let bound = |of_small: f64| if small { of_small } else { 350.0 };
    let resident = |name: &str| Measurement::amount(name, count, daemon.resident_megabytes(), "MB");
    let after_start = resident("resident memory after the first answer");
    report.add(if count <= 100_000 { after_start.within(bound(90.0)) } else { after_start });

    searches(home, count, &questions, report);
    gets(&daemon, &mut client, count, &ids, report);

    for number in 0..SEARCHES {
        call(&mut client, "retrieve", json!({"text": questions[number % QUESTIONS]}));
    }
    for number in 0..INSERTS {
        let NoteText { title, body } = long_note(&writer);
        let keywords = two_keywords(number * 7);
        call(&mut client, "insert", json!({"title": title, "body": body, "keywords": keywords}));
    }
    for pipeline in ["all | sort:priority | limit:20", "all | sort:degree | limit:20 | spread"] {
        call(&mut client, "search", json!({"pipeline": [pipeline]}));
    }
    let after_use = resident("resident memory after use")
        .note(format!("{SEARCHES} searches, {INSERTS} inserts, {} times `get`, two pipelines", 2 * GETS));
    report.add(if count <= 100_000 { after_use.within(bound(110.0)) } else { after_use });
}

/// Imports the notes.
fn fill(home: &Path, count: usize) {
    let memory = memory::open(home);
    let source = ImportSource::Text(lines(count, true, two_keywords));
    import(&memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap();
    // The daemon would finish the graph of vectors and save it while it is measured.
    memory.store.settle();
    memory.vectors.finish(&|| false);
    memory.store.checkpoint().unwrap();
}

fn call(client: &mut Client, op: &str, args: Value) -> Value {
    client.call(op, args, &|_| {}).unwrap()
}

/// `search` as a process beside `sqlite3`, which searches the same notes for any of the words.
fn searches(home: &Path, count: usize, questions: &[String], report: &mut Report) {
    let database = home.join("peer.sqlite");
    let is_installed = fill_peer(&database, count);
    let (ours, theirs) = (Cell::new(0), Cell::new(0));
    let next = |number: &Cell<usize>| {
        number.set(number.get() + 1);
        questions[number.get() % questions.len()].as_str()
    };
    let mut search = || {
        assert!(command("poc-memory", home).args(["search", next(&ours)]).status().unwrap().success());
    };
    let mut peer = || {
        let words = next(&theirs).split(' ').collect::<Vec<_>>().join(" OR ");
        let query = format!(
            "SELECT title FROM texts WHERE texts MATCH '{words}' ORDER BY bm25(texts, 3.0, 1.0) LIMIT 10"
        );
        let mut command = Command::new("sqlite3");
        command.arg(&database).arg(query).stdin(Stdio::null()).stdout(Stdio::null());
        assert!(command.status().unwrap().success());
    };
    let [ours, theirs] = match is_installed {
        true => interleaved_medians(6.0, [&mut search, &mut peer]).map(Some),
        false => [Some(interleaved_medians(3.0, [&mut search])[0]), None],
    };
    let line = Measurement::time("search WORDS, a process", count, ours.unwrap_or_default());
    report.add(line.with_peer("sqlite3, FTS5", theirs).at_most(1.6).note("ours also compares vectors"));
}

/// Fills a database with the notes. Prints a message and returns `false` when `sqlite3` is not installed.
fn fill_peer(database: &Path, count: usize) -> bool {
    let mut command = Command::new("sqlite3");
    let Ok(mut sqlite) = command.arg(database).stdin(Stdio::piped()).spawn() else {
        println!("`sqlite3` is left out, because it is not installed");
        return false;
    };
    let mut statements = "CREATE VIRTUAL TABLE texts USING fts5(title, body);\nBEGIN;\n".to_owned();
    for line in lines(count, true, two_keywords).lines() {
        let note: Value = serde_json::from_str(line).unwrap();
        // Generated words have no quotes.
        let (title, body) = (note["title"].as_str().unwrap(), note["text"].as_str().unwrap());
        writeln!(statements, "INSERT INTO texts VALUES ('{title}', '{body}');").unwrap();
    }
    statements += "COMMIT;\n";
    sqlite.stdin.take().unwrap().write_all(statements.as_bytes()).unwrap();
    assert!(sqlite.wait().unwrap().success());
    true
}

/// The processor time of the daemon for a `get`, with the strongest edges of a note and with all.
fn gets(daemon: &DaemonProcess, client: &mut Client, count: usize, ids: &[String], report: &mut Report) {
    let process = daemon.id().to_string();
    let mut each = |all_edges: bool| {
        let before = processor_seconds(&process);
        for number in 0..GETS {
            call(client, "get", json!({"node": ids[number % ids.len()], "all_edges": all_edges}));
        }
        (processor_seconds(&process) - before) / GETS as f64
    };
    let note = "processor time of the daemon";
    report.add(Measurement::time("get", count, each(false)).within(0.3e-3).note(note));
    report.add(Measurement::time("get, all edges", count, each(true)).note(note));
}
