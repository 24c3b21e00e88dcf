//! The argument `min_seq`, which every op takes on every surface: it waits until a change is visible.

use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_store::Store;
use serde_json::Value;

/// The name of the argument.
pub const FIELD: &str = "min_seq";

/// Removes the number from the arguments of an op. In a REST query string it is a string.
///
/// # Errors
/// `invalid_argument` with the field `min_seq` if it is not a number.
pub(super) fn take(args: &mut Value) -> Result<Option<u64>> {
    let Some(given) = args.as_object_mut().and_then(|args| args.shift_remove(FIELD)) else {
        return Ok(None);
    };
    let number = given.as_u64().or_else(|| given.as_str()?.parse().ok());
    number.map(Some).ok_or_else(|| {
        Error::invalid("is not the number of a change")
            .hint("give the `seq` of an answer's `as_of`")
            .field(FIELD)
    })
}

/// Waits until the memory includes change `seq`. With a shared log, waits at most `[store] timeout`; without
/// one, no other process can add the change, so it does not wait.
///
/// # Errors
/// `unavailable` when the change is still missing.
pub(super) fn wait(store: &Store, seq: u64, config: &Config) -> Result<()> {
    let limit = match store.shared_log() {
        Some(_) => config.store.timeout.std(),
        None => std::time::Duration::ZERO,
    };
    if store.wait_published(seq, limit) {
        return Ok(());
    }
    let last = store.published_seq();
    Err(Error::unavailable(format!("change {seq} is not visible yet; the last visible change is {last}"))
        .hint("try again later, or ask the daemon that made the change")
        .field(FIELD))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_or_its_text_is_taken_out() {
        for given in [json!(7), json!("7")] {
            let mut args = json!({ "text": "x", "min_seq": given });
            assert_eq!(take(&mut args).unwrap(), Some(7));
            assert_eq!(args, json!({ "text": "x" }));
        }
        assert_eq!(take(&mut json!({})).unwrap(), None);
        for wrong in [json!(-1), json!("soon"), json!(null)] {
            assert_eq!(take(&mut json!({ "min_seq": wrong })).unwrap_err().at.unwrap().field.unwrap(), FIELD);
        }
    }
}
