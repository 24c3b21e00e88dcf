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

/// Errors in the pipelines of settings that may have mistakes. None are looked for if a mistake is about the types of
/// notes or the saved pipelines: a pipeline may use one that is not known because of the mistake.
pub(in crate::cli) fn problems_besides_mistakes(read: &SettingsWithMistakes) -> Vec<Error> {
    match &read.config {
        Some(config) if !read.mistakes.iter().any(is_about_names) => problems(config),
        _ => Vec::new(),
    }
}

/// Whether a mistake is about names that pipelines use, also if the name of their section is in the singular.
fn is_about_names(mistake: &Error) -> bool {
    let field = mistake.at.as_ref().and_then(|at| at.field.as_deref()).unwrap_or_default();
    let key = field.strip_prefix("POC_MEMORY__").unwrap_or(field).to_lowercase();
    ["node", "pipeline"].iter().any(|section| key.starts_with(section))
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
        // The pipeline `@long` is not known either.
        assert_eq!(lines("[pipelines]\nlong = 5\nmine = \"@long | limit:3\"\n"), [""; 0]);
        assert_eq!(lines("[pipeline]\nlong = \"all\"\n[pipelines]\nmine = \"@long | limit:3\"\n"), [""; 0]);
    }
}
