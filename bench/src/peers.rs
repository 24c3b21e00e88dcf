//! The peers that live in Python (networkx, scipy, numpy, igraph): the same ties, handed over in
//! files, and with them our own answers where the peer is to judge or to use them.

use crate::graph::Shape;
use crate::measure::folder;
use poc_graph::{Communities, Embedding, Ix};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a peer gave.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// Seconds it took.
    pub seconds: f64,
    /// What it found, to compare; `peers.py` says what that is.
    pub values: Vec<f64>,
}

/// Answers by the name of the work and the peer, as `spread/scipy`.
pub type Answers = BTreeMap<String, Answer>;

/// What the peers are told.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The ties.
    pub shape: &'a Shape,
    /// Where activation and the search for what is near start.
    pub seeds: &'a [Ix],
    /// Communities, to be judged.
    pub communities: &'a Communities,
    /// The embedding, to search in and to be judged. It has one component, all nodes.
    pub embedding: &'a Embedding,
    /// Nodes whose distances are compared.
    pub pairs: &'a [(Ix, Ix)],
}

/// Asks all peers about a graph. `None`, with a word to the user, when Python or the libraries are
/// not there.
pub fn ask(told: Told<'_>) -> Option<Answers> {
    let python = python()?;
    let columns = tempfile::tempdir_in(folder()).unwrap();
    write(told, columns.path()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers.py");
    let output = Command::new(python).arg(script).arg(columns.path()).output().unwrap();
    assert!(output.status.success(), "peers.py failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The Python of the environment `just bench` makes. `None`, with a word to the user, when it is not there.
pub fn python() -> Option<PathBuf> {
    let python = folder().join("venv/bin/python");
    if !python.exists() {
        println!("the peers in Python are left out: `just bench` installs them first");
        return None;
    }
    Some(python)
}

/// A file for each column, little-endian, named after its type.
fn write(told: Told<'_>, folder: &Path) -> Result<()> {
    let Told { shape, seeds, communities, embedding, pairs } = told;
    let nodes = 0..shape.nodes as Ix;
    column(folder, "a.u4", shape.ties.iter().map(|tie| tie.0.to_le_bytes()))?;
    column(folder, "b.u4", shape.ties.iter().map(|tie| tie.1.to_le_bytes()))?;
    column(folder, "strengths.f4", shape.ties.iter().map(|tie| tie.2.to_le_bytes()))?;
    column(folder, "seeds.u4", seeds.iter().map(|seed| seed.to_le_bytes()))?;
    let label = |ix| communities.of(ix).unwrap().to_le_bytes();
    column(folder, "communities.u4", nodes.clone().map(label))?;
    column(folder, "eigenvalues.f8", embedding.eigenvalues(0).iter().map(|value| value.to_le_bytes()))?;
    let coordinates = nodes.flat_map(|ix| embedding.coordinates(ix)).map(|value| value.to_le_bytes());
    column(folder, "coordinates.f4", coordinates)?;
    column(folder, "pairs.u4", pairs.iter().flat_map(|&(a, b)| [a.to_le_bytes(), b.to_le_bytes()]))
}

fn column<const N: usize>(folder: &Path, name: &str, values: impl Iterator<Item = [u8; N]>) -> Result<()> {
    let mut file = BufWriter::new(File::create(folder.join(name))?);
    for value in values {
        file.write_all(&value)?;
    }
    file.flush()
}
