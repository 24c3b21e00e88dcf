//! Completes the values of arguments: keys of notes, agents, runs, profiles, settings, vaults, formats, stages of
//! pipelines.

use crate::cli::call_value;
use crate::cli::command;
use crate::cli::command_context::CommandContext;
use crate::cli::globals::Globals;
use crate::ops;
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use poc_graph::error::{Error, Result};
use poc_notes::import;
use poc_search::query::vocabulary;
use poc_store::Store;
use serde_json::{Value, json};
use std::ffi::OsStr;

/// The kind of thing that an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompletionKind {
    Agent,
    Format,
    Key,
    Pipeline,
    Profile,
    Run,
    Setting,
    Vault,
}

impl CompletionKind {
    /// The kind of thing that an argument of a command names, if its values can be listed.
    fn of(command: &str, argument: &Arg) -> Option<CompletionKind> {
        let id = argument.get_id().as_str();
        let value =
            argument.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
        match (command, id, value) {
            ("config get" | "config set" | "config unset", "key", _) => Some(CompletionKind::Setting),
            (_, "profile", _) | ("profile show" | "profile delete", "name", _) => {
                Some(CompletionKind::Profile)
            }
            ("agent new", ..) => None,
            (_, _, "AGENT") | (_, "agent", "NAME") => Some(CompletionKind::Agent),
            (_, _, "RUN") | ("agent diff", "first" | "second", _) => Some(CompletionKind::Run),
            (_, _, "NOTE") | ("link", "from" | "to", _) | ("supersede", "old" | "new", _) => {
                Some(CompletionKind::Key)
            }
            (_, _, "VAULT") => Some(CompletionKind::Vault),
            ("import", "format", _) => Some(CompletionKind::Format),
            (_, _, "PIPELINE" | "STAGE") => Some(CompletionKind::Pipeline),
            _ => None,
        }
    }
}

/// The command line with completions of values. `profile` is the profile that the incomplete command line names.
pub(super) fn with_values(profile: Option<&str>) -> Command {
    add(command::build(&Globals::default()), "", profile)
}

fn add(command: Command, name: &str, profile: Option<&str>) -> Command {
    let command = command.mut_args(|argument| match CompletionKind::of(name, &argument) {
        Some(kind) => {
            let profile = profile.map(str::to_owned);
            let values = move |current: &OsStr| candidates(kind, current, profile.as_deref());
            argument.add(ArgValueCompleter::new(values))
        }
        None => argument,
    });
    command.mut_subcommands(|inner| {
        let name = format!("{name} {}", inner.get_name()).trim_start().to_owned();
        add(inner, &name, profile)
    })
}

/// The values of a kind that begin with the typed text. Empty if the memory cannot be asked, because a
/// completion must not print errors.
fn candidates(kind: CompletionKind, current: &OsStr, profile: Option<&str>) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let globals =
        Globals { profile: profile.map(str::to_owned), json: true, quiet: true, ..Globals::default() };
    let Ok(context) = CommandContext::new(globals) else { return Vec::new() };
    let values = match kind {
        CompletionKind::Key => {
            Ok(ops::keys_beginning_with(current, |op, request| ask(&context, op.name, request)))
        }
        CompletionKind::Agent => names(ask(&context, "agent list", json!({})), "agents", "name"),
        CompletionKind::Run => names(ask(&context, "agent history", json!({})), "runs", "run"),
        CompletionKind::Profile => context.paths.profiles(),
        CompletionKind::Setting => poc_config::settings(&context.paths.config_file())
            .map(|settings| settings.into_iter().map(|setting| setting.key).collect()),
        CompletionKind::Pipeline => Ok(stages(current)),
        CompletionKind::Vault => names(ask(&context, "vault list", json!({})), "vaults", "name"),
        CompletionKind::Format => Ok(import::formats().map(|(name, _)| name.to_owned()).collect()),
    };
    let fitting = values.unwrap_or_default().into_iter().filter(|value| value.starts_with(current));
    fitting.map(CompletionCandidate::new).collect()
}

/// Asks the memory, if there is one.
fn ask(context: &CommandContext, op: &str, request: Value) -> Result<Value> {
    let op = ops::find(op).ok_or_else(|| Error::internal(format!("there is no op `{op}`")))?;
    if !Store::exists(&context.paths.store()) {
        return Err(Error::not_found("there is no store yet"));
    }
    call_value(context, op, request)
}

/// One text field of each row of an answer.
fn names(answer: Result<Value>, rows: &str, field: &str) -> Result<Vec<String>> {
    let answer = answer?;
    let rows = answer.get(rows).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Ok(rows.iter().filter_map(|row| Some(row.get(field)?.as_str()?.to_owned())).collect())
}

/// The pipelines that continue `current` with a stage: the word that replaces its last, incomplete stage, with `:` if
/// the stage takes an argument there.
fn stages(current: &str) -> Vec<String> {
    let begin = current.rfind('|').map_or(0, |place| place + 1);
    let (before, last) = current.split_at(begin);
    let word = last.trim_start();
    let before = format!("{before}{}", &last[..last.len() - word.len()]);
    let fitting = vocabulary().iter().filter(|stage| stage.word.starts_with(word));
    fitting
        .map(|stage| {
            let colon = if stage.signature().starts_with(&format!("{}:", stage.word)) { ":" } else { "" };
            format!("{before}{}{colon}", stage.word)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    #[test]
    fn the_last_stage_of_a_pipeline_is_completed() {
        assert_eq!(stages("all | typ"), ["all | type:"]);
        assert_eq!(stages("spr"), ["spread"]);
        assert_eq!(stages("all|not"), ["all|not-visited:"]);
        assert!(stages("all | type:daily").is_empty());
        assert_eq!(stages("").len(), vocabulary().len());
    }

    /// The arguments whose values are completed.
    #[test]
    fn arguments_are_recognized() {
        fn list(command: &Command, name: &str, found: &mut Vec<String>) {
            for argument in command.get_arguments() {
                if let Some(kind) =
                    CompletionKind::of(name, argument).filter(|_| argument.get_id() != "profile")
                {
                    found.push(format!("{name} {}: {kind:?}", argument.get_id()));
                }
            }
            for inner in command.get_subcommands() {
                list(inner, format!("{name} {}", inner.get_name()).trim_start(), found);
            }
        }
        let mut found = Vec::new();
        list(&command::build(&Globals::default()), "", &mut found);
        found.sort();
        assert_snapshot!(found.join("\n"), @r"
        agent apply run: Run
        agent check agent: Agent
        agent check others: Agent
        agent diff first: Run
        agent diff second: Run
        agent explain agent: Agent
        agent history agent: Agent
        agent inspect run: Run
        agent pause agent: Agent
        agent reject run: Run
        agent reopen run: Run
        agent resume agent: Agent
        agent review agent: Agent
        agent review run: Run
        agent run agent: Agent
        agent run target: Key
        agent save agent: Agent
        agent show agent: Agent
        agent test agent: Agent
        agent undo run: Run
        backlinks node: Key
        changes agent: Agent
        config get key: Setting
        config set key: Setting
        config unset key: Setting
        delete node: Key
        demote node: Key
        get node: Key
        history node: Key
        import format: Format
        insert supersedes: Key
        link from: Key
        link to: Key
        pipeline check pipelines: Pipeline
        pipeline complete pipeline: Pipeline
        pipeline explain pipelines: Pipeline
        pipeline explain run: Run
        profile delete name: Profile
        profile show name: Profile
        reinforce node: Key
        rename node: Key
        search pipeline: Pipeline
        supersede new: Key
        supersede old: Key
        undo agent: Agent
        vault remove vault: Vault
        vault status vault: Vault
        vault sync vault: Vault
        vault write-back vault: Vault
        view around: Key
        view pipeline: Pipeline
        visit agent: Agent
        visit nodes: Key
        weight node: Key
        ");
    }
}
