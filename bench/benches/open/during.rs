//! The times of answers while an import is running: the same searches repeated, first alone and then beside a thread
//! that imports JSON Lines, as in the daemon.

use super::found;
use poc_bench::measure::{Measurement, Report, median, percentile, timed};
use poc_bench::memory;
use poc_notes::Memory;
use poc_notes::import::{ImportOptions, ImportSource, import};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SEARCHES: [(&str, &str); 2] = [
    ("linker", "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20"),
    ("hybrid", "hybrid:'ba fabo gelo' | limit:10"),
];

/// How long each search is repeated, and the minimum and maximum number of answers.
const TIME: Duration = Duration::from_secs(20);
const MIN_ANSWERS: usize = 200;
const MAX_ANSWERS: usize = 2000;

/// The notes of one import.
const IMPORTED: usize = 400;

pub(super) fn measure(folder: &Path, nodes: usize, report: &mut Report) {
    let memory = memory::open(folder);
    let alone = answers(&memory);
    let done = AtomicBool::new(false);
    let (during, imported) = std::thread::scope(|scope| {
        let importing = scope.spawn(|| {
            let started = Instant::now();
            let mut imported = 0;
            while !done.load(Ordering::Relaxed) {
                imported += import_chunk(&memory, imported);
            }
            (imported, imported as f64 / started.elapsed().as_secs_f64())
        });
        // Waits until the import has started.
        while memory.store.view().node_count() <= nodes {
            std::thread::yield_now();
        }
        let during = answers(&memory);
        done.store(true, Ordering::Relaxed);
        (during, importing.join().unwrap())
    });
    let note = format!("{} notes imported meanwhile, {:.0} a second", imported.0, imported.1);
    for (((name, _), alone), during) in SEARCHES.iter().zip(alone).zip(during) {
        let line = Measurement::time(format!("{name} during an import, p50"), nodes, median(during.clone()));
        report.add(line.with_peer("p50 alone", Some(median(alone.clone()))).note(&note));
        let line =
            Measurement::time(format!("{name} during an import, p99"), nodes, percentile(during, 0.99));
        report.add(line.with_peer("p99 alone", Some(percentile(alone, 0.99))).at_most(2.0));
    }
}

/// The seconds of many answers for each search.
fn answers(memory: &Memory) -> [Vec<f64>; 2] {
    let mut times: [Vec<f64>; 2] = std::array::from_fn(|_| Vec::new());
    let started = Instant::now();
    for round in 0..MAX_ANSWERS {
        if round >= MIN_ANSWERS && started.elapsed() > TIME {
            break;
        }
        for ((_, pipeline), times) in SEARCHES.iter().zip(&mut times) {
            let (seconds, found) = timed(|| found(memory, pipeline));
            assert!(found > 0, "`{pipeline}` finds something");
            times.push(seconds);
        }
    }
    times
}

/// Imports new notes; returns how many.
fn import_chunk(memory: &Memory, before: usize) -> usize {
    let note = |number: usize| {
        let text = format!("Imported note {number}: ba fabo gelo {} {}", number * 31, number * 17);
        serde_json::json!({ "key": format!("imported/{number}"), "text": text }).to_string() + "\n"
    };
    let notes: String = (before..before + IMPORTED).map(note).collect();
    let report = import(memory, &ImportSource::Text(notes), &ImportOptions::default(), &|_, _| {}).unwrap();
    assert_eq!(report.inserted as usize, IMPORTED, "{:?}", report.failed.first());
    IMPORTED
}
