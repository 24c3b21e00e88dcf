//! The peers that live in Python (networkx, scipy, igraph): the same ties, handed over in a file.

use crate::graph::Shape;
use crate::measure::folder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a peer gave.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// Seconds it took.
    pub seconds: f64,
    /// What it found, to compare.
    pub values: Vec<f64>,
}

/// Answers by the name of the work and the peer, as `spread/scipy`.
pub type Answers = BTreeMap<String, Answer>;

/// Asks all peers about a graph. `None`, with a word to the user, when Python or the libraries are
/// not there.
pub fn ask(shape: &Shape, seeds: &[u32]) -> Option<Answers> {
    let python = python()?;
    let path = folder().join(format!("ties-{}.bin", shape.nodes));
    write(shape, seeds, &path).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers.py");
    let output = Command::new(python).arg(script).arg(&path).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(output.status.success(), "peers.py failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The Python of the environment `just bench` makes.
fn python() -> Option<PathBuf> {
    let python = folder().join("venv/bin/python");
    if !python.exists() {
        println!("networkx, scipy and igraph are left out: `just bench` installs them first");
        return None;
    }
    Some(python)
}

/// Little-endian: how many nodes, ties and seeds (u32 each); the seeds; then the ties, column by
/// column.
fn write(shape: &Shape, seeds: &[u32], path: &Path) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for number in [shape.nodes, shape.ties.len(), seeds.len()] {
        file.write_all(&(number as u32).to_le_bytes())?;
    }
    for seed in seeds {
        file.write_all(&seed.to_le_bytes())?;
    }
    for tie in &shape.ties {
        file.write_all(&tie.0.to_le_bytes())?;
    }
    for tie in &shape.ties {
        file.write_all(&tie.1.to_le_bytes())?;
    }
    for tie in &shape.ties {
        file.write_all(&tie.2.to_le_bytes())?;
    }
    file.flush()
}
