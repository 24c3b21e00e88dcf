//! Checks the settings, including their pipelines.

use crate::cli::command_context::CommandContext;
use crate::ops::checks::{CheckResult, CheckState};
use poc_config::Config;
use poc_graph::error::Error;
use poc_search::query::Names;

pub(super) const CHECK: &str = "settings";

/// The diagnostics, and the settings if they can be used.
pub(super) fn check(context: &CommandContext) -> (Vec<CheckResult>, Option<Config>) {
    let file = context.paths.config_file();
    let read = context.config().and_then(|config| Ok((config, poc_config::settings(&file)?)));
    let (config, settings) = match read {
        Ok(read) => read,
        Err(error) => {
            let failed = error.each().map(|mistake| CheckResult::of(CHECK, CheckState::Failed, mistake));
            return (failed.collect(), None);
        }
    };
    let problems = problems(&config);
    if !problems.is_empty() {
        let failed = problems.iter().map(|problem| CheckResult::of(CHECK, CheckState::Failed, problem));
        return (failed.collect(), Some(config));
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
    (vec![CheckResult::new(CHECK, CheckState::Ok, message)], Some(config))
}

/// Errors in the saved pipelines and in the pipeline of a plain search.
pub(in crate::cli) fn problems(config: &Config) -> Vec<Error> {
    let names = Names::of(config);
    let mut problems = names.problems();
    problems.extend(names.check_plain(&config.search.pipeline).err());
    problems
}
