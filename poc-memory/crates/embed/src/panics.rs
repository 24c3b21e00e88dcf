//! Runs candle on untrusted files, on which it may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs work on an untrusted file. A panic becomes an error that says the file is damaged; every error is one
/// line.
pub fn catch_panics<T>(work: impl FnOnce() -> candle_core::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(made)) => Ok(made),
        // A backtrace may follow.
        Ok(Err(error)) => Err(error.to_string().lines().next().unwrap_or_default().to_owned()),
        Err(_) => Err("it is damaged".to_owned()),
    }
}
