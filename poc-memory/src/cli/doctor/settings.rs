//! Checks the settings, including their pipelines.

use crate::cli::command_context::CommandContext;
use crate::cli::pipeline_problems;
use crate::dispatch;
use crate::ops::checks::{CheckResult, CheckState};
use poc_config::{Config, SettingsWithMistakes, schedule};
use poc_graph::error::Error;

pub(super) const CHECK: &str = "settings";

/// The diagnostics, and the settings if they can be used.
pub(super) fn check(context: &CommandContext) -> (Vec<CheckResult>, Option<Config>) {
    let file = context.paths.config_file();
    let read = dispatch::load_settings_with_mistakes(&file);
    let problems = read.as_ref().map(pipeline_problems::besides_mistakes).unwrap_or_default();
    let read = read.and_then(SettingsWithMistakes::into_result);
    let read = read.and_then(|config| Ok((config, poc_config::settings(&file)?)));
    let failed = |error: &Error| CheckResult::of(CHECK, CheckState::Failed, error);
    let (config, settings) = match &read {
        Ok((config, settings)) => (config, settings),
        Err(error) => return (error.each().chain(&problems).map(failed).collect(), None),
    };
    if !problems.is_empty() {
        return (problems.iter().map(failed).collect(), Some(config.clone()));
    }
    let changed = settings.iter().filter(|setting| setting.origin != poc_config::DEFAULT_ORIGIN).count();
    let name = file.display();
    let message = if file.exists() {
        format!("`{name}` is valid; settings that differ from the defaults: {changed}")
    } else if changed == 0 {
        format!("there is no `{name}`: the defaults apply")
    } else {
        format!("there is no `{name}`: the defaults apply; settings from the environment: {changed}")
    };
    (vec![CheckResult::new(CHECK, CheckState::Ok, message)], Some(config.clone()))
}

/// A warning if `TZ` names no time zone. The daemon reports its own environment in the same words.
pub(super) fn check_time_zone() -> Option<CheckResult> {
    let problem = schedule::local_zone_problem()?;
    Some(CheckResult::new(CHECK, CheckState::Warning, problem.line()))
}
