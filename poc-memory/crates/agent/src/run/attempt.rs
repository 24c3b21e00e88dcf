//! The stages of a claimed run: select nodes, render the prompt, get a reply, apply it.

use super::RunAttempt;
use super::call::ModelCursor;
use super::end::RunEnd;
use super::transcript::{self, Exchange};
use crate::action;
use crate::apply::{self, ApplyOptions};
use crate::child_process::ChildProcess;
use crate::judge::Judge;
use crate::ledger::{self, NodeVersion, Run, Status, StatusReason};
use crate::model::{RejectedReply, Request};
use crate::pause;
use crate::prompt::{self, Prompt};
use crate::reply::{self, ParsedReply};
use crate::selection::{self, Selection, SelectionOutcome};
use poc_graph::Node;
use poc_graph::error::Result;
use serde_json::Value;

impl RunAttempt<'_> {
    /// Executes a claimed run and ends its row.
    pub(super) fn finish(&self, row: &mut Run) -> Result<Run> {
        let (status, reason, message) = match self.work(row) {
            Ok(row) => return Ok(row),
            Err(RunEnd::Broken(error)) => return Err(error),
            Err(RunEnd::Skipped(reason, message)) => {
                (Status::Skipped, Some(reason), message.map(|message| reply::short(&message)))
            }
            Err(RunEnd::Failed(status, reason, message)) => {
                (status, reason, Some(self.failure_message(status, reason, message)))
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
    fn failure_message(&self, status: Status, reason: Option<StatusReason>, message: String) -> String {
        let message = reply::short(&message);
        let fails =
            matches!(status, Status::Failed | Status::TimedOut) && reason != Some(StatusReason::OverBudget);
        let counts = fails && !self.options.dry_run;
        match pause::failure_notice(self.memory, self.definition).filter(|_| counts) {
            Some(notice) => format!("{message}; {notice}"),
            None => message,
        }
    }

    /// Executes the stages, and returns the row with what was applied.
    fn work(&self, row: &mut Run) -> Result<Run, RunEnd> {
        let (memory, definition) = (self.memory, self.definition);
        if let Some(why) = self.all_suspended() {
            return Err(RunEnd::Skipped(StatusReason::ProviderDown, Some(why)));
        }
        let budget_status = self.budget_status(row)?;
        if let Some(why) = budget_status.refuses_a_run() {
            return Err(RunEnd::Skipped(StatusReason::OverBudget, Some(why)));
        }
        if let Some(why) = budget_status.refuses_the_tenant() {
            row.is_over_tenant_budget = true;
            return Err(RunEnd::Skipped(StatusReason::OverBudget, Some(why)));
        }
        let context = self.context();
        let mut selection = match selection::select(memory, definition, self.scope, context)? {
            SelectionOutcome::Selected(selection) => selection,
            SelectionOutcome::Nothing(reason, why) => return Err(RunEnd::Skipped(reason, Some(why))),
        };
        let prompt = prompt::render(memory, definition, &mut selection, context)?;
        let version = |node: &Node| NodeVersion { id: node.id, version: node.version };
        row.selected = selection.selected().map(|handle| version(&handle.node)).collect();
        let mut turns = Vec::new();
        let answer = self.request_reply(&selection, &prompt, row, &mut turns);
        // The transcript of a run without a call is not kept, because it would displace the transcripts of
        // other runs.
        if !self.options.dry_run && !matches!(answer, Err(RunEnd::Skipped(..))) {
            // A full disk must not discard a reply that has already been paid for.
            if let Err(error) = transcript::keep(memory, row, &prompt, turns, &definition.source) {
                tracing::warn!(agent = definition.name, run = %row.id, "the transcript could not be stored: {error}");
            }
        }
        let mut answer = answer?;
        if let Some(warning) = answer.scrub().replaced_in_texts_of_model() {
            let earlier = row.message.take().map_or_else(String::new, |message| format!("{message}; "));
            row.message = Some(reply::short(&(earlier + &warning)));
        }
        let dry_run = self.options.dry_run;
        let judge = Judge::before(memory).map_err(RunEnd::Broken)?;
        let replied = self.models.iter().find(|(name, _)| *name == row.model);
        let by_language_model = replied.is_none_or(|(_, model)| model.is_language_model());
        let options = ApplyOptions { dry_run, by_language_model };
        let row = apply::apply(memory, definition, &selection, &answer, row.clone(), options);
        let row = row.map_err(RunEnd::Broken)?;
        if dry_run { Ok(row) } else { judge.keep_or_revert(memory, row).map_err(RunEnd::Broken) }
    }

    /// The context length of the first model, in tokens. A fallback with a shorter context refuses a prompt
    /// that is too long for it.
    pub(super) fn context(&self) -> Option<usize> {
        let (name, model) = self.models.first()?;
        model.context().or_else(|| self.memory.config.models.get(*name)?.context)
    }

    /// Why no model is called; `None` unless the providers of all models are suspended. Manual runs call them anyway,
    /// because the person may have fixed the problem.
    pub(super) fn all_suspended(&self) -> Option<String> {
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
        let mut corrections: Vec<RejectedReply> = Vec::new();
        let mut cursor = ModelCursor::default();
        let claimed = row.clone();
        let on_child_process = |program: ChildProcess| {
            if let Err(error) = ledger::record_child_process(self.memory, &claimed, &program) {
                tracing::warn!(agent = definition.name, "its child process could not be recorded: {error}");
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
            let problems = match reply::read(&reply, actions) {
                Ok(answer) => {
                    turns.push(Exchange::new(&reply.stored_text(), &[]));
                    return Ok(answer);
                }
                Err(problems) => problems,
            };
            let exchange = Exchange::new(&reply.stored_text(), &problems);
            let stored_problems = exchange.problems.join("; ");
            turns.push(exchange);
            if turn == definition.retry.repair {
                let message = format!("the reply is invalid: {stored_problems}");
                return Err(RunEnd::Failed(Status::Failed, Some(StatusReason::Unparseable), message));
            }
            corrections.push(RejectedReply { reply: reply.full_text(), correction: correction(&problems) });
        }
        Err(RunEnd::Failed(Status::Failed, None, "the model was not called".to_owned()))
    }

    /// The request of the first turn.
    pub(super) fn request<'r>(
        &'r self,
        selection: &'r Selection,
        prompt: &'r Prompt,
        schema: &'r Value,
    ) -> Request<'r> {
        let (memory, definition) = (self.memory, self.definition);
        Request {
            selection,
            text: &memory.text,
            actions: &definition.execution.actions,
            shows_derived: definition.prompt.shows("DERIVED"),
            only_quotations: definition.limits.insert_only_quotations,
            max_chars: definition.limits.insert_max_chars,
            agent: &definition.name,
            system: &prompt.system,
            prompt: &prompt.text,
            stable: prompt.stable,
            corrections: &[],
            schema,
            timeout: definition.execution.timeout,
            attempts: definition.retry.attempts,
            attended: !self.unattended,
            now: memory.now(),
            rng: memory.rng.as_ref(),
            cancellation: &self.options.cancellation,
            on_child_process: &|_| {},
        }
    }
}

/// The message that asks the model to correct its reply.
fn correction(problems: &[String]) -> String {
    let list: String = problems.iter().map(|problem| format!("- {problem}\n")).collect();
    format!("That is not an answer to use:\n{list}Answer again with the whole JSON object and nothing else.")
}
