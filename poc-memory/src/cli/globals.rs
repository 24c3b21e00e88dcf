//! The global options.

use crate::ops::Terminal;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::fd::AsFd;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The global options.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Globals {
    pub(super) json: bool,
    pub(super) profile: Option<String>,
    pub(super) color: Color,
    pub(super) quiet: bool,
    pub(super) verbose: u8,
    pub(super) tenant: Vec<String>,
    pub(super) min_seq: Option<u64>,
}

impl Globals {
    /// Adds the options to the top command.
    pub(super) fn augment(command: Command) -> Command {
        let global = |name: &'static str, help: &'static str| {
            Arg::new(name).long(name).help(help).global(true).help_heading("Global options")
        };
        command.args([
            global("json", "Print the answer, or the error, as one JSON object").action(ArgAction::SetTrue),
            global("profile", "Use the memory of this profile, with its own store, socket and daemon")
                .value_name("NAME"),
            global("tenant", "Use only the notes of this tenant; repeat it for each key")
                .value_name("KEY=VALUE")
                .action(ArgAction::Append),
            global(
                "min-seq",
                "Wait until the change with this number is visible; `as_of` of an answer contains the number",
            )
            .value_name("SEQ")
            .value_parser(clap::value_parser!(u64)),
            global("color", "When to use colours: auto, always or never; `NO_COLOR` is respected")
                .value_name("WHEN")
                .value_parser(clap::value_parser!(Color))
                .default_value("auto")
                .hide_possible_values(true)
                .hide_default_value(true),
            global("quiet", "Print only the answer and errors").short('q').action(ArgAction::SetTrue),
            global("verbose", "Log more; repeat it for even more").short('v').action(ArgAction::Count),
        ])
    }

    /// The options of a parsed command line.
    pub(super) fn parsed(matches: &ArgMatches) -> Globals {
        Globals {
            json: matches.get_flag("json"),
            profile: matches.get_one::<String>("profile").cloned(),
            color: matches.get_one::<Color>("color").copied().unwrap_or_default(),
            quiet: matches.get_flag("quiet"),
            verbose: matches.get_count("verbose"),
            tenant: matches.get_many::<String>("tenant").into_iter().flatten().cloned().collect(),
            min_seq: matches.get_one::<u64>("min-seq").copied(),
        }
    }

    /// The options that can be read before a successful parse, which are needed to report a usage error.
    pub(super) fn parse_before_clap(arguments: &[OsString]) -> Globals {
        let words: Vec<&str> =
            arguments.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--").collect();
        let color = |value: &str| Color::from_str(value, false).ok();
        let after = words.iter().skip_while(|word| **word != "--color").nth(1).and_then(|word| color(word));
        let joined = words.iter().find_map(|word| word.strip_prefix("--color=")).and_then(color);
        Globals {
            json: words.contains(&"--json"),
            color: after.or(joined).unwrap_or_default(),
            ..Globals::default()
        }
    }

    /// The option that chooses a profile, as words of a command line.
    pub(super) fn profile_option(&self) -> Vec<String> {
        self.profile.iter().flat_map(|name| ["--profile".to_owned(), name.clone()]).collect()
    }

    /// The options that choose a tenant, as words of a command line.
    pub(super) fn tenant_options(&self) -> Vec<String> {
        self.tenant.iter().flat_map(|pair| ["--tenant".to_owned(), pair.clone()]).collect()
    }

    /// The terminal of `stream`, with the profile and the tenant of this call. If `stream` is no terminal, or if its
    /// width is unknown, lines may have any length.
    pub(super) fn terminal(&self, stream: &impl AsFd) -> Terminal {
        // Asking for the size of anything else fails.
        let size = rustix::termios::tcgetwinsize(stream).ok();
        let columns = size.and_then(|size| columns(size.ws_col, std::env::var("COLUMNS").ok().as_deref()));
        Terminal::new(columns, &self.profile_option(), &self.tenant_options())
    }

    /// Whether to colour output to `stream`.
    pub(super) fn colors(&self, stream: &impl IsTerminal) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let variable = |name| std::env::var_os(name);
                stream.is_terminal()
                    && may_color(variable("NO_COLOR").as_deref(), variable("TERM").as_deref())
            }
        }
    }
}

/// Whether a terminal with these values of `NO_COLOR` and `TERM` gets colours.
fn may_color(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term != Some(OsStr::new("dumb"))
}

/// The columns of a terminal. Some, such as those of `script` and of CI, report 0; the environment variable `COLUMNS` may
/// then have the number.
fn columns(reported: u16, variable: Option<&str>) -> Option<usize> {
    match reported {
        0 => variable?.trim().parse::<usize>().ok().filter(|columns| *columns > 0),
        columns => Some(usize::from(columns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_and_dumb_terminals_turn_colours_off() {
        let check = |no_color: Option<&str>, term: Option<&str>, colors: bool| {
            assert_eq!(may_color(no_color.map(OsStr::new), term.map(OsStr::new)), colors);
        };
        check(None, Some("xterm-256color"), true);
        check(None, None, true);
        check(Some(""), Some("xterm"), true);
        check(Some("1"), Some("xterm"), false);
        check(None, Some("dumb"), false);
    }

    #[test]
    fn options_for_errors_are_read_from_an_invalid_command_line() {
        let parse_before_clap = |line: &str| {
            let globals =
                Globals::parse_before_clap(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
            (globals.json, globals.color)
        };
        assert_eq!(parse_before_clap("poc-memory serch --json"), (true, Color::Auto));
        assert_eq!(parse_before_clap("poc-memory serch --color never"), (false, Color::Never));
        assert_eq!(parse_before_clap("poc-memory serch --color=always -- --json"), (false, Color::Always));
    }

    #[test]
    fn a_terminal_of_unknown_width_is_as_wide_as_the_environment_says() {
        assert_eq!(columns(80, Some("100")), Some(80));
        assert_eq!(columns(0, Some("100")), Some(100));
        for variable in [None, Some("0"), Some("-1"), Some("wide"), Some("")] {
            assert_eq!(columns(0, variable), None, "{variable:?}");
        }
    }
}
