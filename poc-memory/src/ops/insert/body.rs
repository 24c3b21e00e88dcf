//! The text of a new note on the command line.

use crate::ops::argument;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, FromArgMatches, Id};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::IsTerminal as _;

/// The text of a note: `--body TEXT`, the words after the command, or standard input if it is a pipe and the note would
/// be empty, or an update would change nothing, without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct BodyArgument(pub(super) Option<String>);

impl BodyArgument {
    const OPTION: &str = "body";
    const WORDS: &str = "text";
    /// The arguments with which a new note needs no text.
    const INSTEAD: &[&str] = &["title", "notes"];
    /// The arguments with which an update needs no text, because they change the note.
    const INSTEAD_IN_UPDATE: &[&str] = &[
        "title",
        "notes",
        "clear",
        "keywords",
        "node_type",
        "category",
        "author",
        "source",
        "emotion",
        "expires",
        "weight",
    ];

    /// Whether there is none.
    pub(super) fn is_absent(&self) -> bool {
        self.0.is_none()
    }
}

impl FromArgMatches for BodyArgument {
    fn from_arg_matches(matches: &ArgMatches) -> Result<BodyArgument, clap::Error> {
        if let Some(body) = matches.get_one::<String>(BodyArgument::OPTION) {
            return Ok(BodyArgument(Some(body.clone())));
        }
        let words: Vec<&str> = matches
            .get_many::<String>(BodyArgument::WORDS)
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        if !words.is_empty() {
            return Ok(BodyArgument(Some(words.join(" "))));
        }
        // Otherwise standard input is not read: in a loop of a script, it belongs to the loop.
        let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let given: Vec<&str> = matches.ids().map(Id::as_str).filter(is_given).collect();
        let instead = match given.contains(&"update") {
            true => BodyArgument::INSTEAD_IN_UPDATE,
            false => BodyArgument::INSTEAD,
        };
        let needs_text = !given.iter().any(|id| instead.contains(id));
        if needs_text && !std::io::stdin().is_terminal() {
            let piped = argument::text(argument::STANDARD_STREAM)
                .map_err(|problem| clap::Error::raw(clap::error::ErrorKind::Io, problem))?;
            return Ok(BodyArgument(Some(piped).filter(|text| !text.trim().is_empty())));
        }
        Ok(BodyArgument(None))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = BodyArgument::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for BodyArgument {
    fn augment_args(command: Command) -> Command {
        command
            .arg(
                Arg::new(BodyArgument::WORDS)
                    .value_name("TEXT")
                    .help(
                        "Text, in Markdown. `-`, or a pipe if there is no title either, reads standard input",
                    )
                    .num_args(1..)
                    .conflicts_with(BodyArgument::OPTION)
                    .value_parser(argument::text),
            )
            .arg(
                Arg::new(BodyArgument::OPTION)
                    .long("body")
                    .short('b')
                    .value_name("TEXT")
                    .help("The same as TEXT. `-` reads standard input")
                    .value_parser(argument::text),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        BodyArgument::augment_args(command)
    }
}
