//! Checks the settings, including their pipelines.

use crate::cli::command_context::CommandContext;
use crate::dispatch;
use crate::ops::checks::{CheckResult, CheckState};
use poc_config::{Config, SettingsWithMistakes};
use poc_graph::error::Error;
use poc_search::query::Names;

pub(super) const CHECK: &str = "settings";

/// The diagnostics, and the settings if they can be used.
pub(super) fn check(context: &CommandContext) -> (Vec<CheckResult>, Option<Config>) {
    let file = context.paths.config_file();
    let read = dispatch::load_settings_with_mistakes(&file);
    let problems = read.as_ref().map(problems_besides_mistakes).unwrap_or_default();
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

/// Errors in the pipelines of settings that may have mistakes. None are looked for if the types of notes, which
/// pipelines name, are not known because of a mistake.
pub(in crate::cli) fn problems_besides_mistakes(read: &SettingsWithMistakes) -> Vec<Error> {
    let is_about_types = |mistake: &Error| {
        let field = mistake.at.as_ref().and_then(|at| at.field.as_deref()).unwrap_or_default();
        field.starts_with("nodes") || field.starts_with("POC_MEMORY__NODES")
    };
    match &read.config {
        Some(config) if !read.mistakes.iter().any(is_about_types) => problems(config),
        _ => Vec::new(),
    }
}

/// Errors in the saved pipelines and in the pipeline of a plain search.
pub(in crate::cli) fn problems(config: &Config) -> Vec<Error> {
    let names = Names::of(config);
    let mut problems = names.problems();
    problems.extend(names.check_plain(&config.search.pipeline).err());
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let file = Some(("config.toml", text));
        let read = Config::with_mistakes(file, std::iter::empty(), &|_| Vec::new()).unwrap();
        assert!(!read.mistakes.is_empty(), "{text}");
        problems_besides_mistakes(&read).iter().map(Error::line).collect()
    }

    #[test]
    fn pipelines_are_checked_although_the_settings_have_mistakes() {
        let found =
            lines("[list]\nlimit = 0\n[pipelines]\nmine = \"tpe:daily\"\n[search]\npipeline = \"hybrd\"\n");
        assert!(
            matches!(&found[..], [saved, search] if saved.contains("tpe") && search.contains("hybrd")),
            "{found:?}"
        );
        // The types of notes are not known, so the pipeline may be right.
        assert_eq!(lines("[nodes]\ntypes = 5\n[pipelines]\nmine = \"type:saga\"\n"), [""; 0]);
    }
}
