//! Checks that each configured model has what it needs and, with `--online`, that its provider answers.

use super::{CheckState, Diagnostic};
use poc_agent::model::ProbeOutcome;
use poc_config::Config;
use std::collections::BTreeMap;

const CHECK: &str = "models";

pub(super) fn check(config: &Config, online: bool) -> Vec<Diagnostic> {
    let mut ready: Vec<&str> = Vec::new();
    // Models that lack the same thing are grouped.
    let mut lacking: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in config.models.keys() {
        match poc_models::missing(config, name) {
            None => ready.push(name),
            Some(help) => {
                let help = help.replace(&format!("models.{name}."), "models.NAME.");
                lacking.entry(help).or_default().push(format!("`{name}`"));
            }
        }
    }
    let mut findings: Vec<Diagnostic> = ready.iter().map(|name| check_model(config, name, online)).collect();
    findings.extend(lacking.into_iter().map(|(help, names)| {
        Diagnostic::new(CHECK, CheckState::Note, format!("{} cannot be called yet", names.join(", ")))
            .hint(help)
    }));
    findings
}

fn check_model(config: &Config, name: &str, online: bool) -> Diagnostic {
    let provider = config.models.get(name).map_or("", |model| model.provider.as_str());
    let named = format!("`{name}` of `{provider}`");
    if !online {
        return Diagnostic::new(CHECK, CheckState::Ok, format!("{named} has what it needs"));
    }
    let reached = poc_models::registry()
        .open(config, name)
        .map_err(|error| error.line())
        .and_then(|model| model.probe(config.calls.connect_timeout).map_err(|error| error.to_string()));
    match reached {
        Ok(ProbeOutcome::Local) => {
            Diagnostic::new(CHECK, CheckState::Ok, format!("{named} runs on this machine"))
        }
        Ok(ProbeOutcome::Answered) => Diagnostic::new(CHECK, CheckState::Ok, format!("{named} answers")),
        Err(why) => Diagnostic::new(CHECK, CheckState::Failed, format!("{named}: {why}")),
    }
}
