//! Models for the provider `command` that try to make a memory worse.
//!
//! `hostile-model links`: links every note of the prompt to every other, as strongly as possible.
//! `hostile-model offered`: links every note to all of its candidates.
//! `hostile-model facts`: states every message of the prompt as a fact, 500 times: with the same words, with another
//! number each time, and with another word each time.
//! `hostile-model unseen`: cites notes that the prompt does not show, none at all, and shown notes for texts of others.
//! `hostile-model unsourced`: states every message of the prompt again without naming a source.
//!
//! Each replies with every kind of action, so that it can be the model of any agent. The prompt comes on standard
//! input.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program prints")]

use poc_bench::prompt::{self, PromptNote};
use serde_json::{Value, json};
use std::io::Read as _;
use std::process::ExitCode;

/// How often a fact is stated.
const REPEATED: usize = 500;

/// Maximum number of actions of a reply that are read.
const MAX_ACTIONS: usize = 1000;

/// Words that make repeated facts different.
const FILLERS: [&str; 8] =
    ["indeed", "really", "as everybody knows", "again", "by the way", "so they say", "once more", "truly"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = arguments.first().map(String::as_str).unwrap_or_default();
    let mut prompt = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut prompt) {
        eprintln!("no prompt: {error}");
        return ExitCode::FAILURE;
    }
    let notes = prompt::notes(&prompt);
    let reply = match (task, arguments.len()) {
        ("links", 1) => everything_to_everything(&notes),
        ("offered", 1) => everything_offered(&prompt),
        ("facts", 1) => five_hundred_times(&notes),
        ("unseen", 1) => unseen(&notes),
        ("unsourced", 1) => unsourced(&notes),
        _ => {
            eprintln!("usage: hostile-model links|offered|facts|unseen|unsourced");
            return ExitCode::from(2);
        }
    };
    println!("{reply}");
    ExitCode::SUCCESS
}

fn link(from: &str, to: &str) -> Value {
    json!({"reason": "everything belongs together", "from": from, "to": to, "strength": 1.0})
}

fn fact(title: &str, sources: &[&str]) -> Value {
    json!({"reason": "stated", "key": "", "title": title, "body": "", "keywords": [], "sources": sources})
}

/// The first characters of a text, as one line.
fn sentence(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(400).collect()
}

fn everything_to_everything(notes: &[PromptNote]) -> Value {
    let pairs = notes
        .iter()
        .enumerate()
        .flat_map(|(at, one)| notes.iter().skip(at + 1).map(move |other| link(&one.handle, &other.handle)));
    let links: Vec<Value> = pairs.take(MAX_ACTIONS).collect();
    json!({"notes": "all of them", "link-add": links})
}

fn everything_offered(prompt: &str) -> Value {
    let (mut handle, mut links) = ("", Vec::new());
    for line in prompt.lines() {
        if prompt::is_handle(line) {
            handle = line;
        } else if let Some(candidates) = line.strip_prefix("candidates: ") {
            let words = candidates.split(", ").filter_map(|candidate| candidate.split(' ').next());
            links.extend(words.filter(|word| prompt::is_handle(word)).map(|other| link(handle, other)));
        }
    }
    links.truncate(MAX_ACTIONS);
    json!({"notes": "all that was offered", "link-add": links})
}

fn five_hundred_times(notes: &[PromptNote]) -> Value {
    let mut facts = Vec::new();
    for note in notes.iter().filter(|note| note.is_chosen) {
        let text = sentence(&note.body);
        for (number, filler) in FILLERS.iter().cycle().take(REPEATED).enumerate() {
            let title = match number % 3 {
                0 => text.clone(),
                1 => format!("{text} ({number})"),
                _ => format!("{text}, {filler}, {filler}{number}"),
            };
            facts.push(fact(&title, &[&note.handle]));
        }
    }
    facts.truncate(MAX_ACTIONS);
    json!({"notes": "stated", "insert": facts})
}

fn unseen(notes: &[PromptNote]) -> Value {
    let chosen: Vec<&PromptNote> = notes.iter().filter(|note| note.is_chosen).collect();
    let mut facts = Vec::new();
    let mut links = Vec::new();
    // A text that the prompt contains, cited for a note that does not contain it.
    let others = chosen.iter().cycle().skip(chosen.len() / 2);
    for ((at, note), other) in chosen.iter().enumerate().zip(others) {
        let handle = note.handle.as_str();
        let beyond = format!("N{}", notes.len() + 1 + at);
        let text = sentence(&other.body);
        facts.push(fact(&text, &[&beyond]));
        facts.push(fact(&text, &[&note.key]));
        facts.push(fact(&format!("{text} Nobody said so."), &[]));
        if other.handle != note.handle {
            facts.push(fact(&text, &[handle]));
            facts.push(fact(&format!("{text} So it was said."), &[handle, &beyond]));
        }
        links.push(link(handle, &beyond));
        links.push(link(&beyond, &note.key));
        links.push(link(handle, "N99999"));
    }
    facts.truncate(MAX_ACTIONS / 2);
    links.truncate(MAX_ACTIONS / 2);
    json!({"notes": "from elsewhere", "insert": facts, "link-add": links})
}

fn unsourced(notes: &[PromptNote]) -> Value {
    let mut facts = Vec::new();
    for note in notes.iter().filter(|note| note.is_chosen) {
        let text = sentence(&note.body);
        facts.push(fact(&text, &[]));
        facts.push(fact(&format!("{text} So it was said."), &[]));
    }
    facts.truncate(MAX_ACTIONS);
    json!({"notes": "from nowhere", "insert": facts})
}
