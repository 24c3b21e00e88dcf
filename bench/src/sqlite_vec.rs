//! SQLite with FTS5 and sqlite-vec as a peer, in Python, on the same notes and vectors. One statement answers a
//! question and fuses both lists by reciprocal rank, as its users do. A file is filled in transactions of as many notes
//! as those of an import.

use crate::measure::folder;
use crate::notes::NoteText;
use crate::peers::python;
use poc_notes::Memory;
use serde::Deserialize;
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

/// The result of the peer.
#[derive(Clone, Debug, Deserialize)]
pub struct SqliteVecResult {
    /// The median seconds of a question.
    pub seconds: f64,
    /// For each question, the number of notes that contain one of its words.
    pub holding: Vec<usize>,
    /// For each question, the cosines of the nearest notes, best first.
    pub nearest: Vec<Vec<f64>>,
}

/// What filling a file has cost the peer.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct FillingResult {
    /// The seconds of processor time.
    pub seconds: f64,
    /// The size of the file in bytes.
    pub bytes: f64,
}

/// Stores the notes of a memory and their vectors in a file. Prints a message and returns `None` when Python is not
/// installed.
pub fn fill(memory: &Memory) -> Option<FillingResult> {
    let python = python()?;
    let folder = tempfile::tempdir_in(folder()).unwrap();
    let mut notes = BufWriter::new(File::create(folder.path().join("notes.jsonl")).unwrap());
    let mut vectors = BufWriter::new(File::create(folder.path().join("vectors.f4")).unwrap());
    let view = memory.store.view();
    for id in (0..view.slots()).filter_map(|ix| view.id(ix)) {
        let node = memory.store.node(id).unwrap().unwrap();
        let parts = memory.store.vectors(id, memory.embedder.name()).unwrap();
        for value in parts.iter().flatten() {
            vectors.write_all(&value.to_le_bytes()).unwrap();
        }
        let (title, body, keywords) = (node.title, node.body, node.keywords);
        let line = json!({"title": title, "body": body, "keywords": keywords, "parts": parts.len()});
        writeln!(notes, "{line}").unwrap();
    }
    notes.flush().unwrap();
    vectors.flush().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("ingest_peer.py");
    let numbers = [memory.embedder.dimensions(), memory.config.import.chunk].map(|number| number.to_string());
    let output = Command::new(python).arg(script).arg(folder.path()).args(numbers).output().unwrap();
    assert!(output.status.success(), "ingest_peer.py failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Runs the peer. Prints a message and returns `None` when Python is not installed.
pub fn ask(
    memory: &Memory,
    notes: &[NoteText],
    questions: &[String],
    vectors: &[Vec<f32>],
) -> Option<SqliteVecResult> {
    let python = python()?;
    let folder = tempfile::tempdir_in(folder()).unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    let view = memory.store.view();
    // Slots are in the order in which the notes were written.
    let parts = (0..view.slots())
        .filter_map(|ix| view.id(ix))
        .map(|id| memory.store.vectors(id, memory.embedder.name()).unwrap());
    let lines = notes.iter().zip(parts).map(|(note, parts)| {
        format!("{}\n", json!({"title": note.title, "body": note.body, "parts": parts}))
    });
    write("notes.jsonl", lines.collect());
    let lines = questions.iter().zip(vectors);
    write(
        "questions.jsonl",
        lines.map(|(text, vector)| format!("{}\n", json!({"text": text, "vector": vector}))).collect(),
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("search_peer.py");
    let output = Command::new(python).arg(script).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "search_peer.py failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
