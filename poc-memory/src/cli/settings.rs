//! `config show`

use super::command_context::CommandContext;
use super::daemon_client::{self, RESTART};
use super::local::LocalCommand;
use poc_config::Setting;
use poc_graph::error::{Error, Result};
use serde::Serialize;

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
    /// Whether a daemon is running that was started with other settings.
    daemon_differs: bool,
}

impl LocalCommand for ConfigShow {
    const NAME: &'static str = "config show";
    type Output = ConfigShowOutput;

    fn run(self, context: &CommandContext) -> Result<ConfigShowOutput> {
        context.paths.must_exist()?;
        let file = context.paths.config_file();
        let mut settings = poc_config::settings(&file)?;
        settings.retain(|setting| !self.changed || setting.origin != poc_config::DEFAULT_ORIGIN);
        let config = context.config()?;
        let problems = super::doctor::problems(&config);
        // The settings are shown even if the daemon cannot be reached.
        let running = daemon_client::connect_with_status(&context.paths, Some(&config)).ok().flatten();
        let daemon_differs = running.is_some_and(|(_, status)| status.settings != config.fingerprint());
        Ok(ConfigShowOutput { file: file.display().to_string(), settings, problems, daemon_differs })
    }

    fn show(shown: &ConfigShowOutput) -> String {
        let mut text: String = shown
            .settings
            .iter()
            .map(|Setting { key, value, origin }| format!("{:<44} # {origin}\n", format!("{key} = {value}")))
            .collect();
        for problem in &shown.problems {
            let hint = problem.hint.as_ref().map_or_else(String::new, |hint| format!("hint: {hint}\n"));
            text.push_str(&format!("\n{problem}\n{hint}"));
        }
        if shown.daemon_differs {
            text.push_str(&format!("\nthe running daemon was started with other settings: {RESTART}\n"));
        }
        text
    }
}
