//! The peers in Python (networkx, scipy, numpy, igraph). They get the same edges in files, and our results where the
//! peer evaluates or uses them.

use crate::graph::Shape;
use crate::measure::folder;
use poc_graph::{Communities, Ix, SpectralEmbedding};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of a peer.
#[derive(Clone, Debug, Deserialize)]
pub struct PeerResult {
    /// The seconds it took.
    pub seconds: f64,
    /// The values to compare; `peers.py` documents them.
    pub values: Vec<f64>,
}

/// Results by work and peer, such as `spread/scipy`.
pub type PeerResults = BTreeMap<String, PeerResult>;

/// The input of the peers.
#[derive(Clone, Copy, Debug)]
pub struct PeerInput<'a> {
    /// The graph.
    pub shape: &'a Shape,
    /// The start nodes of activation and of the nearest-neighbour search.
    pub seeds: &'a [Ix],
    /// Our communities, which the peer evaluates.
    pub communities: &'a Communities,
    /// Our embedding, which the peer searches and evaluates. All nodes are in one component.
    pub embedding: &'a SpectralEmbedding,
    /// Nodes whose distances are compared.
    pub pairs: &'a [(Ix, Ix)],
}

/// Runs all peers on a graph. Prints a message and returns `None` when Python is not installed.
pub fn ask(input: PeerInput<'_>) -> Option<PeerResults> {
    let columns = tempfile::tempdir_in(folder()).unwrap();
    write(input, columns.path()).unwrap();
    Some(serde_json::from_slice(&run(columns.path(), &[])?).unwrap())
}

/// A graph with communities of power-law sizes (Lancichinetti, Fortunato and Radicchi 2008), where the share `mixing`
/// of the edges is between communities; all edges have strength 1. Prints a message and returns `None` when Python is
/// not installed.
pub fn mixed_graph(nodes: usize, mixing: f64, seed: u64) -> Option<Shape> {
    let folder = tempfile::tempdir_in(folder()).unwrap();
    run(folder.path(), &["mixed", &nodes.to_string(), &mixing.to_string(), &seed.to_string()])?;
    let column = |name| -> Vec<u32> {
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
    };
    let edges = column("a.u4").into_iter().zip(column("b.u4")).map(|(a, b)| (a, b, 1.0)).collect();
    Some(Shape { nodes, edges, topics: vec![0; nodes] })
}

/// What igraph finds in a graph, and how it judges our communities, as `communities/igraph` of [`ask`].
pub fn compare_communities(shape: &Shape, communities: &Communities) -> Option<PeerResult> {
    let folder = tempfile::tempdir_in(folder()).unwrap();
    write_edges(shape, folder.path()).unwrap();
    write_communities(shape, communities, folder.path()).unwrap();
    let mut results: PeerResults = serde_json::from_slice(&run(folder.path(), &["communities"])?).unwrap();
    results.remove("communities/igraph")
}

/// Runs `peers.py` on a folder; `None` when Python is not installed.
fn run(folder: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers.py");
    let output = Command::new(python()?).arg(script).arg(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "peers.py failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

/// The Python of the environment that `just bench` creates. Prints a message and returns `None` when it is missing.
pub fn python() -> Option<PathBuf> {
    let python = folder().join("venv/bin/python");
    if !python.exists() {
        println!("the peers in Python are left out: `just bench` installs them first");
        return None;
    }
    Some(python)
}

/// A file for each column, little-endian, named after its type.
fn write(input: PeerInput<'_>, folder: &Path) -> Result<()> {
    let PeerInput { shape, seeds, communities, embedding, pairs } = input;
    let nodes = 0..shape.nodes as Ix;
    write_edges(shape, folder)?;
    write_communities(shape, communities, folder)?;
    column(folder, "seeds.u4", seeds.iter().map(|seed| seed.to_le_bytes()))?;
    column(folder, "eigenvalues.f8", embedding.eigenvalues(0).iter().map(|value| value.to_le_bytes()))?;
    let coordinates = nodes.flat_map(|ix| embedding.coordinates(ix)).map(|value| value.to_le_bytes());
    column(folder, "coordinates.f4", coordinates)?;
    column(folder, "pairs.u4", pairs.iter().flat_map(|&(a, b)| [a.to_le_bytes(), b.to_le_bytes()]))
}

fn write_edges(shape: &Shape, folder: &Path) -> Result<()> {
    column(folder, "a.u4", shape.edges.iter().map(|edge| edge.0.to_le_bytes()))?;
    column(folder, "b.u4", shape.edges.iter().map(|edge| edge.1.to_le_bytes()))?;
    column(folder, "strengths.f4", shape.edges.iter().map(|edge| edge.2.to_le_bytes()))
}

fn write_communities(shape: &Shape, communities: &Communities, folder: &Path) -> Result<()> {
    let label = |ix| communities.of(ix).unwrap().to_le_bytes();
    column(folder, "communities.u4", (0..shape.nodes as Ix).map(label))
}

fn column<const N: usize>(folder: &Path, name: &str, values: impl Iterator<Item = [u8; N]>) -> Result<()> {
    let mut file = BufWriter::new(File::create(folder.join(name))?);
    for value in values {
        file.write_all(&value)?;
    }
    file.flush()
}
