//! A model for the provider `command` that knows what a language model once said about a data set.
//!
//! `recorded-model facts FILE`: FILE has a fact a line, `{"text", "sources": [document, …]}`. The reply inserts every
//! fact whose first source is in the prompt.
//! `recorded-model links FILE`: FILE has a document a line, `{"doc", "entities": [name, …]}`. The reply links notes of
//! the prompt that share an entity with at most 20 documents, at most `MAX_LINKS` for each note; the rarer the entity,
//! the stronger.
//!
//! The prompt comes on standard input; its notes are recognised by their keys, which are the ids of the documents.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program prints")]

use poc_bench::prompt::{self, PromptNote};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read as _;
use std::process::ExitCode;

/// Maximum links that a note starts.
const MAX_LINKS: usize = 4;

/// Maximum documents that have an entity.
const MAX_DOCUMENTS: usize = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [task, file] = arguments.as_slice() else {
        eprintln!("usage: recorded-model facts|links FILE");
        return ExitCode::from(2);
    };
    match reply(task, file) {
        Ok(reply) => {
            println!("{reply}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn reply(task: &str, file: &str) -> Result<Value, String> {
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).map_err(|error| format!("no prompt: {error}"))?;
    let text = std::fs::read_to_string(file).map_err(|error| format!("`{file}` cannot be read: {error}"))?;
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("`{file}`: {error}")))
        .collect::<Result<_, String>>()?;
    let notes = prompt::notes(&prompt);
    match task {
        "facts" => Ok(json!({"notes": "recorded facts", "insert": facts(&notes, &rows), "supersede": []})),
        "links" => Ok(json!({"notes": "recorded entities", "link-add": links(&notes, &rows), "weight": []})),
        other => Err(format!("there is no task `{other}`; the tasks are `facts` and `links`")),
    }
}

fn words(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_lowercase).collect()
}

fn facts(notes: &[PromptNote], rows: &[Value]) -> Vec<Value> {
    let handles: HashMap<&str, &str> = notes
        .iter()
        .filter(|note| note.is_chosen)
        .map(|note| (note.key.as_str(), note.handle.as_str()))
        .collect();
    let fact = |row: &Value| {
        let sources = words(row.get("sources")?);
        handles.get(sources.first()?.as_str())?;
        let sources: Vec<&&str> = sources.iter().filter_map(|source| handles.get(source.as_str())).collect();
        Some(json!({"reason": "recorded", "key": "", "title": row.get("text")?, "body": "", "keywords": [],
            "sources": sources}))
    };
    rows.iter().filter_map(fact).collect()
}

fn links(notes: &[PromptNote], rows: &[Value]) -> Vec<Value> {
    let mut documents: HashMap<String, usize> = HashMap::new();
    let mut entities: HashMap<String, BTreeSet<String>> = HashMap::new();
    for row in rows {
        let Some(document) = row.get("doc").and_then(Value::as_str) else { continue };
        let names: BTreeSet<String> =
            row.get("entities").map(words).unwrap_or_default().into_iter().collect();
        for name in &names {
            *documents.entry(name.clone()).or_default() += 1;
        }
        entities.insert(document.to_lowercase(), names);
    }
    let mut pairs: BTreeMap<(&str, &str), (f64, &str)> = BTreeMap::new();
    for note in notes.iter().filter(|note| note.is_chosen) {
        let Some(own) = entities.get(&note.key) else { continue };
        let mut found: Vec<(f64, &str, &str)> = Vec::new();
        for other in notes.iter().filter(|other| other.handle != note.handle) {
            let Some(theirs) = entities.get(&other.key) else { continue };
            let shared = own.intersection(theirs).filter_map(|name| {
                let count = *documents.get(name)?;
                (count <= MAX_DOCUMENTS).then_some((count, name.as_str()))
            });
            if let Some((count, name)) = shared.min() {
                found.push((1.0 / (1.0 + count as f64).log2(), other.handle.as_str(), name));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        for (strength, other, name) in found.into_iter().take(MAX_LINKS) {
            let pair = if note.handle.as_str() < other {
                (note.handle.as_str(), other)
            } else {
                (other, note.handle.as_str())
            };
            pairs.insert(pair, (strength, name));
        }
    }
    let link = |((from, to), (strength, name)): (&(&str, &str), &(f64, &str))| json!({"reason": format!("both name {name}"), "from": from, "to": to, "strength": strength});
    pairs.iter().map(link).collect()
}
