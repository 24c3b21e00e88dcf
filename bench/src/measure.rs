//! Measurements and their report.

use serde::Serialize;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

/// The sizes of a bench without sizes on the command line.
pub const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// The arguments of a bench: `cargo bench --bench NAME [-- NODES … FOLDER …]`.
pub struct BenchArguments {
    /// Sizes of the graph.
    pub sizes: Vec<usize>,
    /// Folders with documents, as `poc-memory eval` takes them.
    pub sets: Vec<PathBuf>,
}

/// The sizes on the command line, or [`SIZES`], and the folders. Options that `cargo bench` adds are ignored.
pub fn arguments() -> BenchArguments {
    let sets = std::env::args().skip(1).map(PathBuf::from).filter(|path| path.join("docs.jsonl").is_file());
    BenchArguments { sizes: sizes(&SIZES), sets: sets.collect() }
}

/// The sizes on the command line, or the given ones. Options that `cargo bench` adds are ignored.
pub fn sizes(otherwise: &[usize]) -> Vec<usize> {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    if sizes.is_empty() { otherwise.to_vec() } else { sizes }
}

/// The seconds that one call takes, and its result.
pub fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let value = black_box(work());
    (started.elapsed().as_secs_f64(), value)
}

/// The seconds of processor time that all threads of a process have used so far, in steps of a hundredth. `process` is
/// its id, or `self`.
pub fn processor_seconds(process: &str) -> f64 {
    // User and system time in hundredths of a second, after the name of the program in brackets (proc(5)).
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    let stat = stat.expect("processor time is read on Linux only");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

/// Median seconds of several kinds of work. They run interleaved, so that a slow machine slows all of them. In each
/// round each runs twice and only the second run counts, because the first one warms the CPU caches.
/// Runs for `seconds`, but at least 5 and at most 1,000 rounds.
pub fn interleaved_medians<const N: usize>(seconds: f64, mut works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    let started = Instant::now();
    for round in 0..1000 {
        if round >= 5 && started.elapsed().as_secs_f64() > seconds {
            break;
        }
        for (work, times) in works.iter_mut().zip(&mut times) {
            work();
            times.push(timed(&mut **work).0);
        }
    }
    times.map(median)
}

/// The median of at least one value.
pub fn median(values: Vec<f64>) -> f64 {
    percentile(values, 0.5)
}

/// The smallest value that is at least as great as the given share (0–1) of the values.
pub fn percentile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[((values.len() as f64 * share).ceil() as usize).saturating_sub(1)]
}

/// One measurement, a line of a report.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// The name of the work.
    pub work: String,
    /// Nodes of the graph.
    pub nodes: usize,
    /// Our time in seconds, or our figure in `unit`.
    pub ours: f64,
    /// The unit of `ours` and `theirs`.
    pub unit: &'static str,
    /// The cost per node relative to the previous size; 1 is linear growth.
    pub growth: Option<f64>,
    /// The exponent of the growth with the nodes, fitted to all sizes so far; 1 is linear growth.
    pub exponent: Option<f64>,
    /// The name of the peer.
    pub peer: &'static str,
    /// The peer's time or figure.
    pub theirs: Option<f64>,
    /// The requirement, such as `≤ 1.5 ×` or `≥ 10 × faster`; empty without one.
    pub requirement: String,
    /// Whether the requirement is met.
    pub is_met: Option<bool>,
    /// A remark.
    pub note: String,
}

impl Measurement {
    /// A time in seconds.
    pub fn time(work: impl Into<String>, nodes: usize, seconds: f64) -> Measurement {
        Measurement::amount(work, nodes, seconds, "s")
    }

    /// A figure in a unit of its own.
    pub fn amount(work: impl Into<String>, nodes: usize, ours: f64, unit: &'static str) -> Measurement {
        let (work, peer, requirement, note) = (work.into(), "", String::new(), String::new());
        Measurement {
            work,
            nodes,
            ours,
            unit,
            growth: None,
            exponent: None,
            peer,
            theirs: None,
            requirement,
            is_met: None,
            note,
        }
    }

    /// Adds a peer and its time or figure, which is `None` when the peer is not installed.
    pub fn with_peer(self, peer: &'static str, theirs: Option<f64>) -> Measurement {
        Measurement { peer, theirs, ..self }
    }

    /// Requires at most `times` the peer's time.
    pub fn at_most(self, times: f64) -> Measurement {
        let is_met = self.theirs.map(|theirs| self.ours <= times * theirs);
        Measurement { requirement: format!("≤ {} ×", (times * 100.0).round() / 100.0), is_met, ..self }
    }

    /// Requires that the peer takes at least `times` our time.
    pub fn faster(self, times: f64) -> Measurement {
        let is_met = self.theirs.map(|theirs| theirs >= times * self.ours);
        Measurement { requirement: format!("≥ {times} × faster"), is_met, ..self }
    }

    /// Requires at most `max`, regardless of the peer.
    pub fn within(self, max: f64) -> Measurement {
        Measurement {
            requirement: format!("≤ {}", figure(max, self.unit)),
            is_met: Some(self.ours <= max),
            ..self
        }
    }

    /// Adds a remark.
    pub fn note(self, note: impl Into<String>) -> Measurement {
        Measurement { note: note.into(), ..self }
    }
}

/// The measurements of a bench, printed as they come and saved at the end.
pub struct Report {
    name: &'static str,
    lines: Vec<Measurement>,
}

impl Report {
    /// An empty report. Prints its heading.
    pub fn new(name: &'static str) -> Report {
        println!(
            "{name:<40} {:>9} {:>12} {:>10} {:>7} {:>6}  {:<18} {:>12} {:>8}  requirement",
            "nodes", "ours", "per node", "growth", "n^", "peer", "theirs", "ratio"
        );
        Report { name, lines: Vec::new() }
    }

    /// Prints and adds a measurement. Its growth is relative to the last one of the same work and peer, and the
    /// exponent is fitted to all of them.
    pub fn add(&mut self, line: Measurement) {
        let same = |other: &&Measurement| other.work == line.work && other.peer == line.peer;
        let before = self.lines.iter().rev().find(same);
        let cost =
            |line: &Measurement| if line.unit == "s" { line.ours / line.nodes as f64 } else { line.ours };
        let growth = before.map(|before| cost(&line) / cost(before)).filter(|growth| growth.is_finite());
        let figures = self.lines.iter().filter(same).chain([&line]);
        let figures: Vec<(f64, f64)> = figures.map(|line| (line.nodes as f64, line.ours)).collect();
        let line = Measurement { growth, exponent: exponent(&figures), ..line };
        println!("{}", line.row());
        self.lines.push(line);
    }

    /// The last measurement of a work.
    pub fn last(&self, work: &str) -> Option<&Measurement> {
        self.lines.iter().rev().find(|line| line.work == work)
    }

    /// Writes `target/bench/NAME.json`.
    pub fn save(self) {
        let path = folder().join(format!("{}.json", self.name));
        std::fs::write(&path, serde_json::to_vec_pretty(&self.lines).unwrap()).unwrap();
        println!("saved as {}", path.display());
    }
}

/// The exponent of the power of the first numbers that fits the second ones best; `None` for fewer than two different
/// first numbers, and if a number is not positive.
fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    if points.iter().any(|&(size, figure)| size <= 0.0 || figure <= 0.0) {
        return None;
    }
    let count = points.len() as f64;
    let points: Vec<(f64, f64)> = points.iter().map(|(size, figure)| (size.ln(), figure.ln())).collect();
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let above: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let below: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    (below > 1e-9).then(|| above / below)
}

impl Measurement {
    fn row(&self) -> String {
        let Measurement {
            work,
            nodes,
            ours,
            unit,
            growth,
            exponent,
            peer,
            theirs,
            requirement,
            is_met,
            note,
        } = self;
        let per_node = if *unit == "s" { figure(ours / *nodes as f64, unit) } else { String::new() };
        let growth = growth.map_or(String::new(), |growth| format!("× {growth:.2}"));
        let exponent = exponent.map_or(String::new(), |exponent| format!("{exponent:.2}"));
        let ratio = theirs.map_or(String::new(), |theirs| match *ours <= theirs {
            true => format!("1/{:.1}", theirs / ours),
            false => format!("{:.2}", ours / theirs),
        });
        let theirs = theirs.map_or("–".to_owned(), |theirs| figure(theirs, unit));
        let verdict = match is_met {
            Some(true) => format!("{requirement} ✓ "),
            Some(false) => format!("{requirement} ✗ "),
            None => String::new(),
        };
        let ours = figure(*ours, unit);
        let row = format!(
            "{work:<40} {nodes:>9} {ours:>12} {per_node:>10} {growth:>7} {exponent:>6}  {peer:<18} {theirs:>12} \
             {ratio:>8}  {verdict}{note}"
        );
        row.trim_end().to_owned()
    }
}

/// The folder `target/bench`, created when it is missing.
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
    fn percentiles_are_values_of_the_sample() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!((median(values.clone()), percentile(values.clone(), 0.99)), (100.0, 198.0));
        assert_eq!((percentile(values.clone(), 0.0), percentile(values, 1.0)), (1.0, 200.0));
        assert_eq!(median(vec![7.0]), 7.0);
    }

    #[test]
    fn a_requirement_is_checked_against_the_peer() {
        let line = Measurement::time("work", 1000, 3e-3).with_peer("peer", Some(2e-3));
        assert_eq!(line.clone().at_most(1.5).is_met, Some(true));
        assert_eq!(line.clone().at_most(1.4).is_met, Some(false));
        assert_eq!(line.clone().faster(1.0).is_met, Some(false));
        assert_eq!(line.clone().with_peer("peer", Some(30e-3)).faster(10.0).is_met, Some(true));
        assert_eq!(line.clone().within(2e-3).is_met, Some(false));
        // Without a peer nothing is decided.
        assert_eq!(line.with_peer("peer", None).faster(1.0).is_met, None);
    }

    /// Growth compares times per node, and other figures as they are, for each work and peer.
    #[test]
    fn growth_is_relative_to_the_previous_size() {
        let mut report = Report::new("test");
        for (work, nodes, seconds) in
            [("a", 1000, 1.0), ("b", 1000, 9.0), ("a", 10_000, 20.0), ("a", 100_000, 20.0)]
        {
            report.add(Measurement::time(work, nodes, seconds));
        }
        report.add(Measurement::amount("bytes", 1000, 200.0, "B"));
        report.add(Measurement::amount("bytes", 10_000, 100.0, "B"));
        let growths: Vec<_> = report.lines.iter().map(|line| line.growth).collect();
        assert_eq!(growths, [None, None, Some(2.0), Some(0.1), None, Some(0.5)]);
    }

    #[test]
    fn the_exponent_is_that_of_the_power() {
        let power = |exponent: f64| [1e3f64, 1e4, 1e5].map(|size| (size, 3.0 * size.powf(exponent)));
        assert!((exponent(&power(1.25)).unwrap() - 1.25).abs() < 1e-9);
        assert!(exponent(&power(0.0)).unwrap().abs() < 1e-9);
        // One size says nothing about the growth, also if it was measured twice.
        assert_eq!(exponent(&[(1e3, 1.0)]), None);
        assert_eq!(exponent(&[(1e3, 1.0), (1e3, 2.0)]), None);
        assert_eq!(exponent(&[(1e3, 1.0), (1e4, 0.0)]), None);
    }
}
