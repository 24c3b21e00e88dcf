//! One run of an agent: claim, query, render, call, parse, check permits, apply.

mod attempt;
mod call;
mod end;
mod forecast;
mod transcript;

pub use super::ledger::Trigger;
pub use forecast::{Forecast, forecast};
pub use transcript::{Exchange, RunTranscript, transcript};

use super::Definition;
use super::definition::Mode;
use super::idle_tenants::IdleTenants;
use super::ledger::{self, CallRecord, Run, Status};
use super::model::{CallError, CallFailure, Model, ModelRegistry, Reply, Request};
use super::selection::{Scope, require_readable};
use chrono_tz::Tz;
use poc_graph::cancellation::CancellationToken;
use poc_graph::error::{Code, Error, Result};
use poc_notes::Memory;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Calls the model, but applies no action and writes neither visits nor a row. The cost of the call is
    /// booked.
    pub dry_run: bool,
    /// Actions are proposed even if the agent file says `apply`.
    pub propose: bool,
    /// All nodes count as stale, regardless of visits.
    pub force: bool,
    /// Process only the node with this key or id, regardless of pipeline and visits.
    pub target: Option<String>,
    /// Ends the run early, as interrupted.
    pub cancellation: CancellationToken,
    /// The models of this process.
    pub models: ModelRegistry,
    /// Time zone of agents without one; `None` is that of the machine.
    pub zone: Option<Tz>,
    /// The tenants for which scheduled runs found nothing to do.
    pub idle_tenants: IdleTenants,
}

/// Runs an agent with the models of its definition. Every outcome writes a row, which is returned.
///
/// # Errors
/// `not_found` when the target does not exist, `invalid_argument` when agents may not read it, `conflict` when the slot was already claimed or another
/// process ended the row in the meantime, `internal` when a panic ended the run, and the store's errors.
/// Nothing is applied then, and a claimed row ends as failed.
pub fn run(memory: &Memory, definition: &Definition, trigger: Trigger, options: &RunOptions) -> Result<Run> {
    let models = models(memory, definition, options);
    let models: Vec<_> = models.iter().map(|(name, model)| (*name, model.as_ref())).collect();
    run_among(memory, definition, &models, trigger, options)
}

/// The models of a definition, in the order they are tried. A model that cannot be opened reports the reason
/// when it is called.
pub fn models<'a>(
    memory: &Memory,
    definition: &'a Definition,
    options: &RunOptions,
) -> Vec<(&'a str, Arc<dyn Model>)> {
    let open = |name| options.models.open(&memory.config, name);
    let open = |name| open(name).unwrap_or_else(|error| Arc::new(UnavailableModel(error)));
    definition.execution.models().map(|name| (name, open(name))).collect()
}

/// Like [`run`], with the caller's model.
pub fn run_with(
    memory: &Memory,
    definition: &Definition,
    model: &dyn Model,
    trigger: Trigger,
    options: &RunOptions,
) -> Result<Run> {
    run_among(memory, definition, &[(&definition.execution.model, model)], trigger, options)
}

/// Like [`run`], with the caller's models by name, tried in this order.
pub fn run_among(
    memory: &Memory,
    definition: &Definition,
    models: &[(&str, &dyn Model)],
    trigger: Trigger,
    options: &RunOptions,
) -> Result<Run> {
    let scope = match (&options.target, options.force) {
        (Some(target), _) => {
            let id = memory.find(target).map(|node| node.id);
            // A wrong request is an error and not a failed run.
            let readable = id.and_then(|id| require_readable(memory, id).map(|()| id));
            Scope::Only(readable.map_err(|error| error.field("target"))?)
        }
        (None, true) => Scope::Forced,
        (None, false) => Scope::Stale,
    };
    let mut row = Run::for_trigger(memory, &definition.name, trigger);
    row.fingerprint.clone_from(&definition.fingerprint);
    row.mode = Some(match definition.mode {
        Mode::Apply if options.propose => Mode::Propose,
        mode => mode,
    });
    row.model.clone_from(&definition.execution.model);
    row.set.clone_from(&definition.query.params);
    if !options.dry_run {
        row = ledger::claim_for(memory, row, trigger)?;
        if row.status != Status::Running {
            return Ok(row);
        }
    }
    let run = row.id;
    let unattended = trigger != Trigger::Manual;
    let call_in_progress = RefCell::default();
    let attempt = RunAttempt { memory, definition, models, unattended, scope, options, call_in_progress };
    // A panic is caught, because a row that is never ended would block its agent in this process.
    let ended = catch_unwind(AssertUnwindSafe(|| attempt.finish(&mut row)));
    let ended = ended.unwrap_or_else(|panic| {
        attempt.call_in_progress.take().into_iter().for_each(|call| row.add_call(call));
        Err(Error::internal(format!("the run panicked: {}", panic_message(&*panic))))
    });
    // The cost of the calls is booked in any case.
    if options.dry_run || ended.is_err() {
        let booked = ledger::book_cost(memory, &row);
        // A store that takes no writes does not prevent a dry run: if its calls cost money, they were reserved, and the
        // next process books the reservation.
        let is_answered = |error: &Error| ended.is_err() || error.code == Code::ReadOnly;
        booked
            .inspect_err(|error| tracing::warn!(agent = row.agent, "its cost could not be booked: {error}"))
            .or_else(|error| if is_answered(&error) { Ok(()) } else { Err(error) })?;
    }
    let ended = ended.inspect_err(|error| {
        let left = ledger::abandon(memory, |row| row.id == run, Status::Failed, &error.line());
        if let Err(error) = left {
            tracing::error!(agent = definition.name, %run, "its row could not be ended: {error}");
        }
    });
    ledger::end_run(memory, run);
    ended
}

/// The message of a panic.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}

/// A claimed run with its inputs.
struct RunAttempt<'a> {
    memory: &'a Memory,
    definition: &'a Definition,
    models: &'a [(&'a str, &'a dyn Model)],
    /// Whether the run was started automatically.
    unattended: bool,
    scope: Scope,
    options: &'a RunOptions,
    /// Maximum cost of the call in progress.
    call_in_progress: RefCell<Option<CallRecord>>,
}

/// A model that could not be opened. Calling it returns the reason.
struct UnavailableModel(Error);

impl Model for UnavailableModel {
    fn max_cost(&self, _: &Request<'_>) -> Option<f64> {
        Some(0.0)
    }

    fn call(&self, _: &Request<'_>) -> Result<Reply, CallFailure> {
        Err(CallError::Setup(self.0.line()).into())
    }
}
