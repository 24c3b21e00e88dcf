//! One run of an agent: claim, query, render, call, parse, check permits, apply.

mod forecast;
mod transcript;

pub use super::ledger::Trigger;
pub use forecast::{Forecast, forecast};
pub use transcript::{Exchange, Transcript, transcript};

use super::Definition;
use super::action;
use super::apply;
use super::budget::{Allowed, BudgetStatus};
use super::definition::Mode;
use super::ledger::{self, Account, BudgetDays, Call, Reason, Run, Status};
use super::model::{
    CallCost, CallError, CallFailure, CancellationToken, Model, ModelRegistry, Reply, Request,
};
use super::pause;
use super::prompt::{self, Prompt};
use super::reply::{self, ParsedReply};
use super::schedule::{day, local_zone};
use super::selection::{self, Choice, Scope, Selection};
use chrono_tz::Tz;
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
use serde_json::Value;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Does everything but apply: neither actions nor visits nor a row are written. The cost of the call is
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
}

/// Runs an agent with the models of its definition. Every outcome writes a row, which is returned.
///
/// # Errors
/// `not_found` when the target does not exist, `conflict` when the slot was claimed before or the
/// row was ended by somebody else in the meantime, `internal` when a defect ended the run, and
/// whatever the store reports: in these cases nothing was done, and a claimed row has failed.
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

/// As [`run`], with models of the caller's and their names, cursor in their order.
pub fn run_among(
    memory: &Memory,
    definition: &Definition,
    models: &[(&str, &dyn Model)],
    trigger: Trigger,
    options: &RunOptions,
) -> Result<Run> {
    let scope = match (&options.target, options.force) {
        (Some(target), _) => Scope::Only(memory.find(target).map_err(|error| error.field("target"))?.id),
        (None, true) => Scope::Forced,
        (None, false) => Scope::Stale,
    };
    let mut row = Run::due(memory, &definition.name, trigger);
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
    // A row that is never ended would block its agent in this process.
    let ended = catch_unwind(AssertUnwindSafe(|| attempt.finish(&mut row)));
    let ended = ended.unwrap_or_else(|panic| {
        attempt.call_in_progress.take().into_iter().for_each(|call| row.add_call(call));
        Err(Error::internal(format!("a defect ended the run: {}", panic_message(&*panic))))
    });
    // The cost of the calls is booked in any case.
    if options.dry_run || ended.is_err() {
        let paid = ledger::book_cost(memory, &row);
        paid.inspect_err(|error| tracing::error!(agent = row.agent, "what it took is not booked: {error}"))
            .or_else(|error| if ended.is_err() { Ok(()) } else { Err(error) })?;
    }
    ended.inspect_err(|error| {
        let left = ledger::abandon(memory, |row| row.id == run, Status::Failed, &error.line());
        if let Err(error) = left {
            tracing::error!(agent = definition.name, %run, "its row stays as running: {error}");
        }
    })
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
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

/// Why a run ends without applying anything.
enum RunEnd {
    /// There was nothing to do, or no model available.
    Skipped(Reason, Option<String>),
    /// It failed.
    Failed(Status, Option<Reason>, String),
    /// The store failed.
    Broken(Error),
}

impl From<Error> for RunEnd {
    fn from(error: Error) -> Self {
        RunEnd::Failed(Status::Failed, None, error.line())
    }
}

impl From<CallError> for RunEnd {
    fn from(error: CallError) -> Self {
        let message = error.to_string();
        match error {
            CallError::TimedOut(_) => RunEnd::Failed(Status::TimedOut, None, message),
            CallError::Stopped => RunEnd::Failed(Status::Interrupted, None, message),
            CallError::Down(_) | CallError::NoCredit(_) => {
                RunEnd::Failed(Status::Failed, Some(Reason::ProviderDown), message)
            }
            CallError::Setup(_) | CallError::KeyRefused(_) => {
                RunEnd::Failed(Status::Failed, Some(Reason::InvalidConfig), message)
            }
            CallError::Refused(_) | CallError::Cut => RunEnd::Failed(Status::Failed, None, message),
        }
    }
}

struct RunAttempt<'a> {
    memory: &'a Memory,
    definition: &'a Definition,
    models: &'a [(&'a str, &'a dyn Model)],
    /// Whether the run was started automatically.
    unattended: bool,
    scope: Scope,
    options: &'a RunOptions,
    /// Maximum cost of the call in progress.
    call_in_progress: RefCell<Option<Call>>,
}

impl RunAttempt<'_> {
    /// Executes a claimed run and ends its row.
    fn finish(&self, row: &mut Run) -> Result<Run> {
        let (status, reason, message) = match self.work(row) {
            Ok(row) => return Ok(row),
            Err(RunEnd::Broken(error)) => return Err(error),
            Err(RunEnd::Skipped(reason, message)) => {
                (Status::Skipped, Some(reason), message.map(|message| reply::short(&message)))
            }
            Err(RunEnd::Failed(status, reason, message)) => {
                (status, reason, Some(self.failure_message((status, reason), message)))
            }
        };
        row.message = message;
        row.finish(self.memory, status, reason);
        if !self.options.dry_run {
            ledger::close(self.memory, row)?;
        }
        Ok(row.clone())
    }

    /// The message of a failed run, with a notice when the agent is paused because of it.
    fn failure_message(&self, (status, reason): (Status, Option<Reason>), message: String) -> String {
        let message = reply::short(&message);
        let fails = matches!(status, Status::Failed | Status::TimedOut) && reason != Some(Reason::OverBudget);
        let counts = fails && !self.options.dry_run;
        match pause::failure_notice(self.memory, self.definition).filter(|_| counts) {
            Some(told) => format!("{message}; {told}"),
            None => message,
        }
    }

    fn work(&self, row: &mut Run) -> Result<Run, RunEnd> {
        let (memory, definition) = (self.memory, self.definition);
        if let Some(why) = self.all_suspended() {
            return Err(RunEnd::Skipped(Reason::ProviderDown, Some(why)));
        }
        if let Some(why) = self.budget_status(row)?.refuses_a_run() {
            return Err(RunEnd::Skipped(Reason::OverBudget, Some(why)));
        }
        let mut selection = match selection::choose(memory, definition, self.scope)? {
            Choice::Chosen(selection) => selection,
            Choice::Nothing(reason) => return Err(RunEnd::Skipped(reason, None)),
        };
        let prompt = prompt::render(memory, definition, &mut selection)?;
        row.selected = selection.chosen().map(|handle| (handle.node.id, handle.node.version)).collect();
        let mut turns = Vec::new();
        let answer = self.request_reply(&selection, &prompt, row, &mut turns);
        // A run without a call must not push out the transcripts of others.
        if !self.options.dry_run && !matches!(answer, Err(RunEnd::Skipped(..))) {
            // A full disk must not discard a reply that was paid for.
            if let Err(error) = transcript::keep(memory, row, &prompt, turns, &definition.source) {
                tracing::warn!(agent = definition.name, run = %row.id, "what was said is not kept: {error}");
            }
        }
        let answer = answer?;
        let dry = self.options.dry_run;
        apply::apply(memory, definition, &selection, &answer, row.clone(), dry).map_err(RunEnd::Broken)
    }

    /// Why no model is called, if the providers of all are suspended. Manual runs try anyway: the person may
    /// have fixed the problem.
    fn all_suspended(&self) -> Option<String> {
        let now = self.memory.now();
        let why: Option<Vec<String>> = self.models.iter().map(|(_, model)| model.suspension(now)).collect();
        why.filter(|_| self.unattended).map(|why| why.join("; "))
    }

    /// Calls the models until a reply validates, with up to `retry.repair` correction turns.
    fn request_reply(
        &self,
        selection: &Selection,
        prompt: &Prompt,
        row: &mut Run,
        turns: &mut Vec<Exchange>,
    ) -> Result<ParsedReply, RunEnd> {
        let definition = self.definition;
        let actions = &definition.execution.actions;
        let schema = action::schema(actions);
        let mut corrections: Vec<(String, String)> = Vec::new();
        let mut cursor = ModelCursor::default();
        let claimed = row.clone();
        let on_child_process = |program| {
            if let Err(error) = ledger::record_child_process(self.memory, &claimed, program) {
                tracing::warn!(agent = definition.name, "its program is not on record: {error}");
            }
        };
        for turn in 0..=definition.retry.repair {
            let reply = self.call(
                row,
                &mut cursor,
                &Request {
                    corrections: &corrections,
                    on_child_process: &on_child_process,
                    ..self.request(selection, prompt, &schema)
                },
            )?;
            let text = match &reply.structured {
                Some(value) if reply.text.is_empty() => value.to_string(),
                _ => reply.text.clone(),
            };
            let problems = match reply::read(&reply, actions) {
                Ok(answer) => {
                    turns.push(Exchange { reply: text, problems: Vec::new() });
                    return Ok(answer);
                }
                Err(problems) => problems,
            };
            turns.push(Exchange { reply: text.clone(), problems: problems.clone() });
            if turn == definition.retry.repair {
                let message = format!("the reply is no answer: {}", problems.join("; "));
                return Err(RunEnd::Failed(Status::Failed, Some(Reason::Unparseable), message));
            }
            corrections.push((text, correction(&problems)));
        }
        Err(RunEnd::Failed(Status::Failed, None, "the model was not called".to_owned()))
    }

    /// The request of the first turn.
    fn request<'r>(&'r self, selection: &'r Selection, prompt: &'r Prompt, schema: &'r Value) -> Request<'r> {
        let (memory, definition) = (self.memory, self.definition);
        Request {
            selection,
            text: &memory.text,
            actions: &definition.execution.actions,
            max_chars: definition.limits.insert_max_chars,
            agent: &definition.name,
            system: &prompt.system,
            prompt: &prompt.text,
            stable: prompt.stable,
            corrections: &[],
            schema,
            timeout: definition.execution.timeout,
            attempts: definition.retry.attempts,
            now: memory.now(),
            rng: memory.rng.as_ref(),
            cancellation: &self.options.cancellation,
            on_child_process: &|_| {},
        }
    }

    /// The budget days of a run, in the time zones of the agent and the operator.
    fn days(&self, row: &Run) -> BudgetDays {
        let local = self.options.zone.unwrap_or_else(local_zone);
        let today = |zone| {
            let (start, end) = day(row.started, zone).unwrap_or((row.started, row.started));
            start..end
        };
        BudgetDays { own: today(self.definition.schedule.timezone.unwrap_or(local)), everyone: today(local) }
    }

    /// The budget and its spending according to the ledger.
    fn budget_status(&self, row: &Run) -> Result<BudgetStatus<'_>> {
        Ok(self.budget_status_of(row, ledger::account(self.memory, row, &self.days(row))?))
    }

    fn budget_status_of(&self, row: &Run, Account { runs, day, everyone }: Account) -> BudgetStatus<'_> {
        let RunAttempt { memory, definition, .. } = self;
        let everyone_per_day = memory.config.budget.max_usd_per_day;
        let (budget, agent, run) = (definition.budget, definition.name.as_str(), row.cost.unwrap_or(0.0));
        BudgetStatus { budget, everyone_per_day, runs, day, everyone, run, agent }
    }

    /// The attempts of a call that the budget allows, given the maximum cost of one attempt in US dollars. A
    /// positive cost is reserved.
    fn reserve_budget(&self, row: &Run, most: Option<f64>, attempts: u32) -> Result<Allowed, RunEnd> {
        let decide = |account: Account| -> Result<(Allowed, f64), String> {
            let budget_status = self.budget_status_of(row, account);
            let allowed = budget_status.allows(most, attempts)?;
            Ok((allowed, budget_status.run + allowed.most))
        };
        let (memory, days) = (self.memory, self.days(row));
        let decided = match most.is_some_and(|most| most > 0.0) {
            true => ledger::reserve(memory, row, &days, decide)?,
            false => decide(ledger::account(memory, row, &days)?).map(|(allowed, _)| allowed),
        };
        decided.map_err(|why: String| match row.calls.is_empty() {
            true => RunEnd::Skipped(Reason::OverBudget, Some(why)),
            false => RunEnd::Failed(Status::Failed, Some(Reason::OverBudget), why),
        })
    }

    /// Calls the models in order until one replies. Models that failed are not tried again in this run.
    fn call(&self, row: &mut Run, cursor: &mut ModelCursor, request: &Request<'_>) -> Result<Reply, RunEnd> {
        while let Some((name, model)) = self.models.get(cursor.index) {
            row.model = (*name).to_owned();
            let suspended = model.suspension(request.now).filter(|_| self.unattended);
            let called = match suspended {
                Some(why) => Err(CallError::Down(why).into()),
                None => {
                    let allowed = self.reserve_budget(row, model.max_cost(request), request.attempts)?;
                    self.call_in_progress.replace(Some(allowed).filter(|allowed| allowed.most > 0.0).map(
                        |allowed| {
                            let (tokens_in, tokens_out, cost) = (None, None, Some(allowed.most));
                            Call { model: row.model.clone(), tokens_in, tokens_out, cost, estimated: true }
                        },
                    ));
                    model.call(&Request { attempts: allowed.attempts, ..*request })
                }
            };
            self.call_in_progress.take();
            let mut spent =
                called.as_ref().map_or_else(|failed| failed.spent.clone(), |reply| reply.spent.clone());
            if called.is_ok() && spent.is_empty() {
                // A reply counts as a call even when it is free.
                spent.push(CallCost::default());
            }
            for CallCost { tokens_in, tokens_out, cost, estimated } in spent {
                row.add_call(Call { model: row.model.clone(), tokens_in, tokens_out, cost, estimated });
            }
            let error = match called {
                Ok(reply) => return Ok(reply),
                Err(failed) => failed.error,
            };
            let agent = &self.definition.name;
            cursor.errors.push(format!("`{name}`: {error}"));
            cursor.index += 1;
            if !error.allows_fallback() || cursor.index >= self.models.len() {
                let mut ending = RunEnd::from(error);
                if let (RunEnd::Failed(_, _, message), true) = (&mut ending, cursor.errors.len() > 1) {
                    *message = cursor.errors.join("; ");
                }
                return Err(ending);
            }
            tracing::info!(agent, "the model `{name}` is passed over: {error}");
            row.message = Some(reply::short(&format!("passed over: {}", cursor.errors.join("; "))));
        }
        Err(RunEnd::Failed(Status::Failed, None, "no model was asked".to_owned()))
    }
}

/// Position of a run in its list of models.
#[derive(Default)]
struct ModelCursor {
    index: usize,
    /// Errors of the models before it.
    errors: Vec<String>,
}

fn correction(problems: &[String]) -> String {
    let list: String = problems.iter().map(|problem| format!("- {problem}\n")).collect();
    format!("That is not an answer to use:\n{list}Answer again with the whole JSON object and nothing else.")
}
