//! Providers of language models: servers over HTTP, programs, recorded replies and local GGUF files.
//!
//! [`registry`] opens the models that the settings name. Agents use them through the trait [`Model`].

mod anthropic;
mod api_key;
#[cfg(feature = "local-models")]
mod candle;
mod command;
mod conversation;
mod environment;
mod http;
#[cfg(test)]
#[path = "../../../../tests/support/mock_model.rs"]
mod mock_model;
mod ollama;
mod openai;
mod recorded_replies;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
#[cfg(feature = "local-models")]
#[path = "../../../../tests/support/tiny_gguf.rs"]
mod tiny_gguf;
mod usage;

pub use command::AGENT_VARIABLE;

use api_key::ApiKey;
use environment::{VariableReader, environment, path_of};
use http::Http;
use poc_agent::model::{Heuristic, Model, ModelFactory, ModelRegistry, ModelSettings, RetryAfter};
use poc_config::{Config, ProviderKind};
use std::sync::Arc;

/// A registry that can build the models of every provider, with keys from this process's environment.
pub fn registry() -> ModelRegistry {
    ModelRegistry::new(Arc::new(ProviderFactory { environment: Box::new(environment) }))
}

/// Why the model with this name cannot be called with these settings and this environment, for example because a key
/// is not set, and what to change; `None` when nothing is known to be missing. Sends no request.
pub fn missing(config: &Config, name: &str) -> Option<String> {
    registry().missing(config, name)
}

/// How to set the missing key of a provider; `None` when it has one or needs none. Sends no request.
pub fn missing_key(provider: &poc_config::ProviderConfig) -> Option<String> {
    ApiKey::find(provider, &environment).err()
}

/// Builds the models of all providers.
struct ProviderFactory {
    /// Reads an environment variable.
    environment: Box<VariableReader>,
}

impl ModelFactory for ProviderFactory {
    fn credentials(&self, provider: &poc_config::ProviderConfig) -> Option<blake3::Hash> {
        let key = ApiKey::find(provider, &*self.environment).ok().flatten();
        key.map(|key| key.fingerprint())
    }

    fn build(&self, settings: ModelSettings<'_>, retry_after: &RetryAfter) -> Result<Box<dyn Model>, String> {
        let ModelSettings { config, name, model, provider } = settings;
        let environment = &*self.environment;
        let (model, calls) = (model.clone(), config.calls.clone());
        let http = || {
            let key = ApiKey::find(provider, environment).map_err(|help| {
                let instead = format!("models.{name}.provider = \"heuristic\"");
                format!("{help}, or put `{instead}` at the top of config.toml, which needs no key")
            })?;
            Http::new(&model.provider, provider, &calls, key).map(|http| http.with_retry_after(retry_after))
        };
        Ok(match provider.kind {
            ProviderKind::Heuristic => Box::new(Heuristic::new(config)?),
            ProviderKind::Anthropic => Box::new(anthropic::Anthropic::new(http()?, model, calls)),
            ProviderKind::Openai => Box::new(openai::OpenAi::new(http()?, model, calls)),
            ProviderKind::LlamaCpp => Box::new(openai::OpenAi::llama_cpp(http()?, model, calls)),
            ProviderKind::Ollama => Box::new(ollama::Ollama::new(http()?, model, calls)),
            #[cfg(feature = "local-models")]
            ProviderKind::Candle => Box::new(candle::Candle::new(model, provider, &calls, environment)?),
            #[cfg(not(feature = "local-models"))]
            ProviderKind::Candle => {
                return Err(format!(
                    "this program was built without its cargo feature `local-models`, which the provider `{}` needs: build it with that feature, or give `models.{name}` another provider, such as `ollama`",
                    model.provider
                ));
            }
            ProviderKind::Command => {
                Box::new(command::CommandModel::new(model, provider, calls, environment)?)
            }
            ProviderKind::Replay => {
                let Some(folder) = &provider.replies else {
                    return Err(format!(
                        "put `providers.{}.replies = \"/a/folder\"` into config.toml",
                        model.provider
                    ));
                };
                Box::new(recorded_replies::RecordedReplies { folder: path_of(folder, environment)? })
            }
        })
    }
}
