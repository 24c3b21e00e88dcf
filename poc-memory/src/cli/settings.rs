//! `config show`

use super::daemon::{self, RESTART};
use super::local::Local;
use super::profile;
use super::session::Session;
use poc_config::Setting;
use poc_graph::error::{Error, Result};
use serde::Serialize;

/// Show every setting and where its value comes from
///
/// A value comes from the defaults, then from config.toml, then from the environment:
/// `POC_MEMORY__TEXT__K1=1.2` sets `k1` under `[text]`.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// Only settings that differ from the defaults
    #[arg(long)]
    changed: bool,
}

/// What `config show` answers.
#[derive(Debug, Serialize)]
pub(super) struct Settings {
    /// The file that may change them.
    file: String,
    /// By name.
    settings: Vec<Setting>,
    /// What is wrong with the pipelines among them: they cannot be used until it is mended.
    problems: Vec<Error>,
    /// Whether a daemon runs that was started with other settings than these, and goes on with them.
    daemon_differs: bool,
}

impl Local for Show {
    const NAME: &'static str = "config show";
    type Output = Settings;

    fn run(self, session: &Session) -> Result<Settings> {
        profile::must_exist(session)?;
        let file = session.paths.config_file();
        let mut settings = poc_config::settings(&file)?;
        settings.retain(|setting| !self.changed || setting.origin != poc_config::DEFAULT_ORIGIN);
        let config = session.config()?;
        let problems = super::doctor::problems(&config);
        // One that cannot be asked is no matter of the settings.
        let running = daemon::ask(&session.paths, Some(&config)).ok().flatten();
        let daemon_differs = running.is_some_and(|(_, status)| status.settings != config.fingerprint());
        Ok(Settings { file: file.display().to_string(), settings, problems, daemon_differs })
    }

    fn show(shown: &Settings) -> String {
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
            text.push_str(&format!("\nthe daemon that runs was started with other settings: {RESTART}\n"));
        }
        text
    }
}
