//! `[prompt]`: reads the template from its file or the agent file and checks it against the placeholders.

use super::{Reader, TomlSection, WithOffset};
use crate::definition::check;
use crate::definition::{ON_OVERFLOW, PromptRules, text};
use crate::template;
use poc_graph::diagnostic::FileDiagnostic;
use std::collections::BTreeMap;

impl<'a> Reader<'a> {
    pub(super) fn prompt(&self, section: &TomlSection<'a>) -> Option<PromptRules> {
        section.refuse_unknown();
        let placeholders: Option<Vec<WithOffset<String>>> =
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
                check::check_placeholder(name).unwrap_or_else(|error| self.file.report(*offset, error));
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
    fn source(&self, section: &TomlSection<'a>) -> Option<Source> {
        let (file, text, offset) = match (section.place("template"), section.place("inline")) {
            (None, None) => {
                section.missing("template", "\"linker.md\"");
                return None;
            }
            (Some(_), Some(second)) => {
                let message = "`prompt.template` and `prompt.inline` exclude each other";
                self.file.report(second, FileDiagnostic::new(message).hint("leave one of them out"));
                return None;
            }
            (Some(_), None) => {
                let name: WithOffset<String> = section.get("template")?;
                match template::checked_name(&name.value).and_then(|()| (self.context.template)(&name.value))
                {
                    Ok(text) => (Some(name.value), text, name.offset),
                    // A template that is not UTF-8 has its own position.
                    Err(error) if error.at.as_ref().is_some_and(|at| at.line.is_some()) => {
                        let file = format!("prompts/{}", name.value);
                        self.file.report_located(FileDiagnostic::from(error).file(file));
                        return None;
                    }
                    Err(error) => {
                        self.file.report(name.offset, error);
                        return None;
                    }
                }
            }
            (None, Some(_)) => {
                let inline: WithOffset<String> = section.get("inline")?;
                (None, inline.value, inline.offset)
            }
        };
        let mut source = Source { file, text, offset, includes: BTreeMap::new() };
        let found = template::includes(source.name(), &source.text, self.context.template);
        source.includes = found.map_err(|error| self.at_template(&source, error.into())).ok()?;
        Some(source)
    }

    /// Checks a template against the placeholders and variables of the file. Returns whether the template is
    /// valid by itself.
    fn check_template(
        &self,
        source: &Source,
        placeholders: &[(&str, usize)],
        vars: &BTreeMap<String, String>,
    ) -> bool {
        let checked = check::template(source.name(), &source.text, &source.includes);
        for diagnostic in checked.diagnostics {
            self.at_template(source, diagnostic);
        }
        let report_undeclared = |variables: &[check::Variable]| {
            for variable in variables {
                if !placeholders.iter().any(|(name, _)| name.eq_ignore_ascii_case(&variable.name)) {
                    self.at_template(source, check::undeclared(variable));
                }
            }
        };
        let Some(variables) = checked.variables else {
            report_undeclared(&checked.shown);
            return false;
        };
        for used in &checked.vars {
            if let Some(diagnostic) = check::missing_var(used, vars.keys().map(String::as_str)) {
                self.at_template(source, diagnostic);
            }
        }
        for &(name, offset) in placeholders {
            if let Err(diagnostic) = check::placeholder(name, &variables) {
                self.file.report(offset, diagnostic);
            }
        }
        report_undeclared(&variables);
        true
    }

    /// Reports a diagnostic of a template at its position in the template, or in the agent file for an inline
    /// template.
    fn at_template(&self, source: &Source, diagnostic: FileDiagnostic) {
        if !self.file.has_room() {
            return;
        }
        match (diagnostic.file.as_deref(), diagnostic.line) {
            (Some(template::INLINE), Some(line)) => {
                let within = text::offset_of(&source.text, line, diagnostic.column.unwrap_or(1));
                self.file.report_within(source.offset, within, diagnostic);
            }
            (Some(file), _) if file != template::INLINE => {
                let file = format!("prompts/{file}");
                self.file.report_located(diagnostic.file(file));
            }
            _ => self.file.report(source.offset, diagnostic),
        }
    }
}

/// A template with its includes.
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
