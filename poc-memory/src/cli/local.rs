//! Commands that are about this machine rather than the memory: they have no op, or do with one
//! what only this side can do.

use super::session::Session;
use super::{
    agent, completions, daemon, demo, distill, doctor, eval, fetch, init, man, mcp, profile, settings,
};
use clap::ArgMatches;
use poc_graph::error::{Error, Exit, Result};
use serde::Serialize;
use serde_json::Value;

/// What a command says, both ways.
pub(super) struct Answer {
    /// For a program.
    pub(super) value: Value,
    /// For a person.
    pub(super) text: String,
    /// Whether the text is the content of a file, and goes out as it is where no terminal reads it.
    pub(super) verbatim: bool,
    /// How the process ends.
    pub(super) exit: Exit,
}

/// A command of the command line's own: the struct of its arguments.
pub(super) trait Local: clap::Args {
    /// Its name, as of an op.
    const NAME: &'static str;
    /// Whether `--tenant` means something to it.
    const TENANTS: bool = false;
    /// Whether a command that is an agent's model may call it, as of an op.
    const FOR_AGENTS: bool = false;
    /// Whether it answers with the content of a file.
    const VERBATIM: bool = false;
    /// What it answers.
    type Output: Serialize;

    /// Does it.
    fn run(self, session: &Session) -> Result<Self::Output>;

    /// The answer for a person.
    fn show(output: &Self::Output) -> String;

    /// How the process ends after this answer.
    fn exit(_output: &Self::Output) -> Exit {
        Exit::Ok
    }
}

/// A [`Local`] with its types erased.
pub(super) struct LocalDef {
    pub(super) name: &'static str,
    pub(super) tenants: bool,
    pub(super) for_agents: bool,
    pub(super) augment: fn(clap::Command) -> clap::Command,
    pub(super) run: fn(&Session, &ArgMatches) -> Result<Answer>,
}

impl LocalDef {
    const fn of<L: Local>() -> LocalDef {
        LocalDef {
            name: L::NAME,
            tenants: L::TENANTS,
            for_agents: L::FOR_AGENTS,
            augment: |command| L::augment_args(command),
            run: |session, matches| {
                let command =
                    L::from_arg_matches(matches).map_err(|error| Error::invalid(error.to_string()))?;
                let output = command.run(session)?;
                let value = serde_json::to_value(&output)
                    .map_err(|error| Error::internal(format!("an answer cannot be encoded: {error}")))?;
                Ok(Answer { value, text: L::show(&output), verbatim: L::VERBATIM, exit: L::exit(&output) })
            },
        }
    }
}

/// Every one of them.
pub(super) const LOCAL: &[LocalDef] = &[
    LocalDef::of::<demo::Demo>(),
    LocalDef::of::<init::Init>(),
    LocalDef::of::<doctor::Doctor>(),
    LocalDef::of::<eval::Eval>(),
    LocalDef::of::<completions::Completions>(),
    LocalDef::of::<man::Man>(),
    LocalDef::of::<settings::Show>(),
    LocalDef::of::<daemon::Log>(),
    LocalDef::of::<daemon::Stop>(),
    LocalDef::of::<profile::List>(),
    LocalDef::of::<profile::Show>(),
    LocalDef::of::<profile::Create>(),
    LocalDef::of::<agent::New>(),
    LocalDef::of::<distill::Distill>(),
    LocalDef::of::<fetch::Fetch>(),
    LocalDef::of::<mcp::Serve>(),
    LocalDef::of::<mcp::Settings>(),
];
