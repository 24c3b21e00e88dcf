//! `demo`

use super::command::{self, SelectedCommand};
use super::command_context::CommandContext;
use super::globals::Globals;
use super::local::LocalCommand;
use super::sample_memory::{temporary_folder, write_notes};
use crate::dispatch::{Connection, InProcess};
use crate::ops::Terminal;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// Try it on sample notes in a temporary memory
///
/// It needs no settings, no key and no network, and does not touch your memory.
#[derive(Debug, clap::Args)]
pub(super) struct Demo {}

/// One step of the demo.
struct DemoStep {
    /// The sentence that introduces the step.
    say: &'static str,
    /// The command line without the program's name. `{run}` is the last run that `keeps_run` stored.
    line: &'static [&'static str],
    /// Whether a later step refers to the run in the answer.
    keeps_run: bool,
}

const STEPS: &[DemoStep] = &[
    DemoStep { say: "A folder of notes becomes a graph", line: &["import", "notes"], keeps_run: false },
    DemoStep {
        say: "Search by words, and let the hits lead to the notes they are linked to",
        line: &["search", "btree", "journal", "-p", "spread", "-p", "limit:5"],
        keeps_run: false,
    },
    DemoStep {
        say: "Or with a pipeline: sessions that the linker has not read, most urgent first",
        line: &[
            "search",
            "-p",
            "all | type:episodic | not-visited:linker,7d | sort:priority | limit:5",
            "--explain",
        ],
        keeps_run: false,
    },
    DemoStep {
        say: "An agent consists of a pipeline, a prompt and permissions. The linker links sessions to existing notes",
        line: &["agent", "run", "linker"],
        keeps_run: true,
    },
    DemoStep {
        say: "The separator looks for similar notes that are far apart in the graph",
        line: &["agent", "run", "separator"],
        keeps_run: false,
    },
    DemoStep { say: "Every run can be undone", line: &["agent", "undo", "{run}"], keeps_run: false },
];

/// Commands to try next, with descriptions.
const NEXT: &[(&str, &str)] = &[
    ("poc-memory import FOLDER", "import your own notes: Markdown or JSON Lines"),
    ("poc-memory search WORDS", "find them"),
    ("poc-memory agent run linker --dry-run", "see what an agent would do, before it does"),
    ("poc-memory agent list", "the eight bundled agents"),
    ("poc-memory daemon start", "run the agents on schedule"),
    ("poc-memory --help", "everything else"),
];

/// The answer of `demo`.
#[derive(Debug, Serialize)]
pub(super) struct DemoOutput {
    /// Each step and its answer.
    steps: Vec<DemoStepOutput>,
}

#[derive(Debug, Serialize)]
struct DemoStepOutput {
    say: &'static str,
    command: String,
    answer: Value,
}

impl LocalCommand for Demo {
    const NAME: &'static str = "demo";
    type Output = DemoOutput;

    fn run(self, context: &CommandContext) -> Result<DemoOutput> {
        let folder = temporary_folder()?;
        write_notes(&folder.path().join("notes"))?;
        let paths = Paths::in_folder(folder.path());
        let mut memory = Connection::InProcess(Box::new(InProcess::open(paths, Config::defaults()?)?));
        let heading = context.heading();
        let columns = context.globals.terminal(&std::io::stdout()).columns;
        let columns = columns.map(|columns| columns.saturating_sub(INDENT.len()));
        let terminal = Terminal::new(columns, &[], &[]);
        let mut steps = Vec::new();
        let mut run = String::new();
        for step in STEPS {
            let line: Vec<String> = step.line.iter().map(|word| word.replace("{run}", &run)).collect();
            let command = command_line(&line);
            context.print(&format!("{heading}{}{heading:#}\n$ {command}\n", step.say))?;
            let (answer, text) = run_command(&mut memory, &line, folder.path(), &terminal)?;
            context.print(&format!("{}\n", indent(&text)))?;
            if step.keeps_run {
                run = answer.get("run").and_then(Value::as_str).unwrap_or_default().to_owned();
            }
            steps.push(DemoStepOutput { say: step.say, command, answer });
        }
        Ok(DemoOutput { steps })
    }

    fn show(_: &DemoOutput, _: &Terminal) -> String {
        let mut text =
            String::from("The demo's memory has been deleted. To continue with a memory of your own:\n");
        for (command, does) in NEXT {
            text.push_str(&format!("  {command:<40}{does}\n"));
        }
        text
    }
}

/// Runs a command line as the program would, in the demo's memory and folder.
fn run_command(
    memory: &mut Connection,
    line: &[String],
    folder: &Path,
    terminal: &Terminal,
) -> Result<(Value, String)> {
    let notes = folder.join("notes").display().to_string();
    let words = line.iter().map(|word| if word == "notes" { notes.clone() } else { word.clone() });
    let words = std::iter::once("poc-memory".to_owned()).chain(words);
    let matches = command::build(&Globals::default())
        .try_get_matches_from(words)
        .map_err(|error| Error::internal(format!("the demo has a wrong command: {error}")))?;
    let (SelectedCommand::Op(op), matches) = command::chosen(&matches)? else {
        return Err(Error::internal(format!("the demo calls `{}`, which is not an op", line.join(" "))));
    };
    let answer = memory.call(op, (op.parse)(matches)?, &|_| {})?;
    let output = (op.decode)(&answer)?;
    let text = output.show(terminal).fitted(terminal).to_string() + output.degradations();
    Ok((answer, text))
}

/// The command as one would type it.
fn command_line(line: &[String]) -> String {
    let word = |word: &String| {
        if word.contains([' ', '|', '!', '*']) { format!("'{word}'") } else { word.clone() }
    };
    let words: Vec<String> = line.iter().map(word).collect();
    format!("poc-memory {}", words.join(" "))
}

/// The indent of the output of a step.
const INDENT: &str = "  ";

fn indent(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("{INDENT}{line}\n") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_demo_command_is_an_op() {
        for step in STEPS {
            let line = std::iter::once("poc-memory").chain(step.line.iter().copied());
            let matches = command::build(&Globals::default()).try_get_matches_from(line).unwrap();
            let (chosen, _) = command::chosen(&matches).unwrap();
            assert!(matches!(chosen, SelectedCommand::Op(_)), "{:?}", step.line);
        }
    }

    #[test]
    fn demo_commands_are_quoted_for_a_shell() {
        let line = ["search", "-p", "all | limit:5"].map(str::to_owned);
        assert_eq!(command_line(&line), "poc-memory search -p 'all | limit:5'");
    }
}
