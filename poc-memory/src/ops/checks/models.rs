//! Checks that no configured model lacks a setting, a key or its prices and, with `--online`, that its provider
//! responds.

use super::{CheckResult, CheckState};
use poc_agent::model::ProbeOutcome;
use poc_config::Config;
use std::collections::BTreeMap;

const CHECK: &str = "models";

pub(crate) fn check(config: &Config, online: bool) -> Vec<CheckResult> {
    let mut ready: Vec<&str> = Vec::new();
    // Models that lack the same thing are grouped.
    let mut lacking: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let defaults = Config::defaults().ok();
    for name in config.models.keys() {
        match poc_models::missing(config, name) {
            None => ready.push(name),
            // The check of agents names what the model of an agent lacks.
            Some(_) if defaults.as_ref().is_some_and(|defaults| is_default(config, defaults, name)) => {}
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
    results.extend(unpriced_models(config, &ready));
    results
}

/// Whether the settings of a model and its provider are the defaults.
fn is_default(config: &Config, defaults: &Config, name: &str) -> bool {
    let settings = |config: &Config| {
        let model = config.models.get(name).cloned();
        let provider = model.as_ref().and_then(|model| config.providers.get(&model.provider).cloned());
        (model, provider)
    };
    settings(config) == settings(defaults)
}

/// A note about the ready models that are called with a key and have no prices. The cost of their calls is unknown, so
/// no budget in US dollars limits them.
fn unpriced_models(config: &Config, ready: &[&str]) -> Option<CheckResult> {
    let names: Vec<String> = config
        .models
        .iter()
        .filter(|(name, model)| {
            let provider = config.providers.get(&model.provider);
            ready.contains(&name.as_str())
                && model.input_price.and(model.output_price).is_none()
                && provider.is_some_and(|provider| provider.key_env.is_some() || provider.key_file.is_some())
        })
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    (!names.is_empty()).then(|| {
        let message = format!("budgets in US dollars do not count calls of {}: no prices", names.join(", "));
        CheckResult::new(CHECK, CheckState::Note, message)
            .hint("set `input-price` and `output-price` under `[models.NAME]`, for a million tokens")
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_model_that_nobody_configured_is_not_reported_as_lacking_something() {
        let lacking = |settings: &str| -> Vec<String> {
            let key = "[providers.anthropic]\nkey-env = \"POC_MEMORY_NO_SUCH_KEY\"\n";
            let mut config = Config::defaults().unwrap();
            if !settings.is_empty() {
                let text = format!("{settings}{key}");
                config = Config::layered(Some(("config.toml", &text)), std::iter::empty()).unwrap();
            }
            let results = check(&config, false).into_iter();
            results
                .map(|result| result.message)
                .filter(|line| line.contains("cannot be called yet"))
                .collect()
        };
        // With a key in the environment of the test, nothing is lacking, either.
        assert_eq!(lacking(""), [""; 0]);
        let mine = "[models.mine]\nprovider = \"anthropic\"\nid = \"x\"\n";
        let lines = lacking(mine);
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.contains("`mine`") && line.contains("`haiku`"), "the provider was configured: {line}");
    }
}
