//! Language models, and the one that is none.

mod stop;

pub use stop::Stop;

use super::definition::ActionKind;
use super::selection::Selection;
use crate::chance::Chance;
use crate::config::Config;
use crate::error::Result;
use crate::time::{Span, Timestamp};
use serde_json::Value;

/// One turn to a model.
pub struct Request<'a> {
    /// The nodes the prompt is about, in the graph as it was read.
    pub selection: &'a Selection,
    /// What may be answered.
    pub actions: &'a [ActionKind],
    /// Who it is.
    pub agent: &'a str,
    /// The system prompt: stable from run to run.
    pub system: &'a str,
    /// The rendered template.
    pub prompt: &'a str,
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
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The provider's native structured field, when it has one.
    pub structured: Option<Value>,
    /// The text.
    pub text: String,
    /// Tokens read, when the provider tells.
    pub tokens_in: Option<u64>,
    /// Tokens written, when the provider tells.
    pub tokens_out: Option<u64>,
    /// US dollars, when prices are known.
    pub cost: Option<f64>,
}

/// Why a call failed, by what the run makes of it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The provider cannot be used as configured: a missing or refused key, an unknown model.
    #[error("{0}")]
    Setup(String),
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

/// A model that can be called.
pub trait Model: Send + Sync {
    /// Calls it and waits.
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallError>;
}

/// The model with a name from the settings, ready to be called.
pub fn open(_config: &Config, _name: &str) -> Result<Box<dyn Model>> {
    todo!()
}

/// Why the model with this name cannot be called as things stand (an unset key), with the line
/// that would help; `None` when nothing is known to be missing. Calls nobody.
pub fn missing(_config: &Config, _name: &str) -> Option<String> {
    todo!()
}
