//! Verifies everything on disk with `verify`.

use crate::cli::globals::Globals;
use crate::cli::progress::Bar;
use crate::dispatch::Connection;
use crate::ops::checks::{CheckResult, CheckState};
use crate::ops::{self, VerifyOutput};
use poc_graph::error::{Error, Result};
use poc_graph::json;
use poc_notes::verification::DamagedFile;
use poc_store::DAMAGED_HINT;
use serde_json::{Map, Value};

const CHECK: &str = "files";

pub(super) fn check(memory: &mut Connection, globals: &Globals) -> Vec<CheckResult> {
    let bar = Bar::new(globals);
    let verified = verify_repaired(memory, &bar);
    bar.clear();
    match verified {
        Ok((repaired, damaged)) => {
            let mut results = check_results(CheckState::Warning, repaired);
            match damaged.is_empty() {
                true => results.push(CheckResult::new(
                    CHECK,
                    CheckState::Ok,
                    "log, records, views and indexes agree",
                )),
                false => results.extend(check_results(CheckState::Failed, damaged)),
            }
            results
        }
        // The check of the store reports the damage. Reads that a failing disk refuses have the same code.
        Err(error) if error.hint.as_deref() == Some(DAMAGED_HINT) => {
            let message = "nothing was compared, because the log is damaged";
            vec![CheckResult::new(CHECK, CheckState::Note, message)]
        }
        Err(error) => vec![CheckResult::of(CHECK, CheckState::Failed, &error)],
    }
}

/// The damaged files that were rebuilt when their damage was found, and those that are still damaged.
///
/// A verification rebuilds records with a damaged file and then ends, so a second one shows whether the store is intact
/// now.
fn verify_repaired(memory: &mut Connection, bar: &Bar) -> Result<(Vec<DamagedFile>, Vec<DamagedFile>)> {
    let mut found = verify(memory, bar)?.damaged;
    if !found.iter().any(|file| file.path.ends_with("records")) {
        return Ok(found.into_iter().partition(|file| file.is_rebuilt));
    }
    let (rebuilt, damaged): (Vec<_>, Vec<_>) =
        verify(memory, bar)?.damaged.into_iter().partition(|file| file.is_rebuilt);
    found.retain(|file| damaged.iter().all(|still| still.path != file.path));
    found.extend(rebuilt);
    Ok((found, damaged))
}

fn verify(memory: &mut Connection, bar: &Bar) -> Result<VerifyOutput> {
    let op = ops::find("verify").ok_or_else(|| Error::internal("there is no op `verify`"))?;
    let answer = memory.call(op, Value::Object(Map::new()), &|progress| bar.show(&progress))?;
    json::decode_answer("verify", &answer)
}

fn check_results(state: CheckState, files: Vec<DamagedFile>) -> Vec<CheckResult> {
    let result = |DamagedFile { path, message, hint, .. }: DamagedFile| {
        CheckResult::new(CHECK, state, format!("`{}`: {message}", path.display())).hint(hint)
    };
    files.into_iter().map(result).collect()
}
