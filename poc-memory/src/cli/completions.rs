//! `completions`

use super::command;
use super::globals::Globals;
use super::local::LocalCommand;
use super::session::Session;
use clap_complete::Shell;
use poc_graph::error::{Error, Result};
use serde::Serialize;

/// Print the completion script of a shell
///
/// For bash: `poc-memory completions bash > ~/.local/share/bash-completion/completions/poc-memory`; for zsh a
/// file `_poc-memory` in a folder of `$fpath`; for fish `~/.config/fish/completions/poc-memory.fish`.
#[derive(Debug, clap::Args)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// What `completions` answers.
#[derive(Debug, Serialize)]
pub(super) struct CompletionsOutput {
    shell: String,
    /// The script.
    script: String,
}

impl LocalCommand for Completions {
    const NAME: &'static str = "completions";
    const FOR_AGENTS: bool = true;
    const VERBATIM: bool = true;
    type Output = CompletionsOutput;

    fn run(self, _: &Session) -> Result<CompletionsOutput> {
        let mut command = command::build(&Globals::default());
        let name = command.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        let script = String::from_utf8(script)
            .map_err(|error| Error::internal(format!("the completions are not text: {error}")))?;
        let script = if self.shell == Shell::Bash { of_one_name(&script) } else { script };
        Ok(CompletionsOutput { shell: self.shell.to_string(), script })
    }

    fn show(output: &CompletionsOutput) -> String {
        output.script.clone()
    }
}

/// Works around a bug of clap_complete 4.6: for a program with a `-` in its name the bash script sets
/// `poc__memory…` but looks for `poc__subcmd__memory…`, and so completes nothing after a subcommand.
fn of_one_name(script: &str) -> String {
    script.replace("poc__subcmd__memory", "poc__memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command::all;
    use poc_config::paths::Paths;
    use std::path::Path;
    use std::process::Command;

    fn script(shell: Shell) -> String {
        let session = Session { globals: Globals::default(), paths: Paths::in_folder(Path::new("/nowhere")) };
        Completions { shell }.run(&session).unwrap().script
    }

    /// The completions that bash offers for the last of the words.
    fn offered(words: &[&str]) -> Vec<String> {
        let (Some((last, before)), count) = (words.split_last(), words.len()) else { return Vec::new() };
        let line = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let previous = before.last().unwrap();
        let script_text = format!(
            "{}\nCOMP_WORDS=({line}); COMP_CWORD={}\n_poc__memory poc-memory '{last}' '{previous}'\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script(Shell::Bash),
            count - 1
        );
        let output =
            Command::new("bash").args(["--noprofile", "--norc", "-c", &script_text]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn bash_completes_after_every_command() {
        let has = |words: &[&str], expected: &[&str]| {
            let offered = offered(words);
            for word in expected {
                assert!(offered.iter().any(|offered| offered == word), "{words:?}: {offered:?}");
            }
        };
        has(&["poc-memory", "prof"], &["profile"]);
        has(&["poc-memory", "agent", ""], &["list", "run", "check"]);
        has(&["poc-memory", "profile", "remote", ""], &["bind", "sync", "detach"]);
        has(&["poc-memory", "--json", "search", "--"], &["--pipeline", "--explain", "--tenant"]);
        has(&["poc-memory", "--color", ""], &["auto", "always"]);
        for chosen in all() {
            let words: Vec<&str> =
                ["poc-memory"].into_iter().chain(chosen.name().split(' ')).chain(["--"]).collect();
            has(&words, &["--json", "--help"]);
        }
    }

    #[test]
    fn every_script_has_every_command() {
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
