//! Language models as agents use them: requests, replies and costs. The providers are in the crate
//! `poc-models`; this module only has the heuristic model, which needs no provider.

mod heuristic;
mod registry;
mod retry_after;
mod secret;
mod semaphore;

pub use super::cost::CallCost;
pub use heuristic::Heuristic;
pub use registry::{ModelFactory, ModelRegistry, ModelSettings};
pub use retry_after::RetryAfter;
pub use secret::Secret;
pub use semaphore::{Priority, PrioritySemaphore, SemaphorePermit};

use super::child_process::ChildProcess;
use super::definition::ActionKind;
use super::selection::Selection;
use poc_graph::cancellation::CancellationToken;
use poc_graph::error::Result;
use poc_graph::rng::Rng;
use poc_graph::time::{Span, Timestamp};
use poc_index::TextIndex;
use serde_json::Value;

/// One turn of a conversation with a model.
pub struct Request<'a> {
    /// The nodes in the prompt, in the graph as it was read.
    pub selection: &'a Selection,
    /// The text index, for the frequency of words.
    pub text: &'a TextIndex,
    /// The permitted actions.
    pub actions: &'a [ActionKind],
    /// Whether the prompt lists the notes that were derived from the selected ones.
    pub shows_derived: bool,
    /// Whether new notes must be quotations.
    pub only_quotations: bool,
    /// Maximum characters of a new note's body.
    pub max_chars: usize,
    /// The agent's name.
    pub agent: &'a str,
    /// The system prompt; the same in every run.
    pub system: &'a str,
    /// The rendered template.
    pub prompt: &'a str,
    /// Number of bytes at the start of the prompt that are the same in every run.
    pub stable: usize,
    /// Earlier replies of this run that did not validate.
    pub corrections: &'a [RejectedReply],
    /// JSON Schema of the reply, within the strict modes of every provider.
    pub schema: &'a Value,
    /// Timeout of the whole call, including retries.
    pub timeout: Span,
    /// Maximum attempts, including the first.
    pub attempts: u32,
    /// Whether a person waits for the reply. Such a call does not wait for the end of a pause that the
    /// provider requested earlier.
    pub attended: bool,
    /// Time of the run; ages are relative to it.
    pub now: Timestamp,
    /// Random source for the backoff between attempts.
    pub rng: &'a dyn Rng,
    /// Cancels the call.
    pub cancellation: &'a CancellationToken,
    /// Called for every child process that is started for the call, so that a later process can end it.
    pub on_child_process: &'a (dyn Fn(ChildProcess) + Sync),
}

/// A reply that did not validate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedReply {
    /// The text of the reply.
    pub reply: String,
    /// The message to the model that says what is wrong.
    pub correction: String,
}

/// A reply of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The provider's native structured field, when it has one.
    pub structured: Option<Value>,
    /// The text.
    pub text: String,
    /// Cost of each response, including failed attempts.
    pub spent: Vec<CallCost>,
    /// The key of the provider, which the server may have echoed. It must be removed from texts that are
    /// stored or shown.
    pub secret: Option<Secret>,
}

impl Reply {
    /// The text as the model wrote it; the structured field if there is no text.
    pub fn full_text(&self) -> String {
        match &self.structured {
            Some(value) if self.text.is_empty() => value.to_string(),
            _ => self.text.clone(),
        }
    }

    /// The text to store: without the key of the provider.
    pub fn stored_text(&self) -> String {
        match (&self.structured, &self.secret) {
            (Some(value), Some(secret)) if self.text.is_empty() => {
                let mut value = value.clone();
                secret.redact_strings(&mut value);
                value.to_string()
            }
            _ => self.redacted(&self.full_text()),
        }
    }

    /// A text about this reply without the key of the provider.
    pub fn redacted(&self, text: &str) -> String {
        self.secret.as_ref().map_or_else(|| text.to_owned(), |secret| secret.redact(text))
    }
}

/// A failed call and its cost.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct CallFailure {
    /// The cause of the failure.
    pub error: CallError,
    /// Cost of each response.
    pub spent: Vec<CallCost>,
}

impl From<CallError> for CallFailure {
    fn from(error: CallError) -> Self {
        CallFailure { error, spent: Vec::new() }
    }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The provider cannot be used as configured: a missing or refused key, an unknown model.
    #[error("{0}")]
    Setup(String),
    /// The provider refuses calls because the credit is used up.
    #[error("{0}")]
    NoCredit(String),
    /// The provider refused the key.
    #[error("{0}")]
    KeyRefused(String),
    /// The provider is down, overloaded or over its limit, after every attempt.
    #[error("{0}")]
    Down(String),
    /// The provider did not respond within this time.
    #[error("no answer within {0}")]
    TimedOut(Span),
    /// The model refused the request.
    #[error("the model refused: {0}")]
    Refused(String),
    /// The reply was truncated at its length limit.
    #[error("the answer was cut off at its length limit")]
    Cut,
    /// [`Request::cancellation`] ended the call.
    #[error("the call was stopped")]
    Stopped,
}

impl CallError {
    /// Whether a fallback model may be tried: the failure is not caused by the request.
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
    /// Calls the model and waits for the reply.
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure>;

    /// Maximum cost of one attempt in US dollars; `None` when unknown.
    fn max_cost(&self, _request: &Request<'_>) -> Option<f64> {
        None
    }

    /// The number of tokens that the model can read and write in a call, if the model itself determines it.
    /// It overrides the settings.
    fn context(&self) -> Option<usize> {
        None
    }

    /// Whether it reads the prompt as a language model does.
    fn is_language_model(&self) -> bool {
        true
    }

    /// Why the provider is suspended at `now`; `None` when it is not.
    fn suspension(&self, _now: Timestamp) -> Option<String> {
        None
    }

    /// Checks whether the model can be called now, with a request that is free.
    fn probe(&self, _timeout: Span) -> Result<ProbeOutcome, CallError> {
        Ok(ProbeOutcome::Local)
    }

    /// The ids of the models that its provider lists; empty if it has no list.
    fn list(&self, _timeout: Span) -> Result<Vec<String>, CallError> {
        Ok(Vec::new())
    }
}

/// Result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// The model runs on this machine; there is no server.
    Local,
    /// The server answered.
    Answered,
}
