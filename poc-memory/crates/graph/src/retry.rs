//! Repeats an attempt that failed temporarily, with exponential backoff.
//!
//! The crates `backon` and `backoff` do not fit: they sleep without cancellation, draw the jitter themselves and always
//! return the last error. Here a wait can be cancelled and then determines the result, a server's `retry-after` may
//! lengthen it, a deadline may prevent it, and random bits are an argument.

use std::time::Duration;

/// Delays between attempts: they double from `first` to at most `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failed attempt.
    pub first: Duration,
    /// The maximum delay.
    pub max: Duration,
}

impl Backoff {
    /// The delay after `failures` failed attempts, counted from 1: `first · 2^(failures − 1)`, at most `max`.
    pub fn delay(&self, failures: u32) -> Duration {
        let factor = 1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.max)
    }

    /// Like [`delay`](Backoff::delay), but shortened by the random `bits` to between half and all of it. Clients that
    /// failed together then do not retry together.
    pub fn jittered_delay(&self, failures: u32, bits: u64) -> Duration {
        self.delay(failures).mul_f64(0.5 + 0.5 * (bits as f64 / u64::MAX as f64))
    }
}

/// Calls `attempt` until it succeeds or `before_retry` gives up.
///
/// `before_retry` takes the number of failed attempts so far, from 1, and the error of the last one. It waits and
/// returns `Ok` to try again, or returns the error to give up with.
pub fn retry<T, E, F>(
    mut attempt: impl FnMut() -> Result<T, E>,
    mut before_retry: impl FnMut(u32, E) -> Result<(), F>,
) -> Result<T, F> {
    let mut failures: u32 = 0;
    loop {
        match attempt() {
            Ok(value) => return Ok(value),
            Err(error) => {
                failures = failures.saturating_add(1);
                before_retry(failures, error)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), max: Duration::from_secs(5) };

    #[test]
    fn delays_double_up_to_the_maximum() {
        let seconds: Vec<u64> =
            [0, 1, 2, 3, 4, 40, u32::MAX].map(|failures| BACKOFF.delay(failures).as_secs()).to_vec();
        assert_eq!(seconds, [1, 1, 2, 4, 5, 5, 5]);
    }

    #[test]
    fn jitter_keeps_at_least_half_of_a_delay() {
        assert_eq!(BACKOFF.jittered_delay(2, 0), Duration::from_secs(1));
        assert_eq!(BACKOFF.jittered_delay(2, u64::MAX), Duration::from_secs(2));
    }

    #[test]
    fn attempts_repeat_until_one_succeeds_or_the_caller_gives_up() {
        let run = |successful: u32| {
            let mut attempts = 0;
            retry(
                || {
                    attempts += 1;
                    if attempts == successful { Ok(attempts) } else { Err("busy") }
                },
                |failures, error| if failures < 3 { Ok(()) } else { Err(format!("{error} ({failures})")) },
            )
        };
        assert_eq!(run(3), Ok(3));
        assert_eq!(run(4), Err("busy (3)".to_owned()));
    }
}
