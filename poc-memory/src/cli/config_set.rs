//! `config set` and `config unset`

use super::command_context::CommandContext;
use super::daemon_client::{self, RESTART};
use super::local::LocalCommand;
use super::pipeline_problems;
use super::settings;
use crate::dispatch;
use crate::ops::Terminal;
use poc_config::files;
use poc_config::paths::create_private;
use poc_config::{Config, SettingsWithMistakes};
use poc_graph::error::{Error, ErrorLocation, Result};
use poc_search::query::Names;
use serde::Serialize;
use std::path::PathBuf;
use toml_edit::{DocumentMut, Item, Table, Value};

/// Change one setting in config.toml
///
/// Comments and the order of the file stay. The value is TOML: a number, `true`, `["a", "b"]` or a text, with
/// or without quotes. A setting that would be invalid is refused, and the file stays as it is. Mistakes in other
/// settings of the file are named and stay.
#[derive(Debug, clap::Args)]
pub(super) struct ConfigSet {
    /// The setting, such as `retrieve.top-k`
    #[arg(value_name = "SETTING")]
    key: String,
    /// Its value
    #[arg(value_name = "VALUE", required_unless_present = "unset", allow_negative_numbers = true)]
    value: Option<String>,
    /// Remove the setting from the file, so that its default applies
    #[arg(long, conflicts_with = "value")]
    unset: bool,
}

/// The answer of `config set`.
#[derive(Debug, Serialize)]
pub(super) struct ConfigSetOutput {
    key: String,
    /// The value that applies now; missing if a key without a default was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<toml::Value>,
    /// Where the value comes from: the file, an environment variable, or the default; missing with the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// The settings file.
    file: PathBuf,
    /// Whether the file changed.
    changed: bool,
    /// Whether a daemon is running.
    daemon_runs: bool,
    /// Whether a daemon is running that must be restarted for this setting, or for others that changed, to take effect;
    /// false if the settings still have mistakes.
    daemon_differs: bool,
    /// Whether the change takes effect only when a daemon starts. A running daemon applies other changes by itself.
    at_start: bool,
    /// The mistakes that the settings still have; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mistakes: Vec<Error>,
    /// Errors in the pipelines among the settings, which cannot be used until they are fixed; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Error>,
}

impl LocalCommand for ConfigSet {
    const NAME: &'static str = "config set";
    const NAMES_COMMANDS: bool = true;
    type Output = ConfigSetOutput;

    fn run(self, context: &CommandContext) -> Result<ConfigSetOutput> {
        context.paths.must_exist()?;
        let file = context.paths.config_file();
        let name = file.display().to_string();
        let before = match poc_config::files::read_text(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::unavailable(format!("`{name}` cannot be read: {error}"))),
        };
        let old = context.config().ok();
        let after = edited(&name, &before, &self.key, self.value.as_deref())?;
        let changed = after != before;
        if changed {
            create_private(file.parent().unwrap_or(&file))?;
            files::write(&file, &after)?;
        }
        let setting = match settings::find(poc_config::settings_with_mistakes(&file)?, &self.key) {
            Err(error) if !changed => return Err(error),
            found => found.ok(),
        };
        let (value, origin) = setting.map(|setting| (setting.value, setting.origin)).unzip();
        let read = dispatch::load_settings_with_mistakes(&file);
        let problems = read.as_ref().map(pipeline_problems::besides_mistakes).unwrap_or_default();
        let mut output = ConfigSetOutput {
            key: self.key,
            value,
            origin,
            file,
            changed,
            daemon_runs: false,
            daemon_differs: false,
            at_start: false,
            mistakes: Vec::new(),
            problems,
        };
        match read.and_then(SettingsWithMistakes::into_result) {
            Ok(config) => {
                let needs_restart = daemon_client::needs_restart(&context.paths, &config);
                output.daemon_runs = needs_restart.is_some();
                output.daemon_differs = needs_restart == Some(true);
                let startup = config.startup_fingerprint();
                output.at_start = old.is_some_and(|old| old.startup_fingerprint() != startup);
            }
            Err(error) => {
                let mistakes = error.each().map(|one| Error { others: Vec::new(), ..one.clone() });
                output.mistakes = mistakes.collect();
            }
        }
        Ok(output)
    }

    fn show(output: &ConfigSetOutput, _: &Terminal) -> String {
        let ConfigSetOutput { key, value, origin, file, changed, .. } = output;
        let mut text = match value {
            Some(value) => format!("{key} = {value}\n"),
            None => format!("removed {key}\n"),
        };
        text.push_str(&match changed {
            true => format!("wrote {}\n", file.display()),
            false => format!("{} needs no change\n", file.display()),
        });
        let other = |origin: &&String| {
            **origin != file.display().to_string() && *origin != poc_config::DEFAULT_ORIGIN
        };
        if let Some(origin) = origin.as_ref().filter(other) {
            text.push_str(&format!("the value comes from {origin}, which overrides the file\n"));
        }
        if *changed && output.daemon_runs && !output.at_start {
            // A process that serves an assistant has the settings with which it started.
            let when =
                if key.starts_with("mcp.") { "in new sessions of assistants" } else { "within seconds" };
            text.push_str(&format!("`{key}` takes effect {when}, without a restart of the daemon\n"));
        }
        if output.daemon_differs {
            let what = match (changed, output.at_start) {
                (true, true) => format!("`{key}`"),
                (true, false) => "settings that were changed before".to_owned(),
                (false, _) => "changed settings".to_owned(),
            };
            text.push_str(&format!("restart the daemon for {what} to take effect: {RESTART}\n"));
        } else if *changed && output.at_start && output.daemon_runs {
            text.push_str("the running daemon needs no restart\n");
        }
        if !output.mistakes.is_empty() {
            text.push_str("the settings cannot be used until these mistakes are repaired:\n");
            output.mistakes.iter().for_each(|mistake| text.push_str(&format!("  {}\n", mistake.line())));
        }
        if !output.problems.is_empty() {
            text.push_str("these pipelines cannot be used until they are repaired:\n");
            output.problems.iter().for_each(|problem| text.push_str(&format!("  {}\n", problem.line())));
        }
        text
    }
}

/// Remove a setting from config.toml, so that its default applies
///
/// The same as `config set SETTING --unset`.
#[derive(Debug, clap::Args)]
pub(super) struct ConfigUnset {
    /// The setting, such as `retrieve.top-k`
    #[arg(value_name = "SETTING")]
    key: String,
}

impl LocalCommand for ConfigUnset {
    const NAME: &'static str = "config unset";
    const NAMES_COMMANDS: bool = true;
    type Output = ConfigSetOutput;

    fn run(self, context: &CommandContext) -> Result<ConfigSetOutput> {
        ConfigSet { key: self.key, value: None, unset: true }.run(context)
    }

    fn show(output: &ConfigSetOutput, terminal: &Terminal) -> String {
        ConfigSet::show(output, terminal)
    }
}

/// The text of the settings with a value set, or removed if there is none. Everything else stays as it was written.
///
/// # Errors
/// `invalid_argument` with the field, if there is no such setting or the value does not fit.
fn edited(name: &str, before: &str, key: &str, value: Option<&str>) -> Result<String> {
    let read = |text: &str| {
        Config::with_mistakes(Some((name, text)), std::iter::empty(), &dispatch::setting_mistakes)
    };
    let old = read(before);
    let document: DocumentMut = before.parse().map_err(|error: toml_edit::TomlError| match &old {
        // The error of the settings has the line and a hint.
        Err(error) => error.clone(),
        Ok(_) => Error::config(format!("`{name}` cannot be read: {}", error.message())),
    })?;
    let mut path: Vec<&str> = key.split('.').collect();
    if value.is_none() && has_unknown(&document, key) {
        path = vec![key];
    } else if path.len() < 2 || path.iter().any(|word| word.is_empty()) {
        return Err(Error::invalid(format!("`{key}` is not a setting"))
            .hint("name the section and the key: `retrieve.top-k`; `poc-memory config show` lists all")
            .field("key"));
    }
    let (old, known) = match old {
        Ok(SettingsWithMistakes { config, mistakes }) => (config, mistakes),
        Err(error) => (None, error.each().cloned().collect()),
    };
    let Some(value) = value else {
        let mut document = document;
        remove(document.as_table_mut(), &path);
        let text = document.to_string();
        let after = checked(read(&text)?, &known, key)?;
        if let Some(before) = old {
            check_removal(&before, &after).map_err(|error| {
                Error::invalid(error.message).hint("change what uses it first").field(key)
            })?;
        }
        return Ok(text);
    };
    let as_text = Value::from(value);
    let literal = value.parse::<Value>().ok();
    // `5` is tried as a number first. If the setting is a text, the error for the text `5` says what is wrong with it.
    let skip_first_error = is_text(&path) && literal.as_ref().is_some_and(|literal| !literal.is_str());
    let mut refused = None;
    for (attempt, value) in literal.into_iter().chain([as_text]).enumerate() {
        let mut document = document.clone();
        put(document.as_table_mut(), &path, value).map_err(|error| error.field("key"))?;
        let text = document.to_string();
        let config = read(&text).and_then(|after| checked(after, &known, key));
        match config.and_then(|config| check_value(&config, &path)) {
            Ok(()) => return Ok(text),
            Err(_) if attempt == 0 && skip_first_error => {}
            Err(error) => {
                refused.get_or_insert(error);
            }
        }
    }
    let error = refused.unwrap_or_else(|| Error::internal("no value was tried"));
    if is_among(&error, &known) && !is_about(&error, key) {
        return Err(error);
    }
    let pipelines = error.at.map(|at| at.pipelines).unwrap_or_default();
    let at = ErrorLocation { pipelines, ..ErrorLocation::default() };
    let invalid = Error::invalid(error.message).at(at).field(key);
    Err(match error.hint {
        Some(hint) => invalid.hint(hint),
        None => invalid.hint("`poc-memory config show` lists the settings with their values"),
    })
}

/// The settings after a change of `key`. Mistakes of other settings that were there before, `known`, do not prevent the
/// change.
///
/// # Errors
/// The first mistake of the changed setting, or the first new one. All mistakes if they are too many to tell whether
/// one of them is new.
fn checked(after: SettingsWithMistakes, known: &[Error], key: &str) -> Result<Config> {
    let SettingsWithMistakes { config, mistakes } = after;
    let Some(config) = config else {
        let without_reason = || Error::internal("the settings cannot be decoded");
        return Err(Error::combined(mistakes).unwrap_or_else(without_reason));
    };
    match mistakes.into_iter().find(|mistake| is_about(mistake, key) || !is_among(mistake, known)) {
        Some(mistake) => Err(mistake),
        None => Ok(config),
    }
}

/// Whether a mistake is one of those that are known. Its position may have changed.
fn is_among(mistake: &Error, known: &[Error]) -> bool {
    known.iter().any(|known| known.message == mistake.message && field(known) == field(mistake))
}

/// Whether a mistake is about a setting, about one of its values, or about a section that contains it.
fn is_about(mistake: &Error, key: &str) -> bool {
    let continues = |long: &str, short: &str| {
        long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    field(mistake).is_some_and(|field| continues(field, key) || continues(key, field))
}

/// The setting that a mistake is about.
fn field(mistake: &Error) -> Option<&str> {
    mistake.at.as_ref()?.field.as_deref()
}

/// Whether the file has a key at its top that is no section, or that has a plain value in place of a section.
fn has_unknown(document: &DocumentMut, key: &str) -> bool {
    let is_section = defaults().get(key).is_some();
    document.get(key).is_some_and(|item| !is_section || !item.is_table_like())
}

fn defaults() -> toml::Value {
    toml::from_str(poc_config::DEFAULTS).unwrap_or(toml::Value::Boolean(false))
}

/// Whether the default of a setting is a text.
fn is_text(path: &[&str]) -> bool {
    let defaults = defaults();
    path.iter().try_fold(&defaults, |value, name| value.get(*name)).is_some_and(toml::Value::is_str)
}

/// Checks a value that loading the settings does not check, so that a mistake in it does not prevent the program from
/// starting: a pipeline, or a file that is read when the memory is opened.
fn check_value(config: &Config, path: &[&str]) -> Result<()> {
    let names = Names::of(config);
    match path {
        ["pipelines", name] => names.check(name).map(drop),
        ["search", "pipeline"] => names.check_plain(&config.search.pipeline),
        ["store", _] => dispatch::shared_log(&config.store).map(drop),
        ["write", "language"] => poc_notes::check_write_language(&config.write.language),
        _ => Ok(()),
    }
}

/// Refuses the removal of a saved pipeline that others use.
///
/// # Errors
/// The first error of a pipeline that was valid before.
fn check_removal(before: &Config, after: &Config) -> Result<()> {
    let errors = |config: &Config| {
        let names = Names::of(config);
        let plain = names.check_plain(&config.search.pipeline).err();
        names.all_problems().chain(plain).collect::<Vec<Error>>()
    };
    let known = errors(before);
    let is_new = |error: &Error| known.iter().all(|known| known.message != error.message);
    errors(after).into_iter().find(is_new).map_or(Ok(()), Err)
}

/// Sets a value and keeps the comments of the one before.
fn put(table: &mut Table, path: &[&str], mut value: Value) -> Result<()> {
    let [first, rest @ ..] = path else { return Ok(()) };
    if rest.is_empty() {
        match table.get_mut(first) {
            // The comment above a setting belongs to its key, and the comment after it to its value.
            Some(Item::Value(old)) => {
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            _ => drop(table.insert(first, Item::Value(value))),
        }
        return Ok(());
    }
    let below = table.entry(first).or_insert_with(|| {
        let mut section = Table::new();
        // An implicit section is written only if it has its own keys: `[query.gates.hash]` needs no
        // `[query]`.
        section.set_implicit(true);
        Item::Table(section)
    });
    match below {
        Item::Table(section) => put(section, rest, value),
        Item::Value(Value::InlineTable(inline)) if rest.len() == 1 => {
            if let [key] = rest {
                inline.insert(*key, value);
            }
            Ok(())
        }
        _ => Err(Error::invalid(format!("`{first}` has no settings below it"))
            .hint("`poc-memory config show` lists the settings")),
    }
}

/// Removes a value, and the sections that become empty.
fn remove(table: &mut Table, path: &[&str]) {
    let [first, rest @ ..] = path else { return };
    if rest.is_empty() {
        table.remove(first);
        return;
    }
    let is_empty = match (table.get_mut(first), rest) {
        (Some(Item::Table(section)), _) => {
            remove(section, rest);
            section.is_empty()
        }
        (Some(Item::Value(Value::InlineTable(inline))), [key]) => {
            inline.remove(key);
            inline.is_empty()
        }
        _ => false,
    };
    if is_empty {
        table.remove(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# Mine.
[text]
# For short notes.
k1 = 1.2 # was 0.9

[retrieve]
top-k = 5
";

    fn set(key: &str, value: &str) -> String {
        edited("config.toml", FILE, key, Some(value)).unwrap_or_else(|error| error.line())
    }

    #[test]
    fn a_value_is_replaced_and_comments_stay() {
        insta::assert_snapshot!(set("text.k1", "1.5"), @r"
        # Mine.
        [text]
        # For short notes.
        k1 = 1.5 # was 0.9

        [retrieve]
        top-k = 5
        ");
    }

    #[test]
    fn a_text_needs_no_quotes_and_a_new_section_comes_last() {
        insta::assert_snapshot!(set("consolidate.schedule", "weekly on monday"), @r#"
        # Mine.
        [text]
        # For short notes.
        k1 = 1.2 # was 0.9

        [retrieve]
        top-k = 5

        [consolidate]
        schedule = "weekly on monday"
        "#);
        assert!(set("pipelines.mine", "type:daily | limit:3").contains("mine = \"type:daily | limit:3\""));
    }

    #[test]
    fn a_setting_that_would_be_invalid_is_refused() {
        let check = |key: &str, value: &str| {
            let error = edited("config.toml", FILE, key, Some(value)).unwrap_err();
            assert_eq!(error.code, poc_graph::error::Code::InvalidArgument, "{error}");
        };
        check("retrieve.top-k", "0");
        check("retrieve.top-k", "many");
        check("retrieve.topk", "5");
        check("nothing.there", "5");
        check("retrieve", "5");
        check("text.k1.more", "5");
        check("search.pipeline", "hybrd");
        check("pipelines.mine", "type:daily | limt:3");
        check("pipelines.Mine", "type:daily");
        check("text.language", "klingon");
        check("embedder.kind", "foo");
        check("store.log", "bogus");
        check("write.language", "klingon");
        check("embedder.url", "localhost:1234");
        check("hub.url", "huggingface.co");
        check("notify.webhook", "ftp://example.org");
        check("providers.openai.base-url", "localhost:1234");
    }

    #[test]
    fn an_error_says_what_would_be_right() {
        let error =
            |key: &str, value: &str| edited("config.toml", FILE, key, Some(value)).unwrap_err().line();
        insta::assert_snapshot!(error("history.keep", "5"), @"`history.keep`: `5` has no unit; write `5d` for days, `5h` for hours, or `all`");
        insta::assert_snapshot!(error("history.keep", "soon"), @"`history.keep`: `soon` is not a duration; write a whole number with a unit, such as `90d` or `24h`, or `all`");
        insta::assert_snapshot!(error("daemon.heartbeat", "0"), @"`daemon.heartbeat`: cannot be 0s; give 1ms or more; 1s is usual");
        insta::assert_snapshot!(error("backup.keep", "-1"), @"`backup.keep`: cannot be the number `-1`; give a whole number from 1 to 10000");
        insta::assert_snapshot!(error("backup.keep", "0"), @"`backup.keep`: cannot be 0; give 1 to 10000; 7 is usual");
        let schedule = error("consolidate.schedule", "dayly");
        assert!(schedule.contains("`dayly` is not a schedule; write `on-demand`, `hourly`"), "{schedule}");
        assert!(set("history.keep", "5d").contains("keep = \"5d\""));
    }

    #[test]
    fn the_address_of_a_server_is_checked() {
        let error =
            |value: &str| edited("config.toml", FILE, "notify.webhook", Some(value)).unwrap_err().line();
        insta::assert_snapshot!(error("example.org/hook"), @"`notify.webhook`: the value is not an address; give one that begins with `http://` or `https://`, such as `https://example.org/path`");
        insta::assert_snapshot!(error("https://me:secret@example.org"), @"`notify.webhook`: the address contains a user or a password; leave them out, because messages show the address");
        assert!(
            set("notify.webhook", "https://example.org/hook")
                .contains("webhook = \"https://example.org/hook\"")
        );
        assert!(set("notify.webhook", "").contains("webhook = \"\""));
        assert!(set("hub.url", "").contains("url = \"\""));
        assert!(set("providers.openai.base-url", "http://127.0.0.1:1/v1").contains("[providers.openai]"));
    }

    #[test]
    fn a_pipeline_that_others_use_is_not_removed() {
        let file = "[pipelines]\nmine = \"type:daily\"\n[search]\npipeline = \"hybrid | @mine\"\n";
        let error = edited("config.toml", file, "pipelines.mine", None).unwrap_err();
        assert!(error.message.contains("there is no saved pipeline `@mine`"), "{error}");
        let free = file.replace("| @mine", "| limit:3");
        assert!(!edited("config.toml", &free, "pipelines.mine", None).unwrap().contains("mine"));
    }

    #[test]
    fn a_change_that_repairs_an_invalid_file_is_made() {
        let wrong = FILE.replace("top-k = 5", "top-k = 0");
        let change = |key: &str, value: Option<&str>| edited("config.toml", &wrong, key, value);
        assert!(change("retrieve.top-k", Some("7")).unwrap().contains("top-k = 7"));
        assert!(!change("retrieve.top-k", None).unwrap().contains("top-k"));
    }

    #[test]
    fn a_change_may_leave_mistakes_in_other_settings() {
        let wrong = FILE.replace("top-k = 5", "top-k = 0").replace("k1 = 1.2", "k1 = -1.0");
        let wrong = format!("[retreive]\nlimit = 5\n{wrong}");
        let change = |key: &str, value: Option<&str>| edited("config.toml", &wrong, key, value);
        assert!(change("text.k1", Some("1.5")).unwrap().contains("k1 = 1.5 # was 0.9"));
        assert!(!change("text.k1", None).unwrap().contains("k1"));
        assert!(!change("retreive.limit", None).unwrap().contains("retreive"));
        assert!(change("list.limit", Some("3")).unwrap().contains("[list]\nlimit = 3"));
        // No change may add a mistake, or keep that of its own setting.
        for (key, value) in
            [("text.k1", "-2"), ("text.k1", "-1.0"), ("list.limit", "0"), ("retreive.more", "5")]
        {
            let error = change(key, Some(value)).unwrap_err();
            assert_eq!(error.code, poc_graph::error::Code::InvalidArgument, "{error}");
            assert_eq!(field(&error), Some(key), "{error}");
        }
        // What loading the settings does not check is checked, too.
        assert!(change("search.pipeline", Some("hybrd")).is_err());
        assert!(change("search.pipeline", Some("hybrid | limit:3")).is_ok());
    }

    #[test]
    fn a_change_of_a_file_with_too_many_mistakes_is_refused_for_all_of_them() {
        let unknown = |number| format!("a{number} = 1\n");
        let many: String = (0..200).map(unknown).collect();
        let error = edited("config.toml", &many, "text.k1", Some("1.5")).unwrap_err();
        assert_eq!(error.code, poc_graph::error::Code::InvalidConfig, "{error}");
        assert!(error.each().count() >= 100);
    }

    #[test]
    fn an_unknown_key_of_the_file_is_removed() {
        let unset = |more: &str, key: &str| {
            let file = format!("{more}{FILE}");
            edited("config.toml", &file, key, None).map_err(|error| error.line())
        };
        let without = Ok(FILE.to_owned());
        assert_eq!(unset("x = 5\n", "x"), without);
        assert_eq!(unset("x.y = 5\n", "x"), without);
        assert_eq!(unset("\"x.y\" = 5\n", "x.y"), without);
        assert_eq!(unset("x = { y = 5 }\n", "x.y"), without);
        assert_eq!(unset("list = 5\n", "list"), without);
        // A whole section with settings stays.
        insta::assert_snapshot!(unset("", "text").unwrap_err(), @"`key`: `text` is not a setting; name the section and the key: `retrieve.top-k`; `poc-memory config show` lists all");
        assert!(unset("", "x").is_err());
        let error = edited("config.toml", "x = 5\n", "x", Some("6")).unwrap_err();
        assert_eq!(error.code, poc_graph::error::Code::InvalidArgument, "{error}");
    }

    #[test]
    fn an_unset_setting_is_removed_with_its_empty_section() {
        let text = edited("config.toml", FILE, "retrieve.top-k", None).unwrap();
        assert!(!text.contains("retrieve") && text.contains("k1 = 1.2"), "{text}");
        assert_eq!(edited("config.toml", FILE, "view.limit", None).unwrap(), FILE);
    }
}
