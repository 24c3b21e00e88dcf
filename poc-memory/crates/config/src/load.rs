//! Loads the settings: merges the layers and checks the result.

use super::bounds;
use super::defaults::{DEFAULTS, default_table};
use super::endpoint;
use super::error_recovery::{self, MAX_MISTAKES, ReplacedValues};
use super::layer::{deserialize, location_of, merge, put, read, scalar, variable_path, variables};
use super::sections::Config;
use super::toml_document::TomlDocument;
use poc_graph::error::{Error, ErrorLocation, Result};
use std::collections::BTreeMap;
use std::path::Path;
use toml::Table;

/// Settings that may have mistakes.
#[derive(Debug)]
pub struct SettingsWithMistakes {
    /// The settings, with the defaults of values that cannot be decoded. `None` if too many values are wrong.
    pub config: Option<Config>,
    /// The mistakes, as [`Config::layered`] orders them.
    pub mistakes: Vec<Error>,
}

impl SettingsWithMistakes {
    /// The settings, if they have no mistakes.
    ///
    /// # Errors
    /// All mistakes.
    pub fn into_result(self) -> Result<Config> {
        match (self.config, Error::combined(self.mistakes)) {
            (Some(config), None) => Ok(config),
            (_, Some(error)) => Err(error),
            (None, None) => Err(Error::internal("the settings cannot be decoded")),
        }
    }
}

/// Further checks of the values, by a crate that knows more about them. Each error names its setting.
pub type SettingsCheck<'a> = &'a dyn Fn(&Config) -> Vec<Error>;

impl Config {
    /// Loads only the built-in defaults.
    pub fn defaults() -> Result<Config> {
        Config::layered(None, std::iter::empty())
    }

    /// Loads the defaults, then the file if it exists, then the environment.
    pub fn load(file: &Path) -> Result<Config> {
        Config::load_with_mistakes(file, &|_| Vec::new())?.into_result()
    }

    /// Like [`Config::load`], for settings that may have mistakes. `check` can find more of them.
    ///
    /// # Errors
    /// All syntax errors, or the error of reading the file.
    pub fn load_with_mistakes(file: &Path, check: SettingsCheck<'_>) -> Result<SettingsWithMistakes> {
        let text = read(file)?;
        let name = file.display().to_string();
        Config::with_mistakes(text.as_deref().map(|text| (name.as_str(), text)), variables(), check)
    }

    /// Loads the defaults, then the text of a named file, then environment variables.
    ///
    /// # Errors
    /// All mistakes that can be found, ordered by their positions in the file; those of variables come last. Mistakes
    /// that only follow from others are omitted. Syntax errors are reported alone.
    pub fn layered(
        file: Option<(&str, &str)>,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Config> {
        Config::with_mistakes(file, variables, &|_| Vec::new())?.into_result()
    }

    /// Like [`Config::layered`], for settings that may have mistakes. `check` can find more of them.
    ///
    /// # Errors
    /// All syntax errors.
    pub fn with_mistakes(
        file: Option<(&str, &str)>,
        variables: impl Iterator<Item = (String, String)>,
        check: SettingsCheck<'_>,
    ) -> Result<SettingsWithMistakes> {
        let mut layers = Layers::of_defaults()?;
        if let Some((name, text)) = file {
            layers.add_file(name, text)?;
        }
        for (variable, value) in variables {
            layers.add_variable(variable, &value);
        }
        layers.into_settings(file, check)
    }

    /// The node types that this store supports: the built-in ones, then those of `[nodes]`.
    pub fn node_types(&self) -> impl Iterator<Item = &str> {
        poc_graph::NodeType::BUILT_IN.into_iter().chain(self.nodes.types.iter().map(String::as_str))
    }

    /// Adds where a setting comes from to an error about it that was found after loading: its environment variable, or
    /// its position in the settings file. The error stays as it is if it has a file already, or if neither sets it.
    #[must_use]
    pub fn locate(file: &Path, error: Error) -> Error {
        let has_only_field = error.at.as_ref().is_some_and(|at| at.file.is_none() && at.field.is_some());
        if !has_only_field {
            return error;
        }
        let set = variables().filter_map(|(name, _)| Some((variable_path(&name)?.join("."), name)));
        let set: Vec<(String, String)> = set.collect();
        let text = read(file).ok().flatten();
        let name = file.display().to_string();
        located(error, &set, text.as_deref().map(|text| (name.as_str(), text)))
    }

    /// All mistakes in the values. `replaced` are the values that could not be decoded.
    fn mistakes(&self, replaced: &ReplacedValues) -> Vec<Error> {
        let mut errors = bounds::out_of_bounds(self);
        errors.extend(self.models.iter().filter_map(|(name, model)| {
            let provider = model.provider.as_str();
            if self.providers.contains_key(provider)
                || replaced.overlaps(&["providers", provider])
                || replaced.overlaps(&["models", name.as_str(), "provider"])
            {
                return None;
            }
            let message = format!("model `{name}` names the provider `{provider}`, which is not configured");
            Some(
                Error::config(message)
                    .hint(format!("add a section `[providers.{provider}]`"))
                    .field(format!("models.{name}.provider")),
            )
        }));
        let single = [self.embedder.check(), self.nodes.check(), self.consolidate.schedule().map(drop)];
        errors.extend(single.into_iter().filter_map(Result::err));
        errors.extend(endpoint::invalid_addresses(self));
        errors.extend(self.tenant_schema.invalid_keys());
        errors.extend(self.rest.invalid_names());
        // Values that must fit together are compared only in tables without another mistake. If one of them is wrong,
        // the others may be right.
        let mut wrong: Vec<String> = replaced.paths().collect();
        wrong.extend(errors.iter().map(|error| field(error).to_owned()));
        let is_right = |error: &Error| {
            let table = field(error).rsplit_once('.').map_or("", |(table, _)| table);
            wrong.iter().all(|wrong| wrong.strip_prefix(table).is_none_or(|rest| !rest.starts_with('.')))
        };
        let compared = [
            bounds::check_fused_gate(&self.query.fused),
            self.tenant_schema.check_sets(),
            self.edges.check(),
            self.weight.check(),
            self.write.check(),
            self.rest.check_address(),
        ];
        let compared = compared.into_iter().filter_map(Result::err);
        let compared = bounds::wrong_gates(self).into_iter().chain(compared);
        errors.extend(compared.filter(is_right));
        errors
    }
}

/// The settings while layers are merged.
struct Layers {
    merged: Table,
    /// The settings of the layers so far, if one was added to the defaults.
    settings: Option<Config>,
    /// The mistakes in the layers.
    errors: Vec<Error>,
    /// Whether the file has mistakes that could not be replaced by defaults, so that nothing more can be decoded.
    is_undecodable: bool,
    /// The values that could not be decoded and do not take effect.
    replaced: ReplacedValues,
    /// The dotted paths that environment variables set, each with the name of the variable.
    variables: Vec<(String, String)>,
    /// Where each pipeline is defined. Each layer adds its own positions.
    pipelines: BTreeMap<String, ErrorLocation>,
    /// Where the pipeline of `search` is defined.
    search: ErrorLocation,
}

impl Layers {
    fn of_defaults() -> Result<Layers> {
        Ok(Layers {
            merged: default_table()?.clone(),
            settings: None,
            errors: Vec::new(),
            is_undecodable: false,
            replaced: ReplacedValues::default(),
            variables: Vec::new(),
            pipelines: BTreeMap::new(),
            search: ErrorLocation::default(),
        })
    }

    /// Adds the text of a file, of which wrong values do not take effect.
    ///
    /// # Errors
    /// All syntax errors.
    fn add_file(&mut self, name: &str, text: &str) -> Result<()> {
        let document = match TomlDocument::parse(name, text) {
            Ok(document) => document,
            Err(errors) => {
                let without_reason = || Error::config("the settings cannot be read").file(name);
                let errors = errors.into_iter().map(Error::from);
                return Err(Error::combined(errors).unwrap_or_else(without_reason));
            }
        };
        let mut positions = document.key_locations("pipelines");
        self.search = Some(document.key_location(["search", "pipeline"]))
            .filter(|at| at.line.is_some())
            .unwrap_or_default();
        merge(&mut self.merged, document.into_table()?);
        let (config, mistakes) =
            error_recovery::decode(&mut self.merged, default_table()?, &mut self.replaced);
        self.errors.extend(mistakes.into_iter().map(|mistake| mistake.locate(name, text)));
        let Some(config) = config else {
            self.is_undecodable = true;
            return Ok(());
        };
        self.pipelines.extend(config.pipelines.keys().map(|saved| {
            let elsewhere = || ErrorLocation { file: Some(name.to_owned()), ..ErrorLocation::default() };
            let at = positions.remove(saved).unwrap_or_else(elsewhere);
            (saved.clone(), at)
        }));
        self.settings = Some(config);
        Ok(())
    }

    /// Adds an environment variable if it is the name of a setting. A wrong value does not take effect.
    fn add_variable(&mut self, variable: String, value: &str) {
        let Some(path) = variable_path(&variable) else { return };
        if self.is_undecodable {
            return;
        }
        let mut merged = self.merged.clone();
        put(&mut merged, &path, scalar(value));
        match deserialize(merged.clone()) {
            Ok(config) => (self.merged, self.settings) = (merged, Some(config)),
            Err(mistake) => {
                self.errors.push(mistake.in_variable(&variable));
                self.replaced.insert(&path);
                return;
            }
        }
        self.variables.push((path.join("."), variable.clone()));
        let [section, name] = path.as_slice() else { return };
        let at = ErrorLocation { field: Some(variable), ..ErrorLocation::default() };
        match (section.as_str(), name.as_str()) {
            ("pipelines", name) => drop(self.pipelines.insert(name.to_owned(), at)),
            ("search", "pipeline") => self.search = at,
            _ => {}
        }
    }

    /// The settings, with the places where pipelines are defined. `file` has the name and the text of the file.
    ///
    /// # Errors
    /// Fails if the defaults cannot be decoded.
    fn into_settings(
        mut self,
        file: Option<(&str, &str)>,
        check: SettingsCheck<'_>,
    ) -> Result<SettingsWithMistakes> {
        let mut config = match self.settings.take() {
            Some(config) => Some(config),
            None if self.is_undecodable => None,
            None => {
                let decoded = deserialize(std::mem::take(&mut self.merged));
                Some(decoded.map_err(|problem| problem.locate("defaults/config.toml", DEFAULTS))?)
            }
        };
        let all = |config: &Config| {
            let mut mistakes = config.mistakes(&self.replaced);
            mistakes.extend(check(config));
            mistakes
        };
        let found = config.as_ref().map(all).unwrap_or_default();
        let variables = &self.variables;
        let found = found.into_iter().take(MAX_MISTAKES).map(|error| located(error, variables, file));
        self.errors.extend(found);
        self.errors.sort_by_key(position);
        if let Some(config) = &mut config {
            for (name, saved) in &mut config.pipelines {
                saved.at = self.pipelines.remove(name).unwrap_or_default();
            }
            config.search.pipeline.at = self.search;
        }
        Ok(SettingsWithMistakes { config, mistakes: self.errors })
    }
}

/// The setting that an error is about; empty if it names none.
fn field(error: &Error) -> &str {
    error.at.as_ref().and_then(|at| at.field.as_deref()).unwrap_or_default()
}

/// Orders errors by their positions in the file. Those without a position come last, in the order in which they were
/// found.
fn position(error: &Error) -> (bool, Option<u32>, Option<u32>) {
    let line = error.at.as_ref().and_then(|at| at.line);
    (line.is_none(), line, error.at.as_ref().and_then(|at| at.column))
}

/// Names where the setting of an error comes from: the variable that sets it or a table that contains it, or the
/// position in the file. `variables` are dotted paths with the names of the variables.
fn located(error: Error, variables: &[(String, String)], file: Option<(&str, &str)>) -> Error {
    let field = field(&error);
    let sets = |path: &str| {
        field.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let variable = variables.iter().find(|(path, _)| sets(path)).map(|(_, variable)| variable.clone());
    match (variable, file) {
        (Some(variable), _) => error.field(variable),
        (None, Some((name, text))) => in_file(error, name, text),
        (None, None) => error,
    }
}

/// Adds the position of the key in the file, if the key occurs there.
fn in_file(error: Error, name: &str, text: &str) -> Error {
    let field = error.at.as_ref().and_then(|at| at.field.clone()).unwrap_or_default();
    let path: Vec<&str> = field.split('.').collect();
    let at = location_of(name, text, &path);
    if at.line.is_some() { error.at(ErrorLocation { field: Some(field), ..at }) } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<Config> {
        Config::layered(Some(("config.toml", text)), std::iter::empty())
    }

    #[test]
    fn the_defaults_are_complete() {
        Config::defaults().unwrap();
    }

    #[test]
    fn a_file_changes_only_what_it_names() {
        let config = with("[text]\nk1 = 1.2\n").unwrap();
        assert_eq!((config.text.k1, config.text.b), (1.2, 0.4));
    }

    #[test]
    fn a_bare_number_is_seconds_with_and_without_quotes() {
        for text in ["daemon.heartbeat = 5", "daemon.heartbeat = \"5\"", "daemon.heartbeat = \"5s\""] {
            assert_eq!(with(text).unwrap().daemon.heartbeat.to_string(), "5s", "{text}");
        }
    }

    #[test]
    fn the_schedule_of_consolidation_is_checked() {
        let report = |schedule: &str| match with(&format!("[consolidate]\nschedule = \"{schedule}\"\n")) {
            Ok(config) => config.consolidate.schedule().unwrap().to_string(),
            Err(error) => error.line(),
        };
        let all: Vec<String> =
            ["weekly on monday", "on-demand", "dialy", "on-change", "every 1ms"].map(report).into();
        insta::assert_snapshot!(all.join("\n"), @r"
        weekly on monday
        on-demand
        config.toml:2:1: `consolidate.schedule`: `dialy` is not a schedule; write `on-demand`, `hourly`, `daily`, `daily at 03:30`, `daily between 01:00 and 05:00`, `weekly`, `weekly on monday`, `weekly on monday at 03:30`, `monthly`, `monthly on 15`, `monthly on last at 03:30`, `every 6h` or `cron 0 3 * * 1-5`
        config.toml:2:1: `consolidate.schedule`: `on-change` is for agents only; write a schedule such as `daily`, or `on-demand` for never
        config.toml:2:1: `consolidate.schedule`: the period of `every 1ms` is too short; the shortest is `every 1s`
        ");
    }

    #[test]
    fn an_unknown_key_is_reported_with_its_position() {
        let error = with("[text]\nk1 = 1.2\nlangauge = \"german\"\n").unwrap_err();
        let at = error.at.clone().unwrap();
        assert_eq!((at.line, at.column, at.file.as_deref()), (Some(3), Some(1), Some("config.toml")));
        assert!(error.message.contains("langauge"), "{error}");
    }

    #[test]
    fn problems_are_described_in_terms_of_the_file() {
        let files = [
            "text.langauge = \"german\"",
            "txt.k1 = 1",
            "text.k1 = \"high\"",
            "vectors.exact-below = -1",
            "vectors.exact-below = 1.5",
            "vectors.connectivity = -1",
            "daemon.heartbeat = \"soon\"",
            "daemon.heartbeat = 1.5",
            "daemon.heartbeat = -5",
            "history.keep = 5",
            "history.keep = \"1; d\"",
            "daemon.runs-agents = 5",
            "providers.x.kind = \"openia\"",
            "[models.x]\nprovider = \"heuristic\"",
            "text = 5",
            "pipelines.a = 5",
            "nodes.types = \"saga\"",
            "nodes.types = [true]",
        ];
        let report = |error: Error| format!("{error}\n  {}", error.hint.as_deref().unwrap_or_default());
        let all: Vec<String> = files.iter().map(|file| report(with(file).unwrap_err())).collect();
        insta::assert_snapshot!(all.join("\n"), @r#"
        config.toml:1:6: `text.langauge`: unknown key `langauge`
          did you mean `language`?
        config.toml:1:1: `txt`: unknown key `txt`
          did you mean `text`?
        config.toml:1:6: `text.k1`: cannot be the text "high"
          give a number
        config.toml:1:9: `vectors.exact-below`: cannot be the number `-1`
          give a whole number from 0 up
        config.toml:1:9: `vectors.exact-below`: cannot be the number `1.5`
          give a whole number from 0 up
        config.toml:1:9: `vectors.connectivity`: cannot be the number `-1`
          give a whole number from 2 to 512
        config.toml:1:8: `daemon.heartbeat`: `soon` is not a duration
          write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds
        config.toml:1:8: `daemon.heartbeat`: cannot be the number `1.5`
          give a duration such as "24h", "30m" or "45s"; a bare number is seconds
        config.toml:1:8: `daemon.heartbeat`: `-5` is not a duration
          write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds
        config.toml:1:9: `history.keep`: `5` has no unit
          write `5d` for days, `5h` for hours, or `all`
        config.toml:1:9: `history.keep`: `1; d` is not a duration
          write a whole number with a unit, such as `90d` or `24h`, or `all`
        config.toml:1:8: `daemon.runs-agents`: must be `true`, `false` or a list of names, such as ["linker"]
          
        config.toml:1:13: `providers.x.kind`: unknown value `openia`
          did you mean `openai`?
        config.toml:1:9: `models.x`: `id` is missing here
          add a line `id = …`
        config.toml:1:1: `text`: cannot be the number `5`
          give a table: a line `[…]` and keys below it
        config.toml:1:11: `pipelines.a`: cannot be the number `5`
          give text in quotes
        config.toml:1:7: `nodes.types`: cannot be the text "saga"
          give a list, such as ["…"]
        config.toml:1:7: `nodes.types[0]`: cannot be `true`
          give text in quotes
        "#);
        let variables = [("POC_MEMORY__TEXT__K1".to_owned(), "high".to_owned())];
        insta::assert_snapshot!(report(Config::layered(None, variables.into_iter()).unwrap_err()), @r#"
        `POC_MEMORY__TEXT__K1`: cannot be the text "high"
          give a number
        "#);
    }

    #[test]
    fn embedders_and_types_are_checked() {
        let files = [
            "embedder.kind = \"candel\"",
            "embedder.kind = \"foo\"",
            "nodes.types = [\"decision\", \"\"]",
            "nodes.types = [\"two words\"]",
            "nodes.types = [\"a|b\"]",
        ];
        let all: Vec<String> = files.iter().map(|file| with(file).unwrap_err().line()).collect();
        insta::assert_snapshot!(all.join("\n"), @r"
        config.toml:1:10: `embedder.kind`: unknown embedder `candel`; did you mean `candle`?
        config.toml:1:10: `embedder.kind`: unknown embedder `foo`; the embedders are: `static`, `candle`, `http`, `hash`
        config.toml:1:7: `nodes.types`: the name of a type is empty; give a name such as `decision`
        config.toml:1:7: `nodes.types`: `two words` cannot be the name of a type; leave out spaces, quotes and the characters `:`, `,` and `|`
        config.toml:1:7: `nodes.types`: `a|b` cannot be the name of a type; leave out spaces, quotes and the characters `:`, `,` and `|`
        ");
        assert!(with("nodes.types = [\"decision\", \"Größe\"]").is_ok());
    }

    #[test]
    fn an_error_that_is_found_later_gets_the_position_of_its_setting() {
        let folder = poc_graph::testing::folder();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "[store]\nname = \"a\"\nlog = \"b\"\n").unwrap();
        let located =
            |field: &str| Config::locate(&file, Error::config("it is wrong").field(field)).to_string();
        assert_eq!(located("store.log"), format!("{}:3:1: `store.log`: it is wrong", file.display()));
        assert_eq!(located("store.ca-file"), "`store.ca-file`: it is wrong");
        assert_eq!(Config::locate(&file, Error::config("it is wrong")).at, None);
    }

    #[test]
    fn a_daemon_runs_all_agents_none_or_some() {
        let includes =
            |config: Config| ["linker", "facts"].map(|name| config.daemon.runs_agents.includes(name));
        assert_eq!(includes(with("").unwrap()), [true, true]);
        assert_eq!(includes(with("daemon.runs-agents = false\n").unwrap()), [false, false]);
        assert_eq!(includes(with("daemon.runs-agents = [\"facts\"]\n").unwrap()), [false, true]);
        let variable = ("POC_MEMORY__DAEMON__RUNS_AGENTS".to_owned(), "[\"linker\"]".to_owned());
        assert_eq!(includes(Config::layered(None, [variable].into_iter()).unwrap()), [true, false]);
    }

    #[test]
    fn the_environment_overrides_the_file() {
        let variables = [("POC_MEMORY__VECTORS__EXACT_BELOW".to_owned(), "7".to_owned())];
        let config =
            Config::layered(Some(("c", "[vectors]\nexact-below = 9\n")), variables.into_iter()).unwrap();
        assert_eq!(config.vectors.exact_below, 7);
    }
}
