//! Data sets in files.

use super::shapes::NotesAndQuestions;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum number of notes of a set.
const NOTES: usize = 2000;

/// The first notes of the set in a folder, and the questions whose answers are all among them.
pub(super) fn read(folder: &Path) -> NotesAndQuestions {
    let file = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let lines = |name: &str| -> Vec<Value> {
        file(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (mut notes, mut numbers) = (Vec::new(), BTreeMap::new());
    for doc in lines("docs.jsonl").iter().take(NOTES) {
        numbers.insert(text(doc, "id"), notes.len());
        notes.push(format!("{}\n{}", text(doc, "title"), text(doc, "text")).trim().to_owned());
    }
    let mut answers: BTreeMap<String, Vec<Option<usize>>> = BTreeMap::new();
    for line in file("qrels.tsv").lines() {
        let mut fields = line.split('\t');
        if let (Some(question), Some(note)) = (fields.next(), fields.next()) {
            answers.entry(question.to_owned()).or_default().push(numbers.get(note).copied());
        }
    }
    let question = |query: &Value| {
        let answers: Vec<usize> = answers.get(&text(query, "id"))?.iter().copied().collect::<Option<_>>()?;
        Some((text(query, "text"), answers))
    };
    let questions: Vec<(String, Vec<usize>)> = lines("queries.jsonl").iter().filter_map(question).collect();
    assert!(!questions.is_empty(), "no question about the first {NOTES} notes of {}", folder.display());
    (notes, questions)
}
