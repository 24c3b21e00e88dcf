//! `demo`

use super::command::{self, Chosen};
use super::local::Local;
use super::session::{Globals, Session};
use crate::dispatch::{Connection, InProcess};
use poc_agent::embedded;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// Show what this is: on notes of its own, in a memory that is thrown away
///
/// Needs no settings, no key and no network, and touches nothing of yours.
#[derive(Debug, clap::Args)]
pub(super) struct Demo {}

/// One thing the demo does.
struct Step {
    /// Why.
    say: &'static str,
    /// The command line, without the program's name. `{run}` is the run that `keeps` kept.
    line: &'static [&'static str],
    /// Whether its answer names the run that a later step is about.
    keeps: bool,
}

const STEPS: &[Step] = &[
    Step { say: "A folder of notes becomes a graph", line: &["import", "notes"], keeps: false },
    Step {
        say: "Search by words, and let what is found light up what it is tied to",
        line: &["search", "btree", "journal", "-p", "spread", "-p", "limit:5"],
        keeps: false,
    },
    Step {
        say: "Or with a pipeline: the sessions the linker has not seen, most urgent first",
        line: &[
            "search",
            "-p",
            "all | type:episodic | not-visited:linker,7d | sort:priority | limit:5",
            "--explain",
        ],
        keeps: false,
    },
    Step {
        say: "An agent is such a pipeline, a prompt and a permit. The linker ties sessions to what is known",
        line: &["agent", "run", "linker"],
        keeps: true,
    },
    Step {
        say: "The separator looks for notes that are alike and yet live apart in the graph",
        line: &["agent", "run", "separator"],
        keeps: false,
    },
    Step { say: "Every run can be undone", line: &["agent", "undo", "{run}"], keeps: false },
];

/// What to type next.
const NEXT: &[(&str, &str)] = &[
    ("poc-memory import FOLDER", "take in your own notes: Markdown or JSON Lines"),
    ("poc-memory search WORDS", "find them"),
    ("poc-memory agent run linker --dry-run", "see what an agent would do, before it does"),
    ("poc-memory agent list", "the six agents that come along"),
    ("poc-daemon", "let the agents run on time"),
    ("poc-memory --help", "everything else"),
];

/// What `demo` answers.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    /// Each step and its answer.
    steps: Vec<Done>,
}

#[derive(Debug, Serialize)]
struct Done {
    say: &'static str,
    command: String,
    answer: Value,
}

impl Local for Demo {
    const NAME: &'static str = "demo";
    type Output = Shown;

    fn run(self, session: &Session) -> Result<Shown> {
        let folder = tempfile::Builder::new()
            .prefix("poc-memory-demo-")
            .tempdir()
            .map_err(|error| Error::unavailable(format!("no folder can be made for the demo: {error}")))?;
        write_notes(&folder.path().join("notes"))?;
        let paths = Paths::in_folder(folder.path());
        let mut memory = Connection::Here(Box::new(InProcess::open(paths, Config::defaults()?)?));
        let heading = session.heading();
        let mut steps = Vec::new();
        let mut run = String::new();
        for step in STEPS {
            let line: Vec<String> = step.line.iter().map(|word| word.replace("{run}", &run)).collect();
            let command = spelled(&line);
            session.say(&format!("{heading}{}{heading:#}\n$ {command}\n", step.say))?;
            let (answer, text) = perform(&mut memory, &line, folder.path())?;
            session.say(&format!("{}\n", indented(&text)))?;
            if step.keeps {
                run = answer.get("run").and_then(Value::as_str).unwrap_or_default().to_owned();
            }
            steps.push(Done { say: step.say, command, answer });
        }
        Ok(Shown { steps })
    }

    fn show(_: &Shown) -> String {
        let mut text = String::from("That memory is gone again. To go on with one of yours:\n");
        for (command, does) in NEXT {
            text.push_str(&format!("  {command:<40}{does}\n"));
        }
        text
    }
}

fn write_notes(folder: &Path) -> Result<()> {
    std::fs::create_dir(folder)
        .and_then(|()| {
            embedded::demo_notes().iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
        })
        .map_err(|error| Error::unavailable(format!("`{}` cannot be written: {error}", folder.display())))
}

/// Runs a command line as the program itself would, in the demo's memory and folder.
fn perform(memory: &mut Connection, line: &[String], folder: &Path) -> Result<(Value, String)> {
    let notes = folder.join("notes").display().to_string();
    let words = line.iter().map(|word| if word == "notes" { notes.clone() } else { word.clone() });
    let words = std::iter::once("poc-memory".to_owned()).chain(words);
    let matches = command::build(&Globals::default())
        .try_get_matches_from(words)
        .map_err(|error| Error::internal(format!("the demo has a wrong command: {error}")))?;
    let (Chosen::Op(op), matches) = command::chosen(&matches)? else {
        return Err(Error::internal(format!("the demo calls `{}`, which is no op", line.join(" "))));
    };
    let answer = memory.call(op, (op.parse)(matches)?, &|_| {})?;
    let text = (op.show)(&answer)?;
    Ok((answer, text))
}

/// The command as one would type it.
fn spelled(line: &[String]) -> String {
    let word = |word: &String| {
        if word.contains([' ', '|', '!', '*']) { format!("'{word}'") } else { word.clone() }
    };
    let words: Vec<String> = line.iter().map(word).collect();
    format!("poc-memory {}", words.join(" "))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("  {line}\n") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_demo_is_one() {
        for step in STEPS {
            let line = std::iter::once("poc-memory").chain(step.line.iter().copied());
            let matches = command::build(&Globals::default()).try_get_matches_from(line).unwrap();
            let (chosen, _) = command::chosen(&matches).unwrap();
            assert!(matches!(chosen, Chosen::Op(_)), "{:?}", step.line);
        }
    }

    #[test]
    fn a_command_is_spelled_so_that_a_shell_reads_it() {
        let line = ["search", "-p", "all | limit:5"].map(str::to_owned);
        assert_eq!(spelled(&line), "poc-memory search -p 'all | limit:5'");
    }
}
