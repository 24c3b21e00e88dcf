//! The command line, derived from the op table. It has no logic of its own beyond a few commands
//! that are about this machine rather than the memory.

mod agent;
mod command;
mod completions;
mod daemon;
mod demo;
mod distill;
mod doctor;
mod eval;
mod fetch;
mod files;
mod help;
mod init;
mod local;
mod man;
mod mcp;
mod output;
mod profile;
mod progress;
mod session;
mod settings;
mod usage;

use crate::dispatch::{self, Connection};
use crate::ops::{OpDef, tenancy};
use command::Chosen;
use local::Answer;
use output::Output;
use poc_config::Config;
use poc_graph::error::{Code, Error, Exit, Result};
use poc_models::MARKER;
use session::{Globals, Session};
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs a command line, the program's name first, and says how the process is to end.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = command::respelled(arguments.into_iter().collect());
    let globals = Globals::foreseen(&arguments);
    let matches = match command::build(&globals).try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return usage::end(&error, &arguments, &Output::new(&globals)).into(),
    };
    let globals = Globals::parsed(&matches);
    let output = Output::new(&globals);
    session::start_logging(&globals);
    let exit = match run(&matches, globals, &output) {
        Ok(exit) => exit,
        Err(error) => {
            output.error(&error);
            error.code.exit()
        }
    };
    exit.into()
}

/// What is wrong with a command line, in the words of this one; `None` when help or the version was asked
/// for. `help` says where more is to be read.
pub fn usage_error(error: &clap::Error, help: &str) -> Option<Error> {
    usage::of(error, help)
}

fn run(matches: &clap::ArgMatches, globals: Globals, output: &Output) -> Result<Exit> {
    let session = Session::new(globals)?;
    let (chosen, matches) = command::chosen(matches)?;
    let (name, for_agents) = match &chosen {
        Chosen::Local(command) => (command.name, command.for_agents),
        Chosen::Op(op) => (op.command, op.for_agents),
    };
    if !for_agents && let Some(agent) = asking_agent() {
        let message = format!("`{name}` is not for agents, and `{agent}` asks (`{MARKER}` says so)");
        let hint = "an agent says what it wants in its answer; a person decides";
        return Err(Error::new(Code::Rejected, message).hint(hint));
    }
    let answer = match chosen {
        Chosen::Local(command) => {
            if !session.globals.tenant.is_empty() && !command.tenants {
                return Err(Error::invalid(format!(
                    "`{}` is about this machine and takes no tenant",
                    command.name
                ))
                .hint("leave `--tenant` out")
                .field(tenancy::FIELD));
            }
            (command.run)(&session, matches)?
        }
        Chosen::Op(op) => call(&session, op, session.with_tenant((op.parse)(matches)?)?)?,
    };
    output.answer(&answer)?;
    Ok(answer.exit)
}

/// The agent whose model this process is, or was begun by.
fn asking_agent() -> Option<String> {
    std::env::var(MARKER).ok().filter(|agent| !agent.is_empty())
}

/// Runs an op where the memory is open.
fn call(session: &Session, op: &OpDef, args: serde_json::Value) -> Result<Answer> {
    let config = match session.config() {
        Ok(config) => config,
        Err(error) => return call_running(session, op, args, error),
    };
    if !op.begins {
        profile::must_exist(session)?;
    }
    // Whoever writes into a new one is told so, lest the name was mistyped.
    if !session.paths.exists() && !session.globals.json {
        tracing::warn!(
            "the profile `{}` is new and empty; see `poc-memory profile list`",
            session.paths.profile()
        );
    }
    let mut connection = if op.needs_daemon {
        Connection::Daemon(dispatch::connect_daemon(&session.paths, &config)?)
    } else {
        Connection::open(session.paths.clone(), config)?
    };
    answer(session, op, args, &mut connection)
}

/// Runs an op while the settings are broken: a daemon that has started before goes on with those it
/// read, and can be asked and stopped. Without one there is nothing to go by.
fn call_running(session: &Session, op: &OpDef, args: serde_json::Value, broken: Error) -> Result<Answer> {
    match dispatch::connect(&session.paths, &Config::defaults()?) {
        Ok(Some(client)) => {
            tracing::warn!(
                "the settings are broken, the daemon goes on with those before: {}",
                broken.line()
            );
            answer(session, op, args, &mut Connection::Daemon(client))
        }
        _ => Err(broken),
    }
}

fn answer(
    session: &Session,
    op: &OpDef,
    args: serde_json::Value,
    connection: &mut Connection,
) -> Result<Answer> {
    let bar = progress::Bar::new(&session.globals);
    let value = connection.call(op, args, &|progress| bar.show(&progress))?;
    bar.clear();
    if let Some(aside) = (op.aside)(&value)? {
        tracing::warn!("{aside}");
    }
    let (text, verbatim) = ((op.show)(&value)?, (op.verbatim)(&value)?);
    Ok(Answer { text, verbatim, exit: (op.exit)(&value)?, value })
}
