//! `agent run`

use super::outcome::Outcome;
use crate::ops::argument::Values;
use crate::ops::{Access, Ctx, Op, Route};
use poc_agent::definition::Mode;
use poc_agent::ledger::{Reason, Status};
use poc_agent::permit::Rejection;
use poc_agent::run::{self, Options, Trigger};
use poc_agent::trial;
use poc_graph::error::{Error, Exit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Run an agent now, whatever its schedule says; in a daemon as soon as there is a place
/// (`[agents] max-concurrent-runs`), before slots that wait. When none of its nodes is stale it does nothing
/// and the exit status is 3; when its budget is used up, 4.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunAgent {
    /// Name of the agent
    agent: String,
    /// Do everything but write: say what would be applied
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Leave everything for a person to decide: see `agent review`
    #[arg(long, conflicts_with = "dry_run")]
    #[serde(default)]
    propose: bool,
    /// Take nodes that were visited and have not changed since, too
    #[arg(long)]
    #[serde(default)]
    force: bool,
    /// Key or id of the only node to run on
    #[arg(long, value_name = "NODE")]
    #[serde(default)]
    target: Option<String>,
    /// Answer with the run as one of the agent's `[[tests]]`, to be put at the end of its file
    #[arg(long)]
    #[serde(default)]
    record: bool,
    /// Values for parameters of its pipeline, in place of those of its file
    #[command(flatten)]
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    set: Values,
}

impl Op for RunAgent {
    const NAME: &'static str = "agent run";
    const ACCESS: Access = Access::Write;
    const TENANTS: bool = false;
    const LONG_RUNNING: bool = true;
    const ROUTE: Option<Route> = Route::post("/v1/agents/{agent}/run");
    type Output = Outcome;

    fn run(self, ctx: &Ctx<'_>) -> Result<Outcome> {
        let catalog = ctx.host.catalog()?;
        let outdated = catalog.entry(&self.agent)?.errors.first().map(Error::line);
        let definition = catalog.get(&self.agent)?.with(&self.set.0, &ctx.memory.names.load())?;
        let (dry_run, propose, force) = (self.dry_run, self.propose, self.force);
        if propose && definition.mode == Mode::Observe {
            let error =
                Error::invalid(format!("`{}` only observes: it leaves nothing to decide", self.agent));
            return Err(error.hint("give its file `mode = \"propose\"`").field("propose"));
        }
        let (cancellation, models) = (ctx.host.calls(), ctx.host.models());
        let _place = match dry_run {
            // It claims nothing and hinders nobody.
            true => None,
            false => Some(ctx.host.run_limiter().asked(ctx.memory, &definition.name, &cancellation)?),
        };
        let options =
            Options { dry_run, propose, force, target: self.target, cancellation, models, zone: None };
        if !self.record {
            let run = run::run(ctx.memory, &definition, Trigger::Manual, &options)?;
            return Ok(Outcome { dry_run, outdated, ..Outcome::of(ctx.memory, &run) });
        }
        let (run, entry) = trial::record(ctx.memory, &definition, &options)?;
        let (recorded, unrecorded) = match entry {
            Ok(entry) => (Some(entry), None),
            Err(error) => (None, Some(error.line())),
        };
        Ok(Outcome { dry_run, outdated, recorded, unrecorded, ..Outcome::of(ctx.memory, &run) })
    }

    fn verbatim(output: &Outcome) -> bool {
        output.is_record()
    }

    fn aside(output: &Outcome) -> Option<String> {
        let told = output.is_record().then(|| output.told());
        let outdated = output.outdated.as_ref().map(|error| {
            format!("the file of `{}` is broken, its last good version was run: {error}", output.agent)
        });
        let lines: Vec<String> = outdated.into_iter().chain(told).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn show(output: &Outcome) -> String {
        output.show()
    }

    fn exit(output: &Outcome) -> Exit {
        let is = |status: Status| output.status == status.name();
        let refused = |code: &str| Rejection::parse(code).is_some_and(Rejection::is_failure);
        if output.reason.as_deref() == Some(Reason::OverBudget.name()) {
            Exit::Rejected
        } else if is(Status::Skipped) || is(Status::Missed) {
            Exit::NothingToDo
        } else if output.unrecorded.is_some()
            || is(Status::Failed)
            || is(Status::TimedOut)
            || is(Status::Interrupted)
        {
            Exit::Failed
        } else if output.applied.is_empty() && output.rejected.iter().any(|action| refused(&action.reason)) {
            Exit::Rejected
        } else {
            Exit::Ok
        }
    }
}
