//! Language models as agents see them: what is asked, what is answered, and what it costs. The providers
//! are in `models`; the only model here is the heuristic one, which needs none.

mod cancellation;
mod heuristic;
mod registry;
mod retry_after;
mod semaphore;

pub use super::cost::CallCost;
pub use cancellation::{CancellationToken, LONGEST_WAIT, WaitOutcome};
pub use heuristic::Heuristic;
pub use registry::{ModelFactory, ModelRegistry, ModelSettings};
pub use retry_after::RetryAfter;
pub use semaphore::{Priority, PrioritySemaphore, SemaphorePermit};

use super::child_process::ChildProcess;
use super::definition::ActionKind;
use super::selection::Selection;
use poc_graph::error::Result;
use poc_graph::rng::Rng;
use poc_graph::time::{Span, Timestamp};
use poc_index::TextIndex;
use serde_json::Value;

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
    pub rng: &'a dyn Rng,
    /// Ends the call early.
    pub cancellation: &'a CancellationToken,
    /// Told of every program that is started for the call, so that it can be ended when nobody is left who
    /// waits for it.
    pub on_child_process: &'a (dyn Fn(ChildProcess) + Sync),
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The provider's native structured field, when it has one.
    pub structured: Option<Value>,
    /// The text.
    pub text: String,
    /// What it took, answer by answer: those on the way to it may have been lost.
    pub spent: Vec<CallCost>,
}

/// A call that came to no reply, and what it took all the same.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct CallFailure {
    /// Why.
    pub error: CallError,
    /// What it took, answer by answer.
    pub spent: Vec<CallCost>,
}

impl From<CallError> for CallFailure {
    fn from(error: CallError) -> Self {
        CallFailure { error, spent: Vec::new() }
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
    /// [`Request::cancellation`] ended the call.
    #[error("the call was stopped")]
    Stopped,
}

impl CallError {
    /// Whether another model may do better: what this one was asked does not stand in its way.
    pub fn allows_fallback(&self) -> bool {
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
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure>;

    /// US dollars that one attempt of a call takes at most; `None` when nobody knows before the bill comes.
    fn max_cost(&self, _request: &Request<'_>) -> Option<f64> {
        None
    }

    /// Why it is better not called for now, as its provider has said before.
    fn suspension(&self, _now: Timestamp) -> Option<String> {
        None
    }

    /// Whether it could be called now: asks whoever is asked by a call, but for nothing that costs.
    fn probe(&self, _timeout: Span) -> Result<ProbeOutcome, CallError> {
        Ok(ProbeOutcome::Local)
    }
}

/// Where a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// On this machine: there is nobody to ask.
    Local,
    /// Behind a server, which has answered.
    Answered,
}
