//! Runs candle on untrusted files, where it may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs work on an untrusted file. A panic becomes an error that says the file is damaged. All errors are single lines.
pub fn catch_panics<T>(work: impl FnOnce() -> candle_core::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(made)) => Ok(made),
        // The error may be followed by a backtrace, which is dropped.
        Ok(Err(error)) => Err(error.to_string().lines().next().unwrap_or_default().to_owned()),
        Err(_) => Err("it is damaged".to_owned()),
    }
}
