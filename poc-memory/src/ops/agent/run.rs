//! `agent run`

use super::outcome::AgentRunOutput;
use crate::ops::argument::ParameterValues;
use crate::ops::text::plural;
use crate::ops::{Access, Ctx, Op, Route, Terminal, tenancy};
use poc_agent::definition::Mode;
use poc_agent::ledger::{self, Run, Status, StatusReason};
use poc_agent::pause_reason::PauseReason;
use poc_agent::permit::RefusalReason;
use poc_agent::run::{self, RunOptions, Trigger};
use poc_agent::{CatalogEntry, Definition, test_runner};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Error, Exit, Result};
use poc_notes::Memory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Run an agent now, regardless of its schedule, on the notes of one tenant. A daemon runs it before scheduled runs as
/// soon as fewer than `[agents] max-concurrent-runs` runs are in progress. If it is already running or waits for that,
/// the request is refused. If no note is stale, it does nothing and the exit status is 3; if its budget is used up, the
/// exit status is 4.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentRun {
    /// Name of the agent
    agent: String,
    /// Write nothing; report what would be applied
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Propose all actions instead of applying them: see `agent review`
    #[arg(long, conflicts_with = "dry_run")]
    #[serde(default)]
    propose: bool,
    /// Also process notes that were visited and have not changed since
    #[arg(long)]
    #[serde(default)]
    force: bool,
    /// Key or id of a note; process only this one
    #[arg(long, value_name = "NOTE")]
    #[serde(default)]
    target: Option<String>,
    /// Print the run as a `[[tests]]` entry for the end of the agent's file
    #[arg(long)]
    #[serde(default)]
    record: bool,
    /// Values of pipeline parameters, overriding those in its file
    #[command(flatten)]
    #[serde(default, skip_serializing_if = "ParameterValues::is_empty")]
    set: ParameterValues,
}

/// Returns `not_found` for a tenant without transactions, because a run would create the tenant.
fn check_tenant(memory: &Memory) -> Result<()> {
    let tenant = memory.store.tuple();
    let is_known = memory.store.all_tenants()?.iter().any(|own| own.tenant() == memory.store.tenant());
    let unknown = || {
        Error::not_found(format!("there are no notes of the tenant `{tenant}`"))
            // `poc-memory stats` in backticks would get the tenant of this call.
            .hint("`stats` of the default tenant lists the tenants")
            .field(tenancy::FIELD)
    };
    if is_known { Ok(()) } else { Err(unknown()) }
}

/// A notice that the agent of a run is paused, unless the message of the run says so, or that the run ended the pause.
fn pause_line(run: &Run, before: Option<PauseReason>, after: Option<PauseReason>) -> Option<String> {
    match (before, after) {
        (_, Some(paused)) => Some(paused.line(&run.agent))
            .filter(|line| run.message.as_ref().is_none_or(|message| !message.contains(line))),
        (Some(PauseReason::Failing { failures, .. }), None) => {
            let failures = plural(u64::from(failures), "failure");
            Some(format!("it was paused after {failures} in a row; this run has ended the pause"))
        }
        _ => None,
    }
}

/// The agent of a request, as its file is now.
struct RequestedAgent {
    entry: CatalogEntry,
    /// Its definition with the parameters of the request.
    definition: Definition,
    /// The first error of its file, if that is invalid.
    outdated: Option<String>,
}

impl AgentRun {
    fn read_agent(&self, ctx: &Ctx<'_>) -> Result<RequestedAgent> {
        let catalog = ctx.host.catalog()?;
        let entry = catalog.entry(&self.agent)?.clone();
        let outdated = entry.errors.first().map(FileDiagnostic::line);
        // A daemon notices a deleted file only after some seconds.
        let definition = catalog.get_undeleted(ctx.memory, &self.agent)?;
        let definition = definition.with(&self.set.0, &ctx.memory.names.load());
        // An earlier version of an invalid file may lack the parameter.
        let definition = definition.map_err(|error| match &outdated {
            Some(first) => {
                Error::config(format!("the file of the agent `{}` is invalid: {first}", self.agent))
            }
            None => error,
        })?;
        if self.propose && definition.mode == Mode::Observe {
            let error = Error::invalid(format!(
                "`{}` has `mode = \"observe\"`, so it cannot propose actions",
                self.agent
            ));
            return Err(error.hint("set `mode = \"propose\"` in its file").field("propose"));
        }
        Ok(RequestedAgent { entry, definition, outdated })
    }
}

impl Op for AgentRun {
    const NAME: &'static str = "agent run";
    const ACCESS: Access = Access::Write;
    // It spends money.
    const FOR_MODELS: bool = false;
    const LONG_RUNNING: bool = true;
    const USES_SHUTDOWN_GRACE: bool = true;
    const ROUTE: Option<Route> = Route::post("/v1/agents/{agent}/run");
    const NAMES_COMMANDS: bool = true;
    type Output = AgentRunOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentRunOutput> {
        // A wrong request fails at once.
        let RequestedAgent { entry, definition, .. } = self.read_agent(ctx)?;
        check_tenant(ctx.memory)?;
        let (dry_run, propose, force) = (self.dry_run, self.propose, self.force);
        let paused = |entry: &CatalogEntry| -> Result<Option<PauseReason>> {
            Ok(entry.paused(&ledger::state(ctx.memory, &self.agent)?, ctx.memory.now()))
        };
        let paused_before = paused(&entry)?;
        let (cancellation, models) = (ctx.host.calls(), ctx.host.models());
        let _running = match dry_run {
            // A dry run claims no notes, so it does not count towards the limit of concurrent runs.
            true => None,
            false => Some(ctx.host.run_limiter().acquire_interactive(
                ctx.memory,
                &definition.name,
                &cancellation,
            )?),
        };
        // Its file may have changed while the run waited for others.
        let RequestedAgent { entry, definition, outdated } = self.read_agent(ctx)?;
        let target = self.target;
        let options =
            RunOptions { dry_run, propose, force, target, cancellation, models, ..RunOptions::default() };
        if !self.record {
            let run = run::run(ctx.memory, &definition, Trigger::Manual, &options)?;
            let pause = pause_line(&run, paused_before, paused(&entry)?);
            return Ok(AgentRunOutput { dry_run, outdated, pause, ..AgentRunOutput::of(ctx.memory, &run)? });
        }
        let (run, entry) = test_runner::record(ctx.memory, &definition, &options)?;
        let (recorded, unrecorded) = match entry {
            Ok(entry) => (Some(entry), None),
            Err(error) => (None, Some(error.line())),
        };
        Ok(AgentRunOutput {
            dry_run,
            outdated,
            recorded,
            unrecorded,
            ..AgentRunOutput::of(ctx.memory, &run)?
        })
    }

    fn verbatim(output: &AgentRunOutput) -> bool {
        output.is_recording()
    }

    fn notice(output: &AgentRunOutput) -> Option<String> {
        let summary = output.is_recording().then(|| output.summary());
        let outdated = output.outdated.as_ref().map(|error| {
            format!("the file of `{}` is broken, its last valid version was run: {error}", output.agent)
        });
        let lines: Vec<String> = outdated.into_iter().chain(summary).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn show(output: &AgentRunOutput, _: &Terminal) -> String {
        output.show()
    }

    fn exit(output: &AgentRunOutput) -> Exit {
        let is_failure = |code: &str| RefusalReason::parse(code).is_some_and(RefusalReason::is_failure);
        if output.reason == Some(StatusReason::OverBudget) {
            Exit::Rejected
        } else if matches!(output.status, Status::Skipped | Status::Missed) {
            Exit::NothingToDo
        } else if output.unrecorded.is_some()
            || matches!(output.status, Status::Failed | Status::TimedOut | Status::Interrupted)
        {
            Exit::Failed
        } else if output.applied.is_empty() && output.refused.iter().any(|action| is_failure(&action.reason))
        {
            Exit::Rejected
        } else {
            Exit::Ok
        }
    }
}
