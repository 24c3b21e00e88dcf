//! `completions`

use super::command;
use super::local::Local;
use super::session::{Globals, Session};
use crate::error::{Error, Result};
use clap_complete::Shell;
use serde::Serialize;

/// Print a shell's completions, made from the same definitions as the commands
///
/// For bash: `poc-memory completions bash > ~/.local/share/bash-completion/completions/poc-memory`;
/// for zsh a file `_poc-memory` in a folder of `$fpath`; for fish
/// `~/.config/fish/completions/poc-memory.fish`.
#[derive(Debug, clap::Args)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// What `completions` answers.
#[derive(Debug, Serialize)]
pub(super) struct Script {
    shell: String,
    /// What the shell is to read.
    script: String,
}

impl Local for Completions {
    const NAME: &'static str = "completions";
    type Output = Script;

    fn run(self, _: &Session) -> Result<Script> {
        let mut command = command::build(&Globals::default());
        let name = command.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        let script = String::from_utf8(script)
            .map_err(|error| Error::internal(format!("the completions are no text: {error}")))?;
        Ok(Script { shell: self.shell.to_string(), script })
    }

    fn show(output: &Script) -> String {
        output.script.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command::all;
    use crate::paths::Paths;
    use std::path::Path;

    fn script(shell: Shell) -> String {
        let session = Session { globals: Globals::default(), paths: Paths::in_folder(Path::new("/nowhere")) };
        Completions { shell }.run(&session).unwrap().script
    }

    #[test]
    fn every_shell_is_told_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
            let script = script(shell);
            for chosen in all() {
                let verb = chosen.name().rsplit(' ').next().unwrap();
                assert!(script.contains(verb), "{shell} does not know `{verb}`");
            }
            assert!(script.contains("explain") && script.contains("profile"), "{shell}");
        }
    }
}
