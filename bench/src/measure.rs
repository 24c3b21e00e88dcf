//! Taking times and telling them.

use serde::Serialize;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

/// What a bench was asked for on the command line: `cargo bench --bench NAME [-- NODES … FOLDER …]`.
pub struct Asked {
    /// Sizes of the graph.
    pub sizes: Vec<usize>,
    /// Folders with documents, as `poc-memory eval` takes them.
    pub sets: Vec<PathBuf>,
}

/// The sizes on the command line, else 13,000 and 100,000, and the sets there. `cargo bench` adds options of its own,
/// which are none.
pub fn asked() -> Asked {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let sets = std::env::args().skip(1).map(PathBuf::from).filter(|path| path.join("docs.jsonl").is_file());
    Asked { sizes: if sizes.is_empty() { vec![13_000, 100_000] } else { sizes }, sets: sets.collect() }
}

/// Seconds one call takes, and what it gave.
pub fn once<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let value = black_box(work());
    (started.elapsed().as_secs_f64(), value)
}

/// Median seconds of several kinds of work, run by turns, so that what slows the machine slows all.
/// In its turn each runs twice and the second time counts: what the one before has left in the caches
/// would be good for some and bad for others. Runs until `seconds` have passed, five rounds at least
/// and a thousand at most.
pub fn by_turns<const N: usize>(seconds: f64, mut works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    let started = Instant::now();
    for round in 0..1000 {
        if round >= 5 && started.elapsed().as_secs_f64() > seconds {
            break;
        }
        for (work, times) in works.iter_mut().zip(&mut times) {
            work();
            times.push(once(&mut **work).0);
        }
    }
    times.map(median)
}

/// The middle one; at least one is there.
pub fn median(values: Vec<f64>) -> f64 {
    percentile(values, 0.5)
}

/// The smallest that is at least as great as this share of them.
pub fn percentile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[((values.len() as f64 * share).ceil() as usize).saturating_sub(1)]
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
    /// How many times as much a node costs as it did at the size before; 1 is linear growth.
    pub growth: Option<f64>,
    /// Who else did it.
    pub peer: &'static str,
    /// How long it took there.
    pub theirs: Option<f64>,
    /// What must hold, as `≤ 1.5 ×` or `≥ 10 × faster`; empty when nothing is promised.
    pub bar: String,
    /// Whether it holds.
    pub holds: Option<bool>,
    /// What else is worth knowing.
    pub note: String,
}

impl Line {
    /// A time in seconds.
    pub fn time(work: impl Into<String>, nodes: usize, seconds: f64) -> Line {
        Line::amount(work, nodes, seconds, "s")
    }

    /// A figure in a unit of its own.
    pub fn amount(work: impl Into<String>, nodes: usize, ours: f64, unit: &'static str) -> Line {
        let (work, peer, bar, note) = (work.into(), "", String::new(), String::new());
        Line { work, nodes, ours, unit, growth: None, peer, theirs: None, bar, holds: None, note }
    }

    /// The same, done by somebody else; `None` when they could not be asked.
    pub fn beside(self, peer: &'static str, theirs: Option<f64>) -> Line {
        Line { peer, theirs, ..self }
    }

    /// Takes at most so many times as long as the peer.
    pub fn at_most(self, times: f64) -> Line {
        let holds = self.theirs.map(|theirs| self.ours <= times * theirs);
        Line { bar: format!("≤ {} ×", (times * 100.0).round() / 100.0), holds, ..self }
    }

    /// The peer takes at least so many times as long.
    pub fn faster(self, times: f64) -> Line {
        let holds = self.theirs.map(|theirs| theirs >= times * self.ours);
        Line { bar: format!("≥ {times} × faster"), holds, ..self }
    }

    /// Is at most this, whoever the peer.
    pub fn within(self, most: f64) -> Line {
        Line { bar: format!("≤ {}", figure(most, self.unit)), holds: Some(self.ours <= most), ..self }
    }

    /// Adds a remark.
    pub fn note(self, note: impl Into<String>) -> Line {
        Line { note: note.into(), ..self }
    }
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
            "{name:<40} {:>9} {:>12} {:>10} {:>7}  {:<18} {:>12} {:>8}  bar",
            "nodes", "ours", "per node", "growth", "peer", "theirs", "ratio"
        );
        Report { name, lines: Vec::new() }
    }

    /// Adds a line. Its growth is that since the last line of the same work and peer.
    pub fn add(&mut self, line: Line) {
        let mut before = self.lines.iter().rev();
        let before = before.find(|other| other.work == line.work && other.peer == line.peer);
        let cost = |line: &Line| if line.unit == "s" { line.ours / line.nodes as f64 } else { line.ours };
        let growth = before.map(|before| cost(&line) / cost(before)).filter(|growth| growth.is_finite());
        let line = Line { growth, ..line };
        println!("{}", line.row());
        self.lines.push(line);
    }

    /// Writes `target/bench/NAME.json`.
    pub fn save(self) {
        let path = folder().join(format!("{}.json", self.name));
        std::fs::write(&path, serde_json::to_vec_pretty(&self.lines).unwrap()).unwrap();
        println!("saved as {}", path.display());
    }
}

impl Line {
    fn row(&self) -> String {
        let Line { work, nodes, ours, unit, growth, peer, theirs, bar, holds, note } = self;
        let per_node = if *unit == "s" { figure(ours / *nodes as f64, unit) } else { String::new() };
        let growth = growth.map_or(String::new(), |growth| format!("× {growth:.2}"));
        let ratio = theirs.map_or(String::new(), |theirs| match *ours <= theirs {
            true => format!("1/{:.1}", theirs / ours),
            false => format!("{:.2}", ours / theirs),
        });
        let theirs = theirs.map_or("–".to_owned(), |theirs| figure(theirs, unit));
        let verdict = match holds {
            Some(true) => format!("{bar} ✓ "),
            Some(false) => format!("{bar} ✗ "),
            None => String::new(),
        };
        let ours = figure(*ours, unit);
        let row = format!(
            "{work:<40} {nodes:>9} {ours:>12} {per_node:>10} {growth:>7}  {peer:<18} {theirs:>12} {ratio:>8}  \
             {verdict}{note}"
        );
        row.trim_end().to_owned()
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
        ("s", seconds) if seconds < 1e-6 => format!("{:.2} ns", seconds * 1e9),
        ("s", seconds) if seconds < 1e-3 => format!("{:.1} µs", seconds * 1e6),
        ("s", seconds) if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        (unit, value) => format!("{value:.2} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_by_hand() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!((median(values.clone()), percentile(values.clone(), 0.99)), (100.0, 198.0));
        assert_eq!((percentile(values.clone(), 0.0), percentile(values, 1.0)), (1.0, 200.0));
        assert_eq!(median(vec![7.0]), 7.0);
    }

    #[test]
    fn a_bar_is_held_against_the_peer() {
        let line = Line::time("work", 1000, 3e-3).beside("peer", Some(2e-3));
        assert_eq!(line.clone().at_most(1.5).holds, Some(true));
        assert_eq!(line.clone().at_most(1.4).holds, Some(false));
        assert_eq!(line.clone().faster(1.0).holds, Some(false));
        assert_eq!(line.clone().beside("peer", Some(30e-3)).faster(10.0).holds, Some(true));
        assert_eq!(line.clone().within(2e-3).holds, Some(false));
        // Nobody was asked: nothing is said.
        assert_eq!(line.beside("peer", None).faster(1.0).holds, None);
    }

    /// Growth is by node for times, and by the figure for what is by node already; works and peers
    /// are kept apart.
    #[test]
    fn growth_is_since_the_size_before() {
        let mut report = Report::new("test");
        for (work, nodes, seconds) in
            [("a", 1000, 1.0), ("b", 1000, 9.0), ("a", 10_000, 20.0), ("a", 100_000, 20.0)]
        {
            report.add(Line::time(work, nodes, seconds));
        }
        report.add(Line::amount("bytes", 1000, 200.0, "B"));
        report.add(Line::amount("bytes", 10_000, 100.0, "B"));
        let growths: Vec<_> = report.lines.iter().map(|line| line.growth).collect();
        assert_eq!(growths, [None, None, Some(2.0), Some(0.1), None, Some(0.5)]);
    }
}
