//! Checking the pipelines of the settings.

use super::ast::Pipeline;
use super::diagnostic::SourceDiagnostic;
use super::names::{NAMING, Names, is_name, no_name};
use poc_config::SavedPipeline;
use poc_graph::error::{Code, Error, Result};

impl Names {
    /// Reads and checks a saved pipeline, by itself or for search terms ([`Pipeline::template`]).
    ///
    /// # Errors
    /// `invalid_config` with everything that is wrong, placed where it is saved.
    pub fn check(&self, name: &str) -> Result<Pipeline> {
        let saved = self.all_saved().get(name).ok_or_else(|| {
            let unknown = self.unknown(name, |message| SourceDiagnostic::new(0..0, message));
            Error { hint: unknown.hint, ..Error::not_found(unknown.message) }
        })?;
        let checked = match is_name(name) {
            true => Pipeline::template(&format!("@{name}"), self),
            false => Err(Error::invalid(no_name(name)).hint(NAMING)),
        };
        checked.map_err(|error| Error { code: Code::InvalidConfig, ..error.at(saved.at.clone()) })
    }

    /// Checks the pipeline of a plain search.
    ///
    /// # Errors
    /// As [`Names::check`].
    pub fn check_plain(&self, search: &SavedPipeline) -> Result<()> {
        let wrong = |error: Error| Error { code: Code::InvalidConfig, ..error.at(search.at.clone()) };
        Pipeline::template(&search.text, self).map(drop).map_err(wrong)
    }

    /// What is wrong with the saved pipelines.
    pub fn problems(&self) -> Vec<Error> {
        self.all_saved().keys().filter_map(|name| self.check(name).err()).collect()
    }
}
