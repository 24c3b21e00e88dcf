//! SQLite with FTS5 and sqlite-vec as a peer, in Python: the same notes and vectors, and each question
//! answered in one statement that fuses both lists by reciprocal rank, as its users do.

use crate::measure::folder;
use crate::notes::Text;
use crate::peers::python;
use poc_notes::Memory;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// What the peer gave.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// Seconds a question takes, the median.
    pub seconds: f64,
    /// Notes that hold a word of each question.
    pub holding: Vec<usize>,
    /// Cosines of the nearest notes to each question, best first.
    pub nearest: Vec<Vec<f64>>,
}

/// Asks it. `None`, with a word to the user, when Python or the libraries are not there.
pub fn ask(memory: &Memory, notes: &[Text], questions: &[String], vectors: &[Vec<f32>]) -> Option<Answer> {
    let python = python()?;
    let folder = tempfile::tempdir_in(folder()).unwrap();
    let told = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    let view = memory.store.view();
    // Notes stand in the order they were written.
    let parts = (0..view.slots())
        .filter_map(|ix| view.id(ix))
        .map(|id| memory.store.vectors(id, memory.embedder.name()).unwrap());
    let lines = notes.iter().zip(parts).map(|(note, parts)| {
        format!("{}\n", json!({"title": note.title, "body": note.body, "parts": parts}))
    });
    told("notes.jsonl", lines.collect());
    let lines = questions.iter().zip(vectors);
    told(
        "questions.jsonl",
        lines.map(|(text, vector)| format!("{}\n", json!({"text": text, "vector": vector}))).collect(),
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("search_peer.py");
    let output = Command::new(python).arg(script).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "search_peer.py failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
