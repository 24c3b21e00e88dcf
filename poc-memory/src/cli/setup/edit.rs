//! A change of a settings file: it sets one member or one entry.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Edit {
    /// Sets the member at a path of names.
    Member {
        /// The names, from the outside.
        path: Vec<String>,
        /// Its value.
        value: Value,
    },
    /// Sets the entry of this program in the list of hooks of an event.
    HookEntry {
        /// The event.
        event: String,
        /// The entry.
        entry: Value,
    },
}
