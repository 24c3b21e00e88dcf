//! How a run ends when nothing is applied.

use crate::ledger::{Status, StatusReason};
use crate::model::CallError;
use poc_graph::error::Error;

/// Why a run ends without applying anything.
pub(super) enum RunEnd {
    /// There was nothing to do, or no model available.
    Skipped(StatusReason, Option<String>),
    /// It failed.
    Failed(Status, Option<StatusReason>, String),
    /// The store failed.
    Broken(Error),
}

impl From<Error> for RunEnd {
    fn from(error: Error) -> Self {
        RunEnd::Failed(Status::Failed, None, error.line())
    }
}

impl From<CallError> for RunEnd {
    fn from(error: CallError) -> Self {
        let message = error.to_string();
        match error {
            CallError::TimedOut(_) => RunEnd::Failed(Status::TimedOut, None, message),
            CallError::Stopped => RunEnd::Failed(Status::Interrupted, None, message),
            CallError::Down(_) | CallError::NoCredit(_) => {
                RunEnd::Failed(Status::Failed, Some(StatusReason::ProviderDown), message)
            }
            CallError::Setup(_) | CallError::KeyRefused(_) => {
                RunEnd::Failed(Status::Failed, Some(StatusReason::InvalidConfig), message)
            }
            CallError::Refused(_) | CallError::Cut => RunEnd::Failed(Status::Failed, None, message),
        }
    }
}
