//! Checks that no configured model lacks a setting or a key and, with `--online`, that its provider responds.

use super::{CheckResult, CheckState};
use poc_agent::model::ProbeOutcome;
use poc_config::Config;
use std::collections::BTreeMap;

const CHECK: &str = "models";

pub(crate) fn check(config: &Config, online: bool) -> Vec<CheckResult> {
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
    let mut results: Vec<CheckResult> = ready.iter().map(|name| check_model(config, name, online)).collect();
    results.extend(lacking.into_iter().map(|(help, names)| {
        CheckResult::new(CHECK, CheckState::Note, format!("{} cannot be called yet", names.join(", ")))
            .hint(help)
    }));
    results
}

fn check_model(config: &Config, name: &str, online: bool) -> CheckResult {
    let provider = config.models.get(name).map_or("", |model| model.provider.as_str());
    let named = format!("`{name}` (provider `{provider}`)");
    if !online {
        return CheckResult::new(CHECK, CheckState::Ok, format!("{named} is ready"));
    }
    let reached = poc_models::registry()
        .open(config, name)
        .map_err(|error| error.line())
        .and_then(|model| model.probe(config.calls.connect_timeout).map_err(|error| error.to_string()));
    match reached {
        Ok(ProbeOutcome::Local) => {
            CheckResult::new(CHECK, CheckState::Ok, format!("{named} runs on this machine"))
        }
        Ok(ProbeOutcome::Answered) => CheckResult::new(CHECK, CheckState::Ok, format!("{named} answers")),
        Err(why) => CheckResult::new(CHECK, CheckState::Failed, format!("{named}: {why}")),
    }
}
