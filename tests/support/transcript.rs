//! Runs the console blocks of a Markdown page in one shell, as a reader would.
//!
//! In a block marked `console`, a line that starts with `$ ` is typed into the shell (lines up to
//! the end of a here-document belong to it); the lines below are what it must print. `...` alone
//! stands for any lines, `[..]` within a line for any text. A block marked `console eventually`
//! repeats its one command until it prints the expected lines. A block marked `console recording`
//! has one command; lines below that start with `$ ` are part of its output. A block marked `sh` is
//! set-up that the suite itself has already done, and is not run.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::deadline::Deadline;
use super::world::{WAIT_LIMIT, World, binary};

/// One command of a page with what it must print.
#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) command: String,
    pub(crate) expected: Vec<String>,
    pub(crate) eventually: bool,
}

/// The commands of a page in order.
pub(crate) fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        let Some(mark) = line.strip_prefix("```console") else { continue };
        let eventually = mark.trim() == "eventually";
        let recording = mark.trim() == "recording";
        let block: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
        let mut rest = block.into_iter().peekable();
        let first = steps.len();
        while let Some((number, line)) = rest.next() {
            let command = line.strip_prefix("$ ").filter(|_| !recording || steps.len() == first);
            match command {
                Some(command) => {
                    let mut command = command.to_owned();
                    if let Some((_, end)) = command
                        .clone()
                        .split_once("<<'")
                        .and_then(|(a, b)| Some((a, b.split_once('\'')?.0.to_owned())))
                    {
                        for (_, line) in rest.by_ref() {
                            command.push('\n');
                            command.push_str(line);
                            if line == end {
                                break;
                            }
                        }
                    }
                    steps.push(Step { line: number + 1, command, expected: Vec::new(), eventually });
                }
                None => {
                    assert!(steps.len() > first, "line {}: output before any command", number + 1);
                    steps.last_mut().unwrap().expected.push(line.to_owned());
                }
            }
        }
    }
    steps
}

/// Runs the commands of a page in a world and panics with the line of the first output that differs.
pub(crate) fn run(page: &Path, world: &World) {
    let text = std::fs::read_to_string(page).unwrap();
    let steps = steps(&text);
    assert!(!steps.is_empty(), "{} has no console block", page.display());
    let mut shell = Shell::start(world);
    for step in steps {
        let deadline = Deadline::after(WAIT_LIMIT);
        loop {
            let printed = shell.type_in(&step.command);
            if matches(&step.expected, &printed) {
                break;
            }
            let wrong = || {
                let (expected, printed) = (step.expected.join("\n"), printed.join("\n"));
                let place = format!("{}:{}", page.display(), step.line);
                format!("{place}\n$ {}\n--- expected\n{expected}\n--- printed\n{printed}\n", step.command)
            };
            assert!(step.eventually, "{}", wrong());
            deadline.wait(wrong);
        }
    }
}

/// Whether printed lines fit a pattern.
fn matches(expected: &[String], printed: &[String]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((any, rest)) if any == "..." => (0..=printed.len()).any(|skip| matches(rest, &printed[skip..])),
        Some((line, rest)) => {
            printed.split_first().is_some_and(|(first, others)| fits(line, first) && matches(rest, others))
        }
    }
}

/// Whether a line fits a pattern with `[..]`.
fn fits(pattern: &str, line: &str) -> bool {
    match pattern.split_once("[..]") {
        None => pattern.trim_end() == line.trim_end(),
        Some((start, rest)) => line.strip_prefix(start).is_some_and(|line| {
            line.char_indices()
                .map(|(place, _)| place)
                .chain([line.len()])
                .any(|place| fits(rest, &line[place..]))
        }),
    }
}

/// A bash process that runs all commands of a page.
struct Shell {
    bash: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Shell {
    const END: &str = "--end-of-this-command--";

    fn start(world: &World) -> Shell {
        let bin = binary("poc-memory");
        let path = format!("{}:{}", bin.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash")
            .args(["--noprofile", "--norc"])
            .env_clear()
            .env("PATH", path)
            .env("HOME", world.home())
            .env("POC_MEMORY_HOME", world.home())
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8")
            .current_dir(world.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(bash.stdout.take().unwrap()).lines();
        let mut shell = Shell { bash, lines };
        shell.type_in("exec 2>&1");
        shell
    }

    /// Runs a command and returns the lines it prints.
    fn type_in(&mut self, command: &str) -> Vec<String> {
        let stdin = self.bash.stdin.as_mut().unwrap();
        writeln!(stdin, "{command}\necho; echo {}", Self::END).unwrap();
        let mut printed = Vec::new();
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            if line == Self::END {
                // The blank line ends output that lacks its last newline, and is dropped.
                while printed.last().is_some_and(String::is_empty) {
                    printed.pop();
                }
                return printed;
            }
            printed.push(line);
        }
        panic!("the shell ended in `{command}` after printing {printed:?}");
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Ends a daemon the page left running, then the shell.
        if let Some(stdin) = self.bash.stdin.as_mut() {
            writeln!(stdin, "kill $(jobs -p) 2>/dev/null").ok();
        }
        drop(self.bash.stdin.take());
        self.bash.wait().ok();
    }
}

#[test]
fn a_page_is_split_into_commands_and_expected_output() {
    let page =
        "text\n```console\n$ cat > a <<'END'\nx\nEND\n$ echo 1 2\n1 [..]\n...\n```\n```sh\nskipped\n```\n";
    let steps = steps(page);
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0].command, "cat > a <<'END'\nx\nEND");
    assert_eq!(steps[1].expected, ["1 [..]", "..."]);
    assert!(matches(&steps[1].expected, &["1 2".into(), "more".into()]));
    assert!(!matches(&steps[1].expected, &["2".into()]));
}

#[test]
fn a_recording_is_one_command() {
    let steps = steps("```console recording\n$ demo\n$ echo 1\n1\n```\n");
    assert_eq!(steps.len(), 1);
    assert_eq!((steps[0].command.as_str(), steps[0].expected.len()), ("demo", 2));
}
