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
    let found = verify(memory, bar)?.damaged;
    let again = match found.iter().any(|file| file.path.ends_with("records")) {
        true => Some(verify(memory, bar)?.damaged),
        false => None,
    };
    Ok(rebuilt_and_damaged(found, again))
}

/// The files that were rebuilt, and those that are still damaged, each once: what the second verification found, if
/// there was one, replaces what the first one found about the same file.
fn rebuilt_and_damaged(
    mut found: Vec<DamagedFile>,
    again: Option<Vec<DamagedFile>>,
) -> (Vec<DamagedFile>, Vec<DamagedFile>) {
    let Some(again) = again else {
        return found.into_iter().partition(|file| file.is_rebuilt);
    };
    found.retain(|file| again.iter().all(|later| later.path != file.path));
    let (rebuilt, damaged): (Vec<_>, Vec<_>) = again.into_iter().partition(|file| file.is_rebuilt);
    found.extend(rebuilt);
    (found, damaged)
}

/// Whether a result of another check reports that a file was damaged when it was read, which the verification reports,
/// too.
pub(super) fn repeats_verification(result: &CheckResult, results: &[CheckResult]) -> bool {
    let names_file = |verified: &CheckResult| {
        let file = verified.message.split('`').nth(1);
        file.is_some_and(|file| result.message.contains(&format!("`{file}` was damaged")))
    };
    result.check != CHECK && results.iter().any(|verified| verified.check == CHECK && names_file(verified))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_two_verifications_name_is_reported_once() {
        let file = |path: &str, message: &str, is_rebuilt| DamagedFile {
            path: path.into(),
            message: message.into(),
            hint: String::new(),
            is_rebuilt,
        };
        let first = vec![
            file("/m/records", "first", true),
            file("/m/view", "first", false),
            file("/m/text", "first", false),
            file("/m/head", "first", true),
        ];
        let second = vec![
            file("/m/records", "second", true),
            file("/m/view", "second", true),
            file("/m/text", "second", false),
        ];
        let (rebuilt, damaged) = rebuilt_and_damaged(first.clone(), Some(second));
        let lines = |files: Vec<DamagedFile>| -> Vec<String> {
            files.iter().map(|file| format!("{} {}", file.path.display(), file.message)).collect()
        };
        assert_eq!(lines(rebuilt), ["/m/head first", "/m/records second", "/m/view second"]);
        assert_eq!(lines(damaged), ["/m/text second"]);
        let (rebuilt, damaged) = rebuilt_and_damaged(first, None);
        assert_eq!(lines(rebuilt), ["/m/records first", "/m/head first"]);
        assert_eq!(lines(damaged), ["/m/view first", "/m/text first"]);
    }

    #[test]
    fn what_an_open_and_the_verification_found_is_reported_once() {
        let result = |check, message: &str| CheckResult::new(check, CheckState::Warning, message);
        let found = "the file `/m/view` was damaged, and its content is built again from the log";
        let results = [
            result("daemon", &format!("found when it started: {found}")),
            result("store", found),
            result("store", "the file `/m/head` was damaged, and its content is built again from the log"),
            result(CHECK, "`/m/view`: it was damaged when it was read"),
        ];
        let repeated: Vec<bool> =
            results.iter().map(|result| repeats_verification(result, &results)).collect();
        assert_eq!(repeated, [true, true, false, false]);
    }
}
