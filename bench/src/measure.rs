//! Taking times and telling them.

use serde::Serialize;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

/// What a bench was asked for on the command line: `cargo bench --bench NAME [-- NODES …]`.
pub struct Asked {
    /// Sizes of the graph.
    pub sizes: Vec<usize>,
}

/// The sizes on the command line, else 13,000 and 100,000. `cargo bench` adds options of its own,
/// which are none.
pub fn asked() -> Asked {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    Asked { sizes: if sizes.is_empty() { vec![13_000, 100_000] } else { sizes } }
}

/// Seconds one call takes, and what it gave.
pub fn once<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let value = black_box(work());
    (started.elapsed().as_secs_f64(), value)
}

/// Median seconds of several kinds of work, run by turns, so that what slows the machine slows all.
/// Runs until `seconds` have passed, five rounds at least and a thousand at most; the first round
/// warms up and does not count.
pub fn by_turns<const N: usize>(seconds: f64, mut works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    let started = Instant::now();
    for round in 0..1001 {
        if round > 5 && started.elapsed().as_secs_f64() > seconds {
            break;
        }
        for (work, times) in works.iter_mut().zip(&mut times) {
            let (seconds, ()) = once(&mut **work);
            if round > 0 {
                times.push(seconds);
            }
        }
    }
    times.map(|mut times| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

/// A line of a report.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// What was done.
    pub work: String,
    /// Nodes of the graph.
    pub nodes: usize,
    /// How long it took here, in seconds, or how much it is.
    pub ours: f64,
    /// What `ours` and `theirs` are measured in.
    pub unit: &'static str,
    /// Who else did it.
    pub peer: String,
    /// How long it took there.
    pub theirs: Option<f64>,
    /// What must hold, as `≤ 1.5` or `≥ 10 faster`; empty when nothing is promised.
    pub bar: String,
    /// Whether it holds.
    pub holds: Option<bool>,
    /// What else is worth knowing.
    pub note: String,
}

/// What must hold between our time and a peer's.
#[derive(Clone, Copy, Debug)]
pub enum Bar {
    /// Nothing.
    None,
    /// We take at most so many times as long.
    AtMost(f64),
    /// The peer takes at least so many times as long.
    Faster(f64),
    /// Our figure is at most this, whoever the peer.
    Absolute(f64),
}

/// Lines of a bench, printed as they come and saved at the end.
pub struct Report {
    name: &'static str,
    lines: Vec<Line>,
}

impl Report {
    /// An empty report with its heading printed.
    pub fn new(name: &'static str) -> Report {
        println!(
            "{:<44} {:>9} {:>12}  {:<24} {:>12} {:>8}  bar",
            name, "nodes", "ours", "peer", "theirs", "ratio"
        );
        Report { name, lines: Vec::new() }
    }

    /// Adds a time in seconds beside a peer's.
    pub fn time(&mut self, work: &str, nodes: usize, ours: f64, peer: &str, theirs: Option<f64>, bar: Bar) {
        self.add(work, nodes, ours, "s", peer, theirs, bar, String::new());
    }

    /// Adds a figure.
    #[allow(clippy::too_many_arguments, reason = "the columns of a table")]
    pub fn add(
        &mut self,
        work: &str,
        nodes: usize,
        ours: f64,
        unit: &'static str,
        peer: &str,
        theirs: Option<f64>,
        bar: Bar,
        note: String,
    ) {
        let (bar, holds) = match (bar, theirs) {
            (Bar::AtMost(times), Some(theirs)) => (format!("≤ {times} ×"), Some(ours <= times * theirs)),
            (Bar::Faster(times), Some(theirs)) => {
                (format!("≥ {times} × faster"), Some(theirs >= times * ours))
            }
            (Bar::Absolute(most), _) => (format!("≤ {most} {unit}"), Some(ours <= most)),
            _ => (String::new(), None),
        };
        let ratio = theirs.map_or(String::new(), |theirs| match ours <= theirs {
            true => format!("1/{:.1}", theirs / ours),
            false => format!("{:.2}", ours / theirs),
        });
        let verdict = match holds {
            Some(true) => format!("{bar} ✓"),
            Some(false) => format!("{bar} ✗"),
            None => String::new(),
        };
        let told = theirs.map_or("–".to_owned(), |theirs| figure(theirs, unit));
        println!(
            "{work:<44} {nodes:>9} {:>12}  {peer:<24} {told:>12} {ratio:>8}  {verdict} {note}",
            figure(ours, unit)
        );
        self.lines.push(Line {
            work: work.into(),
            nodes,
            ours,
            unit,
            peer: peer.into(),
            theirs,
            bar,
            holds,
            note,
        });
    }

    /// Writes `target/bench/NAME.json`.
    pub fn save(self) {
        let folder = folder();
        let path = folder.join(format!("{}.json", self.name));
        std::fs::write(&path, serde_json::to_vec_pretty(&self.lines).unwrap()).unwrap();
        println!("saved as {}", path.display());
    }
}

/// `target/bench`, made when it is missing.
pub fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn figure(value: f64, unit: &str) -> String {
    match (unit, value) {
        ("s", seconds) if seconds < 1e-3 => format!("{:.1} µs", seconds * 1e6),
        ("s", seconds) if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        (unit, value) => format!("{value:.2} {unit}"),
    }
}

/// Bytes of this process in memory (Linux; 0 elsewhere).
pub fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse::<f64>().ok());
    pages.unwrap_or(0.0) * 4096.0
}
