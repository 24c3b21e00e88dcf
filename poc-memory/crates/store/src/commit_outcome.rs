//! The outcome of a transaction, passed from the committer to the waiting writer.

use super::transaction::TransactionError;
use parking_lot::{Condvar, Mutex};
use poc_graph::error::{Error, Result};
use std::sync::Arc;
use std::time::Duration;

/// Why a transaction was not committed.
#[derive(Clone, Debug)]
pub(crate) enum Rejection {
    /// Another writer of the shared log was faster. The transaction must be built again on the
    /// newer state.
    Outdated,
    /// The transaction cannot be committed.
    Failed(Error),
}

/// Whether a transaction is durable and visible, as soon as this is known.
#[derive(Default)]
pub(crate) struct CommitOutcome {
    result: Mutex<Option<Result<(), Rejection>>>,
    known: Condvar,
}

impl CommitOutcome {
    /// Waits for the outcome.
    pub(crate) fn wait(&self) -> Result<(), Rejection> {
        let mut result = self.result.lock();
        loop {
            if let Some(outcome) = &*result {
                return outcome.clone();
            }
            self.known.wait(&mut result);
        }
    }

    /// Waits for the outcome at most for `limit`. Returns whether it is known.
    pub(crate) fn wait_for(&self, limit: Duration) -> bool {
        let mut result = self.result.lock();
        self.known.wait_while_for(&mut result, |result| result.is_none(), limit);
        result.is_some()
    }

    fn set(&self, outcome: Result<(), Rejection>) {
        let mut result = self.result.lock();
        if result.is_none() {
            *result = Some(outcome);
            self.known.notify_all();
        }
    }
}

/// The sending side of an outcome. Dropping it without a result sets an error, so that no writer
/// waits forever.
pub(crate) struct OutcomeSender(Arc<CommitOutcome>);

impl OutcomeSender {
    pub(crate) fn new() -> (OutcomeSender, Arc<CommitOutcome>) {
        let outcome = Arc::new(CommitOutcome::default());
        (OutcomeSender(outcome.clone()), outcome)
    }

    /// Sets the outcome unless it is already set.
    pub(crate) fn set(&self, outcome: Result<(), Rejection>) {
        self.0.set(outcome);
    }
}

impl Drop for OutcomeSender {
    fn drop(&mut self) {
        self.0.set(Err(Rejection::Failed(TransactionError::UnknownOutcome.into())));
    }
}
