//! Builds the command line from the op table and finds the command that was selected.

use super::globals::Globals;
use super::local::LocalCommandDef;
use super::{
    backup, completions, config_set, confirmation, daemon, demo, distill, doctor, eval, fetch, help, hook,
    init, man, mcp, page, plugin, profile, profile_delete, repair, restore, settings, setup, store,
};
use crate::ops::{OPS, OpDef, TenantScope};
use clap::{Arg, ArgAction, ArgMatches, ColorChoice, Command};
use poc_graph::error::{Error, Result};
use std::ffi::OsString;

/// All commands that are not ops.
pub(super) const LOCAL: &[LocalCommandDef] = &[
    LocalCommandDef::of::<demo::Demo>(),
    LocalCommandDef::of::<init::Init>(),
    LocalCommandDef::of::<setup::Setup>(),
    LocalCommandDef::of::<setup::SetupRemove>(),
    LocalCommandDef::of::<setup::SetupModel>(),
    LocalCommandDef::of::<plugin::Plugin>(),
    LocalCommandDef::of::<doctor::Doctor>(),
    LocalCommandDef::of::<doctor::QuarantineList>(),
    LocalCommandDef::of::<doctor::QuarantineShow>(),
    LocalCommandDef::of::<doctor::QuarantineDelete>(),
    LocalCommandDef::of::<repair::RepairStore>(),
    LocalCommandDef::of::<eval::Eval>(),
    LocalCommandDef::of::<backup::Backup>(),
    LocalCommandDef::of::<restore::Restore>(),
    LocalCommandDef::of::<completions::CompletionsCommand>(),
    LocalCommandDef::of::<man::Man>(),
    LocalCommandDef::of::<help::Help>(),
    LocalCommandDef::of::<settings::ConfigShow>(),
    LocalCommandDef::of::<settings::ConfigGet>(),
    LocalCommandDef::of::<page::Page>(),
    LocalCommandDef::of::<config_set::ConfigSet>(),
    LocalCommandDef::of::<config_set::ConfigUnset>(),
    LocalCommandDef::of::<daemon::DaemonLog>(),
    LocalCommandDef::of::<daemon::DaemonStart>(),
    LocalCommandDef::of::<daemon::DaemonStop>(),
    LocalCommandDef::of::<daemon::DaemonRestart>(),
    LocalCommandDef::of::<daemon::DaemonInstall>(),
    LocalCommandDef::of::<daemon::DaemonUninstall>(),
    LocalCommandDef::of::<profile::ProfileList>(),
    LocalCommandDef::of::<profile::ProfileShow>(),
    LocalCommandDef::of::<profile::ProfileCreate>(),
    LocalCommandDef::of::<profile_delete::ProfileDelete>(),
    LocalCommandDef::of::<store::StoreInit>(),
    LocalCommandDef::of::<store::StoreCopy>(),
    LocalCommandDef::of::<distill::EmbedDistill>(),
    LocalCommandDef::of::<fetch::EmbedFetch>(),
    LocalCommandDef::of::<hook::HookCall>(),
    LocalCommandDef::of::<mcp::McpServe>(),
    LocalCommandDef::of::<mcp::McpConfig>(),
];

/// Families of commands with their descriptions.
pub(super) const FAMILIES: &[(&str, &str)] = &[
    ("agent", "Run agents, review their proposals and inspect their runs"),
    ("config", "Show and change the settings"),
    ("pipeline", "Check, explain and list pipelines"),
    ("daemon", "Start and stop the daemon, and show its status and log"),
    (
        "doctor quarantine",
        "Show, restore and delete files set aside when a damaged store was opened or repaired",
    ),
    ("embed", "Fetch or make embedding models, and change the embedder of a memory"),
    ("profile", "Manage profiles (separate memories) and synchronise them"),
    ("store", "Keep the log in a database that several daemons share"),
    ("vault", "Keep notes up to date with folders of Markdown"),
    ("profile remote", "Synchronise this memory with another one"),
];

/// The command that a command line selects.
#[derive(Clone, Copy)]
pub(super) enum SelectedCommand {
    /// An op.
    Op(&'static OpDef),
    /// A command that is not an op.
    Local(&'static LocalCommandDef),
}

impl SelectedCommand {
    /// The words that select it.
    pub(super) fn name(self) -> &'static str {
        match self {
            SelectedCommand::Op(op) => op.command,
            SelectedCommand::Local(local) => local.name,
        }
    }

    /// Its clap command, named by the last word.
    fn command(self) -> Command {
        let verb = self.name().rsplit(' ').next().unwrap_or_default();
        let command = Command::new(verb);
        let command = match self {
            SelectedCommand::Op(op) => {
                (op.augment)(command).args(op.irreversible.as_ref().map(confirmation::yes_option))
            }
            SelectedCommand::Local(local) => (local.augment)(command),
        };
        command.mut_args(take_any_value)
    }
}

/// Whether a command works on one tenant, so that a hint to it names the tenant of the call. `line` begins with its
/// words and may continue with a text. `doctor quarantine restore` works on all tenants unless it is given one.
pub(super) fn takes_tenant(line: &str) -> bool {
    let is_first = |command: &SelectedCommand| {
        line.strip_prefix(command.name()).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '`']))
    };
    let command = all().filter(is_first).max_by_key(|command| command.name().len());
    command.is_none_or(|command| match command {
        SelectedCommand::Op(op) => op.tenant_scope == TenantScope::One,
        SelectedCommand::Local(local) => local.tenants,
    })
}

/// All commands. A local command with the name of an op replaces that op on the command line.
pub(super) fn all() -> impl Iterator<Item = SelectedCommand> {
    let own = |name| LOCAL.iter().find(move |local| local.name == name);
    let ops = OPS.iter().map(move |op| own(op.name).map_or(SelectedCommand::Op(op), SelectedCommand::Local));
    let rest =
        LOCAL.iter().filter(|local| crate::ops::find(local.name).is_none()).map(SelectedCommand::Local);
    rest.chain(ops)
}

/// Rewrites `query --calibrate` to `calibrate` and `eval --live` to `eval-live`, because users look for these
/// ops under `query` and `eval`.
pub(super) fn rewrite_flags(arguments: Vec<OsString>) -> Vec<OsString> {
    let flags = [("query", "--calibrate", "calibrate"), ("eval", "--live", "eval-live")];
    flags.into_iter().fold(arguments, |arguments, (verb, flag, op)| rewrite_flag(arguments, verb, flag, op))
}

/// Replaces a verb and its flag by an op.
fn rewrite_flag(mut arguments: Vec<OsString>, verb: &str, flag: &str, op: &str) -> Vec<OsString> {
    let ends = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let place = |word: &str| arguments.iter().take(ends).skip(1).position(|other| other == word);
    if let (Some(verb), Some(flag)) = (place(verb), place(flag))
        && verb < flag
        && let Some(word) = arguments.get_mut(verb + 1)
    {
        *word = op.into();
        arguments.remove(flag + 1);
    }
    arguments
}

/// The whole command line.
pub(super) fn build(globals: &Globals) -> Command {
    let top = Command::new("poc-memory")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A memory for AI agents: stores, searches and maintains notes")
        .after_help(help::after())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .max_term_width(help::COLUMNS)
        .color(match globals.color {
            super::globals::Color::Auto => ColorChoice::Auto,
            super::globals::Color::Always => ColorChoice::Always,
            super::globals::Color::Never => ColorChoice::Never,
        });
    let top = all().fold(top, |top, chosen| {
        let words: Vec<&str> = chosen.name().split(' ').collect();
        add_command(top, "", &words, chosen)
    });
    let top = Globals::augment(top);
    let template = help::template(&top);
    top.help_template(template)
}

/// Adds a command below the families in its name.
fn add_command(parent: Command, above: &str, words: &[&str], chosen: SelectedCommand) -> Command {
    let [word, rest @ ..] = words else { return parent };
    if rest.is_empty() {
        return parent.subcommand(with_summary(chosen.command()));
    }
    let family = format!("{above} {word}").trim_start().to_owned();
    let parent = match parent.find_subcommand(word) {
        Some(_) => parent,
        None => {
            let family = Command::new((*word).to_owned()).about(about(&family));
            parent.subcommand(family.subcommand_required(true).arg_required_else_help(true))
        }
    };
    parent.mut_subcommand(word, |command| add_command(command, &family, rest, chosen))
}

/// Shortens the description of a command in lists to its first sentence. Its own help has the whole description.
fn with_summary(command: Command) -> Command {
    let Some(about) = command.get_about().map(ToString::to_string) else { return command };
    let whole = command.get_long_about().map_or_else(|| about.clone(), ToString::to_string);
    let end = [": ", ". ", "\n"].iter().filter_map(|end| about.find(end)).min().unwrap_or(about.len());
    let summary = about.get(..end).unwrap_or(&about).trim_end_matches('.').to_owned();
    command.about(summary).long_about(whole)
}

/// The command that words name, below `top`.
///
/// # Errors
/// `invalid_argument` with the field `command` when there is none.
pub(super) fn find<'a>(top: &'a Command, words: &[String]) -> Result<&'a Command> {
    words.iter().flat_map(|word| word.split_whitespace()).try_fold(top, |command, word| {
        command.get_subcommands().find(|command| command.get_name() == word).ok_or_else(|| {
            Error::invalid(format!("there is no command `{}`", words.join(" ")))
                .hint("see `poc-memory help --all`")
                .field("command")
        })
    })
}

/// The description of a family of commands.
fn about(family: &str) -> &'static str {
    FAMILIES.iter().find(|(name, _)| *name == family).map_or("", |(_, about)| about)
}

/// Lets an option take any word as its value, including `-0.1` and `!type:daily`, as getopt does, and lets a
/// positional argument be a negative number.
fn take_any_value(argument: Arg) -> Arg {
    let takes_one = argument.get_num_args().is_none_or(|count| count.max_values() == 1);
    match argument.get_action() {
        ArgAction::Set | ArgAction::Append if !argument.is_positional() && takes_one => {
            argument.allow_hyphen_values(true)
        }
        ArgAction::Set | ArgAction::Append => argument.allow_negative_numbers(true),
        _ => argument,
    }
}

/// The command that a parsed command line selected, with its arguments.
pub(super) fn chosen(matches: &ArgMatches) -> Result<(SelectedCommand, &ArgMatches)> {
    let mut name = String::new();
    let mut matches = matches;
    while let Some((verb, inner)) = matches.subcommand() {
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(verb);
        matches = inner;
    }
    all().find(|chosen| chosen.name() == name).map(|chosen| (chosen, matches)).ok_or_else(|| {
        Error::invalid(format!("there is no command `{name}`")).hint("see `poc-memory help --all`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The op and the request that a command line spells.
    fn request(line: &[&str]) -> (&'static str, serde_json::Value) {
        let line = std::iter::once("poc-memory").chain(line.iter().copied());
        let matches = build(&Globals::default()).try_get_matches_from(line).unwrap();
        match chosen(&matches).unwrap() {
            (SelectedCommand::Op(op), matches) => (op.name, (op.parse)(matches).unwrap()),
            (SelectedCommand::Local(local), _) => (local.name, serde_json::Value::Null),
        }
    }

    #[test]
    fn an_option_takes_any_word_as_its_value() {
        let (op, request) = request(&["search", "-p", "!type:daily", "-p", "-x", "btree", "--json"]);
        assert_eq!(op, "search");
        assert_eq!(request["pipeline"], serde_json::json!(["!type:daily", "-x"]));
        assert_eq!(request["text"], "btree");
    }

    #[test]
    fn an_erasure_can_be_confirmed_in_advance() {
        for yes in ["--yes", "-y"] {
            let (op, request) = request(&["delete", "journal", "--erase", yes]);
            assert_eq!((op, request), ("delete", serde_json::json!({ "node": "journal", "erase": true })));
        }
        assert_eq!(request(&["forget", "--before", "30d", "--erase", "--yes"]).1["erase"], true);
    }

    #[test]
    fn the_command_line_is_valid_and_families_are_described() {
        build(&Globals::default()).debug_assert();
        for chosen in all() {
            let (mut command, mut words) = (&build(&Globals::default()), chosen.name().split(' '));
            while let Some(word) = words.next().filter(|_| words.clone().next().is_some()) {
                command = command.find_subcommand(word).unwrap();
                let about = command.get_about();
                assert!(
                    about.is_some_and(|about| !about.to_string().is_empty()),
                    "`{word}` has no description"
                );
            }
        }
    }

    #[test]
    fn commands_that_concern_all_tenants_take_none() {
        for line in ["repair` shows", "doctor quarantine restore repair-1`", "doctor`", "agent history"] {
            assert!(!takes_tenant(line), "{line}");
        }
        for line in ["get x`", "delete x --erase`", "mcp`", "agent explain linker`"] {
            assert!(takes_tenant(line), "{line}");
        }
    }

    #[test]
    fn every_answer_is_an_object() {
        for op in OPS {
            let schema = (op.answer_schema)();
            assert_eq!(schema.get("type").and_then(|kind| kind.as_str()), Some("object"), "{}", op.name);
        }
    }

    #[test]
    fn flags_of_query_and_eval_that_select_another_op_are_rewritten() {
        let check = |line: &str, expected: &str| {
            let rewritten = rewrite_flags(line.split(' ').map(OsString::from).collect());
            assert_eq!(rewritten.join(" ".as_ref()), *expected);
        };
        check("poc-memory query --calibrate", "poc-memory calibrate");
        check("poc-memory --json query --from x --calibrate", "poc-memory --json calibrate --from x");
        check("poc-memory query what is --calibrated", "poc-memory query what is --calibrated");
        check("poc-memory query -- --calibrate", "poc-memory query -- --calibrate");
        check("poc-memory search --calibrate query", "poc-memory search --calibrate query");
        check("poc-memory eval --live", "poc-memory eval-live");
        check("poc-memory --json eval --live own.jsonl", "poc-memory --json eval-live own.jsonl");
        check("poc-memory eval own", "poc-memory eval own");
    }

    #[test]
    fn a_local_command_replaces_the_op_of_its_name() {
        assert!(matches!(
            all().filter(|chosen| chosen.name() == "daemon stop").collect::<Vec<_>>().as_slice(),
            [SelectedCommand::Local(_)]
        ));
    }
}
