//! The command line, derived from the op table. Apart from a few commands that concern this machine rather
//! than the memory, it has no logic of its own.

mod backup;
mod command;
mod command_context;
mod completions;
mod config_set;
mod confirmation;
mod daemon;
mod daemon_client;
mod demo;
mod distill;
mod doctor;
mod empty_memory;
mod eval;
mod fetch;
mod files;
mod first_process;
mod globals;
mod help;
mod hook;
mod init;
mod interrupted_run;
mod invocation;
mod local;
mod man;
mod mcp;
mod output;
mod page;
mod pipeline_problems;
mod plugin;
mod profile;
mod profile_delete;
mod progress;
mod project_label;
mod repair;
mod restore;
mod sample_memory;
mod settings;
mod setup;
mod store;
mod store_holder;
mod usage;

pub use daemon::DaemonArguments;
pub use files::{restrict_new_files, survive_file_size_limit};

use crate::dispatch::{self, Connection};
use crate::ops::{OpDef, Progress, Terminal, tenancy};
use command::SelectedCommand;
use command_context::CommandContext;
use globals::Globals;
use output::{Output, RenderedAnswer};
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::{Code, Error, Exit, Result};
use poc_models::AGENT_VARIABLE;
use project_label::ProjectLabel;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs a command line, which starts with the program's name, and returns the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    restrict_new_files();
    survive_file_size_limit();
    first_process::end_on_signals();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(exit) = completions::answer(&arguments).or_else(|| hook::run_early(&arguments)) {
        return exit;
    }
    let arguments = command::rewrite_flags(arguments);
    let globals = Globals::parse_before_clap(&arguments);
    let matches = match command::build(&globals).try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => {
            return usage::report(&error, &arguments, &Output::new(&globals, command::takes_tenant)).into();
        }
    };
    let globals = Globals::parsed(&matches);
    let output = Output::new(&globals, command::takes_tenant);
    command_context::start_logging(&globals);
    let exit = match run(&matches, globals, &output) {
        Ok(exit) => exit,
        Err(error) => {
            let exit = error.code.exit();
            // JSON output keeps the name of the field; text output names the option instead.
            let error = if output.json() { error } else { usage::in_options(error, &matches) };
            output.error(&error);
            exit
        }
    };
    exit.into()
}

/// A parse error of another command line in the format of this one; `None` for help and the version. `help`
/// becomes the hint.
pub fn usage_error(error: &clap::Error, help: &str) -> Option<Error> {
    usage::parser_error(error, help)
}

fn run(matches: &clap::ArgMatches, globals: Globals, output: &Output) -> Result<Exit> {
    let context = CommandContext::new(globals)?;
    let (chosen, matches) = command::chosen(matches)?;
    let (name, for_agents, names_commands) = match &chosen {
        SelectedCommand::Local(command) => (command.name, command.for_agents, command.names_commands),
        SelectedCommand::Op(op) => (op.command, op.for_agents, op.names_commands),
    };
    if !for_agents && let Some(agent) = asking_agent() {
        let message =
            format!("`{name}` cannot be called by an agent (`{agent}`, according to `{AGENT_VARIABLE}`)");
        let hint = "an agent proposes actions in its reply; a person decides";
        return Err(Error::new(Code::Rejected, message).hint(hint));
    }
    let terminal = output.terminal();
    let mut answer = match chosen {
        SelectedCommand::Local(command) => {
            if !context.globals.tenant.is_empty() && !command.tenants {
                return Err(Error::invalid(format!(
                    "`{}` applies to this machine and does not accept `--tenant`",
                    command.name
                ))
                .hint("leave `--tenant` out")
                .field(tenancy::FIELD));
            }
            let answer = (command.run)(&context, matches, &terminal);
            answer.map_err(|error| store_holder::with_holder(&context, error))?
        }
        SelectedCommand::Op(op) => {
            let request = (op.parse)(matches)?;
            if !confirmation::confirm_op(op, &request, matches)? {
                return declined(output);
            }
            let config = if op.labels_notes { context.config().ok() } else { None };
            let label = config.and_then(|config| ProjectLabel::here(&config));
            let request = ProjectLabel::label_notes(label.as_ref(), op, request);
            let answer = call(&context, op, context.with_global_arguments(request)?, &terminal);
            answer.map_err(|error| store_holder::with_holder(&context, error))?
        }
    };
    if names_commands {
        answer.text = terminal.with_options(&answer.text.to_string(), command::takes_tenant).into();
    }
    output.answer(&answer)?;
    Ok(answer.exit)
}

/// Ends a command to whose question the answer was not yes. For a person, their own decision is not an error.
fn declined(output: &Output) -> Result<Exit> {
    let declined = Error::new(Code::Rejected, "nothing was changed").hint("`y` or `--yes` confirms");
    if output.json() {
        return Err(declined);
    }
    output.message(&declined.message);
    Ok(declined.code.exit())
}

/// The agent whose model started this process, if any.
fn asking_agent() -> Option<String> {
    std::env::var(AGENT_VARIABLE).ok().filter(|agent| !agent.is_empty())
}

/// Runs an op in the daemon or in this process.
fn call(
    context: &CommandContext,
    op: &OpDef,
    args: serde_json::Value,
    terminal: &Terminal,
) -> Result<RenderedAnswer> {
    let (value, mut connection) = call_connected(context, op, args)?;
    let output = (op.decode)(&value)?;
    if let Some(notice) = output.notice() {
        tracing::warn!("{}", terminal.with_options(&notice, command::takes_tenant));
    }
    let mut text = output.show(terminal);
    if output.lists_nothing()
        && !context.globals.json
        && let Some(step) = empty_memory::first_step(context, &mut connection)
    {
        text.push(terminal.with_options(step, command::takes_tenant));
    }
    Ok(RenderedAnswer {
        text,
        degradations: terminal.with_options(output.degradations(), command::takes_tenant),
        verbatim: output.verbatim(),
        exit: output.exit(),
        value,
    })
}

/// Runs an op in the daemon or in this process and returns its answer as JSON.
fn call_value(context: &CommandContext, op: &OpDef, args: serde_json::Value) -> Result<serde_json::Value> {
    call_connected(context, op, args).map(|(answer, _)| answer)
}

/// Like [`call_value`], with the connection that the answer came from.
fn call_connected(
    context: &CommandContext,
    op: &OpDef,
    args: serde_json::Value,
) -> Result<(serde_json::Value, Connection)> {
    let is_new = !context.paths.exists();
    let answered = connect_and_call(context, op, args);
    if is_new && answered.is_err() {
        delete_empty_profile(&context.paths);
    }
    answered
}

/// Deletes the folders of a new profile in which a failed command wrote nothing. Everything else in them stays.
fn delete_empty_profile(paths: &Paths) {
    let Some(folders) = paths.own_folders() else { return };
    match poc_store::delete_empty_store(&paths.store()) {
        // A folder that is not empty is not deleted.
        Ok(_) => folders.iter().for_each(|folder| drop(std::fs::remove_dir(folder))),
        Err(error) => tracing::debug!("the new profile stays: {error}"),
    }
}

fn connect_and_call(
    context: &CommandContext,
    op: &OpDef,
    args: serde_json::Value,
) -> Result<(serde_json::Value, Connection)> {
    let mut connection = connect(context, op)?;
    let bar = progress::Bar::new(&context.globals);
    let show = |progress: Progress| bar.show(&progress);
    let answer = if op.name == interrupted_run::OP && matches!(connection, Connection::Daemon(_)) {
        interrupted_run::call(context, &mut connection, op, args, &show)
    } else {
        connection.call(op, args, &show)
    };
    bar.clear();
    // Answers name the damage themselves, and so do the errors of writes and those for something that was not found.
    if let (Some(damage), Err(error)) = (connection.damage(), &answer)
        && !error.message.contains(damage)
        && !error.degraded.iter().any(|reason| reason.contains(damage))
    {
        tracing::error!("read-only: {damage}");
    }
    answer.map(|answer| (answer, connection))
}

/// The connection for an op.
fn connect(context: &CommandContext, op: &OpDef) -> Result<Connection> {
    let config = match context.config() {
        Ok(config) => config,
        Err(error) => return connect_running(context, error),
    };
    if !op.creates_profile {
        context.paths.must_exist()?;
    }
    // Warns that a new profile is created, because its name may be mistyped.
    if !context.paths.exists() && !context.globals.json {
        let near = context.paths.closest_profile()?;
        let near = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
        tracing::warn!(
            "the profile `{}` is new and empty{near}; see `poc-memory profile list`",
            context.paths.profile()
        );
    }
    if op.needs_daemon {
        return Ok(Connection::Daemon(dispatch::connect_daemon(&context.paths, &config)?));
    }
    Connection::open(context.paths.clone(), config)
}

/// The connection for an op if the settings are invalid: a running daemon still has the settings with which
/// it started. Without a daemon this fails with `broken`.
fn connect_running(context: &CommandContext, broken: Error) -> Result<Connection> {
    match dispatch::connect(&context.paths, &Config::defaults()?) {
        Ok(Some(client)) => {
            tracing::warn!(
                "the settings are invalid, the daemon keeps the last valid ones: {}",
                broken.line()
            );
            Ok(Connection::Daemon(client))
        }
        _ => Err(broken),
    }
}
