//! `setup model`

use super::edit::Edit;
use super::plan::FileChange;
use super::settings_file::{self, SettingsFile, Syntax};
use crate::cli::command_context::CommandContext;
use crate::cli::local::LocalCommand;
use crate::cli::sample_memory;
use crate::ops::Terminal;
use poc_agent::model::CallError;
use poc_config::{Config, endpoint};
use poc_graph::error::{Code, Error, Result};
use serde::Serialize;
use serde_json::json;
use std::time::{Duration, Instant};

/// Providers to look for, in the order in which they are preferred: those on this machine first.
const PROVIDERS: [&str; 5] = ["ollama", "lm-studio", "llama-cpp", "anthropic", "openai"];

/// The model of `[models]` that is proposed for a provider. It is a cheap one, because agents make many calls.
const DEFAULT_MODELS: [(&str, &str); 1] = [("anthropic", "haiku")];

/// Parts of the names of models that cannot hold a conversation in text: those for embeddings, speech, images and
/// videos, and those that need another API.
const OTHER_MODELS: [&str; 14] = [
    "embed",
    "minilm",
    "whisper",
    "tts",
    "transcribe",
    "audio",
    "realtime",
    "dall-e",
    "image",
    "sora",
    "moderation",
    "-search",
    "-research",
    "codex",
];

/// Parts of the names of cheap models. A remote provider lists models of very different prices.
const CHEAP_MODELS: [&str; 4] = ["-mini", "-flash", "-small", "haiku"];

/// What to do if no model can be used.
const NEXT_STEP: &str = "start a model on this machine (for Ollama, `ollama pull qwen3:8b` gets one) or set a key \
                         (`export ANTHROPIC_API_KEY=KEY`), then repeat `poc-memory setup model`; until then, agents \
                         work without a language model";

/// Let agents use a language model: finds Ollama, LM Studio, llama.cpp and keys in the environment, times one run of
/// the linker, and makes the model the default
///
/// Without a name it takes the first model that it finds. Of a remote provider, that is the newest of the small, cheap
/// ones. It writes `[models.default]` into config.toml.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct SetupModel {
    /// The model, as its provider calls it
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The provider: `ollama`, `lm-studio`, `llama-cpp`, `anthropic`, `openai`, or one of `[providers]`
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Only show what was found
    #[arg(long)]
    dry_run: bool,
}

/// The answer of `setup model`.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct SetupModelOutput {
    /// The providers that were probed.
    found: Vec<ProviderOption>,
    /// The model that was chosen, as `provider/id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<String>,
    /// Duration in milliseconds of a run of the linker over the notes of the demo.
    #[serde(skip_serializing_if = "Option::is_none")]
    millis: Option<u128>,
    /// The change of the settings file.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<FileChange>,
    written: bool,
}

/// A provider.
#[derive(Debug, Serialize)]
struct ProviderOption {
    provider: String,
    /// The models that it lists.
    models: Vec<String>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Whether it is a server on another machine.
    #[serde(skip)]
    is_remote: bool,
}

impl LocalCommand for SetupModel {
    const NAME: &'static str = "setup model";
    const NAMES_COMMANDS: bool = true;
    type Output = SetupModelOutput;

    fn run(self, context: &CommandContext) -> Result<SetupModelOutput> {
        let config = context.config()?;
        let names: Vec<&str> = match &self.provider {
            Some(name) if !config.providers.contains_key(name) => {
                let known: Vec<String> = config.providers.keys().map(|name| format!("`{name}`")).collect();
                let hint = format!(
                    "the providers are {}; a section `[providers.NAME]` in config.toml adds another",
                    known.join(", ")
                );
                return Err(Error::not_found(format!("there is no provider `{name}`"))
                    .hint(hint)
                    .field("provider"));
            }
            Some(name) => vec![name],
            None => {
                let others = config.providers.iter().filter(|(_, provider)| provider.key_env.is_some());
                let others = others.map(|(name, _)| name.as_str());
                let others = others.filter(|name| !PROVIDERS.contains(name));
                PROVIDERS.into_iter().chain(others).collect()
            }
        };
        let found: Vec<ProviderOption> =
            names.iter().map(|name| find_provider(&config, name, self.id.as_deref())).collect();
        let mut output = SetupModelOutput { found, chosen: None, millis: None, change: None, written: false };
        let candidate = output.found.iter().filter(|provider| provider.problem.is_none());
        let candidate =
            candidate.filter_map(|provider| Some((provider, provider.choice(&config, self.id.as_deref())?)));
        let Some((provider, id)) = candidate.map(|(provider, id)| (provider.provider.clone(), id)).next()
        else {
            return match self.dry_run {
                true => Ok(output),
                false => Err(no_model(&output.found)),
            };
        };
        output.chosen = Some(format!("{provider}/{id}"));
        let settings = settings(context, &config, &provider, &id);
        let before = settings_file::read(&settings.path)?;
        let after = settings.with_edits(before.as_deref().unwrap_or_default())?;
        let changed = Config::layered(Some(("config.toml", &after)), std::iter::empty())?;
        output.change = FileChange::of(settings, before, Some(after));
        if self.dry_run {
            return Ok(output);
        }
        output.millis = Some(measure(changed)?.as_millis());
        if let Some(change) = &output.change {
            if !self.yes {
                super::confirm(context, std::slice::from_ref(change))?;
            }
            context.paths.create()?;
            change.write()?;
        }
        output.written = true;
        Ok(output)
    }

    fn show(output: &SetupModelOutput, _: &Terminal) -> String {
        let mut text = String::new();
        for provider in &output.found {
            let state = match (&provider.problem, provider.models.as_slice()) {
                (Some(problem), _) => problem.clone(),
                (None, []) => "can be called".to_owned(),
                (None, models) => models.join(", "),
            };
            text.push_str(&format!("{:<10} {state}\n", provider.provider));
        }
        if let Some(chosen) = &output.chosen {
            text.push_str(&format!("\nchosen     {chosen}\n"));
        }
        if let Some(millis) = output.millis {
            text.push_str(&format!(
                "measured   {:.1} s for a run of the linker over the notes of the demo\n",
                millis as f64 / 1000.0
            ));
        }
        match (&output.change, output.written) {
            (Some(change), true) => {
                text.push_str(&format!(
                    "wrote      {}; `poc-memory daemon restart` applies it\n",
                    change.path.display()
                ));
            }
            (Some(change), false) => text.push_str(&change.diff),
            (None, _) if output.chosen.is_some() => text.push_str("it is the default already\n"),
            (None, _) => {
                text.push_str(&format!("\n{}\n", no_model(&output.found).hint.unwrap_or_default()));
            }
        }
        text
    }
}

impl ProviderOption {
    /// The model to use.
    fn choice(&self, config: &Config, id: Option<&str>) -> Option<String> {
        let proposed = DEFAULT_MODELS.iter().find(|(provider, _)| *provider == self.provider);
        let proposed = proposed.and_then(|(_, name)| Some(config.models.get(*name)?.id.clone()));
        let has_any = |model: &String, parts: &[&str]| parts.iter().any(|part| model.contains(part));
        let mut usable = self.models.iter().filter(|model| !has_any(model, &OTHER_MODELS));
        let cheap = usable.clone().find(|model| self.is_remote && has_any(model, &CHEAP_MODELS));
        id.map(str::to_owned).or(proposed).or_else(|| cheap.or_else(|| usable.next()).cloned())
    }
}

/// Probes a provider. A server is asked for its models; a remote one needs a key, and is asked only if no model is
/// given or proposed.
fn find_provider(config: &Config, provider: &str, id: Option<&str>) -> ProviderOption {
    let mut found =
        ProviderOption { provider: provider.to_owned(), models: Vec::new(), problem: None, is_remote: false };
    let mut asked = config.clone();
    let model = json!({ "provider": provider, "id": id.unwrap_or("any") });
    match serde_json::from_value(model) {
        Ok(model) => drop(asked.models.insert("default".into(), model)),
        Err(error) => {
            found.problem = Some(error.to_string());
            return found;
        }
    }
    let settings = config.providers.get(provider);
    found.problem =
        settings.and_then(poc_models::missing_key).or_else(|| poc_models::missing(&asked, "default"));
    if found.problem.is_some() {
        return found;
    }
    let address = settings.and_then(|settings| endpoint::parse(settings.base_url.as_deref()?).ok());
    let Some(address) = address else { return found };
    found.is_remote = !endpoint::is_loopback(&address);
    if found.is_remote && found.choice(config, id).is_some() {
        return found;
    }
    let model = match poc_models::registry().open(&asked, "default") {
        Ok(model) => model,
        Err(error) => {
            found.problem = Some(error.message);
            return found;
        }
    };
    match model.list(config.calls.connect_timeout) {
        Ok(models) if models.is_empty() && !found.is_remote => {
            found.problem = Some("runs, but has no model".into());
        }
        Ok(models) => found.models = models,
        Err(CallError::Down(why)) if found.is_remote => found.problem = Some(why),
        Err(CallError::Down(_)) => found.problem = Some("is not running".into()),
        Err(error) => found.problem = Some(format!("cannot be asked for its models: {error}")),
    }
    found
}

/// The error if nothing can be used.
fn no_model(found: &[ProviderOption]) -> Error {
    let Some(usable) = found.iter().find(|provider| provider.problem.is_none()) else {
        let problems = found.iter().filter_map(|provider| {
            provider.problem.as_ref().map(|problem| format!("`{}`: {problem}", provider.provider))
        });
        let problems = problems.collect::<Vec<_>>().join("; ");
        return Error::not_found(format!("no language model was found ({problems})")).hint(NEXT_STEP);
    };
    let (provider, lists) = (&usable.provider, !usable.models.is_empty());
    let why = if lists { "lists no model for conversations" } else { "does not list its models" };
    Error::invalid(format!("`{provider}` is available, but it {why}"))
        .hint(format!("name one: `poc-memory setup model ID --provider {provider}`"))
        .field("id")
}

/// The change of the settings: the model, with the prices of the model of `[models]` that has the same id.
fn settings(context: &CommandContext, config: &Config, provider: &str, id: &str) -> SettingsFile {
    let known = config.models.values().find(|model| model.provider == provider && model.id == id);
    let value = known.and_then(|model| serde_json::to_value(model).ok());
    let value = value.unwrap_or_else(|| json!({ "provider": provider, "id": id }));
    let path = vec!["models".to_owned(), "default".to_owned()];
    SettingsFile {
        path: context.paths.config_file(),
        syntax: Syntax::Toml,
        edits: vec![Edit::Member { path, value }],
    }
}

/// Runs the linker with the model over the notes of the demo, in a memory of its own, and returns the time.
///
/// # Errors
/// `unavailable` when the model cannot be called or its reply is unusable.
fn measure(config: Config) -> Result<Duration> {
    let started = Instant::now();
    let answer = sample_memory::try_linker(config)?;
    let took = started.elapsed();
    let field = |name: &str| answer.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
    if ["ok", "noop", "partial", "proposed"].contains(&field("status")) {
        return Ok(took);
    }
    let why = format!("a run with it ended as `{}`: {}", field("status"), field("message"));
    Err(Error::new(Code::Unavailable, why).hint("try another one: `poc-memory setup model ID`"))
}
