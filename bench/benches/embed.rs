//! How fast a sentence model of the BERT family runs on all cores, beside onnxruntime with the same model on
//! the same sentences.
//!
//! `POC_MEMORY_BENCH_MODEL=FOLDER cargo bench -p poc-bench --bench embed [-- SENTENCES …]`

#![allow(missing_docs, reason = "a bench")]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench that goes wrong shall stop"
)]

use poc_bench::measure::{Line, Report, median, once};
use poc_bench::peers::python;
use poc_embed::{CandleEmbedder, Embedder};
use poc_graph::rng::{Rng, SeededRng};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SEED: u64 = 7;
/// Of each, by turns.
const ROUNDS: usize = 5;
/// What the throughput has to be of onnxruntime's.
const SHARE: f64 = 0.6;
/// As far apart as two numbers of a vector may be.
const APART: f32 = 1e-4;

/// Words that sentences are made of; what they say does not matter, how long they are does.
const WORDS: &[&str] = &[
    "the",
    "a",
    "of",
    "harbour",
    "journal",
    "page",
    "writes",
    "when",
    "insert",
    "splits",
    "recovery",
    "and",
    "then",
    "lighthouse",
    "keeper",
    "meeting",
    "moved",
    "Tuesday",
    "invoice",
    "unfortunately",
    "deployment",
    "rollback",
    "because",
    "certificate",
    "expired",
    "she",
    "they",
    "asked",
    "whether",
    "checksum",
    "47",
    "INC-90037",
    "configuration",
    "was",
    "not",
    "understood",
    "by",
    "anybody",
    "store_open",
    "returns",
];

/// What the peer says.
#[derive(Deserialize)]
struct Answer {
    together: f64,
    apart: f64,
    vectors: Vec<Vec<f32>>,
}

fn main() {
    let Some(folder) = std::env::var_os("POC_MEMORY_BENCH_MODEL") else {
        println!("skipped: POC_MEMORY_BENCH_MODEL does not name the folder of a model");
        return;
    };
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let embedder = CandleEmbedder::open(Path::new(&folder)).unwrap();
    let mut peer = python().map(|python| Peer::start(&python, Path::new(&folder)));
    let mut report = Report::new("embed");
    for count in if asked.is_empty() { vec![256] } else { asked } {
        let sentences = sentences(count);
        let texts: Vec<&str> = sentences.iter().map(String::as_str).collect();
        let (mut ours, mut together, mut apart, mut farthest) = (Vec::new(), Vec::new(), Vec::new(), 0.0f32);
        for _ in 0..ROUNDS {
            let (seconds, vectors) = once(|| embedder.embed(&texts).unwrap());
            ours.push(seconds);
            let Some(answer) = peer.as_mut().map(|peer| peer.ask(&texts)) else { continue };
            together.push(answer.together);
            apart.push(answer.apart);
            for (a, b) in vectors.iter().zip(&answer.vectors) {
                assert_eq!(a.len(), b.len());
                farthest = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(farthest, f32::max);
            }
            assert!(farthest < APART, "{farthest} apart");
        }
        let ours = median(ours);
        for (peer, theirs) in [("onnxruntime, a batch", together), ("… a batch a core", apart)] {
            let theirs = (!theirs.is_empty()).then(|| median(theirs));
            let note = format!("{:.0} a second, vectors {farthest:.1e} apart at most", count as f64 / ours);
            report.add(
                Line::time("sentences to vectors", count, ours)
                    .beside(peer, theirs)
                    .at_most(1.0 / SHARE)
                    .note(note),
            );
        }
    }
    report.save();
}

/// Sentences of 3 to 40 words, some 33 tokens in the mean.
fn sentences(count: usize) -> Vec<String> {
    let rng = SeededRng::new(SEED);
    let below = |most: usize| (rng.next_u64() % most as u64) as usize;
    (0..count)
        .map(|_| (0..3 + below(38)).map(|_| WORDS[below(WORDS.len())]).collect::<Vec<_>>().join(" "))
        .collect()
}

/// A process that embeds by onnxruntime.
struct Peer {
    process: Child,
}

impl Peer {
    fn start(python: &Path, folder: &Path) -> Peer {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bert.py");
        let mut command = Command::new(python);
        command.arg(script).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        Peer { process: command.spawn().unwrap() }
    }

    fn ask(&mut self, texts: &[&str]) -> Answer {
        writeln!(self.process.stdin.as_mut().unwrap(), "{}", serde_json::to_string(texts).unwrap()).unwrap();
        let mut line = String::new();
        // It says no more than it is asked for.
        BufReader::new(self.process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends with its input; whether it had to be told does not matter.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
