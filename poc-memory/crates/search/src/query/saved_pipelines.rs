//! Checks the pipelines in the settings.

use super::ast::Pipeline;
use super::diagnostic::SourceDiagnostic;
use super::names::{NAMING_HINT, Names, invalid_name, is_name};
use poc_config::SavedPipeline;
use poc_graph::error::{Code, Error, Result};

/// Maximum number of errors that [`Names::problems`] lists.
const MAX_PROBLEMS: usize = 100;

impl Names {
    /// Parses and checks a saved pipeline. It may be completed with search terms, as for [`Pipeline::template`].
    ///
    /// # Errors
    /// `not_found` if no saved pipeline has this name, otherwise `invalid_config` with all errors and the position in
    /// the settings.
    pub fn check(&self, name: &str) -> Result<Pipeline> {
        let saved = self.all_saved().get(name).ok_or_else(|| {
            let unknown = self.unknown(name, |message| SourceDiagnostic::new(0..0, message));
            Error { hint: unknown.hint, ..Error::not_found(unknown.message) }
        })?;
        let checked = match is_name(name) {
            true => Pipeline::template(&format!("@{name}"), self),
            false => Err(Error::invalid(invalid_name(name)).hint(NAMING_HINT)),
        };
        checked.map_err(|error| Error { code: Code::InvalidConfig, ..error.at(saved.at.clone()) })
    }

    /// Checks the pipeline that is used for searches without stages.
    ///
    /// # Errors
    /// `invalid_config` with the name and the position of the setting if the pipeline is invalid.
    pub fn check_plain(&self, search: &SavedPipeline) -> Result<()> {
        let mut at = search.at.clone();
        // An environment variable is named instead of the setting.
        at.field.get_or_insert_with(|| "search.pipeline".to_owned());
        Pipeline::template(&search.text, self)
            .map(drop)
            .map_err(|error| Error { code: Code::InvalidConfig, ..error.at(at) })
    }

    /// Adds the position in the settings to the error of a pipeline whose mistakes are all in saved pipelines: that of
    /// the first one.
    #[must_use]
    pub fn locate(&self, error: Error) -> Error {
        let invalid = error.at.iter().flat_map(|at| &at.pipelines);
        let saved: Option<Vec<&str>> = invalid.map(|pipeline| pipeline.saved.as_deref()).collect();
        let first = saved.and_then(|saved| self.all_saved().get(*saved.first()?));
        match first.map(|saved| saved.at.clone()) {
            Some(at) => error.at(at),
            None => error,
        }
    }

    /// The errors of the first hundred saved pipelines that are broken. If there are more, the last error says so.
    pub fn problems(&self) -> Vec<Error> {
        let mut all = self.all_problems();
        let mut listed: Vec<Error> = all.by_ref().take(MAX_PROBLEMS).collect();
        if all.next().is_some() {
            listed.push(Error::config(format!(
                "more than {MAX_PROBLEMS} saved pipelines are broken; the others are not listed"
            )));
        }
        listed
    }

    /// The errors of all saved pipelines. Each is checked when its turn comes.
    pub fn all_problems(&self) -> impl Iterator<Item = Error> {
        self.all_saved().keys().filter_map(|name| self.check(name).err())
    }
}
