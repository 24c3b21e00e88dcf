//! `config show` and `config get`

use super::command_context::CommandContext;
use super::daemon_client::{self, RESTART};
use super::local::LocalCommand;
use super::pipeline_problems;
use crate::ops::Terminal;
use poc_config::{Config, Setting};
use poc_graph::error::{Error, Result};
use poc_graph::similar;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

/// Show every setting and where its value comes from
///
/// A value comes from the defaults, then from config.toml, then from the environment:
/// `POC_MEMORY__TEXT__K1=1.2` sets `k1` under `[text]`.
#[derive(Debug, clap::Args)]
pub(super) struct ConfigShow {
    /// Only settings that differ from the defaults
    #[arg(long)]
    changed: bool,
}

/// The answer of `config show`.
#[derive(Debug, Serialize)]
pub(super) struct ConfigShowOutput {
    /// The settings file.
    file: String,
    /// The settings, sorted by name.
    settings: Vec<Setting>,
    /// Errors in the pipelines among the settings, which cannot be used until they are fixed.
    problems: Vec<Error>,
    /// Whether a daemon is running that must be restarted for changed settings to take effect.
    daemon_differs: bool,
}

impl LocalCommand for ConfigShow {
    const NAME: &'static str = "config show";
    const NAMES_COMMANDS: bool = true;
    type Output = ConfigShowOutput;

    fn run(self, context: &CommandContext) -> Result<ConfigShowOutput> {
        context.paths.must_exist()?;
        let file = context.paths.config_file();
        // Finds more mistakes than `poc_config::settings`.
        let config = context.config()?;
        let mut settings = poc_config::settings(&file)?;
        settings.retain(|setting| !self.changed || setting.origin != poc_config::DEFAULT_ORIGIN);
        let problems = pipeline_problems::in_settings(&config);
        let daemon_differs = daemon_client::needs_restart(&context.paths, &config) == Some(true);
        Ok(ConfigShowOutput { file: file.display().to_string(), settings, problems, daemon_differs })
    }

    fn show(shown: &ConfigShowOutput, _: &Terminal) -> String {
        let mut text: String = shown.settings.iter().map(setting_line).collect();
        for problem in &shown.problems {
            let hint = problem.hint.as_ref().map_or_else(String::new, |hint| format!("hint: {hint}\n"));
            text.push_str(&format!("\n{problem}\n{hint}"));
        }
        if shown.daemon_differs {
            text.push_str(&format!("\nrestart the daemon for changed settings to take effect: {RESTART}\n"));
        }
        text
    }
}

/// The width of the column of settings.
const SETTING_WIDTH: usize = 44;

fn setting_line(Setting { key, value, origin }: &Setting) -> String {
    let setting = format!("{key} = {value}");
    // `format` counts characters, some of which take two columns.
    let padding = " ".repeat(SETTING_WIDTH.saturating_sub(setting.width()));
    format!("{setting}{padding} # {origin}\n")
}

/// Show one setting and where its value comes from
#[derive(Debug, clap::Args)]
pub(super) struct ConfigGet {
    /// The setting, such as `retrieve.top-k`
    #[arg(value_name = "SETTING")]
    key: String,
}

impl LocalCommand for ConfigGet {
    const NAME: &'static str = "config get";
    type Output = Setting;

    fn run(self, context: &CommandContext) -> Result<Setting> {
        context.paths.must_exist()?;
        // Finds more mistakes than `poc_config::settings`.
        context.config()?;
        find(poc_config::settings(&context.paths.config_file())?, &self.key)
    }

    fn show(setting: &Setting, _: &Terminal) -> String {
        setting_line(setting)
    }
}

/// The setting with a key.
///
/// # Errors
/// `invalid_argument` if the key is a section or no setting has this name, `not_found` if a setting without a default is
/// not set; with similar keys or with a key of the section as a hint.
pub(super) fn find(mut settings: Vec<Setting>, key: &str) -> Result<Setting> {
    if let Some(index) = settings.iter().position(|setting| setting.key == key) {
        return Ok(settings.swap_remove(index));
    }
    let keys = || settings.iter().map(|setting| setting.key.as_str());
    let section = format!("{}.", key.trim_end_matches('.'));
    if let Some(first) = keys().find(|own| own.starts_with(&section)) {
        return Err(Error::invalid(format!("`{key}` is a section"))
            .hint(format!("name a setting of this section, such as `{first}`"))
            .field("key"));
    }
    let hint = match similar::closest(key, keys()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`poc-memory config show` lists all settings".to_owned(),
    };
    let error = match is_unknown(key) {
        true => Error::invalid(format!("`{key}` is not a setting")),
        false => Error::not_found(format!("`{key}` is not set")),
    };
    Err(error.hint(hint).field("key"))
}

/// Whether no setting can have a key. Some settings without a default have names that the user chooses.
fn is_unknown(key: &str) -> bool {
    let text = format!("{key} = 0");
    let refused = Config::layered(Some(("config.toml", &text)), std::iter::empty()).err();
    refused.is_some_and(|error| error.message.starts_with("unknown key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_is_found_and_other_names_get_a_hint() {
        let folder = poc_graph::testing::folder();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "[retrieve]\ntop-k = 5\n[transcripts]\nfolders = [\"~/日本\"]\n").unwrap();
        let show = |key: &str| match find(poc_config::settings(&file).unwrap(), key) {
            Ok(setting) => ConfigGet::show(&setting, &Terminal::default()),
            Err(error) => error.line(),
        };
        assert_eq!(
            show("retrieve.top-k").trim_end(),
            format!("{:<44} # {}", "retrieve.top-k = 5", file.display())
        );
        let wide = show("transcripts.folders");
        assert_eq!(wide.split_once(" # ").unwrap().0.width(), SETTING_WIDTH, "{wide}");
        assert_eq!(show("text.k1").trim_end(), format!("{:<44} # default", "text.k1 = 0.9"));
        insta::assert_snapshot!(show("retrieve.topk"), @"`key`: `retrieve.topk` is not a setting; did you mean `retrieve.top-k`?");
        insta::assert_snapshot!(show("backup"), @"`key`: `backup` is a section; name a setting of this section, such as `backup.keep`");
        insta::assert_snapshot!(show("xyz"), @"`key`: `xyz` is not a setting; `poc-memory config show` lists all settings");
        assert!(show("pipelines.mine").starts_with("`key`: `pipelines.mine` is not set; "));
    }
}
