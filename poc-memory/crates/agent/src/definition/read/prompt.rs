//! `[prompt]`: reads the template from its file or the agent file and checks it against the placeholders.

use super::{Located, Reader, Section};
use crate::check;
use crate::definition::{ON_OVERFLOW, PromptRules, text};
use crate::template;
use poc_graph::error::{Error, ErrorLocation};
use std::collections::BTreeMap;

impl<'a> Reader<'a> {
    pub(super) fn prompt(&self, section: &Section<'a>) -> Option<PromptRules> {
        section.refuse_unknown();
        let placeholders: Option<Vec<Located<String>>> =
            section.required("placeholders").map(|placed| placed.value);
        let vars = section.section("vars").values();
        let vars: BTreeMap<String, String> =
            vars.into_iter().map(|(name, placed)| (name, placed.value)).collect();
        let source = self.source(section);
        if let Some(placeholders) = &placeholders {
            let names: Vec<(&str, usize)> =
                placeholders.iter().map(|placed| (placed.value.as_str(), placed.offset)).collect();
            let checked = source.as_ref().is_some_and(|source| self.check_template(source, &names, &vars));
            // Report unknown names even if the template could not be checked.
            for (name, offset) in names.iter().filter(|_| !checked) {
                check::check_placeholder(name).unwrap_or_else(|error| self.file.problem(*offset, error));
            }
        }
        let source = source?;
        Some(PromptRules {
            template: source.file,
            text: source.text,
            includes: source.includes,
            placeholders: placeholders?.into_iter().map(|placed| placed.value).collect(),
            system: section.get("system")?.value,
            vars,
            max_node_chars: section.get("max-node-chars")?.value,
            max_tokens: section.get("max-tokens")?.value,
            drop_tail: section.one_of("on-overflow", &ON_OVERFLOW)?,
        })
    }

    /// The template text, from the `prompts` folder or the agent file.
    fn source(&self, section: &Section<'a>) -> Option<Source> {
        let (file, text, offset) = match (section.place("template"), section.place("inline")) {
            (None, None) => {
                section.missing("template", "\"linker.md\"");
                return None;
            }
            (Some(_), Some(second)) => {
                let error = Error::config("`prompt.template` and `prompt.inline` exclude each other");
                self.file.problem(second, error.hint("leave one of them out"));
                return None;
            }
            (Some(_), None) => {
                let name: Located<String> = section.get("template")?;
                match template::checked_name(&name.value).and_then(|()| (self.context.template)(&name.value))
                {
                    Ok(text) => (Some(name.value), text, name.offset),
                    // A file that is no text is wrong at a place of its own.
                    Err(error) if error.at.as_ref().is_some_and(|at| at.line.is_some()) => {
                        let at = error.at.clone().unwrap_or_default();
                        self.file.placed(
                            error.at(ErrorLocation { file: Some(format!("prompts/{}", name.value)), ..*at }),
                        );
                        return None;
                    }
                    Err(error) => {
                        self.file.problem(name.offset, error);
                        return None;
                    }
                }
            }
            (None, Some(_)) => {
                let inline: Located<String> = section.get("inline")?;
                (None, inline.value, inline.offset)
            }
        };
        let mut source = Source { file, text, offset, includes: BTreeMap::new() };
        let found = template::includes(source.name(), &source.text, self.context.template);
        source.includes = found.map_err(|error| self.at_template(&source, error)).ok()?;
        Some(source)
    }

    /// Checks a template against what the file says of it; whether its variables are known.
    fn check_template(
        &self,
        source: &Source,
        placeholders: &[(&str, usize)],
        vars: &BTreeMap<String, String>,
    ) -> bool {
        let checked = check::template(source.name(), &source.text, &source.includes);
        for error in checked.errors {
            self.at_template(source, error);
        }
        let Some(variables) = checked.variables else { return false };
        for used in &checked.vars {
            if let Some(error) = check::missing_var(used, vars.keys().map(String::as_str)) {
                self.at_template(source, error);
            }
        }
        for &(name, offset) in placeholders {
            if let Err(error) = check::placeholder(name, &variables) {
                self.file.problem(offset, error);
            }
        }
        for variable in &variables {
            if !placeholders.iter().any(|(name, _)| name.eq_ignore_ascii_case(&variable.name)) {
                self.at_template(source, check::undeclared(variable));
            }
        }
        true
    }

    /// Notes a problem of a template, at its place there.
    fn at_template(&self, source: &Source, mut error: Error) {
        let at = error.at.take().unwrap_or_default();
        match (&at.file, at.line) {
            (Some(file), Some(line)) if file == template::INLINE => {
                let within = text::offset_of(&source.text, line, at.column.unwrap_or(1));
                self.file.problem_within(source.offset, within, error);
            }
            (Some(file), _) if file != template::INLINE => {
                let file = Some(format!("prompts/{file}"));
                self.file.placed(error.at(ErrorLocation { file, ..*at }));
            }
            _ => self.file.problem(source.offset, error),
        }
    }
}

/// A template as it was found.
struct Source {
    file: Option<String>,
    text: String,
    offset: usize,
    includes: BTreeMap<String, String>,
}

impl Source {
    fn name(&self) -> &str {
        self.file.as_deref().unwrap_or(template::INLINE)
    }
}
