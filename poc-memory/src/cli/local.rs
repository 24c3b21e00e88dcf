//! Commands that only the command line has. They concern this machine rather than the memory, or extend an op
//! with what only the command line can do.

use super::command_context::CommandContext;
use super::output::RenderedAnswer;
use crate::ops::Terminal;
use clap::ArgMatches;
use poc_graph::error::{Error, Exit, Result};
use poc_graph::json;
use serde::Serialize;

/// A command that is not an op. The implementing type has its arguments.
pub(super) trait LocalCommand: clap::Args {
    /// The words of the command.
    const NAME: &'static str;
    /// Whether it takes `--tenant`.
    const TENANTS: bool = false;
    /// Whether an agent's model that is a command may call it.
    const FOR_AGENTS: bool = false;
    /// Whether its text is the content of a file and is printed unchanged.
    const VERBATIM: bool = false;
    /// Whether its text names commands to type, which then get the options of the call.
    const NAMES_COMMANDS: bool = false;
    /// The type of the answer.
    type Output: Serialize;

    /// Runs it.
    fn run(self, context: &CommandContext) -> Result<Self::Output>;

    /// The answer as text for a person, laid out for a terminal.
    fn show(output: &Self::Output, terminal: &Terminal) -> String;

    /// The exit status after this answer.
    fn exit(_output: &Self::Output) -> Exit {
        Exit::Ok
    }
}

/// A [`LocalCommand`] with its types erased.
pub(super) struct LocalCommandDef {
    pub(super) name: &'static str,
    pub(super) tenants: bool,
    pub(super) for_agents: bool,
    pub(super) names_commands: bool,
    pub(super) augment: fn(clap::Command) -> clap::Command,
    pub(super) run: fn(&CommandContext, &ArgMatches, &Terminal) -> Result<RenderedAnswer>,
}

impl LocalCommandDef {
    pub(super) const fn of<L: LocalCommand>() -> LocalCommandDef {
        LocalCommandDef {
            name: L::NAME,
            tenants: L::TENANTS,
            for_agents: L::FOR_AGENTS,
            names_commands: L::NAMES_COMMANDS,
            augment: |command| L::augment_args(command),
            run: |context, matches, terminal| {
                let command =
                    L::from_arg_matches(matches).map_err(|error| Error::invalid(error.to_string()))?;
                let output = command.run(context)?;
                let value = json::encode(&output)?;
                Ok(RenderedAnswer {
                    value,
                    text: L::show(&output, terminal).into(),
                    degradations: String::new(),
                    verbatim: L::VERBATIM,
                    exit: L::exit(&output),
                })
            },
        }
    }
}
