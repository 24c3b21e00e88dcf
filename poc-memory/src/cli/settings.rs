//! `config show`

use super::local::Local;
use super::session::Session;
use crate::config::{self, Setting};
use crate::error::{Error, Result};
use crate::query::Names;
use serde::Serialize;

/// Show every setting in force and where its value comes from
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
    /// What is wrong with saved pipelines: they cannot be used until it is mended.
    problems: Vec<Error>,
}

impl Local for Show {
    const NAME: &'static str = "config show";
    type Output = Settings;

    fn run(self, session: &Session) -> Result<Settings> {
        let file = session.paths.config_file();
        let mut settings = config::settings(&file)?;
        settings.retain(|setting| !self.changed || setting.origin != config::DEFAULT_ORIGIN);
        let problems = Names::of(&session.config()?).problems();
        Ok(Settings { file: file.display().to_string(), settings, problems })
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
        text
    }
}
