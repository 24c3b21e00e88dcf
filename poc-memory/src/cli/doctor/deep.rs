//! Verifies everything on disk with `verify`.

use crate::cli::globals::Globals;
use crate::cli::progress::Bar;
use crate::dispatch::Connection;
use crate::ops::checks::{CheckResult, CheckState};
use crate::ops::{self, VerifyOutput};
use poc_graph::error::{Error, Result};
use poc_graph::json;
use poc_notes::verification::DamagedFile;
use serde_json::{Map, Value};

const CHECK: &str = "files";

pub(super) fn check(memory: &mut Connection, globals: &Globals) -> Vec<CheckResult> {
    let bar = Bar::new(globals);
    let verified = verify(memory, &bar);
    bar.clear();
    match verified {
        Ok(output) if output.damaged.is_empty() => {
            vec![CheckResult::new(CHECK, CheckState::Ok, "log, records, views and indexes agree")]
        }
        Ok(output) => output.damaged.into_iter().map(result).collect(),
        Err(error) => vec![CheckResult::of(CHECK, CheckState::Failed, &error)],
    }
}

fn verify(memory: &mut Connection, bar: &Bar) -> Result<VerifyOutput> {
    let op = ops::find("verify").ok_or_else(|| Error::internal("there is no op `verify`"))?;
    let answer = memory.call(op, Value::Object(Map::new()), &|progress| bar.show(&progress))?;
    json::decode_answer("verify", &answer)
}

fn result(DamagedFile { path, message, hint }: DamagedFile) -> CheckResult {
    CheckResult::new(CHECK, CheckState::Failed, format!("`{}`: {message}", path.display())).hint(hint)
}
