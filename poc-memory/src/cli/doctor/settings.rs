//! The settings: readable, known, and the pipelines among them.

use super::{Finding, State};
use crate::cli::session::Session;
use poc_config::Config;
use poc_graph::error::Error;
use poc_search::query::Names;

pub(super) const CHECK: &str = "settings";

/// The findings, and the settings when they can be used.
pub(super) fn check(session: &Session) -> (Vec<Finding>, Option<Config>) {
    let file = session.paths.config_file();
    let read = session.config().and_then(|config| Ok((config, poc_config::settings(&file)?)));
    let (config, settings) = match read {
        Ok(read) => read,
        Err(error) => return (vec![Finding::of(CHECK, State::Failed, &error)], None),
    };
    let problems = problems(&config);
    if !problems.is_empty() {
        let failed = problems.iter().map(|problem| Finding::of(CHECK, State::Failed, problem));
        return (failed.collect(), Some(config));
    }
    let changed = settings.iter().filter(|setting| setting.origin != poc_config::DEFAULT_ORIGIN).count();
    let name = file.display();
    let found = if file.exists() {
        format!("`{name}` is good; settings that differ from the defaults: {changed}")
    } else {
        format!("there is no `{name}`: the defaults are in force, but for {changed}")
    };
    (vec![Finding::new(CHECK, State::Ok, found)], Some(config))
}

/// What is wrong with the pipelines among the settings: the saved ones, and that of a plain search.
pub(in crate::cli) fn problems(config: &Config) -> Vec<Error> {
    let names = Names::of(config);
    let mut problems = names.problems();
    if let Err(plain) = names.check_plain(&config.search.pipeline) {
        problems.push(Error { message: format!("`[search] pipeline`: {}", plain.message), ..plain });
    }
    problems
}
