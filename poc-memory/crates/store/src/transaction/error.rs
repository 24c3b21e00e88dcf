//! Errors of building and committing a transaction.

use crate::logged_transaction::MAX_RECORD;
use poc_graph::NodeId;
use poc_graph::error::Error;

/// Why a write is not allowed in a transaction, or why a transaction cannot be committed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransactionError {
    #[error("the key `{key}` belongs to note `{owner}`")]
    KeyTaken { key: String, owner: NodeId },
    #[error("note `{0}` has more than {max} passages", max = u16::MAX)]
    TooManyPassages(NodeId),
    #[error("there is no note `{0}`")]
    NoNode(NodeId),
    #[error("the node `{0}` is of another tenant")]
    OtherTenant(NodeId),
    #[error("the table `Changes` is derived from the log and cannot be written directly")]
    DerivedTable,
    #[error("the transaction has {} MiB, the limit is {} MiB", .0 >> 20, MAX_RECORD >> 20)]
    TooLarge(usize),
    /// The transaction is inside the closure of another one, and would wait for itself.
    #[error("a transaction was begun inside a transaction of the same store")]
    Nested,
    #[error("a transaction was not built")]
    NotBuilt,
    #[error("every attempt lost to another writer of the shared log")]
    Outdated,
    #[error("the store closed before it was known whether this write succeeded")]
    UnknownOutcome,
}

impl From<TransactionError> for Error {
    fn from(error: TransactionError) -> Error {
        let message = error.to_string();
        match error {
            TransactionError::KeyTaken { .. } => {
                Error::conflict(message).hint("choose another key, or change that note")
            }
            TransactionError::TooManyPassages(_) => Error::invalid(message),
            TransactionError::NoNode(_) => Error::not_found(message),
            TransactionError::TooLarge(_) => Error::invalid(message).hint("split it into several"),
            TransactionError::Outdated => Error::unavailable(message).hint("try again"),
            TransactionError::OtherTenant(_)
            | TransactionError::DerivedTable
            | TransactionError::Nested
            | TransactionError::NotBuilt => Error::internal(message),
            TransactionError::UnknownOutcome => Error::unavailable(message),
        }
    }
}
