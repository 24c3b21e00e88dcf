//! Loads the settings with the checks of all crates, so that all mistakes are reported together.

use super::opening;
use poc_config::{Config, SettingsWithMistakes};
use poc_graph::error::{Error, Result};
use poc_index::TextIndex;
use std::path::Path;

/// Loads the settings as [`Config::load`], with [`setting_mistakes`].
///
/// # Errors
/// All mistakes that can be found.
pub fn load_settings(file: &Path) -> Result<Config> {
    load_settings_with_mistakes(file)?.into_result()
}

/// Like [`load_settings`], for settings that may have mistakes.
///
/// # Errors
/// All syntax errors, or the error of reading the file.
pub fn load_settings_with_mistakes(file: &Path) -> Result<SettingsWithMistakes> {
    Config::load_with_mistakes(file, &setting_mistakes)
}

/// The mistakes that only crates above the settings can find. Without these checks, they would be found when the memory
/// is opened, one after the other.
pub fn setting_mistakes(config: &Config) -> Vec<Error> {
    let checks =
        [opening::check_log_address(&config.store), TextIndex::check_language(&config.text.language)];
    checks.into_iter().filter_map(Result::err).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_of_all_crates_are_reported_together() {
        let text = "\
[text]
language = \"klingon\"
k1 = \"high\"
[list]
limit = 0
[store]
log = \"mysql://x\"
[models.foo]
provider = \"nobody\"
";
        let file = Some(("config.toml", text));
        let read = Config::with_mistakes(file, std::iter::empty(), &setting_mistakes).unwrap();
        let fields: Vec<String> =
            read.mistakes.iter().filter_map(|mistake| mistake.at.as_ref()?.field.clone()).collect();
        let mut expected =
            vec!["text.language", "text.k1", "list.limit", "store.log", "models.foo", "models.foo.provider"];
        // A build without support for databases accepts any address.
        if !cfg!(feature = "postgres") {
            expected.retain(|field| *field != "store.log");
        }
        assert_eq!(fields, expected);
        assert!(read.mistakes.iter().all(|mistake| mistake.to_string().starts_with("config.toml:")));
    }

    #[test]
    fn a_variable_is_named_by_a_mistake_of_any_crate() {
        let variables = [("POC_MEMORY__TEXT__LANGUAGE".to_owned(), "klingon".to_owned())];
        let file = Some(("config.toml", "[text]\nlanguage = \"english\"\n"));
        let read = Config::with_mistakes(file, variables.into_iter(), &setting_mistakes).unwrap();
        let lines: Vec<String> = read.mistakes.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["`POC_MEMORY__TEXT__LANGUAGE`: no stemmer for the language `klingon`"]);
    }
}
