//! Tests of ops through the op table: a command line in, text or JSON out.

mod batch;
mod callers;
mod consolidate;
mod counts;
mod erasure;
mod former_names;
mod fresh;
mod generated;
mod get;
mod growth;
mod hits;
mod interchange;
mod learning;
mod night;
mod past;
mod quarantine;
mod query;
mod reader;
mod removed_fields;
mod samples;
mod search;
mod secrets;
mod settings;
mod stats;
mod table;
mod tenants;
mod undo;
mod versions;
mod view;
mod write;

use super::*;
use poc_agent::model::ModelRegistry;
use poc_agent::run_limiter::RunLimiter;
use poc_agent::{Catalog, CatalogChange};
use poc_graph::cancellation::CancellationToken;
use poc_graph::error::{Error, Exit, Result};
use poc_graph::time::Span;
use poc_notes::testing::TestMemory;
use serde_json::Value;
use std::sync::Arc;

/// A process without agents and without a daemon.
struct Nobody;

impl Host for Nobody {
    fn catalog(&self) -> Result<Arc<Catalog>> {
        Ok(Arc::default())
    }
    fn reload(&self) -> Result<(Arc<Catalog>, Vec<CatalogChange>)> {
        Ok((Arc::default(), Vec::new()))
    }
    fn calls(&self) -> CancellationToken {
        CancellationToken::new()
    }
    fn models(&self) -> ModelRegistry {
        poc_models::registry()
    }
    fn run_limiter(&self) -> RunLimiter {
        RunLimiter::default()
    }
    fn daemon(&self) -> Result<&dyn Daemon> {
        Err(Error::unavailable("no daemon here"))
    }
}

fn call(memory: &Memory, line: &str) -> Result<(&'static OpDef, Value)> {
    let line = words(line);
    let op = find(line[0]).unwrap();
    let command = (op.augment)(clap::Command::new(op.name));
    let matches = command.try_get_matches_from(line).map_err(|error| Error::invalid(error.to_string()))?;
    let ctx = Ctx { memory, host: &Nobody, actor: Principal::Person, may_write: true, progress: &|_| {} };
    Ok((op, op.run(&ctx, (op.parse)(&matches)?)?))
}

/// The text output for a person, with ids replaced.
fn text_output(memory: &Memory, line: &str) -> String {
    match call(memory, line) {
        Err(error) => {
            format!("{}: {error}\n{}", error.code.name(), error.hint.as_deref().unwrap_or_default())
        }
        Ok((op, answer)) => {
            let output = (op.decode)(&answer).unwrap();
            plain(&(output.show(&Terminal::default()).to_string() + output.degradations()))
        }
    }
}

/// The text with each id replaced by `ID`.
fn plain(text: &str) -> String {
    let word = |word: &str| {
        let name = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_id = name.len() == 32 && name.starts_with("01");
        (if is_id { "ID" } else { name }).to_owned() + &word[name.len()..]
    };
    text.split_inclusive(|c: char| !c.is_alphanumeric()).map(word).collect()
}

fn json(memory: &Memory, line: &str) -> Value {
    call(memory, line).unwrap().1
}

/// The words of a command line; quoted text is one word.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
        .collect()
}

fn filled() -> TestMemory {
    let memory = TestMemory::new();
    json(&memory, "insert --key btree -t 'B-tree splits' -b 'A split writes two pages.' -k Storage");
    json(
        &memory,
        "insert --key journal -t 'The journal' -b 'Page splits are written to the journal.' -k storage --type episodic",
    );
    json(&memory, "link btree journal --reason 'splits are journalled'");
    memory.clock.advance(Span::HOUR);
    memory
}
