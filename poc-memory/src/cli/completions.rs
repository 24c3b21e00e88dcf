//! `completions`

mod values;

use super::command_context::CommandContext;
use super::local::LocalCommand;
use crate::ops::Terminal;
use clap::ValueEnum;
use clap_complete::env::{CompleteEnv, Shells};
use poc_graph::error::{Error, Result};
use serde::Serialize;
use std::ffi::OsString;
use std::process::ExitCode;

/// The program, as a command line names it.
const PROGRAM: &str = "poc-memory";

/// The environment variable in which a script names its shell when it asks for completions.
const VARIABLE: &str = "POC_MEMORY_COMPLETE";

/// Print the completion script of a shell
///
/// The script asks the program for commands, options, keys of notes, agents, runs, profiles, settings, vaults and
/// stages. For bash, add `source <(poc-memory completions bash)` to `~/.bashrc`; for zsh, the same to `~/.zshrc`; for
/// fish, `poc-memory completions fish | source` to `~/.config/fish/config.fish`. A script that was saved to a file must
/// be written again after an update.
#[derive(Debug, clap::Args)]
pub(super) struct CompletionsCommand {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// The shells with completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

impl Shell {
    /// The name in lower case.
    fn name(self) -> &'static str {
        match self {
            Shell::Bash => "bash",
            Shell::Elvish => "elvish",
            Shell::Fish => "fish",
            Shell::Powershell => "powershell",
            Shell::Zsh => "zsh",
        }
    }
}

/// The answer of `completions`.
#[derive(Debug, Serialize)]
pub(super) struct CompletionsOutput {
    shell: &'static str,
    /// The script.
    script: String,
}

impl LocalCommand for CompletionsCommand {
    const NAME: &'static str = "completions";
    const FOR_AGENTS: bool = true;
    const VERBATIM: bool = true;
    type Output = CompletionsOutput;

    fn run(self, _: &CommandContext) -> Result<CompletionsOutput> {
        let shell = self.shell.name();
        let failed = |error: &dyn std::fmt::Display| {
            Error::internal(format!("the completion script cannot be generated: {error}"))
        };
        let shells = Shells::builtins();
        let writer = shells.completer(shell).ok_or_else(|| failed(&shell))?;
        let mut script = Vec::new();
        writer
            .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
            .map_err(|error| failed(&error))?;
        let script = String::from_utf8(script).map_err(|error| failed(&error))?;
        Ok(CompletionsOutput { shell, script })
    }

    fn show(output: &CompletionsOutput, _: &Terminal) -> String {
        output.script.clone()
    }
}

/// Answers a completion script that asks for completions; `None` for every other call.
pub(super) fn answer(arguments: &[OsString]) -> Option<ExitCode> {
    std::env::var_os(VARIABLE)?;
    let words = || arguments.iter().filter_map(|word| word.to_str());
    let after = words().skip_while(|word| *word != "--profile").nth(1);
    let profile = after.or_else(|| words().find_map(|word| word.strip_prefix("--profile=")));
    let folder = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(|| values::with_values(profile))
        .var(VARIABLE)
        .try_complete(arguments, folder.as_deref());
    match asked {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        // Nothing is printed, because the shell would ignore it.
        Err(_) => Some(ExitCode::FAILURE),
    }
}
