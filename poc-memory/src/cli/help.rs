//! Help on the whole program: the short page of `--help`, the list of all commands, and the command `help`.

use super::command::{self, SelectedCommand, all};
use super::command_context::CommandContext;
use super::globals::Globals;
use super::local::LocalCommand;
use crate::ops::Terminal;
use clap::Command;
use poc_graph::error::Result;
use serde::Serialize;
use std::fmt::Write as _;

/// Maximum width of help in columns.
pub(super) const COLUMNS: usize = 80;

/// A section of the help that is about the program as a whole.
pub(super) struct HelpSection {
    pub(super) heading: &'static str,
    pub(super) lines: &'static str,
}

const EXAMPLES: HelpSection = HelpSection {
    heading: "Examples",
    lines: "  poc-memory demo                         try it on sample notes
  poc-memory import ~/notes               import a folder of Markdown
  poc-memory search btree journal         find notes by meaning and by words
  poc-memory search -p 'all | type:episodic | sort:priority | limit:20'
  poc-memory agent run linker --dry-run   show what an agent would do",
};

/// The variables of the environment.
pub(super) const ENVIRONMENT: HelpSection = HelpSection {
    heading: "Environment",
    lines: "  POC_MEMORY_HOME            one folder for everything, not the XDG folders
  POC_MEMORY__SECTION__KEY   overrides `key` under `[section]` of config.toml
  NO_COLOR                   turns colours off
  RUST_LOG                   filters log messages, instead of -q and -v",
};

/// The exit codes of every command.
pub(super) const EXIT_CODES: HelpSection = HelpSection {
    heading: "Exit codes",
    lines: "   0  success
   1  failure
   2  invalid command line or request
   3  nothing to do
   4  rejected, or stopped by a budget
   5  no daemon, a store that another process holds, or a file that fails
  78  a configuration or agent file is invalid",
};

/// The sections below the options.
pub(super) const SECTIONS: [HelpSection; 3] = [EXAMPLES, ENVIRONMENT, EXIT_CODES];

/// [`SECTIONS`] as one text.
pub(super) fn after() -> String {
    let text = |HelpSection { heading, lines }: &HelpSection| format!("{heading}:\n{lines}");
    SECTIONS.iter().map(text).collect::<Vec<_>>().join("\n\n")
}

/// Commands with one purpose, by their first word.
struct Group {
    heading: &'static str,
    /// The commands of the short page.
    everyday: &'static [&'static str],
    /// The commands that only the list of all commands has.
    others: &'static [&'static str],
}

const GROUPS: &[Group] = &[
    Group {
        heading: "Get started",
        everyday: &["demo", "import", "setup"],
        others: &["init", "mcp", "plugin", "hook", "completions", "man", "help"],
    },
    Group {
        heading: "Find and read",
        everyday: &["search", "get", "history", "page"],
        others: &[
            "list",
            "tags",
            "backlinks",
            "duplicates",
            "query",
            "retrieve",
            "recall",
            "explore",
            "classify",
            "changes",
            "night",
            "view",
            "pipeline",
        ],
    },
    Group {
        heading: "Write and change",
        everyday: &["insert", "link", "undo"],
        others: &[
            "write",
            "weight",
            "reinforce",
            "demote",
            "mark",
            "rename",
            "supersede",
            "visit",
            "forget",
            "delete",
            "export",
            "vault",
        ],
    },
    Group {
        heading: "Agents, profiles and settings",
        everyday: &["agent", "profile"],
        others: &["daemon", "config"],
    },
    Group {
        heading: "Maintain and measure",
        everyday: &[],
        others: &[
            "doctor",
            "stats",
            "verify",
            "repair",
            "backup",
            "restore",
            "compact",
            "consolidate",
            "embed",
            "store",
            "calibrate",
            "eval",
            "eval-live",
        ],
    },
];

/// The template of the short page: the everyday commands in groups, and where the others are.
pub(super) fn template(top: &Command) -> String {
    let header = *top.get_styles().get_header();
    let mut page = String::from("{about}\n\n{usage-heading} {usage}\n\n");
    for Group { heading, everyday, .. } in GROUPS.iter().filter(|group| !group.everyday.is_empty()) {
        let rows = everyday.iter().map(|name| ((*name).to_owned(), about(top, name)));
        // Writing to a string cannot fail.
        let _ = write!(page, "{header}{heading}:{header:#}\n{}\n", aligned(rows, 10));
    }
    let _ = write!(
        page,
        "All commands:       poc-memory help --all\n\
         Help for a command: poc-memory COMMAND --help\n\n\
         {header}Global options:{header:#}\n{{options}}{{after-help}}"
    );
    page
}

/// Every command, in the same groups.
fn list(top: &Command) -> String {
    let mut text = String::from("Help for a command: poc-memory COMMAND --help\n");
    for Group { heading, everyday, others } in GROUPS {
        let names = everyday.iter().chain(*others).flat_map(|word| {
            all().map(SelectedCommand::name).filter(move |name| name.split(' ').next() == Some(word))
        });
        let rows = names.map(|name| (name.to_owned(), about(top, name)));
        let _ = write!(text, "\n{heading}:\n{}", aligned(rows, 22));
    }
    text
}

/// What a command does, in one sentence without its full stop.
fn about(top: &Command, name: &str) -> String {
    let command = name.split(' ').try_fold(top, |command, word| command.find_subcommand(word));
    command.and_then(Command::get_about).map(ToString::to_string).unwrap_or_default()
}

/// Rows of two columns, the second wrapped at [`COLUMNS`].
fn aligned(rows: impl Iterator<Item = (String, String)>, width: usize) -> String {
    let terminal = Terminal::new(Some(COLUMNS), &[], &[]);
    let mut text = String::new();
    for (name, about) in rows {
        let about = terminal.wrapped(&about, width + 3);
        // Writing to a string cannot fail. A name that fills its column has a line of its own.
        let _ = match name.chars().count() > width {
            true => write!(text, "  {name}\n{about}"),
            false => write!(text, "  {name:<width$} {}", about.trim_start_matches(' ')),
        };
    }
    text
}

/// Show the everyday commands, all commands, or the help of one command
#[derive(Debug, clap::Args)]
pub(super) struct Help {
    /// The command to explain, such as `search` or `agent run`
    #[arg(value_name = "COMMAND", conflicts_with = "all")]
    command: Vec<String>,
    /// List all commands
    #[arg(long)]
    all: bool,
}

/// The answer of `help`.
#[derive(Debug, Serialize)]
pub(super) struct HelpOutput {
    text: String,
}

impl LocalCommand for Help {
    const NAME: &'static str = "help";
    const FOR_AGENTS: bool = true;
    type Output = HelpOutput;

    fn run(self, _: &CommandContext) -> Result<HelpOutput> {
        let mut top = command::build(&Globals::default());
        top.build();
        let text = match self.all {
            true => list(&top),
            false => command::find(&top, &self.command)?.clone().render_long_help().to_string(),
        };
        Ok(HelpOutput { text })
    }

    fn show(output: &HelpOutput, _: &Terminal) -> String {
        output.text.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_fits(name: &str, text: &str) {
        for line in text.lines() {
            assert!(line.chars().count() <= COLUMNS, "`{name}` has a line of more than {COLUMNS}: {line}");
        }
    }

    #[test]
    fn every_line_below_a_heading_is_indented() {
        for HelpSection { heading, lines } in SECTIONS {
            assert!(lines.lines().all(|line| line.starts_with("  ")), "{heading}:\n{lines}");
        }
    }

    #[test]
    fn every_command_is_in_one_group() {
        for command in all() {
            let word = command.name().split(' ').next().unwrap();
            let groups = GROUPS.iter().flat_map(|group| group.everyday.iter().chain(group.others));
            assert_eq!(groups.filter(|known| **known == word).count(), 1, "`{word}`");
        }
    }

    #[test]
    fn the_short_page_has_a_dozen_commands_and_names_the_list_of_all() {
        let page = command::build(&Globals::default()).render_help().to_string();
        assert!(GROUPS.iter().map(|group| group.everyday.len()).sum::<usize>() <= 12);
        assert!(page.contains("poc-memory help --all"), "{page}");
        for name in GROUPS.iter().flat_map(|group| group.everyday) {
            assert!(page.contains(&format!("\n  {name} ")), "`{name}` is missing: {page}");
        }
        assert!(!page.contains("\n  consolidate "), "{page}");
    }

    #[test]
    fn the_list_has_every_command() {
        let mut top = command::build(&Globals::default());
        top.build();
        let text = list(&top);
        for command in all() {
            let is_listed = text.lines().any(|line| {
                line.strip_prefix("  ")
                    .and_then(|line| line.strip_prefix(command.name()))
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            });
            assert!(is_listed, "`{}`: {text}", command.name());
        }
        assert_fits("help --all", &text);
    }

    #[test]
    fn all_help_fits_the_columns() {
        let mut top = command::build(&Globals::default());
        top.build();
        let mut open = vec![&top];
        while let Some(command) = open.pop() {
            for text in [command.clone().render_help(), command.clone().render_long_help()] {
                assert_fits(command.get_name(), &text.to_string());
            }
            open.extend(command.get_subcommands());
        }
    }
}
