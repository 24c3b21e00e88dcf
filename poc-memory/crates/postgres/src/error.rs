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

/// Classes of SQLSTATE after which a retry may succeed: connection failures, transactions that were rolled back or
/// whose outcome the database does not know, insufficient resources, operator intervention (a restart or a timeout),
/// and system errors.
const TRANSIENT: [&str; 5] = ["08", "40", "53", "57", "58"];

fn is_transient(state: &SqlState) -> bool {
    TRANSIENT.iter().any(|class| state.code().starts_with(class))
}

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

/// What to do if the database does not accept the password, or needs one.
const PASSWORD_HINT: &str = "put the password into the variable that `password-env` in `[store]` names, `PGPASSWORD` \
                             by default, or into a file that `password-file` names";

/// What to do if a server accepts only reads.
const READ_ONLY_HINT: &str = "the server accepts only reads, as a replica does: name all servers in the address, with \
                              `target_session_attrs=read-write`, so that the one that accepts writes is found";

/// The error for a failure that the client library reports.
fn client_failure(location: &impl Display, error: &tokio_postgres::Error) -> Error {
    // The source of the error has the reason, such as a refused connection or an unknown host.
    let Some(reason) = error.source().map(ToString::to_string) else { return unreachable(location, error) };
    let failure = unreachable(location, format_args!("{error}: {reason}"));
    match reason.as_str() {
        "password missing" => failure.hint(PASSWORD_HINT),
        "database does not allow writes" => failure.hint(READ_ONLY_HINT),
        "server does not support TLS" => failure.hint(
            "enable TLS on the server; in a network that you trust, `sslmode=disable` in the address turns it off",
        ),
        _ if error.to_string().contains("TLS") => failure.hint(
            "the certificate of the server must be for the host in the address, and signed by a public authority or by \
             one in the file that `ca-file` in `[store]` names",
        ),
        _ => failure,
    }
}

/// The error for a failed call. It contains no password, because the client never puts one into its errors.
///
/// A database that refuses the login is `unavailable`, like one that does not answer: a store still answers from its
/// copy, and the password is right again after a change in its file or in the database, without a restart.
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
    let Some(database) = error.as_db_error() else { return client_failure(location, error) };
    let state = database.code();
    let message = format!("log unreachable: `{location}`: {}", database.message());
    if is_transient(state) {
        return Error::unavailable(message).hint(match *state {
            SqlState::TOO_MANY_CONNECTIONS => {
                "the server has no connection left: raise its `max_connections`, or let fewer programs connect"
            }
            SqlState::DISK_FULL => "free space on the disk of the server",
            _ => "try again later; if the failure does not end, look into the log of the server",
        });
    }
    match *state {
        SqlState::READ_ONLY_SQL_TRANSACTION => Error::unavailable(message).hint(READ_ONLY_HINT),
        SqlState::INVALID_PASSWORD => Error::unavailable(message).hint(PASSWORD_HINT),
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION => Error::unavailable(message).hint(
            "check the role in the address, and which connections `pg_hba.conf` of the server permits; \
             `sslmode=require` in the address requires TLS",
        ),
        SqlState::UNDEFINED_DATABASE => Error::new(Code::InvalidConfig, message)
            .hint("create the database, then run `poc-memory store init`"),
        SqlState::UNDEFINED_TABLE => {
            Error::new(Code::InvalidConfig, message).hint("create the tables with `poc-memory store init`")
        }
        SqlState::INSUFFICIENT_PRIVILEGE => Error::new(Code::InvalidConfig, message).hint(
            "the role needs SELECT, INSERT, UPDATE and DELETE on the tables; for `poc-memory store init`, it also \
             needs CREATE on the schema, as after `GRANT CREATE ON SCHEMA public TO ROLE`",
        ),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// After another error, the caller assumes that nothing was appended.
    #[test]
    fn a_call_with_an_unknown_outcome_may_succeed_later() {
        // CockroachDB reports it if a node fails during a commit.
        assert!(is_transient(&SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN));
        for state in [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::CONNECTION_FAILURE] {
            assert!(is_transient(state), "{state:?}");
        }
        for state in [&SqlState::SYNTAX_ERROR, &SqlState::UNDEFINED_TABLE, &SqlState::UNIQUE_VIOLATION] {
            assert!(!is_transient(state), "{state:?}");
        }
    }
}
