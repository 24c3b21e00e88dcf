//! What to do first in a memory that has no notes.

use super::command_context::CommandContext;
use crate::dispatch::Connection;
use crate::ops;
use poc_graph::State;
use serde_json::{Value, json};

/// The line for a person, with commands that can be run.
const FIRST_STEP: &str = "the memory has no notes yet: `poc-memory insert 'The first note'` stores one, and \
                          `poc-memory import FOLDER` imports a folder of notes\n";

/// The line that follows an answer without notes. `None` if the memory has notes that the answer did not list, also
/// superseded or expired ones, or if it may have lost its notes.
pub(super) fn first_step(context: &CommandContext, connection: &mut Connection) -> Option<&'static str> {
    let search = ops::find("search")?;
    for state in State::ALL {
        let pipeline = format!("all | state:{state} | limit:1");
        let request = context.with_global_arguments(json!({ "pipeline": [pipeline] })).ok()?;
        let answer = connection.call(search, request, &|_| {}).ok()?;
        let is_empty = |field: &str| answer.get(field).and_then(Value::as_array).is_some_and(Vec::is_empty);
        if !is_empty("results") || !is_empty("degraded") {
            return None;
        }
    }
    Some(FIRST_STEP)
}
