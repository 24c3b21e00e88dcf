//! Errors of calls to the database, and how they become errors of the store.

use poc_graph::error::{Code, Error, Result};
use std::error::Error as _;
use std::fmt::Display;
use std::io;
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// Why a call to the database failed.
#[derive(Debug)]
pub(crate) enum DatabaseError {
    /// The client library or the database reports an error.
    Client(tokio_postgres::Error),
    /// There was no answer within this time. It is unknown what the database has done.
    NoAnswer(Duration),
    /// The operating system lacks what a call needs, such as a thread.
    System(io::Error),
}

impl DatabaseError {
    /// The SQLSTATE, if the database reports an error.
    pub(crate) fn code(&self) -> Option<&SqlState> {
        match self {
            DatabaseError::Client(error) => error.code(),
            DatabaseError::NoAnswer(_) | DatabaseError::System(_) => None,
        }
    }
}

impl From<tokio_postgres::Error> for DatabaseError {
    fn from(error: tokio_postgres::Error) -> DatabaseError {
        DatabaseError::Client(error)
    }
}

/// Classes of SQLSTATE after which a retry may succeed: connection failures, insufficient resources, operator
/// intervention (a restart or a timeout), and system errors.
const TRANSIENT: [&str; 4] = ["08", "53", "57", "58"];

/// Maximum number of times that a call is run if the database rolls it back because of concurrent transactions. A
/// database whose transactions are always serializable rolls back even single statements.
pub(crate) const ATTEMPTS: u32 = 20;

/// Whether the database rolled the statement back because of a concurrent transaction. It has changed nothing then.
pub(crate) fn is_rolled_back(error: &DatabaseError) -> bool {
    let states = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|state| states.contains(&state))
}

/// Runs a call, and runs it again while the database rolls it back, at most [`ATTEMPTS`] times in all.
pub(crate) fn retry_rolled_back<T>(
    mut call: impl FnMut() -> Result<T, DatabaseError>,
) -> Result<T, DatabaseError> {
    let mut done = call();
    for _ in 1..ATTEMPTS {
        match &done {
            Err(error) if is_rolled_back(error) => done = call(),
            _ => break,
        }
    }
    done
}

/// The error for a database that does not answer.
fn unreachable(location: &impl Display, why: impl Display) -> Error {
    Error::unavailable(format!("log unreachable: `{location}`: {why}"))
        .hint("check the address, and that the server runs and accepts connections from this machine")
}

/// The error for a failed call. It contains no password, because the client never puts one into its errors.
pub(crate) fn failure(location: &impl Display, error: &DatabaseError) -> Error {
    let error = match error {
        DatabaseError::Client(error) => error,
        DatabaseError::NoAnswer(limit) => {
            return unreachable(location, format_args!("no answer within {limit:?}"));
        }
        DatabaseError::System(error) => {
            return unreachable(location, format_args!("no call can be made: {error}"));
        }
    };
    let Some(database) = error.as_db_error() else {
        // The source of the error has the reason, such as a refused connection or an unknown host.
        let reason = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        return unreachable(location, format_args!("{error}{reason}"));
    };
    let state = database.code();
    let message = format!("log unreachable: `{location}`: {}", database.message());
    if TRANSIENT.iter().any(|class| state.code().starts_with(class))
        || *state == SqlState::READ_ONLY_SQL_TRANSACTION
    {
        return Error::unavailable(message);
    }
    match *state {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            Error::new(Code::InvalidConfig, message)
                .hint("set the variable of `password-env`, or `password-file`, in `[store]`")
        }
        SqlState::UNDEFINED_DATABASE => Error::new(Code::InvalidConfig, message)
            .hint("create the database, then run `poc-memory store init`"),
        SqlState::UNDEFINED_TABLE => {
            Error::new(Code::InvalidConfig, message).hint("create the tables with `poc-memory store init`")
        }
        SqlState::INSUFFICIENT_PRIVILEGE => {
            Error::new(Code::InvalidConfig, message).hint("the role needs SELECT, INSERT, UPDATE and DELETE")
        }
        _ => Error::internal(message),
    }
}

/// The result of a call; `None` if the database does not support it.
///
/// # Errors
/// `unavailable` if the database did not answer or the call was interrupted. Then it may support the call.
pub(crate) fn supported<T>(result: Result<T, DatabaseError>, location: &impl Display) -> Result<Option<T>> {
    match result.map_err(|error| failure(location, &error)) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code == Code::Unavailable => Err(error),
        Err(error) => {
            tracing::debug!("the database does not support a call: {error}");
            Ok(None)
        }
    }
}
