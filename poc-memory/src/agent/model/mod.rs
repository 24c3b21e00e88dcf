//! Language models, and the one that is none.

mod anthropic;
mod candle;
mod command;
mod conversation;
mod cost;
mod gate;
mod heuristic;
mod home;
mod http;
mod key;
#[cfg(test)]
#[path = "../../../../tests/support/mock_model.rs"]
pub(super) mod mock_model;
mod ollama;
mod openai;
mod replay;
mod stop;
#[cfg(test)]
mod testing;
#[cfg(test)]
#[path = "../../../../tests/support/tiny_gguf.rs"]
mod tiny_gguf;

pub use command::MARKER;
pub use cost::Spent;
pub(in crate::agent) use gate::Gate;
pub use gate::{Place, Right};
pub use home::Models;
pub use stop::Stop;

use super::definition::ActionKind;
use super::program::Program;
use super::selection::Selection;
use crate::chance::Chance;
use crate::config::{Config, ProviderKind};
use crate::error::{Error, Result};
use crate::index::TextIndex;
use crate::similar;
use crate::time::{Span, Timestamp};
use http::{Http, Quiet};
use key::{Environment, Key, environment};
use serde_json::Value;
use std::path::PathBuf;

/// One turn to a model.
pub struct Request<'a> {
    /// The nodes the prompt is about, in the graph as it was read.
    pub selection: &'a Selection,
    /// Which words are rare.
    pub text: &'a TextIndex,
    /// What may be answered.
    pub actions: &'a [ActionKind],
    /// Characters the body of a new note may have.
    pub max_chars: usize,
    /// Who it is.
    pub agent: &'a str,
    /// The system prompt: stable from run to run.
    pub system: &'a str,
    /// The rendered template.
    pub prompt: &'a str,
    /// Bytes at its start that are the same from run to run.
    pub stable: usize,
    /// What went wrong with earlier replies of this run: the reply, then what to correct.
    pub corrections: &'a [(String, String)],
    /// JSON Schema of the reply, within the strict modes of every provider.
    pub schema: &'a Value,
    /// Of the whole call, retries included.
    pub timeout: Span,
    /// Attempts of the call, the first included.
    pub attempts: u32,
    /// The instant of the run: what ages are measured against.
    pub now: Timestamp,
    /// Spreads repeated calls over time.
    pub chance: &'a dyn Chance,
    /// Ends the call early.
    pub stop: &'a Stop,
    /// Told of every program that is started for the call, so that it can be ended when nobody is left who
    /// waits for it.
    pub began: &'a (dyn Fn(Program) + Sync),
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The provider's native structured field, when it has one.
    pub structured: Option<Value>,
    /// The text.
    pub text: String,
    /// What it took, answer by answer: those on the way to it may have been lost.
    pub spent: Vec<Spent>,
}

/// A call that came to no reply, and what it took all the same.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct Failed {
    /// Why.
    pub error: CallError,
    /// What it took, answer by answer.
    pub spent: Vec<Spent>,
}

impl From<CallError> for Failed {
    fn from(error: CallError) -> Self {
        Failed { error, spent: Vec::new() }
    }
}

/// Why a call failed, by what the run makes of it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The provider cannot be used as configured: a missing or refused key, an unknown model.
    #[error("{0}")]
    Setup(String),
    /// The provider takes no more calls: what was paid for is used up.
    #[error("{0}")]
    NoCredit(String),
    /// The provider does not take the key.
    #[error("{0}")]
    KeyRefused(String),
    /// The provider is down, overloaded or over its limit, after every attempt.
    #[error("{0}")]
    Down(String),
    /// No answer in time.
    #[error("no answer within {0}")]
    TimedOut(Span),
    /// The model refused.
    #[error("the model refused: {0}")]
    Refused(String),
    /// The answer was cut off by its length limit.
    #[error("the answer was cut off at its length limit")]
    Cut,
    /// [`Request::stop`] ended the call.
    #[error("the call was stopped")]
    Stopped,
}

impl CallError {
    /// Whether another model may do better: what this one was asked does not stand in its way.
    pub fn is_the_models(&self) -> bool {
        match self {
            CallError::Setup(_)
            | CallError::NoCredit(_)
            | CallError::KeyRefused(_)
            | CallError::Down(_)
            | CallError::TimedOut(_)
            | CallError::Refused(_) => true,
            CallError::Cut | CallError::Stopped => false,
        }
    }
}

/// A model that can be called.
pub trait Model: Send + Sync {
    /// Calls it and waits.
    fn call(&self, request: &Request<'_>) -> Result<Reply, Failed>;

    /// US dollars that one attempt of a call takes at most; `None` when nobody knows before the bill comes.
    fn most(&self, _request: &Request<'_>) -> Option<f64> {
        None
    }

    /// Why it is better not called for now, as its provider has said before.
    fn left_alone(&self, _now: Timestamp) -> Option<String> {
        None
    }

    /// Whether it could be called now: asks whoever is asked by a call, but for nothing that costs.
    fn reach(&self, _timeout: Span) -> Result<Reached, CallError> {
        Ok(Reached::Here)
    }
}

/// Where a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// On this machine: there is nobody to ask.
    Here,
    /// Behind a server, which has answered.
    Answered,
}

/// The model with a name from the settings, ready to be called. Calls nobody.
///
/// # Errors
/// `invalid_config` when no model has this name, or when something is [`missing`].
pub fn open(config: &Config, name: &str) -> Result<Box<dyn Model>> {
    if !config.models.contains_key(name) {
        return Err(unknown(config, name));
    }
    open_heeding(config, name, &Quiet::default())
}

/// As [`open`], with what others know of its provider's wishes.
fn open_heeding(config: &Config, name: &str, quiet: &Quiet) -> Result<Box<dyn Model>> {
    build(config, name, quiet, &environment).map_err(|help| {
        Error::config(format!("the model `{name}` cannot be called as configured")).hint(help)
    })
}

/// Why the model with this name cannot be called as things stand (an unset key), with the line
/// that would help; `None` when nothing is known to be missing. Calls nobody.
pub fn missing(config: &Config, name: &str) -> Option<String> {
    build(config, name, &Quiet::default(), &environment).err()
}

/// The model, or one line that would help.
fn build(
    config: &Config,
    name: &str,
    quiet: &Quiet,
    environment: Environment<'_>,
) -> Result<Box<dyn Model>, String> {
    let Some(model) = config.models.get(name) else {
        let error = unknown(config, name);
        return Err(format!("{}; {}", error.message, error.hint.unwrap_or_default()));
    };
    let Some(provider) = config.providers.get(&model.provider) else {
        return Err(format!("add a section `[providers.{}]` to config.toml", model.provider));
    };
    let (model, calls) = (model.clone(), config.calls.clone());
    let http = || {
        let key = Key::find(provider, environment).map_err(|help| {
            let instead = format!("models.{name}.provider = \"heuristic\"");
            format!("{help}, or put `{instead}` at the top of config.toml, which needs no key")
        })?;
        Http::new(&model.provider, provider, &calls, key).map(|http| http.heeding(quiet))
    };
    Ok(match provider.kind {
        ProviderKind::Heuristic => {
            let cosines = config.cosines().map_err(|error| error.line())?.clone();
            Box::new(heuristic::Heuristic { settings: config.heuristic.clone(), cosines })
        }
        ProviderKind::Anthropic => Box::new(anthropic::Anthropic::new(http()?, model, calls)),
        ProviderKind::Openai => Box::new(openai::OpenAi::new(http()?, model, calls)),
        ProviderKind::LlamaCpp => Box::new(openai::OpenAi::llama_cpp(http()?, model, calls)),
        ProviderKind::Ollama => Box::new(ollama::Ollama { http: http()?, model, calls }),
        ProviderKind::Candle => Box::new(candle::Candle::new(model, provider, &calls, environment)?),
        ProviderKind::Command => Box::new(command::CommandModel::new(model, provider, calls, environment)?),
        ProviderKind::Replay => {
            let Some(folder) = &provider.replies else {
                return Err(format!(
                    "put `providers.{}.replies = \"/a/folder\"` into config.toml",
                    model.provider
                ));
            };
            Box::new(replay::Replay { folder: path_of(folder, environment)? })
        }
    })
}

fn unknown(config: &Config, name: &str) -> Error {
    let near = similar::to(name, config.models.keys().map(String::as_str));
    let line = format!("`models.{name} = {{ provider = \"…\", id = \"…\" }}` at the top of config.toml");
    Error::config(format!("no model is called `{name}`")).hint(match near {
        Some(near) => format!("did you mean `{near}`? else put {line}"),
        None => format!("put {line}"),
    })
}

/// A path from the settings: absolute, or under `~`.
fn path_of(path: &str, environment: Environment<'_>) -> Result<PathBuf, String> {
    crate::paths::named(path, environment("HOME").as_deref())
}

#[cfg(test)]
mod tests;
