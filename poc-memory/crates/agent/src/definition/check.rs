//! Checks of an agent file against settings, templates and the pipeline language.

use super::{ActionKind, Definition, PromptRules, offset_of};
use crate::template::{self, VARIABLES};
use poc_config::Config;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::ErrorLocation;
use poc_graph::similar;
use std::collections::BTreeMap;

/// Result of checking a template.
#[derive(Debug, Default)]
pub(crate) struct TemplateCheck {
    /// Its diagnostics.
    pub(crate) diagnostics: Vec<FileDiagnostic>,
    /// The variables it uses; `None` when it cannot be parsed.
    pub(crate) variables: Option<Vec<Variable>>,
    /// Variables that it shows in tags of their own, if it cannot be parsed.
    pub(crate) shown: Vec<Variable>,
    /// The names under `vars` that it requires.
    pub(crate) vars: Vec<Variable>,
}

/// A variable a template uses.
#[derive(Debug)]
pub(crate) struct Variable {
    /// The name as written.
    pub(crate) name: String,
    /// Position of its first use.
    at: ErrorLocation,
}

/// Checks a template by itself.
pub(crate) fn template(name: &str, text: &str, includes: &BTreeMap<String, String>) -> TemplateCheck {
    let tera = match template::engine(name, text, includes, |_| Ok(String::new())) {
        Ok(tera) => tera,
        Err(diagnostics) => {
            let shown = template::shown_variables(text).into_iter().map(|(variable, offset)| Variable {
                name: variable.to_owned(),
                at: ErrorLocation { file: Some(name.to_owned()), ..ErrorLocation::offset(text, offset) },
            });
            return TemplateCheck { diagnostics, shown: shown.collect(), ..TemplateCheck::default() };
        }
    };
    let sources = || {
        let included = includes.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        std::iter::once((name, text)).chain(included)
    };
    let first_uses: Vec<_> = sources().map(|(file, text)| (file, text, template::words(text))).collect();
    let variables = template::variables(&tera, name)
        .into_iter()
        .map(|variable| {
            let place = first_uses.iter().find_map(|(file, text, words)| {
                let offset = *words.get(variable.as_str())?;
                Some(ErrorLocation { file: Some((*file).to_owned()), ..ErrorLocation::offset(text, offset) })
            });
            Variable { name: variable, at: place.unwrap_or_default() }
        })
        .collect();
    let (mut vars, guarded) = (Vec::<Variable>::new(), template::guarded_vars(sources()));
    for (file, text) in sources() {
        for (name, offset) in template::vars(text) {
            if !guarded.contains(name) && vars.iter().all(|known| known.name != name) {
                let at = ErrorLocation { file: Some(file.to_owned()), ..ErrorLocation::offset(text, offset) };
                vars.push(Variable { name: name.to_owned(), at });
            }
        }
    }
    TemplateCheck { variables: Some(variables), vars, ..TemplateCheck::default() }
}

impl Definition {
    /// Warnings: probable mistakes that do not keep the agent from running.
    pub fn warnings(&self) -> Vec<FileDiagnostic> {
        let mut found = unpermitted(&self.prompt, &self.execution.actions);
        for warning in &mut found {
            // Positions in an inline template are relative to its text, so they are converted to positions in
            // the agent file.
            if let (None, Some(line), Some(column)) = (&warning.file, warning.line, warning.column) {
                let within = offset_of(&self.prompt.text, line, column);
                *warning = warning.clone().at(self.location("prompt.inline", within));
            }
        }
        let schedule = self.execution.schedule.warning();
        found.extend(
            schedule.map(|warning| FileDiagnostic::new(warning).at(self.location("execution.schedule", 0))),
        );
        if !self.prompt.shows_nodes() {
            let diagnostic = FileDiagnostic::new(
                "the template does not show the nodes, so none of them counts as visited",
            );
            let hint = "write `{{ NODES }}` in the template and add \"NODES\" to `prompt.placeholders`";
            found.push(diagnostic.hint(hint).at(self.location("prompt.placeholders", 0)));
        }
        found
    }
}

/// Warnings about actions that a prompt names but the agent may not take. The reply cannot contain them, but the
/// prompt misleads the model.
fn unpermitted(prompt: &PromptRules, permitted: &[ActionKind]) -> Vec<FileDiagnostic> {
    let template = (prompt.template.as_ref(), &prompt.text);
    let included = prompt.includes.iter().map(|(name, text)| (Some(name), text));
    let sources: Vec<_> = std::iter::once(template).chain(included).collect();
    let mut found = Vec::new();
    for kind in ActionKind::ALL.into_iter().filter(|kind| !permitted.contains(kind)) {
        let name = kind.name();
        for (file, text) in &sources {
            // `insert` and `weight` are also ordinary words.
            let bare = matches!(kind, ActionKind::LinkAdd | ActionKind::Supersede);
            let quoted = [format!("`{name}`"), format!("\"{name}\"")];
            let quoted = quoted.iter().find_map(|quoted| text.find(quoted));
            if let Some(offset) = quoted.or_else(|| bare.then(|| word_at(text, name)).flatten()) {
                found.push(
                    FileDiagnostic::new(format!(
                        "the template names the action `{name}`, which is not permitted"
                    ))
                    .hint(format!("add \"{name}\" to `execution.actions` or leave it out of the prompt"))
                    .at(ErrorLocation {
                        file: file.map(|name| format!("prompts/{name}")),
                        ..ErrorLocation::offset(text, offset)
                    }),
                );
            }
        }
    }
    found
}

/// Byte offset of a whole word, ignoring case.
fn word_at(text: &str, word: &str) -> Option<usize> {
    let text = text.to_ascii_lowercase();
    let part = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_');
    text.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

/// Checks that a declared placeholder is a variable.
pub(crate) fn check_placeholder(placeholder: &str) -> Result<(), FileDiagnostic> {
    match is_variable(placeholder) {
        true => Ok(()),
        false => Err(unknown_variable("placeholder", placeholder)),
    }
}

/// Checks that a declared placeholder is a variable and is used.
pub(crate) fn placeholder(name: &str, used: &[Variable]) -> Result<(), FileDiagnostic> {
    check_placeholder(name)?;
    if used.iter().any(|variable| variable.name.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    Err(FileDiagnostic::new(format!("the template does not use the placeholder `{name}`"))
        .hint(format!("write `{{{{ {name} }}}}` in the template or remove it here")))
}

/// The diagnostic of a variable that no placeholder declares.
pub(crate) fn undeclared(variable: &Variable) -> FileDiagnostic {
    let name = &variable.name;
    let diagnostic = if is_variable(name) {
        FileDiagnostic::new(format!("the template uses `{name}`, which `prompt.placeholders` does not list"))
            .hint(format!("add \"{}\" to `prompt.placeholders`", name.to_uppercase()))
    } else {
        unknown_variable("variable", name)
    };
    diagnostic.at(variable.at.clone())
}

/// The diagnostic of a custom variable (`vars.NAME`) that the agent file does not define.
pub(crate) fn missing_var<'v>(
    used: &Variable,
    given: impl Iterator<Item = &'v str> + Clone,
) -> Option<FileDiagnostic> {
    let name = &used.name;
    if given.clone().any(|known| known == name) {
        return None;
    }
    let diagnostic =
        FileDiagnostic::new(format!("the template uses `vars.{name}`, which `[prompt.vars]` does not have"));
    let diagnostic = match similar::closest(name, given) {
        Some(near) => diagnostic.hint(format!("did you mean `vars.{near}`?")),
        None => diagnostic.hint(format!(
            "put `{name} = \"…\"` under `[prompt.vars]`, or write `vars.{name} | default(value=\"…\")`"
        )),
    };
    Some(diagnostic.at(used.at.clone()))
}

/// Whether a name is a variable, in upper or lower case.
fn is_variable(name: &str) -> bool {
    VARIABLES.iter().any(|known| *known == name || known.to_lowercase() == name)
}

fn unknown_variable(what: &str, name: &str) -> FileDiagnostic {
    let diagnostic = FileDiagnostic::new(format!("unknown {what} `{name}`"));
    match similar::closest(&name.to_uppercase(), VARIABLES.into_iter()) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic
            .hint(format!("known: {}; `vars.NAME` for variables of `prompt.vars`", VARIABLES.join(", "))),
    }
}

/// The diagnostic of a model name that is not configured.
pub(crate) fn model(name: &str, config: &Config) -> Option<FileDiagnostic> {
    if config.models.contains_key(name) {
        return None;
    }
    if name.trim().is_empty() {
        return Some(
            FileDiagnostic::new("the name of the model is empty").hint("name a model, such as `default`"),
        );
    }
    let diagnostic = FileDiagnostic::new(format!("unknown model `{name}`"));
    Some(match similar::closest(name, config.models.keys().map(String::as_str)) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => {
            let known: Vec<String> = config.models.keys().map(|known| format!("`{known}`")).collect();
            diagnostic.hint(format!(
                "the models are {}; to add one, write a section `[models.{name}]` in config.toml and restart the \
                 daemon",
                known.join(", ")
            ))
        }
    })
}
