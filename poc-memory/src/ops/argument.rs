//! Value parsers of command-line arguments.
//!
//! They run in the process of the command line, because the op may run in a daemon with another working
//! directory and standard input.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, Command, FromArgMatches};
use poc_agent::ledger::Status;
use poc_config::{HistoryRetention, SearchConfig, bounds, files};
use poc_graph::error::Error;
use poc_graph::time::{FutureTime, PastTime, Timestamp};
use poc_graph::{Category, EdgeKind, HistoryPoint, MessageId, Trust, VisitOutcome};
use poc_notes::ClearableField;
use poc_notes::weight::WeightChange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;

/// The path that means standard input or standard output.
pub(super) const STANDARD_STREAM: &str = "-";

/// A file or folder, or the text of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Input {
    /// Path on the machine of the store.
    Path(PathBuf),
    /// The text itself.
    Text(String),
}

/// A text that may be given as several words, which are joined by spaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct TextArgument(String);

impl TextArgument {
    const ARGUMENT: &str = "text";

    /// The text as a question; an error if it has no words, or is longer than `[search] max-question-chars`.
    pub(super) fn question(&self, config: &SearchConfig) -> poc_graph::error::Result<&str> {
        if !has_words(&self.0) {
            let problem = if self.0.trim().is_empty() {
                "the text is empty"
            } else {
                "the text has no letter or digit"
            };
            return Err(Error::invalid(problem)
                .hint("give words or a sentence")
                .field(TextArgument::ARGUMENT));
        }
        check_length([self.0.as_str()], TextArgument::ARGUMENT, config)?;
        Ok(&self.0)
    }
}

impl FromArgMatches for TextArgument {
    fn from_arg_matches(matches: &ArgMatches) -> Result<TextArgument, clap::Error> {
        let words: Vec<&str> = matches
            .get_many::<String>(TextArgument::ARGUMENT)
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        Ok(TextArgument(words.join(" ")))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = TextArgument::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for TextArgument {
    fn augment_args(command: Command) -> Command {
        command.arg(
            Arg::new(TextArgument::ARGUMENT)
                .value_name("TEXT")
                .help("Words or a sentence; `-` reads standard input")
                .num_args(1..)
                .required(true)
                .value_parser(text),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        TextArgument::augment_args(command)
    }
}

/// A [`TextArgument`] that may be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct OptionalTextArgument(Option<String>);

impl OptionalTextArgument {
    /// The text, if it was given.
    pub(super) fn as_deref(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Whether it was left out.
    pub(super) fn is_absent(&self) -> bool {
        self.0.is_none()
    }
}

impl FromArgMatches for OptionalTextArgument {
    fn from_arg_matches(matches: &ArgMatches) -> Result<OptionalTextArgument, clap::Error> {
        let TextArgument(text) = TextArgument::from_arg_matches(matches)?;
        let is_given = matches.contains_id(TextArgument::ARGUMENT);
        Ok(OptionalTextArgument(is_given.then_some(text)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = OptionalTextArgument::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for OptionalTextArgument {
    fn augment_args(command: Command) -> Command {
        TextArgument::augment_args(command).mut_arg(TextArgument::ARGUMENT, |text| text.required(false))
    }

    fn augment_args_for_update(command: Command) -> Command {
        OptionalTextArgument::augment_args(command)
    }
}

/// Whether a text has a word. Without one, every note would be equally near to it.
pub(super) fn has_words(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// Returns an error if the texts of a field have more than `[search] max-question-chars` characters together.
pub(super) fn check_length<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    field: &str,
    config: &SearchConfig,
) -> poc_graph::error::Result<()> {
    let max = config.max_question_chars;
    let length: usize = texts.into_iter().map(|text| text.chars().count()).sum();
    if length <= max {
        return Ok(());
    }
    Err(Error::invalid(format!("a question of {length} characters is too long"))
        .hint(format!("give at most {max}: the words that matter"))
        .field(field))
}

/// Values by name: `NAME=VALUE`, repeatable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct ParameterValues(pub(super) BTreeMap<String, String>);

impl ParameterValues {
    const ARGUMENT: &str = "set";

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromArgMatches for ParameterValues {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ParameterValues, clap::Error> {
        let given = matches.get_many::<(String, String)>(ParameterValues::ARGUMENT).into_iter().flatten();
        Ok(ParameterValues(given.cloned().collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = ParameterValues::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for ParameterValues {
    fn augment_args(command: Command) -> Command {
        command.arg(
            Arg::new(ParameterValues::ARGUMENT)
                .long(ParameterValues::ARGUMENT)
                .value_name("NAME=VALUE")
                .help("Value of a pipeline parameter, overriding the file's; repeat it for more")
                .action(clap::ArgAction::Append)
                .value_parser(assignment),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        ParameterValues::augment_args(command)
    }
}

/// Splits `NAME=VALUE` at the first `=`.
fn assignment(word: &str) -> Result<(String, String), String> {
    match word.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

/// A text; `-` reads standard input.
pub(super) fn text(word: &str) -> Result<String, String> {
    if word != STANDARD_STREAM {
        return Ok(word.to_owned());
    }
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| format!("standard input cannot be read: {}", files::with_readable_message(error)))?;
    Ok(text)
}

/// A finite number: Rust's parser would also accept `nan` and `inf`.
pub(super) fn number<T: std::str::FromStr + Into<f64> + Copy>(word: &str) -> Result<T, String> {
    match word.parse::<T>() {
        Ok(number) if number.into().is_finite() => Ok(number),
        _ => Err(format!("`{word}` is not a number; write for example `0.8`")),
    }
}

/// A path; `-` reads standard input.
pub(super) fn input(word: &str) -> Result<Input, String> {
    if word == STANDARD_STREAM { text(word).map(Input::Text) } else { path(word).map(Input::Path) }
}

/// A path, made absolute in the working directory of the command.
pub(crate) fn path(word: &str) -> Result<PathBuf, String> {
    std::path::absolute(word).map_err(|error| format!("not a path: {error}"))
}

/// A path, or `-` for standard output.
pub(super) fn path_or_stdout(word: &str) -> Result<PathBuf, String> {
    if word == STANDARD_STREAM { Ok(PathBuf::from(word)) } else { path(word) }
}

/// How much history is kept.
pub(super) fn history_retention(word: &str) -> Result<HistoryRetention, String> {
    HistoryRetention::parse(word).map_err(message_with_hint)
}

/// A time.
pub(super) fn time(word: &str) -> Result<Timestamp, String> {
    Timestamp::parse(word).map_err(message_with_hint)
}

/// A time, absolute or relative.
pub(super) fn past_time(word: &str) -> Result<PastTime, String> {
    PastTime::parse(word).map_err(message_with_hint)
}

/// A past state, by the number of a change or a time.
pub(crate) fn history_point(word: &str) -> Result<HistoryPoint, String> {
    HistoryPoint::parse(word).map_err(message_with_hint)
}

/// A time in the future, absolute or relative.
pub(super) fn deadline(word: &str) -> Result<FutureTime, String> {
    FutureTime::parse(word).map_err(message_with_hint)
}

/// The count of the request, or else of the setting `(key, value)`. The bounds of the setting apply to both.
///
/// # Errors
/// `invalid_argument` at `field` when the count is out of bounds.
pub(super) fn count(
    field: &str,
    given: Option<usize>,
    setting: (&str, usize),
) -> poc_graph::error::Result<usize> {
    let (key, configured) = setting;
    let (count, bounds) = (given.unwrap_or(configured), bounds::of(key));
    if !bounds.contains(&count) {
        return Err(Error::invalid(format!("{count} is out of range"))
            .hint(format!("give a number from {} to {}", bounds.start(), bounds.end()))
            .field(field));
    }
    Ok(count)
}

/// An object in JSON.
pub(super) fn object(word: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(word).map_err(|error| {
        format!("`{word}` is not an object in JSON ({error}); write for example `{{\"session\": \"42\"}}`")
    })
}

/// The id of a message.
pub(super) fn message(word: &str) -> Result<MessageId, String> {
    word.parse().map_err(message_with_hint)
}

/// A change of a weight.
pub(super) fn change(word: &str) -> Result<WeightChange, String> {
    word.parse().map_err(message_with_hint)
}

/// A category by name.
pub(super) fn category() -> impl TypedValueParser<Value = Category> {
    PossibleValuesParser::new(Category::ALL.iter().map(|category| category.name()))
        .try_map(|name| Category::parse(&name).ok_or("unknown category"))
}

/// A field that an update can remove, by name.
pub(super) fn clearable_field() -> impl TypedValueParser<Value = ClearableField> {
    let fields = ClearableField::ALL;
    PossibleValuesParser::new(fields.map(ClearableField::name))
        .try_map(move |name| fields.into_iter().find(|field| field.name() == name).ok_or("unknown field"))
}

/// A trust level by name.
pub(super) fn trust() -> impl TypedValueParser<Value = Trust> {
    PossibleValuesParser::new(Trust::ALL.iter().map(|trust| trust.name()))
        .try_map(|name| Trust::parse(&name).ok_or("unknown trust"))
}

/// A status of runs by name.
pub(super) fn status() -> impl TypedValueParser<Value = Status> {
    PossibleValuesParser::new(Status::ALL.iter().map(|status| status.name()))
        .try_map(|name| Status::parse(&name).ok_or("unknown status"))
}

/// A profile's name, or a folder, made absolute in the working directory of the command.
pub(super) fn remote(word: &str) -> Result<String, String> {
    if word.contains('/') || word == "." || word == ".." {
        let path = path(word)?;
        return path.into_os_string().into_string().map_err(|_| "the path is not UTF-8 text".to_owned());
    }
    Ok(word.to_owned())
}

/// An outcome of a visit by name.
pub(super) fn outcome() -> impl TypedValueParser<Value = VisitOutcome> {
    PossibleValuesParser::new(VisitOutcome::ALL.iter().map(|outcome| outcome.name()))
        .try_map(|name| VisitOutcome::parse(&name).ok_or("unknown outcome"))
}

/// A kind of edge that people make, by name.
pub(super) fn kind() -> impl TypedValueParser<Value = EdgeKind> {
    PossibleValuesParser::new(poc_notes::link::KINDS.map(EdgeKind::name))
        .try_map(|name| EdgeKind::parse(&name).ok_or("unknown kind"))
}

fn message_with_hint(error: Error) -> String {
    match error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message,
    }
}
