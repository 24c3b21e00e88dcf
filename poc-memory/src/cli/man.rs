//! `man`

mod pipelines;

use super::command;
use super::command_context::CommandContext;
use super::daemon::DaemonArguments;
use super::globals::Globals;
use super::help::{self, HelpSection};
use super::local::LocalCommand;
use crate::ops::Terminal;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man as Page;
use clap_mangen::roff::{Roff, roman};
use poc_graph::error::{Error, Result};
use serde::Serialize;
use std::io;
use std::path::PathBuf;

/// The manual that the pages belong to, and the release that they describe.
const MANUAL: &str = "poc-memory";
const SOURCE: &str = concat!("poc-memory ", env!("CARGO_PKG_VERSION"));

/// Print a manual page, or write the pages of all commands into a folder
///
/// `poc-memory man search | man -l -` shows one; `poc-memory man --folder ~/.local/share/man/man1` installs
/// them all. There are also pages for the daemon, `poc-daemon`, and for the pipeline language,
/// `poc-memory-pipelines`.
#[derive(Debug, clap::Args)]
pub(super) struct Man {
    /// The command, such as `search` or `agent run`, or `poc-daemon` or `poc-memory-pipelines`; if omitted,
    /// the program
    #[arg(value_name = "COMMAND", conflicts_with = "folder")]
    command: Vec<String>,
    /// Write a page for every command into this folder, which is created
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// The answer of `man`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ManOutput {
    /// The page in roff.
    Page(String),
    /// The files that were written.
    Written(Vec<PathBuf>),
}

impl LocalCommand for Man {
    const NAME: &'static str = "man";
    const FOR_AGENTS: bool = true;
    const VERBATIM: bool = true;
    type Output = ManOutput;

    fn run(self, _: &CommandContext) -> Result<ManOutput> {
        let mut top = command::build(&Globals::default());
        // Gives every command the global options and its full name.
        top.build();
        match self.folder {
            Some(folder) => write_pages(&top, folder).map(ManOutput::Written),
            None => {
                let words = self.command.join(" ");
                let page = match other_pages().into_iter().find(|(name, _)| *name == words) {
                    Some((_, page)) => page,
                    None => page(command::find(&top, &self.command)?),
                };
                Ok(ManOutput::Page(String::from_utf8_lossy(&page.map_err(failed)?).into_owned()))
            }
        }
    }

    fn show(output: &ManOutput, _: &Terminal) -> String {
        match output {
            ManOutput::Page(page) => page.clone(),
            ManOutput::Written(files) => {
                files.iter().map(|file| format!("wrote {}\n", file.display())).collect()
            }
        }
    }
}

/// Writes the pages of a command and all its subcommands.
fn write_pages(top: &Command, folder: PathBuf) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let mut files = Vec::new();
    let mut open = vec![top];
    while let Some(command) = open.pop() {
        let file = folder.join(format!("{}.1", name(command)));
        std::fs::write(&file, page(command).map_err(failed)?).map_err(failed)?;
        files.push(file);
        open.extend(command.get_subcommands());
    }
    for (name, page) in other_pages() {
        let file = folder.join(format!("{name}.1"));
        std::fs::write(&file, page.map_err(failed)?).map_err(failed)?;
        files.push(file);
    }
    files.sort();
    Ok(files)
}

/// The name of a command's page: `poc-memory-agent-run`.
fn name(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-")
}

/// The pages that are not about a command of this program, by name.
fn other_pages() -> [(&'static str, io::Result<Vec<u8>>); 2] {
    let mut daemon = DaemonArguments::command();
    daemon.build();
    // Its description has its exit codes.
    [("poc-daemon", page_with(&daemon, &[help::ENVIRONMENT])), (pipelines::NAME, pipelines::page())]
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let is_program = name(command) == command.get_name();
    page_with(command, if is_program { &help::SECTIONS[..] } else { &[help::EXIT_CODES] })
}

/// The page of a command with sections after its options.
fn page_with(command: &Command, sections: &[HelpSection]) -> io::Result<Vec<u8>> {
    let named = command.clone().name(name(command));
    let page = Page::new(named).manual(MANUAL).source(SOURCE);
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    for part in sections {
        section(part).to_writer(&mut text)?;
    }
    Ok(text)
}

/// A section without filled paragraphs, because it has tables and commands.
fn section(HelpSection { heading, lines }: &HelpSection) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [heading.to_uppercase().as_str()]).control("nf", []);
    for line in lines.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}

fn failed(error: io::Error) -> Error {
    Error::unavailable(format!("the manual pages cannot be written: {error}")).field("folder")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command::all;

    fn built() -> Command {
        let mut top = command::build(&Globals::default());
        top.build();
        top
    }

    #[test]
    fn every_command_has_a_page() {
        let top = built();
        let folder = poc_graph::testing::folder();
        let files = write_pages(&top, folder.path().join("man1")).unwrap();
        for chosen in all() {
            let file = format!("poc-memory-{}.1", chosen.name().replace(' ', "-"));
            assert!(files.iter().any(|path| path.ends_with(&file)), "{file}");
        }
        for name in ["poc-memory.1", "poc-daemon.1", "poc-memory-pipelines.1"] {
            assert!(files.iter().any(|path| path.ends_with(name)), "{name}");
        }
    }

    #[test]
    fn the_page_of_the_daemon_lists_its_options_and_environment() {
        let [(name, page), _] = other_pages();
        let page = String::from_utf8(page.unwrap()).unwrap();
        assert!(page.contains("poc\\-daemon") && page.contains("\\-\\-log\\-json"), "{name}: {page}");
        assert!(page.contains("POC_MEMORY_HOME") && !page.contains(".SH EXAMPLES"), "{page}");
    }

    #[test]
    fn a_page_lists_the_exit_codes() {
        let top = built();
        let text = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            String::from_utf8(page(command::find(&top, &words).unwrap()).unwrap()).unwrap()
        };
        assert!(text(&[]).contains(".SH EXAMPLES"));
        let run = text(&["agent", "run"]);
        assert!(run.contains(".SH \"EXIT CODES\"") && run.contains("78  a configuration"), "{run}");
        assert!(run.contains("poc\\-memory\\-agent\\-run") && !run.contains("EXAMPLES"), "{run}");
        assert_eq!(text(&["agent run"]), run);
        assert!(command::find(&top, &["agnet".to_owned()]).is_err());
    }
}
