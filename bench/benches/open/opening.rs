//! The times to open a store and to its first answers. A new process opens it each time, as a command without a daemon
//! does.

use super::found;
use super::store::{self, CACHES, Cache};
use poc_bench::measure::{Measurement, Report, median, timed};
use poc_bench::memory;
use poc_notes::Memory;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The argument that makes the bench open a store and print how long that took.
pub(super) const CHILD: &str = "--open-in";

/// The name of each measurement, and the pipeline whose first answer it waits for.
pub(super) const MILESTONES: [(&str, &str); 5] = [
    ("open returns", ""),
    ("first answer of a scan", "all | type:episodic | limit:5"),
    (BY_WORDS, "match:'ba fabo gelo' | limit:10"),
    ("first answer of hybrid", "hybrid:'ba fabo gelo' | limit:10"),
    ("first text of a note", TEXT),
];

/// The milestone with a bound of its own.
const BY_WORDS: &str = "first answer by words";

/// Reads the text of a note instead of running a pipeline.
const TEXT: &str = "text";

/// The number of openings of each kind.
const ROUNDS: usize = 5;

/// Opens the store and prints the seconds until each of [`MILESTONES`], one after the other.
pub(super) fn child(folder: &Path) {
    let started = Instant::now();
    let memory = memory::open(folder);
    for (_, pipeline) in MILESTONES {
        let found = match pipeline {
            "" => 1,
            TEXT => text(&memory),
            pipeline => found(&memory, pipeline),
        };
        assert!(found > 0, "`{pipeline}` finds something");
        println!("{}", started.elapsed().as_secs_f64());
    }
}

/// Opens the store alternately with and without its files in the page cache, and compares with the time to read them.
pub(super) fn measure(folder: &Path, nodes: usize, report: &mut Report) {
    // The first opening after the notes were written may take longer.
    opened(folder);
    let (mut openings, mut readings) = (vec![Vec::new(); CACHES.len()], vec![Vec::new(); CACHES.len()]);
    for _ in 0..ROUNDS {
        for (at, &(_, cache)) in CACHES.iter().enumerate() {
            store::settle(folder, cache);
            openings[at].push(opened(folder));
            store::settle(folder, cache);
            readings[at].push(timed(|| read(folder)).0);
        }
    }
    let megabytes = store::files(folder).iter().map(|path| path.metadata().unwrap().len()).sum::<u64>() >> 20;
    let size = format!("{megabytes} MB of files");
    for (((kind, cache), rounds), reads) in CACHES.iter().zip(openings).zip(readings) {
        for (at, (moment, _)) in MILESTONES.iter().enumerate() {
            let seconds = median(rounds.iter().map(|times: &Vec<f64>| times[at]).collect());
            let line = Measurement::time(format!("{kind}: {moment}"), nodes, seconds);
            let line = line.with_peer("reading the files", Some(median(reads.clone())));
            // The requirements are for up to 100,000 notes, and of answers by words for files in the page cache.
            let line = match at {
                _ if nodes > 100_000 => line,
                0 | 1 => line.within(1.0),
                _ if *moment == BY_WORDS && *cache == Cache::Warm => line.within(0.5),
                _ => line,
            };
            report.add(if at == 0 { line.note(&size) } else { line });
        }
    }
}

/// The length of the text of the first note.
fn text(memory: &Memory) -> usize {
    let id = memory.store.view().id(0).unwrap();
    memory.store.node(id).unwrap().unwrap().body.len()
}

/// The seconds to each milestone, in a new process.
pub(super) fn opened(folder: &Path) -> Vec<f64> {
    let bench = std::env::current_exe().unwrap();
    let output = Command::new(bench).arg(CHILD).arg(folder).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    stdout.lines().map(|line| line.parse().unwrap()).collect()
}

fn read(folder: &Path) -> u64 {
    let copied = |path| std::io::copy(&mut std::fs::File::open(path).unwrap(), &mut std::io::sink()).unwrap();
    store::files(folder).into_iter().map(copied).sum()
}
