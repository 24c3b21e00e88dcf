//! Errors in the pipelines among the settings.

use poc_config::{Config, SettingsWithMistakes};
use poc_graph::error::Error;
use poc_search::query::Names;

/// Errors in the pipelines of settings that may have mistakes. None are looked for if a mistake is about the types of
/// notes or the saved pipelines: a pipeline may use one that is not known because of the mistake.
pub(super) fn besides_mistakes(read: &SettingsWithMistakes) -> Vec<Error> {
    match &read.config {
        Some(config) if !read.mistakes.iter().any(is_about_names) => in_settings(config),
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
pub(super) fn in_settings(config: &Config) -> Vec<Error> {
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
        besides_mistakes(&read).iter().map(Error::line).collect()
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
