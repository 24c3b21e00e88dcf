//! The models agents may name: whether each has what it needs, and on request whether somebody answers.

use super::{Finding, State};
use poc_agent::model::Reached;
use poc_config::Config;
use std::collections::BTreeMap;

const CHECK: &str = "models";

pub(super) fn check(config: &Config, online: bool) -> Vec<Finding> {
    let mut ready: Vec<&str> = Vec::new();
    // Models that lack the same thing are told together.
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
    let mut findings: Vec<Finding> = ready.iter().map(|name| found(config, name, online)).collect();
    findings.extend(lacking.into_iter().map(|(help, names)| {
        Finding::new(CHECK, State::Note, format!("{} cannot be called yet", names.join(", "))).hint(help)
    }));
    findings
}

fn found(config: &Config, name: &str, online: bool) -> Finding {
    let provider = config.models.get(name).map_or("", |model| model.provider.as_str());
    let named = format!("`{name}` of `{provider}`");
    if !online {
        return Finding::new(CHECK, State::Ok, format!("{named} has what it needs"));
    }
    let reached = poc_models::registry()
        .open(config, name)
        .map_err(|error| error.line())
        .and_then(|model| model.reach(config.calls.connect_timeout).map_err(|error| error.to_string()));
    match reached {
        Ok(Reached::Here) => Finding::new(CHECK, State::Ok, format!("{named} runs on this machine")),
        Ok(Reached::Answered) => Finding::new(CHECK, State::Ok, format!("{named} answers")),
        Err(why) => Finding::new(CHECK, State::Failed, format!("{named}: {why}")),
    }
}
