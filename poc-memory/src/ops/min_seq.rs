//! The argument `min_seq`, which every op takes on every surface: it waits until a change is visible.

use poc_config::Config;
use poc_graph::cancellation;
use poc_graph::error::{Error, Result};
use poc_store::{ReadOnlyReason, Store};
use serde_json::Value;
use std::time::Duration;

/// The name of the argument.
pub const FIELD: &str = "min_seq";

/// How long a request waits before it looks again whether it was cancelled.
const CANCELLATION_PERIOD: Duration = Duration::from_millis(100);

/// Removes the number from the arguments of an op. In a REST query string it is a string.
///
/// # Errors
/// `invalid_argument` with the field `min_seq` if it is not a number.
pub(crate) fn take(args: &mut Value) -> Result<Option<u64>> {
    let Some(given) = args.as_object_mut().and_then(|args| args.shift_remove(FIELD)) else {
        return Ok(None);
    };
    parse(&given).map(Some).ok_or_else(|| {
        Error::invalid("the value is not the number of a change")
            .hint("give the `seq` of an answer's `as_of`")
            .field(FIELD)
    })
}

/// The number of a change, which may be given as text; `None` if it is neither.
pub(crate) fn parse(given: &Value) -> Option<u64> {
    given.as_u64().or_else(|| given.as_str()?.parse().ok())
}

/// The number of the last change that the answer of an op made or shows; 0 if the answer names none.
pub(crate) fn of_answer(answer: &Value) -> u64 {
    let shown = answer.get("as_of").and_then(|as_of| as_of.get("seq"));
    // An op that makes several changes lists their numbers.
    let made = answer.get("changes").and_then(Value::as_array).and_then(|changes| changes.last());
    [shown, answer.get("seq"), made].into_iter().flatten().filter_map(Value::as_u64).max().unwrap_or(0)
}

/// Waits until the memory includes change `seq`. With a shared log, waits at most `[store] timeout`; without
/// one, no other process can add the change, so it does not wait.
///
/// # Errors
/// `unavailable` when the change is still missing, or when nobody waits for the answer any more.
pub(super) fn wait(store: &Store, seq: u64, config: &Config) -> Result<()> {
    let limit = match store.shared_log() {
        Some(_) => config.store.timeout.std(),
        None => Duration::ZERO,
    };
    if is_published_within(store, seq, limit)? {
        return Ok(());
    }
    let last = store.published_seq();
    let cut_off = match store.read_only() {
        Some(reason @ ReadOnlyReason::SharedLog(_)) => format!("; {}", reason.message()),
        _ => String::new(),
    };
    let missing = format!("change {seq} is not visible yet; the last visible change is {last}{cut_off}");
    Err(Error::unavailable(missing)
        .hint("try again later, or ask the daemon that made the change")
        .field(FIELD))
}

/// Waits until readers see change `seq`, at most for `limit`. Returns whether they do.
///
/// # Errors
/// `unavailable` when nobody waits for the answer any more.
fn is_published_within(store: &Store, seq: u64, limit: Duration) -> Result<bool> {
    let mut left = limit;
    loop {
        let period = left.min(CANCELLATION_PERIOD);
        if store.wait_published(seq, period) {
            return Ok(true);
        }
        cancellation::check()?;
        left -= period;
        if left.is_zero() {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::cancellation::CancellationToken;
    use poc_graph::error::Code;
    use poc_graph::time::Span;
    use poc_notes::testing::TestMemory;
    use serde_json::json;

    #[test]
    fn a_number_or_its_text_is_taken_out() {
        for given in [json!(7), json!("7")] {
            let mut args = json!({ "text": "x", "min_seq": given });
            assert_eq!(take(&mut args).unwrap(), Some(7));
            assert_eq!(args, json!({ "text": "x" }));
        }
        assert_eq!(take(&mut json!({})).unwrap(), None);
        let wrong = [json!(-1), json!(1.5), json!("-1"), json!("soon"), json!(""), json!(null), json!([7])];
        // They are larger than any number of a change.
        let too_large = [json!(1e20), json!("18446744073709551616")];
        for wrong in wrong.into_iter().chain(too_large) {
            assert_eq!(take(&mut json!({ "min_seq": wrong })).unwrap_err().at.unwrap().field.unwrap(), FIELD);
        }
    }

    #[test]
    fn a_wait_ends_when_nobody_waits_for_the_answer() {
        let (memory, never) = (TestMemory::new(), 1_000_000);
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let wait = || is_published_within(&memory.store, never, Span::HOUR.std());
        assert_eq!(cancellation::scope(&cancelled, wait).unwrap_err().code, Code::Unavailable);
        assert!(!is_published_within(&memory.store, never, Duration::ZERO).unwrap());
        assert!(is_published_within(&memory.store, 0, Duration::ZERO).unwrap());
    }

    #[test]
    fn an_answer_names_the_last_change_that_it_made_or_shows() {
        let check = |answer: Value, expected: u64| assert_eq!(of_answer(&answer), expected, "{answer}");
        check(json!({"as_of": {"seq": 7, "at": "2026-11-20T08:00:00Z"}, "results": []}), 7);
        check(json!({"key": "kettle", "seq": 7}), 7);
        check(json!({"key": "kettle", "seq": null}), 0);
        check(json!({"messages": 2, "changes": [6, 7]}), 7);
        check(json!({"as_of": {"seq": 9}, "changes": [{"seq": 7}]}), 9);
        check(json!({"changes": []}), 0);
        check(json!(7), 0);
    }
}
