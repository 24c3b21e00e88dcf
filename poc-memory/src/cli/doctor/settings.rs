//! The settings: readable, known, and the saved pipelines among them.

use super::{Finding, State};
use crate::cli::session::Session;
use crate::config::{self, Config};
use crate::query::Names;

const CHECK: &str = "settings";

/// The findings, and the settings when they can be used.
pub(super) fn check(session: &Session) -> (Vec<Finding>, Option<Config>) {
    let file = session.paths.config_file();
    let read = session.config().and_then(|config| Ok((config, config::settings(&file)?)));
    let (config, settings) = match read {
        Ok(read) => read,
        Err(error) => return (vec![Finding::of(CHECK, State::Failed, &error)], None),
    };
    let changed = settings.iter().filter(|setting| setting.origin != config::DEFAULT_ORIGIN).count();
    let name = file.display();
    let found = if file.exists() {
        format!("`{name}` is good; settings that differ from the defaults: {changed}")
    } else {
        format!("there is no `{name}`: the defaults are in force, but for {changed}")
    };
    let mut findings = vec![Finding::new(CHECK, State::Ok, found)];
    let problems = Names::of(&config).problems();
    findings.extend(problems.iter().map(|problem| Finding::of(CHECK, State::Failed, problem)));
    (findings, Some(config))
}
