//! Runs due slots, a limited number of agents at the same time.

use crate::state::DaemonState;
use poc_agent::batches::SlotBatches;
use poc_agent::due_slots::{DueRun, Tick};
use poc_agent::idle_tenants::IdleTenants;
use poc_agent::ledger::{self, RowOutcome, Run, Status};
use poc_agent::run::RunOptions;
use poc_agent::schedule::local_zone;
use poc_agent::scheduler;
use poc_graph::error::Error;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::{Id, JoinError, JoinSet};

/// Runs that were started and have not ended.
pub(super) struct Runs {
    state: Arc<DaemonState>,
    tasks: JoinSet<()>,
    /// The agent of each task.
    agents: HashMap<Id, String>,
    pending: BTreeMap<String, DueRun>,
    /// Missed slots are caught up one at a time, so that a start after a long downtime causes no burst
    /// of runs.
    catch_up: Arc<Semaphore>,
    /// The tenants for which earlier runs found nothing to do.
    idle_tenants: IdleTenants,
}

impl Runs {
    pub(super) fn new(state: &Arc<DaemonState>, idle_tenants: IdleTenants) -> Runs {
        Runs {
            state: state.clone(),
            tasks: JoinSet::new(),
            agents: HashMap::new(),
            pending: BTreeMap::new(),
            catch_up: Arc::new(Semaphore::new(1)),
            idle_tenants,
        }
    }

    /// Runs that were started and have not ended.
    pub(super) fn pending(&self) -> BTreeMap<String, DueRun> {
        self.pending.clone()
    }

    /// Starts a due run as soon as the pool of agents has room.
    pub(super) fn start(&mut self, due: DueRun) {
        let (state, catch_up) = (self.state.clone(), self.catch_up.clone());
        let (cancellation, models) = (self.state.calls.clone(), self.state.models.clone());
        let idle_tenants = self.idle_tenants.clone();
        let options = RunOptions { cancellation, models, idle_tenants, ..RunOptions::default() };
        let agent = due.agent.clone();
        self.pending.insert(agent.clone(), due.clone());
        let task = self.tasks.spawn(async move {
            let _permit = if due.late { catch_up.acquire_owned().await.ok() } else { None };
            execute(state, due, options).await;
        });
        self.agents.insert(task.id(), agent);
    }

    /// Waits until a run ends and returns its agent. Waits forever when there is no run.
    pub(super) async fn ended(&mut self) -> Option<String> {
        match self.tasks.join_next_with_id().await {
            Some(ended) => self.remove(ended),
            None => std::future::pending().await,
        }
    }

    /// Waits until every run has ended. After `grace`, cancels the others. After `cancelled`, marks
    /// those that still have not ended as interrupted.
    pub(super) async fn drain(
        mut self,
        grace: impl Future<Output = ()>,
        cancelled: impl Future<Output = ()>,
    ) {
        if self.all_end_before(grace).await {
            return;
        }
        self.state.calls.cancel();
        if self.all_end_before(cancelled).await {
            return;
        }
        let state = self.state.clone();
        let message =
            format!("the daemon stopped and waited {} for it", state.memory.config.daemon.shutdown_grace);
        super::blocking(&self.state, "marking interrupted runs", move || {
            for row in ledger::abandon(&state.memory, |_| true, Status::Interrupted, &message)? {
                tracing::warn!(agent = row.agent, run = %row.id, "interrupted: {message}");
            }
            Ok(())
        })
        .await;
        self.tasks.detach_all();
    }

    async fn all_end_before(&mut self, deadline: impl Future<Output = ()>) -> bool {
        tokio::select! {
            biased;
            () = async { while self.tasks.join_next().await.is_some() {} } => true,
            () = deadline => false,
        }
    }

    /// Removes a run that ended, even by a panic, because an agent that stays pending would never run again.
    fn remove(&mut self, ended: Result<(Id, ()), JoinError>) -> Option<String> {
        let id = match ended {
            Ok((id, ())) => id,
            Err(error) => {
                tracing::error!("a run ended unexpectedly: {error}");
                error.id()
            }
        };
        let agent = self.agents.remove(&id)?;
        self.pending.remove(&agent);
        Some(agent)
    }
}

/// Executes one due run and its batches to the end. Its errors are logged and recorded.
async fn execute(state: Arc<DaemonState>, due: DueRun, options: RunOptions) {
    let DueRun { agent, trigger, .. } = due.clone();
    let running = state.clone();
    let ran = state.pools.agents.run(move || {
        // No slot is claimed while the daemon stops; the next start catches it up.
        let acquire = || {
            let permit = running.run_limiter.acquire(&running.memory, &options.cancellation);
            permit.filter(|_| !running.is_stopping())
        };
        // A run uses the definition from its start until its end.
        let catalog = || running.catalog.load_full();
        let run_due = |_permit| {
            let memory = running.memory_now();
            let tick = Tick::now(&memory, local_zone());
            scheduler::run_due(&memory, &catalog(), &due, tick, &options)
        };
        let mut last = acquire().map(run_due).transpose()?.flatten();
        let mut batches = last.as_ref().and_then(SlotBatches::after);
        while let Some(row) = &last {
            log(row);
            let Some(batches) = &mut batches else { break };
            // The permit is acquired again for each batch, so that other agents can run in between.
            let Some(_permit) = acquire() else { break };
            last = batches.run_next(&running.memory_now(), &catalog(), row, &options)?;
        }
        if let Err(error) = options.idle_tenants.save_if_many(&running.memory, &catalog()) {
            tracing::warn!("{} failed: {error}", super::SAVING);
        }
        Ok::<(), Error>(())
    });
    let message = match ran.await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => return tracing::error!(agent, slot = %trigger, "a run failed: {error}"),
        Err(error) => error.to_string(),
    };
    tracing::error!(agent, slot = %trigger, "a run failed: {message}");
    let recording = state.clone();
    super::blocking(&state, "recording a failed run", move || {
        let failed = RowOutcome { status: Status::Failed, reason: None, message: Some(message) };
        ledger::record_without_run(&recording.memory, &agent, trigger, failed)
    })
    .await;
}

fn log(row: &Run) {
    let applied = row.applied_actions().count();
    let not_applied = row.actions.len().saturating_sub(applied);
    tracing::info!(
        agent = row.agent,
        tenant = %row.tenant,
        run = %row.id,
        applied,
        not_applied,
        "{}{}{}",
        row.status.name(),
        row.reason.map(|reason| format!(": {}", reason.name())).unwrap_or_default(),
        row.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default(),
    );
}
