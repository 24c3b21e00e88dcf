//! The speed of a sentence model of the BERT family on all cores, compared with onnxruntime with the same model and
//! sentences.
//!
//! `POC_MEMORY_BENCH_MODEL=FOLDER cargo bench -p poc-bench --bench embed [-- SENTENCES …]`

#![allow(missing_docs, reason = "a bench")]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench that fails stops"
)]

use poc_bench::measure::{Measurement, Report, median, sizes, timed};
use poc_bench::peers::python;
use poc_embed::{CandleEmbedder, Embedder};
use poc_graph::rng::{Rng, SeededRng};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SEED: u64 = 7;
/// The number of interleaved rounds.
const ROUNDS: usize = 5;
/// The required throughput relative to onnxruntime's.
const MIN_THROUGHPUT_RATIO: f64 = 0.6;
/// The largest allowed difference of two vector components.
const MAX_DIFFERENCE: f32 = 1e-4;

/// The words of sentences. Only the length of sentences matters, not their meaning.
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

/// The response of the peer.
#[derive(Deserialize)]
struct PeerResult {
    together: f64,
    apart: f64,
    vectors: Vec<Vec<f32>>,
}

fn main() {
    let Some(folder) = std::env::var_os("POC_MEMORY_BENCH_MODEL") else {
        println!("skipped: POC_MEMORY_BENCH_MODEL does not name the folder of a model");
        return;
    };
    let embedder = CandleEmbedder::open(Path::new(&folder)).unwrap();
    let mut peer = python().map(|python| Peer::start(&python, Path::new(&folder)));
    let mut report = Report::new("embed");
    for count in sizes(&[256]) {
        let sentences = sentences(count);
        let texts: Vec<&str> = sentences.iter().map(String::as_str).collect();
        let (mut ours, mut together, mut apart, mut farthest) = (Vec::new(), Vec::new(), Vec::new(), 0.0f32);
        for _ in 0..ROUNDS {
            let (seconds, vectors) = timed(|| embedder.embed(&texts).unwrap());
            ours.push(seconds);
            let Some(answer) = peer.as_mut().map(|peer| peer.ask(&texts)) else { continue };
            together.push(answer.together);
            apart.push(answer.apart);
            for (a, b) in vectors.iter().zip(&answer.vectors) {
                assert_eq!(a.len(), b.len());
                farthest = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(farthest, f32::max);
            }
            assert!(farthest < MAX_DIFFERENCE, "{farthest} apart");
        }
        let ours = median(ours);
        for (peer, theirs) in [("onnxruntime, a batch", together), ("… a batch a core", apart)] {
            let theirs = (!theirs.is_empty()).then(|| median(theirs));
            let note = format!("{:.0} a second, vectors {farthest:.1e} apart at most", count as f64 / ours);
            report.add(
                Measurement::time("sentences to vectors", count, ours)
                    .with_peer(peer, theirs)
                    .at_most(1.0 / MIN_THROUGHPUT_RATIO)
                    .note(note),
            );
        }
    }
    report.save();
}

/// Sentences of 3 to 40 words, about 33 tokens on average.
fn sentences(count: usize) -> Vec<String> {
    let rng = SeededRng::new(SEED);
    let below = |max: usize| (rng.next_u64() % max as u64) as usize;
    (0..count)
        .map(|_| (0..3 + below(38)).map(|_| WORDS[below(WORDS.len())]).collect::<Vec<_>>().join(" "))
        .collect()
}

/// A process that embeds with onnxruntime.
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

    fn ask(&mut self, texts: &[&str]) -> PeerResult {
        writeln!(self.process.stdin.as_mut().unwrap(), "{}", serde_json::to_string(texts).unwrap()).unwrap();
        let mut line = String::new();
        // The peer writes one line per request.
        BufReader::new(self.process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The process ends when its input closes; an error here does not matter.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
