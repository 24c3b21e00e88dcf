//! One run of an agent, start to finish: claim, query, render, call, read, permit, apply.

mod bodies;

pub use bodies::{Bodies, Turn, bodies};

use super::Definition;
use super::action;
use super::apply;
use super::ledger::{self, Call, Reason, Run, Status};
use super::model::{self, CallError, Failed, Model, Reply, Request, Spent, Stop};
use super::prompt::{self, Prompt};
use super::reply::{self, Answer};
use super::selection::{self, Choice, Scope, Selection};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::time::Timestamp;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A person asked.
    Manual,
    /// A slot of its schedule came.
    Slot(Timestamp),
}

/// How a run departs from the usual.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Everything but applying: nothing is written, neither actions nor visits nor a row.
    pub dry_run: bool,
    /// Nodes count as stale whatever the visits say.
    pub force: bool,
    /// Only the node with this key or id, whatever the pipeline and the visits say.
    pub target: Option<String>,
    /// Ends the run early; it is then interrupted.
    pub stop: Stop,
}

/// Runs an agent with the model its definition names. Every outcome leaves a row, which comes
/// back.
///
/// # Errors
/// `not_found` when the target does not exist, `conflict` when the slot was claimed before or the
/// row was ended by somebody else in the meantime, `internal` when a defect ended the run, and
/// whatever the store reports: in these cases nothing was done, and a claimed row has failed.
pub fn run(memory: &Memory, definition: &Definition, trigger: Trigger, options: &Options) -> Result<Run> {
    match model::open(&memory.config, &definition.execution.model) {
        Ok(model) => run_with(memory, definition, model.as_ref(), trigger, options),
        Err(error) => run_with(memory, definition, &Unopened(error), trigger, options),
    }
}

/// As [`run`], with a model of the caller's.
pub fn run_with(
    memory: &Memory,
    definition: &Definition,
    model: &dyn Model,
    trigger: Trigger,
    options: &Options,
) -> Result<Run> {
    let scope = match (&options.target, options.force) {
        (Some(target), _) => Scope::Only(memory.find(target).map_err(|error| error.field("target"))?.id),
        (None, true) => Scope::Forced,
        (None, false) => Scope::Stale,
    };
    let slot = match trigger {
        Trigger::Manual => None,
        Trigger::Slot(at) => Some(at),
    };
    let mut row = Run::claimed(memory, &definition.name, slot);
    row.fingerprint.clone_from(&definition.fingerprint);
    row.mode = Some(definition.mode);
    row.model.clone_from(&definition.execution.model);
    if !options.dry_run {
        row = ledger::claim(memory, row)?;
        if row.status != Status::Running {
            return Ok(row);
        }
    }
    let run = row.id;
    let attempt = Attempt { memory, definition, model, scope, options };
    // A row that nobody ends would keep its agent from ever running again in this process.
    let ended = catch_unwind(AssertUnwindSafe(|| attempt.finish(row)))
        .unwrap_or_else(|panic| Err(Error::internal(format!("a defect ended the run: {}", said(&*panic)))));
    ended.inspect_err(|error| {
        let left = ledger::abandon(memory, |row| row.id == run, Status::Failed, &error.line());
        if let Err(error) = left {
            tracing::error!(agent = definition.name, %run, "its row stays as running: {error}");
        }
    })
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}

/// A model that could not be opened: calling it says why.
struct Unopened(Error);

impl Model for Unopened {
    fn call(&self, _: &Request<'_>) -> Result<Reply, Failed> {
        Err(CallError::Setup(self.0.line()).into())
    }
}

/// Why a run ends without applying anything.
enum Ending {
    /// There was nothing to do.
    Nothing(Reason),
    /// It failed.
    Failed(Status, Option<Reason>, String),
    /// The store failed it.
    Broken(Error),
}

impl From<Error> for Ending {
    fn from(error: Error) -> Self {
        Ending::Failed(Status::Failed, None, error.line())
    }
}

impl From<CallError> for Ending {
    fn from(error: CallError) -> Self {
        let message = error.to_string();
        match error {
            CallError::TimedOut(_) => Ending::Failed(Status::TimedOut, None, message),
            CallError::Stopped => Ending::Failed(Status::Interrupted, None, message),
            CallError::Down(_) => Ending::Failed(Status::Failed, Some(Reason::ProviderDown), message),
            CallError::Setup(_) => Ending::Failed(Status::Failed, Some(Reason::InvalidConfig), message),
            CallError::Refused(_) | CallError::Cut => Ending::Failed(Status::Failed, None, message),
        }
    }
}

struct Attempt<'a> {
    memory: &'a Memory,
    definition: &'a Definition,
    model: &'a dyn Model,
    scope: Scope,
    options: &'a Options,
}

impl Attempt<'_> {
    /// Does the work of a claimed row and ends it.
    fn finish(&self, mut row: Run) -> Result<Run> {
        let (status, reason, message) = match self.work(&mut row) {
            Ok(row) => return Ok(row),
            Err(Ending::Broken(error)) => return Err(error),
            Err(Ending::Nothing(reason)) => (Status::Skipped, Some(reason), None),
            Err(Ending::Failed(status, reason, message)) => (status, reason, Some(message)),
        };
        row.message = message.map(|message| reply::short(&message));
        row.finish(self.memory, status, reason);
        if !self.options.dry_run {
            ledger::close(self.memory, &row)?;
        }
        Ok(row)
    }

    fn work(&self, row: &mut Run) -> Result<Run, Ending> {
        let (memory, definition) = (self.memory, self.definition);
        let mut selection = match selection::choose(memory, definition, self.scope)? {
            Choice::Chosen(selection) => selection,
            Choice::Nothing(reason) => return Err(Ending::Nothing(reason)),
        };
        let prompt = prompt::render(memory, definition, &mut selection)?;
        row.selected = selection.chosen().map(|handle| (handle.node.id, handle.node.version)).collect();
        let mut turns = Vec::new();
        let answer = self.ask(&selection, &prompt, row, &mut turns);
        if !self.options.dry_run {
            bodies::keep(memory, row, &prompt, turns)?;
        }
        let answer = answer?;
        let dry = self.options.dry_run;
        apply::apply(memory, definition, &selection, &answer, row.clone(), dry).map_err(Ending::Broken)
    }

    /// Calls the model until a reply validates, once more for each correction turn allowed.
    fn ask(
        &self,
        selection: &Selection,
        prompt: &Prompt,
        row: &mut Run,
        turns: &mut Vec<Turn>,
    ) -> Result<Answer, Ending> {
        let (memory, definition) = (self.memory, self.definition);
        let actions = &definition.execution.actions;
        let schema = action::schema(actions);
        let mut corrections: Vec<(String, String)> = Vec::new();
        for turn in 0..=definition.retry.repair {
            let called = self.model.call(&Request {
                selection,
                text: &memory.text,
                actions,
                agent: &definition.name,
                system: &prompt.system,
                prompt: &prompt.text,
                corrections: &corrections,
                schema: &schema,
                timeout: definition.execution.timeout,
                attempts: definition.retry.attempts,
                now: memory.now(),
                chance: memory.chance.as_ref(),
                stop: &self.options.stop,
            });
            let spent = called.as_ref().map_or_else(|failed| &failed.spent, |reply| &reply.spent);
            for Spent { tokens_in, tokens_out, cost, estimated } in spent.iter().cloned() {
                let model = definition.execution.model.clone();
                row.add_call(Call { model, tokens_in, tokens_out, cost, estimated });
            }
            let reply = called.map_err(|failed| failed.error)?;
            let text = match &reply.structured {
                Some(value) if reply.text.is_empty() => value.to_string(),
                _ => reply.text.clone(),
            };
            let problems = match reply::read(&reply, actions) {
                Ok(answer) => {
                    turns.push(Turn { reply: text, problems: Vec::new() });
                    return Ok(answer);
                }
                Err(problems) => problems,
            };
            turns.push(Turn { reply: text.clone(), problems: problems.clone() });
            if turn == definition.retry.repair {
                let message = format!("the reply is no answer: {}", problems.join("; "));
                return Err(Ending::Failed(Status::Failed, Some(Reason::Unparseable), message));
            }
            corrections.push((text, correction(&problems)));
        }
        Err(Ending::Failed(Status::Failed, None, "the model was not called".to_owned()))
    }
}

fn correction(problems: &[String]) -> String {
    let list: String = problems.iter().map(|problem| format!("- {problem}\n")).collect();
    format!("That is not an answer to use:\n{list}Answer again with the whole JSON object and nothing else.")
}
