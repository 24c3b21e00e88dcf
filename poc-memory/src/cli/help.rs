//! The first page of help: commands by what one wants, and how the program ends.

use super::command::{Chosen, FAMILIES, all};
use crate::ops::Access;
use clap::Command;
use std::fmt::Write as _;

/// A part of the help that is about the program as a whole.
pub(super) struct Section {
    pub(super) heading: &'static str,
    pub(super) lines: &'static str,
}

const EXAMPLES: Section = Section {
    heading: "Examples",
    lines: "  poc-memory demo                                  see it work on notes of its own
  poc-memory import ~/notes                        take in a folder of Markdown
  poc-memory search btree journal                  find notes by their words
  poc-memory search -p 'all | type:episodic | sort:priority | limit:20'
  poc-memory agent run linker --dry-run            what an agent would do",
};

const ENVIRONMENT: Section = Section {
    heading: "Environment",
    lines: "  POC_MEMORY_HOME             one folder for everything, instead of those of XDG
  POC_MEMORY__SECTION__KEY    the setting `key` under `[section]` of config.toml
  NO_COLOR                    no colours
  RUST_LOG                    which messages to show, instead of -q and -v",
};

/// How the process ends.
pub(super) const EXIT_CODES: Section = Section {
    heading: "Exit codes",
    lines: "   0  done
   1  failed
   2  the command line or a request is wrong
   3  there was nothing to do
   4  rejected, or stopped by a budget
   5  no daemon, or another process holds the store
  78  a configuration or agent file is invalid",
};

/// What stands below the options.
pub(super) const SECTIONS: [Section; 3] = [EXAMPLES, ENVIRONMENT, EXIT_CODES];

/// The same as one text.
pub(super) fn after() -> String {
    let text = |Section { heading, lines }: &Section| format!("{heading}:\n{lines}");
    SECTIONS.iter().map(text).collect::<Vec<_>>().join("\n\n")
}

/// The page, with `command`'s subcommands in groups.
pub(super) fn template(command: &Command) -> String {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut page = String::from("{about}\n\n{usage-heading} {usage}\n\n");
    for (heading, members) in groups() {
        let members: Vec<&Command> =
            members.iter().filter_map(|name| command.find_subcommand(name)).collect();
        if members.is_empty() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(page, "{header}{heading}:{header:#}");
        for member in members {
            let about = member.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "  {literal}{:<10}{literal:#} {}", member.get_name(), first(&about));
        }
        page.push('\n');
    }
    let _ = write!(page, "{header}Global options:{header:#}\n{{options}}{{after-help}}");
    page
}

/// What stands before the details: up to the first colon or full stop.
fn first(about: &str) -> &str {
    let end = [": ", ". ", "\n"].iter().filter_map(|end| about.find(end)).min().unwrap_or(about.len());
    about.get(..end).unwrap_or(about)
}

/// Top-level commands under what one wants to do.
fn groups() -> Vec<(&'static str, Vec<&'static str>)> {
    let pick = |belongs: &dyn Fn(Chosen) -> bool| -> Vec<&'static str> {
        all().filter(|chosen| !chosen.name().contains(' ') && belongs(*chosen)).map(Chosen::name).collect()
    };
    let of_access = |reads: bool| {
        pick(&|chosen| matches!(chosen, Chosen::Op(op) if (op.access == Access::Read) == reads))
    };
    let families = FAMILIES.iter().map(|(name, _)| *name).filter(|name| !name.contains(' ')).collect();
    vec![
        ("Begin", pick(&|chosen| matches!(chosen, Chosen::Local(_)))),
        ("Find and read", of_access(true)),
        ("Write, bring in and take out", of_access(false)),
        ("Agents, settings and the daemon", families),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_below_a_heading_is_indented() {
        for Section { heading, lines } in SECTIONS {
            assert!(lines.lines().all(|line| line.starts_with("  ")), "{heading}:\n{lines}");
        }
    }
}
