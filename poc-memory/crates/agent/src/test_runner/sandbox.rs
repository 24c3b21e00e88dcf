//! Runs one test in a temporary memory with the fixture, and a model that returns the recorded reply.

use super::fixture::{Fixture, FixtureVisit};
use crate::definition::{ActionKind, Definition};
use crate::ledger::{ActionRecord, ActionState, Run, Status};
use crate::model::{CallFailure, Model, Reply, Request};
use crate::run::{RunOptions, Trigger, run_with};
use parking_lot::Mutex;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::VisitOutcome;
use poc_graph::error::{Error, Result};
use poc_graph::rng::SeededRng;
use poc_graph::time::{ManualClock, Timestamp};
use poc_notes::import::{ImportOptions, ImportSource, UnresolvedImportLink, import};
use poc_notes::{Memory, visit};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Seed of the random source of every test.
const SEED: u64 = 7;

/// A temporary memory with a fixture.
pub(super) struct Sandbox {
    memory: Memory,
    // Deleted when the memory is closed.
    _folder: tempfile::TempDir,
}

/// The outcome of a test.
#[derive(Clone, Debug, Default)]
pub(super) struct TestOutcome {
    /// Keys of the selected nodes, in the pipeline's order.
    pub(super) selected: Vec<String>,
    /// Keys of all nodes in the prompt, in the order of their handles.
    pub(super) handles: Vec<String>,
    /// The prompt.
    pub(super) prompt: String,
    pub(super) applied: Vec<String>,
    pub(super) proposed: Vec<String>,
    pub(super) rejected: Vec<String>,
    /// The reason of each rejected action.
    pub(super) reasons: Vec<String>,
    /// Why the run failed.
    pub(super) failed: Option<String>,
}

impl Sandbox {
    /// Creates a temporary memory and imports the fixture.
    pub(super) fn new(config: &Config, fixture: &Fixture, now: Timestamp) -> Result<Sandbox> {
        let folder = tempfile::Builder::new().prefix("poc-memory-test-").tempdir().map_err(|error| {
            Error::unavailable(format!("the temporary folder of the test cannot be created: {error}"))
        })?;
        let (clock, rng) = (Arc::new(ManualClock::new(now)), Arc::new(SeededRng::new(SEED)));
        let memory = Memory::open_temporary(Paths::in_folder(folder.path()), config.clone(), clock, rng)?;
        if !fixture.keys.is_empty() {
            import_fixture(&memory, fixture, now)?;
        }
        Ok(Sandbox { memory, _folder: folder })
    }

    /// Runs an agent on it.
    pub(super) fn run(&self, definition: &Definition, reply: Option<&str>) -> Result<TestOutcome> {
        let model = CannedModel { reply, seen: Mutex::default() };
        let run = run_with(&self.memory, definition, &model, Trigger::Manual, &RunOptions::default())?;
        let mut outcome = model.seen.into_inner();
        for row in &run.actions {
            match row.state {
                ActionState::Applied => outcome.applied.push(row.summary.clone()),
                ActionState::Proposed => outcome.proposed.push(row.summary.clone()),
                _ => {
                    outcome.rejected.push(refused_line(row));
                    outcome.reasons.push(row.detail.clone().unwrap_or_default());
                }
            }
        }
        let fails = matches!(run.status, Status::Failed | Status::TimedOut | Status::Interrupted);
        outcome.failed = fails.then(|| failure_message(&run));
        Ok(outcome)
    }
}

fn failure_message(run: &Run) -> String {
    run.message.clone().unwrap_or_else(|| run.status.name().to_owned())
}

fn refused_line(row: &ActionRecord) -> String {
    format!("{}: {}", row.summary, row.refusal_code.as_deref().unwrap_or_default())
}

fn import_fixture(memory: &Memory, fixture: &Fixture, now: Timestamp) -> Result<()> {
    let source = ImportSource::Text(fixture.lines.clone());
    let report = import(memory, &source, &ImportOptions::default(), &|_, _| {})?;
    if let Some((place, error)) = report.failed.into_iter().next() {
        let message = format!("the fixture cannot be imported, {place}: {}", error.message);
        return Err(Error { message, ..error });
    }
    if let Some(UnresolvedImportLink { place, link, .. }) = report.unresolved.first() {
        let message = format!("the fixture cannot be imported, {place}: it has no note `{link}` to link to");
        return Err(Error::config(message).hint("add the note or remove the link"));
    }
    for FixtureVisit { key, agent, ago } in &fixture.visits {
        let (node, at) = (memory.find(key)?, now.minus(*ago));
        memory.store.transact(memory.cause("test", "visit"), |tx| {
            visit::record(tx, agent, node.id, VisitOutcome::Processed, at).map(drop)
        })?;
    }
    Ok(())
}

/// A model that returns the recorded reply and stores the request.
struct CannedModel<'a> {
    reply: Option<&'a str>,
    seen: Mutex<TestOutcome>,
}

impl Model for CannedModel<'_> {
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let keys = |only_selected: bool| {
            let handles = request.selection.handles.iter();
            handles
                .filter(|handle| handle.is_selected() || !only_selected)
                .map(|handle| handle.node.key.clone())
                .collect()
        };
        let mut seen = self.seen.lock();
        (seen.selected, seen.handles) = (keys(true), keys(false));
        seen.prompt = format!("{}\n{}", request.system, request.prompt);
        let text = self.reply.map_or_else(|| empty_reply(request.actions), str::to_owned);
        Ok(Reply { text, ..Reply::default() })
    }
}

/// A reply without actions.
fn empty_reply(actions: &[ActionKind]) -> String {
    let lists = actions.iter().map(|kind| (kind.name().to_owned(), Value::Array(Vec::new())));
    let notes = ("notes".to_owned(), Value::String("Nothing to do.".into()));
    Value::Object(Map::from_iter([notes].into_iter().chain(lists))).to_string()
}
